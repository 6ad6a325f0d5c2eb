"""Finding runs, listing them, going on with one, and how long units took."""

from __future__ import annotations

import pytest

from db.queries.durations import unit_durations
from db.queries.resume import done_units, unfinished_run
from db.queries.runs import evaluation_count, find_run, list_runs
from db.store import Store
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import ask, reading


@pytest.fixture(scope="module")
def three(module_database: str) -> str:
    store = Store(module_database)
    store.write_many(made.whole_run("first", started_at="2026-03-03T10:00:00+00:00", label="nightly"))
    # Stored later, as an import does, but started earlier.
    store.write_many(made.whole_run("second", started_at="2026-03-01T10:00:00+00:00", label="nightly"))
    store.write_many(
        made.whole_run("third", started_at="2026-03-02T10:00:00+02:00", label="7", buckets=("n=4",))[:-1]
    )
    store.close()
    return module_database


def uuid_of(database: str, reference: str) -> str:
    with reading(database) as connection:
        found = find_run(connection, reference)
    return str(ask(database, "SELECT uuid FROM run WHERE id = :id", id=found)[0][0])


def test_a_run_is_found_by_what_people_say(three: str) -> None:
    assert uuid_of(three, "latest") == made.run_uuid("first")
    assert uuid_of(three, "nightly") == made.run_uuid("first")
    assert uuid_of(three, "2") == made.run_uuid("second")
    assert uuid_of(three, "7") == made.run_uuid("third")
    assert uuid_of(three, made.run_uuid("second")) == made.run_uuid("second")
    assert uuid_of(three, made.run_uuid("second")[:8].upper()) == made.run_uuid("second")


@pytest.mark.parametrize("reference", ["99", "nobody", "", "%", made.run_uuid("first")[:3], "9" * 30, "٣"])
def test_a_run_that_is_not_there_is_one_sentence(three: str, reference: str) -> None:
    with reading(three) as connection, pytest.raises(UserError, match="no run has"):
        find_run(connection, reference)


def test_an_ambiguous_uuid_is_refused(database: str) -> None:
    store = Store(database)
    for last in "ab":
        store.write(made.head(uuid=f"01234567-0000-0000-0000-00000000000{last}")[0])
    store.close()
    with reading(database) as connection, pytest.raises(UserError, match="2 runs"):
        find_run(connection, "01234567")


def test_no_run_at_all_says_how_to_make_one(database: str) -> None:
    Store(database).close()
    with reading(database) as connection, pytest.raises(UserError, match="no run is recorded yet"):
        find_run(connection, "latest")


def test_runs_are_listed_the_latest_first(three: str) -> None:
    with reading(three) as connection:
        rows = list_runs(connection)
        assert [row.uuid for row in list_runs(connection, 1)] == [made.run_uuid("first")]
        assert evaluation_count(connection) == 5
        assert evaluation_count(connection, rows[1].id) == 1
    assert [row.uuid for row in rows] == [made.run_uuid(name) for name in ("first", "third", "second")]
    assert [(row.status, row.evaluations, row.done, row.not_ok) for row in rows] == [
        ("finished", 2, 2, 0),
        ("running", 1, 1, 0),
        ("finished", 2, 2, 0),
    ]
    assert rows[0].torch_versions == ("2.13.0+cpu",) and rows[0].machine == "machine-1"
    assert rows[1].started_at.isoformat() == "2026-03-02T08:00:00+00:00"


def test_what_is_done_is_what_is_stored_whatever_came_of_it(database: str) -> None:
    store = Store(database)
    store.write_many(
        [
            *made.head(),
            made.replica(),
            made.evaluation(),
            made.probe("cold", status="timeout", reason="over 300 s"),
            made.probe("cold", attempt=2),
            made.probe("warm", status="skipped", started_at=None),
            made.probe("walk", number=3),
            made.evaluation(bucket="n=8"),
            made.finished(bucket="n=8", status="unsupported"),
            made.end(status="interrupted"),
        ]
    )
    store.close()
    evaluation = made.evaluation_uuid()
    with reading(database) as connection:
        done = done_units(connection, made.run_uuid())
        run = unfinished_run(connection, "latest")
        assert done_units(connection, "nobody") == set()
    assert done == {
        (evaluation, 0, "compile", "cold"),
        (evaluation, 0, "compile", "warm"),
        (evaluation, 3, "walk", None),
    }
    assert run.status == "interrupted" and run.plan == {"replicas": 2} and run.uuid == made.run_uuid()
    assert run.outcomes[evaluation, 0, "compile", "cold"] == ("ok", None)
    assert run.outcomes[evaluation, 0, "compile", "warm"] == ("skipped", None)
    assert run.evaluations == {evaluation: None, made.evaluation_uuid(bucket="n=8"): "unsupported"}


def test_how_long_units_took(three: str) -> None:
    with reading(three) as connection:
        durations = unit_durations(connection, "machine-1")
        assert unit_durations(connection, "another-machine") == {}
    # Every probe took 2.5 s: a compile unit is a cold and a warm one, a walk unit a walk and its timing.
    place = ("made.absolute", "default", "n=4")
    assert durations[(*place, "compile")] == 5.0
    assert durations[(*place, "walk")] == 5.0
    assert durations[(*place, "accuracy")] == 2.5
