"""Which of the probes' findings become an evaluation's facts."""

from __future__ import annotations

from typing import Any

from db.facts import TYPED, ProbeFacts, merge


def walk(id_: int, replica: int | None, facts: dict[str, Any], attempt: int = 1) -> ProbeFacts:
    return ProbeFacts(id_, replica, attempt, "walk", None, facts)


def test_counts_come_from_the_first_walk_that_has_evidence() -> None:
    merged = merge(
        [
            walk(3, 1, {"graphs": 9, "ops": 9}),
            walk(2, 0, {"graphs": 2, "compile_starts": 3}),
            ProbeFacts(1, 0, 1, "compile", "cold", {"cache_misses": 7, "late_imports": 0}),
        ]
    )
    assert merged.probe_id == 2
    assert merged.typed["graphs"] == 2
    # Not mixed with another walk's, nor with another process's caches.
    assert merged.typed["ops"] is None and merged.typed["cache_misses"] is None
    assert merged.extra == {"compile_starts": 3, "compile.cold": {"cache_misses": 7, "late_imports": 0}}


def test_a_walk_without_a_trace_is_passed_over_for_one_with() -> None:
    merged = merge([walk(1, 0, {"signal": 9}), walk(2, 1, {"graphs": 0})])
    assert (merged.probe_id, merged.typed["graphs"]) == (2, 0)


def test_the_last_attempt_of_a_replica_comes_first() -> None:
    assert merge([walk(1, 0, {"graphs": 1}), walk(2, 0, {"graphs": 5}, attempt=2)]).typed["graphs"] == 5


def test_without_a_walk_there_are_no_counts() -> None:
    merged = merge([])
    assert merged.probe_id is None
    assert merged.typed == dict.fromkeys(TYPED)


def test_a_fact_of_another_type_is_shown_as_it_was_reported() -> None:
    merged = merge(
        [walk(1, 0, {"graphs": "many", "recompile_limit_hit": 1, "ran_eager": "half", "ops": True})]
    )
    assert [merged.typed[name] for name in ("graphs", "recompile_limit_hit", "ran_eager", "ops")] == [
        None
    ] * 4
    shown = merged.shown()
    assert (shown["graphs"], shown["recompile_limit_hit"], shown["ran_eager"]) == ("many", 1, "half")


def test_zero_and_false_are_known() -> None:
    shown = merge([walk(1, 0, {"graphs": 0, "nothing_compiled": False, "ops": None})]).shown()
    assert (shown["graphs"], shown["nothing_compiled"], shown["ops"]) == (0, False, None)
