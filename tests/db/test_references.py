"""What a user's words for the two sides of a comparison mean."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from db.queries.comparison import environment_of_run, resolve
from db.queries.run_sides import is_version
from db.store import Store
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import reading
from tests.db.upgrades import BASE, CANDIDATE, MadeRun, fields, hash_of

OTHER = fields("2.12.0+cpu")
COPY = {**BASE, "copy": 2}

# By day of March, and so in an order that is not that of their ids.
RUNS = (
    MadeRun("old", (OTHER,), label="weekly", started_at="2026-03-01T10:00:00+00:00"),
    MadeRun("single", (BASE,), label="weekly", started_at="2026-03-04T10:00:00+00:00"),
    MadeRun("both", started_at="2026-03-03T10:00:00+00:00", purpose="upgrade"),
    MadeRun("earlier both", started_at="2026-03-02T10:00:00+00:00"),
    MadeRun(
        "confirms",
        started_at="2026-03-10T10:00:00+00:00",
        purpose="confirm",
        parent=made.run_uuid("both"),
        label="weekly",
    ),
    MadeRun(
        "explains", started_at="2026-03-10T11:00:00+00:00", purpose="explain", parent=made.run_uuid("both")
    ),
    MadeRun("calibrates", (BASE, COPY), started_at="2026-03-10T12:00:00+00:00", purpose="calibrate"),
    MadeRun("goes on", (CANDIDATE,), started_at="2026-03-11T10:00:00+00:00", status=None, ended=None),
    MadeRun("elsewhere", (OTHER,), started_at="2026-03-02T11:00:00+00:00", machine="machine-2"),
)


def store(database: str, runs: Sequence[MadeRun]) -> str:
    opened = Store(database)
    for run in runs:
        opened.write_many(run.records())
    opened.close()
    return database


@pytest.fixture(scope="module")
def runs(module_database: str) -> str:
    return store(module_database, RUNS)


def told(database: str, base: str, candidate: str) -> list[tuple[str, str | None]]:
    """(name of the run, torch) of both sides."""
    names = {run.uuid: run.name for run in RUNS}
    with reading(database) as connection:
        return [(names[side.run_uuid], side.torch) for side in resolve(connection, base, candidate)]


def test_a_run_is_named_by_id_label_uuid_or_word(runs: str) -> None:
    # Row ids follow the order in which the runs were stored.
    assert told(runs, "1", "2") == [("old", "2.12.0+cpu"), ("single", "2.13.0+cpu")]
    assert told(runs, "1", "weekly") == [("old", "2.12.0+cpu"), ("single", "2.13.0+cpu")]
    assert told(runs, made.run_uuid("old")[:10], made.run_uuid("single")) == told(runs, "1", "2")
    # Neither the run that goes on, nor those of a part or of equal sides, are the latest.
    assert told(runs, "1", "latest") == told(runs, "1", "2")
    assert told(runs, "previous@1", "latest") == [("both", "2.13.0+cpu"), ("single", "2.13.0+cpu")]


def test_an_environment_of_a_run_is_named_by_version_or_place(runs: str) -> None:
    both = [("both", "2.13.0+cpu"), ("both", "2.14.1+cpu")]
    assert told(runs, "3@2.13.0", "3@2.14.1") == both
    assert told(runs, "3@1", "3@2") == both
    assert told(runs, "previous@2.13.0", "previous@2") == both
    assert told(runs, f"{made.run_uuid('both')}@2", f"{made.run_uuid('both')}@1") == both[::-1]
    # A run of a part can be looked at too, by its own name.
    assert told(runs, "5@1", "5@2") == [("confirms", "2.13.0+cpu"), ("confirms", "2.14.1+cpu")]


def test_two_versions_mean_the_latest_finished_run_that_has_both(runs: str) -> None:
    assert told(runs, "2.13.0", "2.14.1") == [("both", "2.13.0+cpu"), ("both", "2.14.1+cpu")]
    assert told(runs, "2.14.1+cpu", "2.13.0+cpu") == [("both", "2.14.1+cpu"), ("both", "2.13.0+cpu")]


def test_versions_that_no_run_has_both_of_are_taken_from_one_machine(runs: str) -> None:
    # Machine 2 evaluated 2.12.0 later, but its times say nothing beside those of machine 1.
    assert told(runs, "2.12.0", "2.13.0") == [("old", "2.12.0+cpu"), ("single", "2.13.0+cpu")]


def test_a_version_beside_a_run_is_taken_from_that_run_if_it_has_it(runs: str) -> None:
    assert told(runs, "2.13.0", "4@2.14.1") == [
        ("earlier both", "2.13.0+cpu"),
        ("earlier both", "2.14.1+cpu"),
    ]
    assert told(runs, "4@2.13.0", "2.14.1")[1] == ("earlier both", "2.14.1+cpu")
    assert told(runs, "1", "2.13.0") == [("old", "2.12.0+cpu"), ("single", "2.13.0+cpu")]


def test_one_version_twice_is_an_environment_and_its_copy(database: str) -> None:
    store(
        database,
        [
            MadeRun("a-a", (BASE, COPY), purpose="upgrade"),
            MadeRun("later", (BASE,), started_at="2026-04-01T10:00:00+00:00"),
        ],
    )
    with reading(database) as connection:
        base, candidate = resolve(connection, "2.13.0", "2.13.0")
    assert (base.hash, candidate.hash) == (hash_of(BASE), hash_of(COPY))
    assert (base.run, base.position, candidate.run, candidate.position) == (1, 1, 1, 2)


def test_a_version_of_several_builds_needs_its_local_part_unless_the_other_side_takes_one(
    database: str,
) -> None:
    cuda = fields("2.13.0+cu130", built_cuda="13.0")
    store(database, [MadeRun("builds", (BASE, cuda, CANDIDATE))])
    with reading(database) as connection:
        base, candidate = resolve(connection, "2.13.0", "2.13.0+cu130")
        assert (base.torch, candidate.torch) == ("2.13.0+cpu", "2.13.0+cu130")
        with pytest.raises(UserError, match=r"1@1 \(torch 2.13.0\+cpu\) or 1@2 \(torch 2.13.0\+cu130\)"):
            resolve(connection, "2.13.0", "2.14.1")


def test_a_label_wins_over_a_version(database: str) -> None:
    store(database, [MadeRun("labelled", (CANDIDATE,), label="2.13.0"), MadeRun("plain", (BASE,))])
    with reading(database) as connection:
        base, candidate = resolve(connection, "2.13.0", "2")
    assert (base.torch, candidate.torch) == ("2.14.1+cpu", "2.13.0+cpu")


@pytest.mark.parametrize(
    ("base", "candidate", "says"),
    [
        ("3", "2", r"run 3 has 2 environments: say which one, 3@1 \(torch 2.13.0\+cpu\) or 3@2"),
        ("3@3", "2", r"run 3 has no environment 3: it has 3@1"),
        ("3@2.9", "2", r"run 3 has no environment 2.9"),
        ("7@2.13.0", "2", r"run 7 has 2 environments with torch 2.13.0"),
        ("2", "2", r"2 and 2 both mean 2@1 \(torch 2.13.0\+cpu\): name two runs"),
        ("2", "weekly", "both mean"),
        ("2.12.0", "2.12.0", "both mean"),
        ("2.9.1", "2.13.0", r"no run has torch 2.9.1 \(recorded: 2.12.0\+cpu, 2.13.0\+cpu, 2.14.1\+cpu\)"),
        ("nobody", "2", "no run has the id, label or uuid 'nobody'"),
        ("nobody@1", "2", "no run has the id, label or uuid 'nobody'"),
        ("77", "2", "no run has"),
        ("", "2", "no run has"),
        ("@", "2", "no run has"),
    ],
)
def test_what_means_nothing_or_several_things_is_one_sentence(
    runs: str, base: str, candidate: str, says: str
) -> None:
    for given in ((base, candidate), (candidate, base)):
        with reading(runs) as connection, pytest.raises(UserError) as error:
            resolve(connection, *given)
        message = str(error.value)
        assert "\n" not in message
    with reading(runs) as connection, pytest.raises(UserError, match=says):
        resolve(connection, base, candidate)


def test_without_a_finished_run_there_is_no_latest(database: str) -> None:
    store(database, [MadeRun("goes on", (BASE,), ended="interrupted")])
    with reading(database) as connection:
        with pytest.raises(UserError, match="no finished run is recorded"):
            resolve(connection, "1", "latest")
        # A version may still mean it: nothing better is there.
        with pytest.raises(UserError, match="both mean"):
            resolve(connection, "1", "2.13.0")


def test_a_run_that_evaluated_nothing_is_refused(database: str) -> None:
    store(database, [MadeRun("empty", workloads=())])
    with reading(database) as connection, pytest.raises(UserError, match="has evaluated nothing"):
        resolve(connection, "1", "1@2")


def test_previous_is_the_run_before_that_shares_a_cell_and_the_machine(database: str) -> None:
    runs = [
        MadeRun("comparable", (BASE,), buckets=("n=8",), started_at="2026-03-01T10:00:00+00:00"),
        MadeRun("other machine", (BASE,), started_at="2026-03-02T10:00:00+00:00", machine="machine-2"),
        MadeRun("other workload", (BASE,), workloads=("made.other",), started_at="2026-03-02T11:00:00+00:00"),
        MadeRun("interrupted", (BASE,), started_at="2026-03-02T12:00:00+00:00", ended="interrupted"),
        # The same cells in another definition are followed too.
        MadeRun("newest", (BASE,), started_at="2026-03-03T10:00:00+00:00", definition="e" * 64),
    ]
    store(database, runs)
    with reading(database) as connection:
        base, candidate = resolve(connection, "previous", "latest")
    assert (base.run_uuid, candidate.run_uuid) == (runs[0].uuid, runs[-1].uuid)
    store(
        database, [MadeRun("alone", (BASE,), workloads=("made.new",), started_at="2026-03-09T10:00:00+00:00")]
    )
    with reading(database) as connection, pytest.raises(UserError, match="no finished run before run 6"):
        resolve(connection, "previous", "latest")


def test_the_environments_of_a_run_come_in_the_order_of_its_plan(database: str) -> None:
    # Rows are made in one order for both runs.
    store(database, [MadeRun("forth", (BASE, CANDIDATE)), MadeRun("back", (CANDIDATE, BASE))])
    base, candidate = (hash_of(BASE), "2.13.0+cpu"), (hash_of(CANDIDATE), "2.14.1+cpu")
    with reading(database) as connection:
        assert environment_of_run(connection, 1) == [(*base, 1), (*candidate, 2)]
        assert environment_of_run(connection, 2) == [(*candidate, 1), (*base, 2)]
        assert environment_of_run(connection, made.run_uuid("back")) == [(*candidate, 1), (*base, 2)]
        with pytest.raises(UserError):
            environment_of_run(connection, "nobody")


def test_an_environment_keeps_its_place_where_an_earlier_one_evaluated_nothing(database: str) -> None:
    run = MadeRun("half", without=[(0, bucket) for bucket in made.BUCKETS])
    store(database, [run])
    with reading(database) as connection:
        assert environment_of_run(connection, 1) == [(hash_of(CANDIDATE), "2.14.1+cpu", 2)]


@pytest.mark.parametrize(
    ("torch", "wanted", "same"),
    [
        ("2.13.0+cpu", "2.13.0", True),
        ("2.13.0+cpu", "2.13", True),
        ("2.13.0+cpu", "2.13.0+cpu", True),
        ("2.13.0+cpu", "2.13.0+cu130", False),
        ("2.13.0", "2.13.0+cpu", False),
        ("2.13.1", "2.13.0", False),
        ("2.15.0.dev20260101+cpu", "2.15.0.dev20260101", True),
        ("2.15.0.dev20260101+cpu", "2.15.0", False),
        ("2.13.0a0+git0123", "2.13.0a0", True),
        ("not a version", "not a version", True),
        ("2.13.0", "2", False),
        (None, "2.13.0", False),
    ],
)
def test_which_version_is_meant(torch: str | None, wanted: str, same: bool) -> None:
    assert is_version(torch, wanted) is same
