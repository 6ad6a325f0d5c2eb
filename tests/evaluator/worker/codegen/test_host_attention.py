"""What runs on the CPU in place of a card's attention has the values and gradients of attention written out."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from evaluator.worker.targets.codegen.host_attention import REPLACED

EFFICIENT = REPLACED["aten::_scaled_dot_product_efficient_attention"]
BACKWARD = REPLACED["aten::_scaled_dot_product_efficient_attention_backward"]


@pytest.mark.parametrize(
    ("queries", "keys", "head", "value_head", "causal", "biased"),
    [
        (40, 40, 16, 16, False, False),
        (40, 40, 16, 16, True, False),
        # More queries than keys and fewer: a causal mask begins at the first of both.
        (70, 33, 16, 16, True, False),
        (33, 70, 16, 16, True, False),
        (40, 40, 16, 24, True, False),
        (1, 40, 5, 5, False, False),
        (40, 40, 16, 16, False, True),
        (0, 40, 16, 16, False, False),
    ],
)
def test_values_and_gradients(
    queries: int, keys: int, head: int, value_head: int, causal: bool, biased: bool
) -> None:
    generator = torch.Generator().manual_seed(1)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    # As a graph has them: heads behind places in memory.
    query = drawn(2, queries, 3, head).transpose(1, 2)
    key, value = drawn(2, keys, 3, head).transpose(1, 2), drawn(2, keys, 3, value_head).transpose(1, 2)
    bias = drawn(2, 3, queries, keys) if biased else None
    given = [one.detach().requires_grad_() for one in (query, key, value)]
    with sdpa_kernel(SDPBackend.MATH):
        right = functional.scaled_dot_product_attention(*given, attn_mask=bias, is_causal=causal, scale=0.3)
    weights = drawn(*right.shape)
    gradients = torch.autograd.grad((right * weights).sum(), given)

    single = [one.float() for one in (query, key, value)]
    lean = None if bias is None else bias.float()
    out, sums, seed, offset = EFFICIENT([None] * 4, *single, lean, True, 0.0, causal, scale=0.3)
    torch.testing.assert_close(out, right.float(), rtol=1e-5, atol=1e-5)
    found = BACKWARD(
        [None] * 4,
        *(weights.float(), *single, lean, out, sums, seed, offset, 0.0, [True, True, True, False], causal),
        scale=0.3,
    )
    for one, expected in zip(found, gradients, strict=False):
        torch.testing.assert_close(one, expected.float(), rtol=1e-4, atol=1e-4)
