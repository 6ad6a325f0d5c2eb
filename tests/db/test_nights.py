"""The nights that are recorded: which is the one before, and what a crash left open."""

from __future__ import annotations

from typing import Any

import pytest

from db.queries.nights import left_open, night_before, nights, require_baseline
from db.store import Store
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import reading


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


def test_a_baseline_that_means_nothing_is_refused_and_a_version_is_not(stored: str) -> None:
    with reading(stored) as reads:
        for reference in (
            "label-first",
            "1",
            made.run_uuid("first")[:8],
            "1@2",
            "2.13.0",
            "latest",
            "previous",
        ):
            require_baseline(reads, reference)
        for reference in ("nobody", "nobody@2", "999"):
            with pytest.raises(UserError, match="no run has"):
                require_baseline(reads, reference)
