"""The part of db/README.md that documents each table and column, made from the models: ``python -m db.schema_page``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from sqlalchemy import JSON, Boolean, Column, Float, Integer, String, Table

from db.models import Base, UtcTime

README: Final = Path(__file__).parent / "README.md"
BEGIN: Final = "<!-- made by `python -m db.schema_page`; change the models instead -->"
END: Final = "<!-- end of the made part -->"
_KINDS: Final = {
    String: "text",
    Integer: "integer",
    Float: "real",
    Boolean: "boolean",
    JSON: "json",
    UtcTime: "time",
}


def render() -> str:
    """Markdown: a section a table, in the order in which they build on each other, a row a column."""
    return "\n".join(_section(table) for table in Base.metadata.sorted_tables)


def rewritten(page: str) -> str:
    """The page with its made part made anew. Raises ValueError where the page has no place for it."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{render()}\n{END}{after}"


def _section(table: Table) -> str:
    lines = [f"### {table.name}", "", str(table.comment), "", "| column | type | meaning |", "|---|---|---|"]
    lines += [f"| `{column.name}` | {_kind(column)} | {_cell(str(column.doc))} |" for column in table.columns]
    return "\n".join([*lines, ""])


def _kind(column: Column[object]) -> str:
    kind = next(name for type_, name in _KINDS.items() if isinstance(column.type, type_))
    for key in column.foreign_keys:
        target = key.column.table.name
        kind = f"{kind} → [{target}](#{target})"
    return f"{kind}, may be NULL" if column.nullable else kind


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


def main() -> int:
    """Write the made part into the page."""
    README.write_text(rewritten(README.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
