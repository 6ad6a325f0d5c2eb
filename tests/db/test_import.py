"""Records files: imported twice, cut short, damaged, and ended in the middle."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from db.importer import Imported, import_records
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import ask, row_counts


def test_importing_twice_brings_nothing_the_second_time(database: str, tmp_path: Path) -> None:
    records = [*made.whole_run("first"), *made.whole_run("second")]
    path = made.write_file(tmp_path / "records.jsonl", records)
    first = import_records(database, path)
    assert (first.runs, first.read) == ((made.run_uuid("first"), made.run_uuid("second")), len(records))
    assert first.new + first.known == len(records) and not first.cut
    before = row_counts(database)
    second = import_records(database, path)
    assert second == Imported(first.runs, len(records), 0, len(records), cut=False, finished=True)
    assert row_counts(database) == before


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_the_size_of_a_chunk_makes_no_difference(tmp_path: Path, chunk: int) -> None:
    path = made.write_file(tmp_path / "records.jsonl", made.whole_run())
    told: list[tuple[int, int]] = []
    database = str(tmp_path / "runs.db")
    done = import_records(database, path, chunk=chunk, progress=lambda at, of: told.append((at, of)))
    assert told[-1] == (done.read, done.read)
    assert len(told) == -(-done.read // chunk)
    other = str(tmp_path / "other.db")
    import_records(other, path)
    assert row_counts(database) == row_counts(other)
    assert ask(database, "SELECT metric, median FROM summary ORDER BY id") == ask(
        other, "SELECT metric, median FROM summary ORDER BY id"
    )


def test_an_import_that_stopped_half_way_goes_on(database: str, tmp_path: Path) -> None:
    records = made.whole_run()
    whole = made.write_file(tmp_path / "records.jsonl", records)
    half = made.write_file(tmp_path / "half.jsonl", records[: len(records) // 2])
    import_records(database, half)
    assert ask(database, "SELECT status FROM run") == [("running",)]
    done = import_records(database, whole)
    assert done.new > 0
    assert ask(database, "SELECT status FROM run") == [("finished",)]
    assert import_records(database, whole).new == 0


def test_a_file_whose_last_line_was_cut_says_so(tmp_path: Path) -> None:
    path = made.write_file(tmp_path / "records.jsonl", made.whole_run())
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines)[:-20])
    done = import_records(str(tmp_path / "runs.db"), path)
    assert done.cut and done.read == len(lines) - 2
    assert ask(str(tmp_path / "runs.db"), "SELECT status FROM run") == [("running",)]


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = made.write_file(tmp_path / "records.jsonl", made.whole_run())
    with path.open("rb") as plain, gzip.open(tmp_path / "records.jsonl.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    assert import_records(str(tmp_path / "runs.db"), tmp_path / "records.jsonl.gz").read == len(
        made.whole_run()
    )


def test_a_damaged_file_brings_nothing(tmp_path: Path) -> None:
    records = made.whole_run()
    path = made.write_file(tmp_path / "records.jsonl", records)
    lines = path.read_text().splitlines(keepends=True)
    lines[len(lines) - 3] = "{broken\n"
    path.write_text("".join(lines))
    with pytest.raises(UserError, match=f"line {len(lines) - 2}"):
        import_records(str(tmp_path / "runs.db"), path)
    assert not (tmp_path / "runs.db").exists()
