"""Exceptions that say that a card is needed, and those that only speak of one; most are torch's own, raised here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention

from evaluator.worker.targets.codegen.needs_card import needs_card

NO_CARD = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")


def attention_of_a_card() -> Any:
    x = torch.ones(1, 1, 8, 8)
    with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION]):
        return functional.scaled_dot_product_attention(x, x, x)


def flexible_with_gradient() -> Any:
    x = torch.ones(1, 1, 16, 16, requires_grad=True)
    return torch.compile(flex_attention, backend="eager")(x, x, x)


@pytest.mark.parametrize(
    "wants",
    [
        attention_of_a_card,
        flexible_with_gradient,
        pytest.param(lambda: torch.ones(2, device="cuda"), marks=NO_CARD),
        pytest.param(lambda: torch.nn.Linear(2, 2).cuda(), marks=NO_CARD),
        lambda: torch.ops.aten._fused_rms_norm_backward(
            torch.ones(2, 2), torch.ones(2, 2), [2], torch.ones(2, 1), None, [True, False]
        ),
        lambda: torch.ops.aten._thnn_fused_gru_cell(torch.ones(2, 12), torch.ones(2, 12), torch.ones(2, 4)),
    ],
)
def test_what_torch_says_that_a_cpu_can_not_do(wants: Callable[[], Any]) -> None:
    with pytest.raises(Exception) as caught:
        wants()
    reason = needs_card(caught.value)
    assert reason is not None, str(caught.value)
    assert reason.startswith("it does not run on a CPU, where this target runs it: ")


@pytest.mark.parametrize(
    "said",
    [
        "all tensors need to be on CUDA or XPU",
        "FlashAttention only supports Ampere GPUs or newer.",
        "Found no NVIDIA driver on your system.",
        "No CUDA GPUs are available",
        "a GPU is required",
        "Torch not compiled with CUDA enabled",
        "No operator found for this call:\n    device=cpu (supported: {'cuda'})",
        "this layer doesn't support the CPU, and is not implemented for CPU tensors",
        "Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)",
        "\"addmm_impl_cpu_\" not implemented for 'Half'",
    ],
)
def test_a_card_that_is_needed(said: str) -> None:
    assert needs_card(RuntimeError(said)) is not None


@pytest.mark.parametrize(
    "said",
    [
        "the GPU cluster name is wrong",
        "no GPU cluster of this name",
        "unknown key 'gpu'",
        "batch_sizes should always be on CPU",
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
        "cudagraph_policy must be a text",
    ],
)
def test_a_workload_that_is_broken_wherever_it_runs(said: str) -> None:
    assert needs_card(ValueError(said)) is None
