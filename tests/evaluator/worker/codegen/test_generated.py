"""What is generated for a card that is not there, and that everything else stays as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from evaluator.cards import KNOWN
from evaluator.worker.errors import Unsupported, status_of
from evaluator.worker.targets.codegen.compiling import Codegen
from tests.evaluator.worker.codegen.generating import compiler, generated, sources

pytestmark = pytest.mark.slow

X = torch.linspace(-3, 3, 512 * 512).reshape(512, 512)
Y = torch.linspace(2, -2, 512 * 512).reshape(512, 512)


def gated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return functional.silu(x + y) * (x - y)


def test_four_eager_kernels_become_the_one_that_a_real_card_names() -> None:
    # Observed on an RTX 3080 with torch 2.13.0+cu130.
    assert generated(gated, X, Y) == ["triton_poi_fused_add_mul_silu_sub_0"]


def test_a_norm_after_an_activation_is_one_persistent_reduction() -> None:
    def normalised(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(functional.gelu(x), (1024,), weight, bias)

    x = torch.ones(256, 1024, dtype=torch.bfloat16)
    weight = torch.ones(1024, dtype=torch.bfloat16)
    assert generated(normalised, x, weight, weight) == ["triton_per_fused_gelu_native_layer_norm_0"]


def test_a_fused_kernel_moves_each_input_and_output_once() -> None:
    with compiler() as codegen:
        codegen.compile(gated, {})(X, Y)
        (kernel,) = codegen.generated
    # Two inputs and an output of 512 x 512 floats of 4 bytes.
    assert kernel.bytes_moved == 3 * 512 * 512 * 4
    assert (kernel.graph, kernel.backward) == ("0/0", False)


def test_a_kernel_that_does_several_side_by_side_moves_what_all_of_them_do() -> None:
    def step(these: list[torch.Tensor], others: list[torch.Tensor]) -> Any:
        torch._foreach_add_(these, others, alpha=0.5)
        return torch._foreach_sqrt(these)

    sizes = (1000, 64, 300)
    with compiler() as codegen:
        codegen.compile(step, {})([torch.ones(n) for n in sizes], [torch.ones(n) for n in sizes])
    (kernel,) = codegen.generated
    assert kernel.name.startswith("triton_for_")
    # Of each size two tensors are read, the first is written back, and its root is written.
    assert kernel.bytes_moved == sum(sizes) * 4 * 4


def test_the_workload_goes_on_with_right_numbers_through_breaks_recompiles_and_backward() -> None:
    layers = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 8))

    def broken(x: torch.Tensor) -> torch.Tensor:
        hidden = layers(x)
        torch._dynamo.graph_break()
        return hidden.square().mean()

    with compiler() as codegen:
        compiled = codegen.compile(broken, {})
        for rows in (4, 6):
            x = torch.linspace(-1, 1, rows * 24).reshape(rows, 24)
            layers.zero_grad()
            compiled(x).backward()
            got = [parameter.grad.clone() for parameter in layers.parameters() if parameter.grad is not None]
            layers.zero_grad()
            broken(x).backward()
            for mine, parameter in zip(got, layers.parameters(), strict=True):
                torch.testing.assert_close(mine, parameter.grad)
        graphs = {kernel.graph for kernel in codegen.generated}
        assert any(kernel.backward for kernel in codegen.generated)
    # Two frames (the break parts them), each compiled again for the other number of rows.
    assert {"0/0", "0/1"} <= graphs
    assert len(graphs) == 4


def test_random_numbers_constants_branches_and_writes_into_views_are_generated_too() -> None:
    table = torch.arange(512.0)

    def mixed(x: torch.Tensor) -> torch.Tensor:
        out = functional.dropout(x, 0.25) + torch.rand_like(x) + torch.tensor([1.0, 2.0] * 256) * table
        out[:, 3:7].mul_(2)
        return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (out,))

    names = generated(mixed, X)
    assert any("native_dropout" in name for name in names)
    assert any("cos" in name for name in names)
    assert any("sin" in name for name in names)


def test_an_operator_made_of_others_is_generated_by_a_build_without_cuda_too() -> None:
    # Its backward adds up by masked indices, an operator that takes itself apart before any tensor is looked at.
    table = nn.Embedding(30, 8, padding_idx=0)
    places = torch.arange(12)

    def looked_up(x: torch.Tensor) -> torch.Tensor:
        rows = torch.ops.aten._unsafe_masked_index(x, places[:, None] > 3, [places], 0.0)
        return (rows * table(places)).sum()

    with compiler() as codegen:
        x = torch.ones(40, 8, requires_grad=True)
        codegen.compile(looked_up, {})(x).backward()
        assert any(kernel.backward for kernel in codegen.generated)
    torch.testing.assert_close(x.grad[4:12], table(places[4:]).detach())
    assert float(x.grad[:4].abs().sum()) == 0.0


def test_two_cards_have_code_of_their_own() -> None:
    def summed(x: torch.Tensor) -> torch.Tensor:
        return x.sum()

    found: dict[str, dict[str, str]] = {}
    for card in ("h100", "l4"):
        with sources() as taken:
            generated(summed, X, card=card)
        found[card] = dict(taken)
    assert all("cc=90" in source for source in found["h100"].values())
    assert all("cc=89" in source for source in found["l4"].values())


def everything() -> dict[str, Any]:
    """What the simulated card answers through, as it is now."""
    from torch._dynamo import device_interface
    from torch._inductor import graph, inductor_prims, select_algorithm
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.codegen.triton import TritonScheduling
    from torch._inductor.fx_passes import reinplace
    from torch._inductor.runtime import triton_helpers
    from torch.utils import _triton
    from triton.runtime.driver import driver

    aten = torch.ops.aten
    exchanged = (aten.scaled_dot_product_attention, aten.rms_norm, aten.lstm_cell, aten.gru_cell)
    return {
        **{f"torch.cuda.{name}": value for name, value in vars(torch.cuda).items() if callable(value)},
        "torch._C": set(vars(torch._C)),
        "torch.version.cuda": torch.version.cuda,
        "interfaces": dict(device_interface.device_interfaces),
        "driver": (driver._active, driver._default),
        "set_driver": triton_helpers.set_driver_to_gpu,
        "has_triton": (_triton.has_triton, _triton.has_triton()),
        "handed over": AsyncCompile.triton,
        "defined": TritonScheduling.define_kernel,
        "constants": graph.GraphLowering.constant_name,
        "scatter": reinplace._inplace_generalized_scatter,
        "selector": select_algorithm._ALGORITHM_SELECTOR_CACHE,
        "operators": [dict(operator.default.py_kernels) for operator in exchanged],
        "random": inductor_prims.lookup_seed.prim_meta_impl,
        "available": torch.cuda.is_available(),
    }


@pytest.mark.parametrize("refused", [False, True])
def test_everything_is_as_it_was_after_a_graph_also_where_it_was_refused(refused: bool) -> None:
    def attends(x: torch.Tensor) -> torch.Tensor:
        y = torch.ops.mkldnn._linear_pointwise(x, x, None, "none", [], "") if refused else x @ x
        return functional.scaled_dot_product_attention(y[None, None], y[None, None], y[None, None]).sin()

    small = X[:32, :32].contiguous()
    with compiler():
        pass
    before = everything()
    with compiler() as codegen:
        compiled = codegen.compile(attends, {})
        if refused:
            with pytest.raises(Exception, match="CPU's own operator") as caught:
                compiled(small)
            assert status_of(caught.value, "compile") == "unsupported"
        else:
            compiled(small)
    assert everything() == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backend": "aot_eager"}, "generates no code"),
        ({"mode": "reduce-overhead"}, "records or times on the card itself"),
        ({"mode": "max-autotune"}, "records or times on the card itself"),
    ],
)
def test_what_needs_the_card_itself_is_unsupported(options: dict[str, Any], said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        Codegen.of(KNOWN["h100"]).compile(gated, options)
