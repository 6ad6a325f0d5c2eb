"""Rungs are stored as variants, and stay out of what pages follow over versions; a run says what it is for."""

from __future__ import annotations

import pytest

from db.queries import history, overview
from db.queries.durations import unit_durations
from db.queries.resume import unfinished_run
from db.queries.runs import list_runs
from db.queries.show import run_document
from db.store import Store
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import ask, reading
from tests.db.upgrades import BASE, CANDIDATE, MadeRun, fields

UPGRADE = MadeRun("upgrade", purpose="upgrade")
LADDER = MadeRun(
    "ladder",
    # One more version and one more workload, to see that they do not show.
    (BASE, CANDIDATE, fields("2.15.0+cpu")),
    workloads=("made.absolute", "made.explained"),
    variants=("default+eager", "default+aot_eager"),
    purpose="explain",
    parent=UPGRADE.uuid,
    ended="interrupted",
)


@pytest.fixture(scope="module")
def runs(module_database: str) -> str:
    store = Store(module_database)
    store.write_many(UPGRADE.records())
    store.write_many(LADDER.records())
    store.close()
    return module_database


def test_rungs_are_variants_after_those_they_are_derived_from(runs: str) -> None:
    rows = ask(
        runs,
        "SELECT v.name, v.position, v.evidence_only FROM variant v JOIN workload w ON w.id = v.workload_id "
        "WHERE w.name = 'made.absolute' ORDER BY v.position",
    )
    assert [(name, position, bool(only)) for name, position, only in rows] == [
        ("default", 0, False),
        ("default+eager", 1, False),
        ("default+aot_eager", 2, False),
    ]
    with reading(runs) as connection:
        evaluations = run_document(connection, LADDER.uuid)["evaluations"]
    assert {one["variant"]: one["options"] for one in evaluations} == {
        "default+eager": {"backend": "eager"},
        "default+aot_eager": {"backend": "aot_eager"},
    }


def test_pages_follow_cells_not_rungs(runs: str) -> None:
    with reading(runs) as connection:
        assert history.workload_names(connection) == ["made.absolute"]
        assert history.choices(connection, "made.explained") is None
        choices = history.choices(connection, "made.absolute")
        assert choices is not None
        assert (choices.variants, choices.older) == (("default",), 0)
        place = {"target": "cpu", "variant": "default+eager"}
        assert history.evaluations(connection, choices.definition, **place).empty
        assert len(history.evaluations(connection, choices.definition, target="cpu", variant="default")) == 4
        head = overview.headline(connection)
    assert (head.workloads, head.cells, head.evaluations) == (1, 2, 4)
    assert (head.versions, head.newest, head.runs) == (("2.13.0+cpu", "2.14.1+cpu"), 1, 2)


def test_every_run_is_listed_with_what_it_is_for(runs: str) -> None:
    with reading(runs) as connection:
        assert [row.purpose for row in list_runs(connection)] == ["explain", "upgrade"]
        assert list(overview.runs(connection)["purpose"]) == ["explain", "upgrade"]
        document = run_document(connection, "2")["run"]
        assert (document["purpose"], document["parent_uuid"]) == ("explain", UPGRADE.uuid)
        unfinished = unfinished_run(connection, "2")
    assert (unfinished.purpose, unfinished.parent) == ("explain", UPGRADE.uuid)


def test_a_run_that_says_no_purpose_evaluates(database: str) -> None:
    store = Store(database)
    store.write_many(made.whole_run("first"))
    store.close()
    assert ask(database, "SELECT purpose, parent_uuid FROM run") == [("evaluate", None)]


def test_an_unknown_purpose_is_one_sentence(database: str) -> None:
    store = Store(database)
    with pytest.raises(UserError, match="a value this version does not know"):
        store.write_many(made.whole_run("first", purpose="amuse"))
    store.close()


def test_reruns_of_a_few_cells_do_not_push_out_what_whole_runs_took(database: str) -> None:
    store = Store(database)
    store.write_many(UPGRADE.records())
    for number in range(12):
        child = MadeRun(
            f"child {number}", purpose="confirm", parent=UPGRADE.uuid, buckets=("n=4",), replicas=1
        )
        store.write_many(child.records())
    store.close()
    with reading(database) as connection:
        durations = unit_durations(connection, "machine-1")
    assert ("made.absolute", "default", "n=8", "compile") in durations
