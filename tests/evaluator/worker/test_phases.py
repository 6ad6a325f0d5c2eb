"""Phases and autotuning of a compile, from torch's own record of it."""

from __future__ import annotations

import pytest
from torch._dynamo.utils import CompilationMetrics

from evaluator.worker.phases import autotune_s, phase_samples

COMPILED = CompilationMetrics(
    dynamo_cumulative_compile_time_us=9_000_000,
    aot_autograd_cumulative_compile_time_us=7_000_000,
    inductor_cumulative_compile_time_us=4_000_000,
    triton_compile_time_us=1_500_000,
)
# What torch writes when a graph's first run is over: a record of its own, which has no phases.
LAUNCHED = CompilationMetrics(is_runtime=True, runtime_triton_autotune_time_us=250_000)


def phases(*metrics: CompilationMetrics) -> list[float | None]:
    return [sample["value"] for sample in phase_samples(metrics)]


def test_each_phase_is_without_those_it_calls() -> None:
    assert phases(COMPILED, LAUNCHED) == pytest.approx([2.0, 3.0, 2.5, 1.5])


def test_a_lazy_backward_is_outside_the_frame_and_goes_by_way_of_aot_autograd() -> None:
    backward = CompilationMetrics(
        backward_cumulative_compile_time_us=3_000_000, inductor_cumulative_compile_time_us=2_000_000
    )
    # Dynamo 9 + 3 around AOTAutograd's 7 + 3, around Inductor's 4 + 2.
    assert phases(COMPILED, backward) == pytest.approx([2.0, 4.0, 4.5, 1.5])


def test_what_torch_does_not_say_is_null() -> None:
    assert phases() == [None] * 4
    assert phases(CompilationMetrics(dynamo_cumulative_compile_time_us=5)) == [None] * 4


@pytest.mark.parametrize(
    ("metrics", "seconds"),
    [
        ([], None),
        ([COMPILED], 0.0),
        ([COMPILED, LAUNCHED], 0.25),
        # Configurations tried within the choice among templates are part of its time.
        (
            [
                CompilationMetrics(
                    compile_time_autotune_time_us=800_000, runtime_triton_autotune_time_us=300_000
                )
            ],
            0.8,
        ),
        ([CompilationMetrics(runtime_triton_autotune_time_us=300_000), LAUNCHED], 0.55),
        ([object()], None),
    ],
)
def test_autotuning_counts_once(metrics: list[CompilationMetrics], seconds: float | None) -> None:
    assert autotune_s(metrics) == (seconds if seconds is None else pytest.approx(seconds))
