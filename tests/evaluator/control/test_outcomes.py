"""What is not worth running after a failure, and the status a cell ends with."""

from __future__ import annotations

import pytest

from evaluator.control.outcomes import Outcome, skip_reason, verdict
from evaluator.plan import ProbeKey, Step
from evaluator.worker.protocol import Status

COLD = Step("compile", ("a",), "f", cache="cold")
WARM = Step("compile", ("a",), "f", cache="warm")
TRACED = Step("walk", ("a",), "f", timing=True, traced=True)
UNTRACED = Step("walk", ("a",), "f", timing=True)
ACCURACY = Step("accuracy", ("a",), "f")
MEMORY = Step("memory", ("a",), "f", mode="eager")
PROFILE = Step("profile", ("a",), "f", mode="compiled")


def known(**statuses: Status) -> dict[ProbeKey, Outcome]:
    keys: dict[str, ProbeKey] = {
        "cold": (0, "compile", "cold"),
        "warm": (0, "compile", "warm"),
        "walk": (0, "walk", None),
        "timing": (0, "timing", None),
        "accuracy": (0, "accuracy", None),
        "memory": (0, "memory", None),
        "profile": (0, "profile", None),
    }
    return {keys[name]: Outcome(status, f"because of {name}") for name, status in statuses.items()}


def test_a_sound_cell_skips_nothing() -> None:
    for step in (COLD, WARM, TRACED, ACCURACY, MEMORY, PROFILE):
        assert skip_reason(0, step, known(cold="ok", walk="ok")) is None
    assert skip_reason(1, COLD, known(cold="ok", walk="ok", timing="not_comparable")) is None


@pytest.mark.parametrize("status", ["crashed", "out_of_memory", "timeout"])
def test_what_ended_a_compile_is_run_into_once_more_only_for_evidence(status: Status) -> None:
    before = known(cold=status)
    assert skip_reason(0, TRACED, before) is None
    for step in (WARM, UNTRACED, ACCURACY, MEMORY, PROFILE):
        reason = skip_reason(0, step, before)
        assert reason is not None
        assert status in reason


def test_an_exception_in_compile_still_asks_accuracy_whether_eager_raises_too() -> None:
    before = known(cold="compile_error", walk="compile_error")
    assert skip_reason(0, ACCURACY, before) is None
    assert skip_reason(0, MEMORY, before) is not None
    assert skip_reason(0, WARM, before) is not None


def test_no_later_replica_repeats_a_failure() -> None:
    for name in ("cold", "walk", "timing"):
        reason = skip_reason(3, COLD, known(**{name: "runtime_error"}))
        assert reason is not None
        assert "replica 0" in reason


def test_a_wrong_or_unjudged_result_is_still_measured_to_the_end() -> None:
    for status in ("accuracy_failed", "not_comparable", "timeout"):
        assert skip_reason(1, COLD, known(cold="ok", walk="ok", accuracy=status)) is None


def test_the_cell_ends_as_its_worst_probe_with_that_probes_reason() -> None:
    assert verdict(known(cold="ok", walk="crashed", accuracy="skipped")) == Outcome(
        "crashed", "because of walk"
    )


def test_an_accuracy_that_cant_be_judged_shows_only_where_all_else_is_well() -> None:
    assert verdict(known(cold="ok", accuracy="not_comparable")).status == "not_comparable"
    assert (
        verdict(known(cold="ok", accuracy="not_comparable", timing="runtime_error")).status == "runtime_error"
    )


def test_of_equal_failures_accuracy_tells_which_side_raised() -> None:
    ending = verdict(
        known(cold="ok", timing="runtime_error", accuracy="runtime_error", memory="runtime_error")
    )
    assert ending == Outcome("runtime_error", "because of accuracy")


def test_a_profiler_that_fails_says_nothing_of_the_cell() -> None:
    assert verdict(known(cold="ok", walk="ok", profile="crashed")).status == "ok"
    assert verdict(known(cold="ok", walk="not_comparable", profile="timeout")).reason == "because of walk"


def test_a_cell_with_no_probe_is_skipped() -> None:
    assert verdict({}) == Outcome("skipped", None)
