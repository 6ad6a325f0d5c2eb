"""Operators that a CPU takes apart in another way than a card: what a CUDA build makes of them, read from torch's source."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from evaluator.worker.targets.codegen import decompositions
from tests.evaluator.worker.codegen.generating import compiler, generated, sources

pytestmark = pytest.mark.slow


def test_a_group_norm_is_one_kernel() -> None:
    # On a CPU its weight is folded into a scale and a shift, in a kernel of their own (_refs.native_group_norm).
    assert generated(nn.GroupNorm(4, 16).eval().requires_grad_(False), torch.ones(2, 16, 32)) == [
        "triton_per_fused_native_group_norm_0"
    ]


def test_the_gradient_of_a_convolutions_bias_is_a_sum_of_its_own() -> None:
    # Only on a GPU (_inductor.decomposition.convolution_backward).
    layer = nn.Conv2d(4, 8, 3)
    with compiler() as codegen:
        codegen.compile(layer, {})(torch.ones(2, 4, 16, 16)).sum().backward()
        backward = [kernel.name for kernel in codegen.generated if kernel.backward]
    assert backward == ["triton_per_fused_convolution_backward_0"]


def test_statistics_of_a_half_precision_norm_are_kept_in_float32() -> None:
    # A CPU rounds them to the input's dtype (_refs.native_layer_norm).
    layer = nn.LayerNorm(64).bfloat16()
    with sources() as found, compiler() as codegen:
        codegen.compile(layer, {})(torch.ones(8, 64, dtype=torch.bfloat16)).sum()
        (forward,) = [kernel.name for kernel in codegen.generated]
    # Inputs, weight, bias and the output are bfloat16; what is saved for the backward is not.
    assert found[forward].count("'*fp32'") == 2


@pytest.mark.parametrize(
    ("left", "right", "kernels"),
    [
        # A column times a row is multiplied element by element on a GPU of any size (_inductor.decomposition.mm).
        ((64, 1), (1, 128), 1),
        # A row times a column is summed up by the CPU alone.
        ((1, 64), (64, 1), 0),
    ],
)
def test_products_of_one_row_or_column(left: tuple[int, int], right: tuple[int, int], kernels: int) -> None:
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    assert len(generated(product, torch.ones(left), torch.ones(right))) == kernels


@pytest.mark.parametrize(("precision", "fused"), [("ieee", False), ("tf32", True)])
def test_attention_written_out_in_float32_is_only_found_where_tf32_is_allowed(
    precision: str, fused: bool
) -> None:
    def attends(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return torch.softmax(query @ key.transpose(-1, -2) / 8, dim=-1) @ value

    x = torch.ones(2, 4, 64, 64)
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = precision
    try:
        with compiler() as codegen:
            codegen.compile(attends, {})(x, x, x)
            found = bool(codegen.attention)
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
    assert found is fused


def test_a_region_compiled_by_itself_is_the_cards() -> None:
    @torch.compiler.nested_compile_region
    def region(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x - 1, dim=-1)

    def twice(x: torch.Tensor) -> torch.Tensor:
        return region(x) * 2

    names = generated(twice, torch.ones(64, 64))
    assert names
    assert all(name.startswith("triton_") for name in names)


def test_attention_under_a_checkpoint_runs_and_hides_the_same() -> None:
    from torch.utils.checkpoint import checkpoint

    def attends(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(
            lambda y: functional.scaled_dot_product_attention(y.sin(), y, y, dropout_p=dropout),
            x,
            use_reentrant=False,
        )

    x = torch.linspace(-1, 1, 2 * 4 * 16 * 16).reshape(2, 4, 16, 16).requires_grad_()
    for dropout in (0.0, 0.25):
        with compiler() as codegen:
            out = codegen.compile(attends, {})(x)
            (gradient,) = torch.autograd.grad(out.square().sum(), x)
        assert bool(gradient.isfinite().all())
        if dropout == 0.0:
            right = torch.autograd.grad(attends(x).square().sum(), x)
            torch.testing.assert_close((gradient,), right)


def test_the_functions_are_as_they_were_afterwards() -> None:
    from torch._decomp import decompositions as theirs
    from torch._inductor import decomposition

    def codes() -> list[Any]:
        return [
            torch._refs.native_layer_norm.__wrapped__.__code__
            if hasattr(torch._refs.native_layer_norm, "__wrapped__")
            else torch._refs.native_layer_norm.__code__,
            theirs.native_batch_norm_helper.__code__,
            decomposition.convolution_backward.__code__,
        ]

    before = codes()
    with pytest.raises(RuntimeError), decompositions.of_card():
        assert codes() != before
        raise RuntimeError
    assert codes() == before
