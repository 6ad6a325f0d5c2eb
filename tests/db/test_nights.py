"""The nights that are recorded: which is the one before, and what a crash left open."""

from __future__ import annotations

from typing import Any

import pytest

from db.queries.nights import left_open, missing_baseline, night_before, nights, require_baseline
from db.store import Store
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import reading
from tests.evaluator.report.recorded import store_upgrade


def night(
    name: str, day: int, names: list[str], ended: str | None = "finished", **changes: Any
) -> list[made.Record]:
    plan = {"nightly": {"names": names, "told": f"told-{name}"}}
    start = {"purpose": "nightly", "plan": plan, "started_at": f"2026-03-0{day}T01:30:00+00:00"}
    run = made.head(name, **(start | changes))[0]
    end = {
        "type": "run_finished",
        "run": run["uuid"],
        "status": ended,
        "finished_at": "2026-03-09T00:00:00+00:00",
    }
    return [run, end] if ended else [run]


@pytest.fixture(scope="module")
def stored(module_database: str) -> str:
    store = Store(module_database)
    store.write_many(night("first", 1, ["pinned", "next"]))
    # Stored before the night that it follows, as an import does.
    store.write_many(night("third", 3, ["pinned"]))
    store.write_many(night("second", 2, ["next", "pinned"]))
    store.write_many(night("cut", 4, ["pinned"], ended="interrupted"))
    store.write_many(night("killed", 5, ["pinned"], ended=None))
    store.write_many(night("again", 5, [], ended=None, purpose="confirm", parent=made.run_uuid("third")))
    store.write_many(night("other", 5, [], ended=None, purpose="evaluate"))
    elsewhere = {"id": "machine-2", "cpu_model": None, "cpu_count": 2, "memory_mb": 1, "os": "Linux"}
    store.write_many(night("elsewhere", 5, ["pinned"], ended=None, machine=elsewhere))
    store.close()
    return module_database


def test_the_nights_of_a_machine_are_told_the_latest_first(stored: str) -> None:
    with reading(stored) as reads:
        found = nights(reads, "machine-1")
    assert [one.uuid for one in found] == [
        made.run_uuid(name) for name in ("killed", "cut", "third", "second", "first")
    ]
    assert [one.status for one in found] == ["running", "interrupted", *["finished"] * 3]
    assert (found[3].names, found[3].told) == (("next", "pinned"), "told-second")
    assert found[3].started_at.isoformat() == "2026-03-02T01:30:00+00:00"


def test_the_night_before_is_the_last_finished_one_that_has_the_interpreter(stored: str) -> None:
    with reading(stored) as reads:
        known = nights(reads, "machine-1")

    def before(of: str, name: str) -> tuple[str, int] | None:
        found = night_before(known, made.run_uuid(of), name)
        return found and (found[0].uuid, found[1])

    assert before("killed", "pinned") == (made.run_uuid("third"), 1)
    assert before("third", "pinned") == (made.run_uuid("second"), 2)
    assert before("killed", "next") == (made.run_uuid("second"), 1)
    assert before("first", "pinned") is None
    assert before("killed", "nobody") is None


def test_what_a_crash_left_open_is_found_with_the_runs_that_confirm_it(stored: str) -> None:
    with reading(stored) as reads:
        assert left_open(reads, "machine-1") == [made.run_uuid("killed"), made.run_uuid("again")]
        assert left_open(reads, "machine-2") == [made.run_uuid("elsewhere")]


@pytest.fixture(scope="module")
def pinned(module_database: str) -> str:
    """A run with one environment, and one with two of one version."""
    store = Store(module_database)
    store.write_many(made.whole_run("alone"))
    store_upgrade(module_database, {}, confirmed=False, name="both")
    store.close()
    return module_database


@pytest.mark.parametrize(
    "reference", ["label-alone", made.run_uuid("alone")[:8], "2.13.0", "2.14.1+cpu", "label-both@2"]
)
def test_a_baseline_that_means_one_side_is_taken(pinned: str, reference: str) -> None:
    with reading(pinned) as reads:
        require_baseline(reads, reference)
        assert missing_baseline(reads, reference) is None


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("latest", "changes every night"),
        ("previous", "changes every night"),
        ("latest@2", "changes every night"),
        ("999", "no run has the id"),
        ("999@1", "no run has the id"),
        ("0123abcd", "no run has the id, label or uuid"),
        ("2.99.0", "no run has torch 2.99.0"),
        ("label-both", "has 2 environments: say which one"),
        ("label-both@3", "has no environment 3"),
        ("label-both@2.99.0", "has no environment 2.99.0"),
    ],
)
def test_a_baseline_that_means_nothing_or_several_is_refused(pinned: str, reference: str, said: str) -> None:
    with reading(pinned) as reads, pytest.raises(UserError) as raised:
        require_baseline(reads, reference)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_version_may_be_one_of_tonight_that_nobody_recorded(pinned: str) -> None:
    with reading(pinned) as reads:
        for reference, torch in (
            ("2.99.0", "2.99.0"),
            ("2.99.0", "2.99.0+cpu"),
            ("2.99.0+cpu", "2.99.0"),
        ):
            require_baseline(reads, reference, [None, torch])
    require_baseline(None, "2.99.0", ["2.99.0"])


@pytest.mark.parametrize("reference", ["release", "release@2", "deadbeef", "2026-03-01"])
def test_a_label_may_come_later(pinned: str, reference: str) -> None:
    label = reference.partition("@")[0]
    with reading(pinned) as reads:
        require_baseline(reads, reference)
        assert missing_baseline(reads, reference) == label
    require_baseline(None, reference)
    assert missing_baseline(None, reference) == label


def test_without_a_database_an_id_means_nothing() -> None:
    for reference in ("1", "1@2", "0123abcd", "2.13.0"):
        with pytest.raises(UserError, match="no run is recorded yet"):
            require_baseline(None, reference)
