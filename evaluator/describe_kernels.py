"""The kernels of an evaluation's document as lines: names, or a table where Inductor's numbers or builds are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from evaluator.table import MISSING, aligned
from evaluator.verdicts.words import is_refusal

Document = dict[str, Any]

# heading -> the field of a kernel; the numbers are Inductor's own.
_KERNEL: Final = {
    "kernel": "name",
    "kind": "kind",
    "form": "form",
    "loads": "loads",
    "stores": "stores",
    "reductions": "reductions",
    "bytes": "bytes_moved",
}
# heading -> the field of a build: ptxas and Triton say these, bytes but for the registers.
_BUILD: Final = {
    "built": "name",
    "arch": "arch",
    "registers": "registers",
    "spilled": "spill_stores",
    "reloaded": "spill_loads",
    "stack": "stack",
    "shared": "shared",
    "static": "static_shared",
    "cubin": "cubin_bytes",
}


def kernel_lines(evaluation: Document) -> Iterator[str]:
    """The kernels of an evaluation, each once, then what was built of them, and what was not and why."""
    kernels = list({_row(one, _KERNEL): one for one in evaluation.get("kernels", ())}.values())
    said = [one for one in kernels if one.get("form") or one.get("bytes_moved") is not None]
    if said:
        yield from _table(kernels, _KERNEL, 3)
        yield "bytes: one launch reads and writes them, by Inductor's own estimate"
    elif kernels:
        yield f"kernels: {', '.join(dict.fromkeys(one['name'] for one in kernels))}"
    builds = evaluation.get("builds") or []
    built = [one for one in builds if not one.get("error")]
    if built:
        yield from _table(built, _BUILD, 2)
    for one in builds:
        error = one.get("error")
        if error:
            where = f"{one['name']} for {one.get('arch') or 'an unknown architecture'}"
            yield f"refused: {where}: {_line(error)}" if is_refusal(error) else f"{where}: {_line(error)}"
        if one.get("note"):
            yield f"{one['name']}: {_line(one['note'])}"


def _table(rows: Sequence[Document], columns: dict[str, str], numbers_from: int) -> list[str]:
    return aligned([list(columns), *(list(_row(one, columns)) for one in rows)], numbers_from, len(columns))


def _row(one: Document, columns: dict[str, str]) -> tuple[str, ...]:
    values = (one.get(field) for field in columns.values())
    return tuple(MISSING if value is None else str(value) for value in values)


def _line(text: str) -> str:
    return " ".join(text.split())
