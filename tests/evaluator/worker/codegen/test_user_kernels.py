"""Triton kernels of a workload's own: run by Triton's interpreter where it can, and left out, and said, where it can't."""

from __future__ import annotations

import signal
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from evaluator.worker.targets.codegen import user_kernels
from evaluator.worker.targets.codegen.patching import patched
from tests.evaluator.worker.codegen.generating import compiler, sources


@triton.jit
def assembled(source, goal, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    place = tl.arange(0, BLOCK)
    value = tl.load(source + place)
    said = tl.inline_asm_elementwise(
        "neg.f32 $0, $1;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(goal + place, said)


@triton.jit
def hyperbolic(values, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    place = tl.arange(0, BLOCK)
    tl.store(values + place, libdevice.sinh(tl.load(values + place)))


@triton.jit
def waiting(flag, goal, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    while tl.load(flag) == 0:
        pass
    tl.store(goal + tl.arange(0, BLOCK), 1.0)


def test_a_kernel_of_the_workloads_own_runs_and_is_generated() -> None:
    from workloads.packs.custom import cube_kernel

    kernel = cube_kernel()

    def cubed(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        kernel[((x.numel() + 255) // 256,)](x, out, x.numel(), BLOCK=256)
        return out + 1

    x = torch.linspace(-2, 2, 1000)
    with compiler() as codegen:
        torch.testing.assert_close(codegen.compile(cubed, {"fullgraph": True})(x), x**3 + 1)
        # The addition alone is Inductor's.
        assert [one.name for one in codegen.generated] == ["triton_poi_fused_add_0"]
        assert codegen.notes == []


def test_what_the_interpreter_can_not_run_is_left_out_and_its_neighbours_are_generated() -> None:
    def negated(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x)
        out = torch.empty_like(y)
        assembled[(1,)](y, out, BLOCK=64)
        return out + 1

    with compiler() as codegen, sources() as found:
        compiled = codegen.compile(negated, {"fullgraph": True})
        for _ in range(2):
            # Nobody wrote to the buffer: it is the same each time, whatever memory held.
            assert compiled(torch.ones(64)).tolist() == [1.0] * 64
        assert codegen.notes == [codegen.notes[0]] * 2
        assert "assembled was not executed" in codegen.notes[0]
        assert "inline_asm not supported in interpreter mode" in codegen.notes[0]
    assert set(found) == {"triton_poi_fused_sin_0", "assembled", "triton_poi_fused_add_1"}


def test_an_argument_that_would_be_written_keeps_what_it_had() -> None:
    def grown(x: torch.Tensor) -> torch.Tensor:
        hyperbolic[(1,)](x, BLOCK=64)
        # What is decided by it goes on all the same.
        return x * 2 if x.sum() > 32 else x - 2

    x = torch.ones(64)
    with compiler() as codegen:
        assert codegen.compile(grown, {})(x).tolist() == [2.0] * 64
        assert x.tolist() == [1.0] * 64
        assert list(codegen.not_run) == ["hyperbolic"]
        assert [one.name for one in codegen.generated] == [
            "triton_per_fused_gt_sum_0",
            "triton_poi_fused_mul_0",
        ]


def test_a_launch_that_comes_to_no_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        waiting[(1,)](x, out, BLOCK=64)
        return out + 1

    heard: list[Any] = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append("an alarm of the program's own"))
    try:
        with compiler() as codegen, patched(user_kernels, "LIMIT_S", 0.5):
            compiled = codegen.compile(waits, {})
            compiled(torch.zeros(64))
            assert "takes over" in codegen.not_run["waiting"]
            # On values that let it end it is another launch of the same form: not tried again, and said again.
            compiled(torch.ones(64))
            assert len(codegen.notes) == 2
        signal.raise_signal(signal.SIGALRM)
        assert heard
    finally:
        signal.signal(signal.SIGALRM, before)
