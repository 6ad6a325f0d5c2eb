"""Writers in processes of their own: several at once lose nothing, and one that is killed leaves what it stored."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from db.queries.resume import done_units
from db.store import Store
from tests.db import made
from tests.db.asking import ask, reading, row_counts

ROOT = Path(__file__).parents[2]


def start(database: str, name: str, runs: int, at: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.db.writing", database, name, str(runs), str(at)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("writers", [2, 4])
def test_writers_at_once_lose_nothing(database: str, writers: int) -> None:
    runs = 6
    at = time.time() + 3
    started = [start(database, f"writer{number}", runs, at) for number in range(writers)]
    for process in started:
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert len(out.split()) == runs
    counts = row_counts(database)
    # A run: two buckets, one replica with four probes each, and one accuracy probe.
    assert counts["run"] == writers * runs
    assert counts["evaluation"] == writers * runs * 2
    assert counts["probe"] == writers * runs * 2 * 5
    assert counts["workload"] == counts["environment"] == counts["machine"] == 1
    assert ask(database, "SELECT DISTINCT status FROM run") == [("finished",)]
    # Each evaluation has the same metrics as any other.
    per_evaluation = ask(
        database, "SELECT DISTINCT n FROM (SELECT count(*) AS n FROM summary GROUP BY evaluation_id) t"
    )
    assert len(per_evaluation) == 1


@pytest.mark.parametrize("after", [1, 3])
def test_a_writer_that_is_killed_leaves_a_sound_database_that_goes_on(database: str, after: int) -> None:
    process = start(database, "killed", 1000, 0.0)
    assert process.stdout is not None
    said = [process.stdout.readline().strip() for _ in range(after)]
    process.kill()
    rest, _ = process.communicate(timeout=60)
    said += rest.split()
    if "://" not in database:
        assert ask(database, "PRAGMA integrity_check") == [("ok",)]
        assert ask(database, "PRAGMA foreign_key_check") == []
    stored = dict(ask(database, "SELECT uuid, status FROM run"))
    for name in said:
        assert stored[made.run_uuid(name)] == "finished"
    # At most the run in flight is not finished, and of its units each is there whole or not at all.
    assert sum(status != "finished" for status in stored.values()) <= 1
    samples = {
        (probe, cache): {count for _, _, count in rows}
        for probe, cache in (("compile", "cold"), ("timing", None))
        for rows in [
            ask(
                database,
                "SELECT probe.id, probe.cache, count(sample.id) FROM probe JOIN sample ON sample.probe_id = probe.id "
                f"WHERE probe.probe = '{probe}' AND coalesce(probe.cache, '') = '{cache or ''}' "
                "GROUP BY probe.id, probe.cache",
            )
        ]
    }
    assert samples == {("compile", "cold"): {3}, ("timing", None): {8}}
    # Another writer finishes what was begun, with nothing twice.
    name = f"killed-{len(said)}"
    records = made.whole_run(name, replicas=1)
    store = Store(database)
    store.write_many(records)
    store.close()
    with reading(database) as connection:
        assert len(done_units(connection, made.run_uuid(name))) == 10
    assert ask(database, f"SELECT status FROM run WHERE uuid = '{made.run_uuid(name)}'") == [("finished",)]


def test_a_reader_sees_what_is_stored_while_a_writer_goes_on(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    process = start(database, "writer", 1000, 0.0)
    try:
        assert process.stdout is not None
        first = process.stdout.readline().strip()
        assert (made.run_uuid(first),) in ask(database, "SELECT uuid FROM run")
        with reading(database) as connection:
            # One transaction sees one state, however long it looks.
            seen = {connection.exec_driver_sql("SELECT count(*) FROM probe").scalar() for _ in range(20)}
        assert len(seen) == 1
    finally:
        process.kill()
        process.communicate(timeout=60)
