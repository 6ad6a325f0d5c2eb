"""Operators that torch's C++ dispatcher takes apart on a CPU and not on a card."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from evaluator.worker.errors import status_of, unsupported
from tests.evaluator.worker.codegen.generating import compiler

pytestmark = pytest.mark.slow


def normed(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, weight.shape, weight).sinh()


def taken(function: Any, *args: torch.Tensor) -> tuple[list[str], list[str]]:
    """Names of the kernels of forward and backward; the values and gradients are held against eager's."""
    with compiler() as codegen:
        out = codegen.compile(function, {})(*args)
        gradients = torch.autograd.grad(out.square().sum(), args)
        kernels = list(codegen.generated)
    right = function(*args)
    torch.testing.assert_close(out, right)
    torch.testing.assert_close(gradients, torch.autograd.grad(right.square().sum(), args))
    names: tuple[list[str], list[str]] = ([], [])
    for kernel in kernels:
        names[kernel.backward].append(kernel.name)
    return names


def leaf(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return torch.linspace(-1, 1, count, dtype=torch.float32).reshape(shape).requires_grad_()


def test_a_root_mean_square_norm_is_the_cards_operator_in_both_directions() -> None:
    # What torch's own test demands of a card (test_decomp.py, test_rms_norm_decomp_cuda), by its sizes.
    forward, backward = taken(normed, leaf(3, 3, 3), leaf(3, 3, 3))
    assert "triton_per_fused__fused_rms_norm_sinh" in forward[0]
    assert any(
        "triton_per_fused__fused_rms_norm__fused_rms_norm_backward_cosh_mul" in one for one in backward
    )


@pytest.mark.parametrize(
    ("x", "weight"),
    [
        (torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), torch.ones(5)),
        (torch.ones(2, 3, 4, 5), torch.ones(5, dtype=torch.bfloat16)),
        (torch.ones(2, 3, 4, 5, dtype=torch.bfloat16), torch.ones(5)),
    ],
)
def test_a_norm_that_no_device_fuses_is_what_it_is_made_of(x: torch.Tensor, weight: torch.Tensor) -> None:
    # Tensors of a card without data, in torch 2.12 and 2.14, give aten.pow, aten.mean, ... here.
    with compiler() as codegen:
        codegen.compile(normed, {})(x, weight)
        names = [kernel.name for kernel in codegen.generated]
    assert any("_pow_" in name for name in names)
    assert not any("rms_norm" in name for name in names)


def test_a_norm_under_torch_func_is_the_cards_operator_too() -> None:
    def gradient(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda y: normed(y, weight).sum())(x)

    x, weight = leaf(8, 16).detach(), leaf(16).detach()
    with compiler() as codegen:
        torch.testing.assert_close(codegen.compile(gradient, {})(x, weight), gradient(x, weight))
        names = [kernel.name for kernel in codegen.generated]
    assert any("_fused_rms_norm_backward" in name for name in names)


@pytest.mark.parametrize(
    ("cell", "fused"), [(nn.LSTMCell, "_thnn_fused_lstm_cell"), (nn.GRUCell, "_thnn_fused_gru_cell")]
)
@pytest.mark.parametrize("bias", [True, False])
def test_a_recurrent_cell_is_unsupported_with_what_the_card_runs(cell: Any, fused: str, bias: bool) -> None:
    with compiler() as codegen:
        compiled = codegen.compile(cell(8, 4, bias=bias), {})
        with pytest.raises(Exception, match=fused) as caught:
            compiled(torch.ones(2, 8))
    assert status_of(caught.value, "compile") == "unsupported"
    reason = unsupported(caught.value)
    # Not what the tracer adds: where it was, and how to see the whole graph.
    assert "While executing" in str(caught.value)
    assert reason == (
        f"{fused.replace('_thnn_fused_', 'aten::')} is {fused} on the card and other operators on the CPU, "
        "where this target traces"
    )
