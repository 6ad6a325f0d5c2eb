"""Phases of a compile, from nested durations in microseconds."""

from __future__ import annotations

from evaluator.trace.phases import Phases, add_up, phases_of

ROW = {
    "dynamo_cumulative_compile_time_us": 8_900_000,
    "aot_autograd_cumulative_compile_time_us": 8_800_000,
    "inductor_cumulative_compile_time_us": 7_800_000,
    "triton_compile_time_us": 700_000,
}


def test_each_phase_is_without_the_one_inside_it() -> None:
    phases = phases_of(ROW)
    assert phases == Phases(dynamo_s=0.1, aot_autograd_s=1.0, inductor_s=7.1, toolchain_s=0.7)
    assert phases.total_s == 8.9


def test_a_backward_has_no_dynamo() -> None:
    phases = phases_of(
        {
            "backward_cumulative_compile_time_us": 856_000,
            "inductor_cumulative_compile_time_us": 850_000,
            "triton_compile_time_us": 650_000,
        }
    )
    assert phases == Phases(None, aot_autograd_s=0.006, inductor_s=0.2, toolchain_s=0.65)


def test_a_backend_without_inductor_leaves_its_phases_unknown() -> None:
    phases = phases_of({name: ROW[name] for name in list(ROW)[:2]})
    assert phases == Phases(dynamo_s=0.1, aot_autograd_s=8.8, inductor_s=None, toolchain_s=None)


def test_code_out_of_the_cache_still_adds_up() -> None:
    phases = phases_of(ROW | {"inductor_cumulative_compile_time_us": None})
    assert phases.total_s == 8.9
    assert phases.inductor_s is None


def test_unknown_stays_unknown() -> None:
    assert phases_of({}) == Phases()
    assert Phases().total_s is None
    assert add_up([]) == Phases()
    assert add_up([Phases(dynamo_s=1.0), Phases(dynamo_s=0.5, toolchain_s=2.0)]) == Phases(
        1.5, None, None, 2.0
    )
