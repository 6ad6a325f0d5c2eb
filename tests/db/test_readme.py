"""The page that documents the schema can't drift from it, and what it says to type works."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from db.models import Base
from db.queries.show import run_document
from db.schema_page import README, render, rewritten
from tests.db import made
from tests.db.asking import reading, row_counts

PAGE = README.read_text()


def commands() -> list[str]:
    """The SQL of every sqlite3 command on the page."""
    return re.findall(r'^sqlite3 [^"\n]*"\n(.*?)"$', PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_is_what_the_models_make() -> None:
    assert rewritten(PAGE) == PAGE, "run `python -m db.schema_page`"


def test_every_table_and_column_has_a_meaning() -> None:
    made_part = render()
    for table in Base.metadata.sorted_tables:
        assert table.comment and f"### {table.name}\n" in made_part
        for column in table.columns:
            assert column.doc and column.comment == column.doc, f"{table.name}.{column.name}"
            assert f"| `{column.name}` |" in made_part


def test_a_column_says_its_type_and_where_it_leads() -> None:
    assert "| `status` | text | status of this probe |" in render()
    assert "| `evaluation_id` | integer → [evaluation](#evaluation) | its evaluation |" in render()
    assert "| `value` | real, may be NULL |" in render()


def test_a_page_without_a_place_for_it_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the lines"):
        rewritten("# A page\n")


def test_every_key_of_the_document_is_documented(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    made.store_two_runs(database)
    with reading(database) as connection:
        document = run_document(connection, "label-first")
    section = PAGE.split("## The document of `show --json`")[1].split("\n## ")[0]
    documented = set(re.findall(r"`([A-Za-z_0-9]+)`", section))
    one = document["evaluations"][0]
    for where in (one, one["accuracy"], one["benchmark"], one["timing"], one["metrics"]["compile.cold_s"]):
        assert set(where) <= documented, set(where) - documented
    # And nothing is promised that is not there.
    first_cells = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    promised = {key for cell in first_cells for key in re.findall(r"`(\w+)`", cell)}
    assert promised == set(one)


def test_the_queries_by_hand_run(tmp_path: Path) -> None:
    database = tmp_path / "runs.db"
    made.store_two_runs(str(database))
    queries = [command for command in commands() if command.startswith("SELECT")]
    assert len(queries) >= 3
    with closing(sqlite3.connect(database)) as connection:
        newest, over_eager, breaks = [connection.execute(query).fetchall() for query in queries]
    assert [row[:5] for row in newest] == [
        ("made.absolute", "n=4", "default", "2.13.0+cpu", "ok"),
        ("made.absolute", "n=8", "default", "2.13.0+cpu", "ok"),
    ]
    # By hand: compiled's median is 3 and eager's 4.5.
    assert over_eager[0] == ("made.absolute", "n=4", "2.13.0+cpu", 2, 3.0, 0.667)
    assert breaks[0] == ("made.absolute", "n=4", "made.py", 3, 2, "print is not traced")


def test_the_gate_by_hand_works(tmp_path: Path) -> None:
    database = tmp_path / "runs.db"
    made.store_two_runs(str(database))
    before = row_counts(str(database))
    (gate,) = [command for command in commands() if "INSERT INTO pruning" in command]
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.executescript(gate.replace("<uuid>", made.run_uuid("first")))
    after = row_counts(str(database))
    assert after["run"] == 1 and after["sample"] * 2 == before["sample"]
    with closing(sqlite3.connect(database)) as connection:
        ((closed,),) = connection.execute("SELECT closed_at FROM pruning").fetchall()
    assert closed is not None
