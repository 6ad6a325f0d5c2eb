"""What a comparison can be asked for, and what is compared at first."""

from __future__ import annotations

from collections.abc import Sequence

from db.queries import comparison, sides
from db.store import Store
from tests.db.asking import reading
from tests.db.upgrades import BASE, CANDIDATE, MadeRun, fields


def made(database: str, runs: Sequence[MadeRun]) -> str:
    store = Store(database)
    try:
        for run in runs:
            store.write_many(run.records())
    finally:
        store.close()
    return database


def at(day: int) -> str:
    return f"2026-03-{day:02}T10:00:00+00:00"


def choices(database: str) -> sides.Choices:
    with reading(database) as reads:
        return sides.choices(reads)


def test_environments_come_newest_run_first_in_the_order_of_their_plan(database: str) -> None:
    runs = [
        MadeRun("old", [BASE], started_at=at(1)),
        MadeRun("both", [CANDIDATE, BASE], purpose="upgrade", started_at=at(2), label="to 2.14"),
    ]
    found = choices(made(database, runs))
    assert [(one.reference, one.torch) for one in found.environments] == [
        ("2@1", "2.14.1+cpu"),
        ("2@2", "2.13.0+cpu"),
        ("1@1", "2.13.0+cpu"),
    ]
    assert found.references == ("2.14.1+cpu", "2.13.0+cpu", "2@1", "2@2", "1@1")
    first = found.environments[0]
    assert (first.label, first.purpose, first.finished) == ("to 2.14", "upgrade", True)


def test_runs_that_confirm_are_no_choice(database: str) -> None:
    first = MadeRun("first", purpose="upgrade")
    again = MadeRun("again", purpose="confirm", parent=first.uuid, started_at=at(2))
    found = choices(made(database, [first, again]))
    assert {one.run for one in found.environments} == {1}


def test_every_reference_means_a_side(database: str) -> None:
    runs = [MadeRun("old", [BASE]), MadeRun("both", purpose="upgrade", started_at=at(2))]
    made(database, runs)
    with reading(database) as reads:
        found = sides.choices(reads)
        for one in found.environments:
            other = found.other(one.reference, base=True)
            assert other is not None
            _, meant = comparison.resolve(reads, other, one.reference)
            assert (meant.run, meant.position, meant.torch) == (one.run, one.position, one.torch)


def test_default_is_the_newest_finished_run_with_two(database: str) -> None:
    runs = [
        MadeRun("first", purpose="upgrade"),
        MadeRun("second", purpose="upgrade", started_at=at(2)),
        MadeRun("goes on", purpose="upgrade", started_at=at(3), ended=None),
        MadeRun("alone", [CANDIDATE], started_at=at(4)),
    ]
    assert choices(made(database, runs)).default() == ("2@1", "2@2")


def test_default_of_a_run_that_goes_on_where_none_is_finished(database: str) -> None:
    assert choices(made(database, [MadeRun("goes on", ended=None)])).default() == ("1@1", "1@2")


def test_default_of_single_runs_is_the_two_newest_versions_of_one_build(database: str) -> None:
    runs = [
        MadeRun(torch, [fields(torch)], started_at=at(day))
        for day, torch in enumerate(("2.14.1+cpu", "2.14.1+cu130", "2.9.1+cu130", "2.13.0+cpu"), 1)
    ]
    assert choices(made(database, runs)).default() == ("2.9.1+cu130", "2.14.1+cu130")


def test_default_of_one_version_is_its_two_newest_runs(database: str) -> None:
    runs = [MadeRun("first", [BASE]), MadeRun("second", [BASE], started_at=at(2))]
    assert choices(made(database, runs)).default() == ("1@1", "2@1")


def test_one_environment_is_nothing_to_compare(database: str) -> None:
    found = choices(made(database, [MadeRun("only", [BASE])]))
    assert found.default() is None
    assert found.other("1@1", base=True) is None


def test_no_run_is_nothing_to_compare(database: str) -> None:
    assert choices(made(database, [])).default() is None


def test_a_version_without_its_build_means_the_newest_build(database: str) -> None:
    found = choices(made(database, [MadeRun("both")]))
    assert found.meant("2.13.0") == "2.13.0+cpu"
    assert found.meant("1@2") == "1@2"
    assert found.meant("2.99.0") is None


def test_measured_says_when_and_what_goes_on(database: str) -> None:
    made(database, [MadeRun("done"), MadeRun("goes on", started_at=at(2), ended=None)])
    with reading(database) as reads:
        second, first = sides.measured(reads, (2, 99, 1))
        assert sides.measured(reads, (99,)) == ()
    assert (first.run, second.run) == (1, 2)
    assert first.finished_at is not None
    assert second.finished_at is None
