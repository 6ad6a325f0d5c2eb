"""Attention as a card's dispatcher picks it; right choices from torch's sdp_utils.cpp, read by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from evaluator.cards import KNOWN
from evaluator.worker.errors import Unsupported
from evaluator.worker.targets.codegen import attention_rules
from evaluator.worker.targets.codegen.attention_rules import Call, choose
from evaluator.worker.targets.codegen.card import Card
from tests.evaluator.worker.codegen.generating import compiler, modules


def call(dtype: torch.dtype = torch.bfloat16, **changes: Any) -> Call:
    """Two batches of four heads of 64, 128 queries and keys."""
    shape = {"heads": 4, "queries": 128, "keys": 128, "head": 64, "value": None, **changes.pop("shape", {})}
    query = torch.empty(2, shape["heads"], shape["queries"], shape["head"], dtype=dtype, device="meta")
    key_heads = changes.pop("key_heads", shape["heads"])
    key = torch.empty(2, key_heads, shape["keys"], shape["head"], dtype=dtype, device="meta")
    value = torch.empty(
        2, key_heads, shape["keys"], shape["value"] or shape["head"], dtype=dtype, device="meta"
    )
    fields = {"mask": None, "dropout": 0.0, "causal": False, "grouped": False, "grad": False, **changes}
    return Call(query, key, value, **fields)


MASK = torch.empty(128, 128, dtype=torch.bool, device="meta")


@pytest.mark.parametrize(
    ("card", "made", "backend"),
    [
        ("h100", call(), "cudnn"),
        ("b200", call(), "cudnn"),
        ("a100", call(), "flash"),
        ("l4", call(), "flash"),
        ("h100", call(mask=MASK), "cudnn"),
        ("a100", call(mask=MASK), "efficient"),
        ("h100", call(torch.float32), "efficient"),
        ("h100", call(torch.float64), "math"),
        # cuDNN takes dropout in sixteenths only.
        ("h100", call(dropout=0.125), "cudnn"),
        ("h100", call(dropout=0.1), "flash"),
        # 4 does not divide a head of 63 in float32.
        ("h100", call(torch.float32, shape={"head": 63}), "math"),
        # Flash attention pads a head of 60; memory-efficient needs 8 to divide it.
        ("a100", call(shape={"head": 60}), "flash"),
        ("a100", call(mask=MASK, shape={"head": 60}), "math"),
        ("a100", call(shape={"head": 256}), "flash"),
        ("a100", call(shape={"head": 264}), "efficient"),
        # On cards of 8.6 to 8.9 flash attention has no backward for heads of 200.
        ("l4", call(shape={"head": 200}), "flash"),
        ("l4", call(shape={"head": 200}, grad=True), "efficient"),
        ("a100", call(shape={"head": 200}, grad=True), "flash"),
        ("a100", call(causal=True, shape={"keys": 64}), "efficient"),
        ("h100", call(shape={"keys": 1}), "flash"),
        # Fewer heads of keys than of queries: only where the call says that they are shared.
        ("a100", call(key_heads=2, grouped=True), "flash"),
        ("a100", call(key_heads=2), "math"),
    ],
)
def test_the_backend_that_a_dispatcher_takes(card: str, made: Call, backend: str) -> None:
    assert choose(made, Card(KNOWN[card])).backend == backend


@pytest.mark.parametrize(("version", "backend"), [((2, 13), "math"), ((2, 14), "efficient")])
def test_shared_heads_of_keys_are_taken_by_memory_efficient_attention_since_2_14(
    version: tuple[int, int], backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_rules, "_version", lambda: version)
    shared = call(torch.float32, key_heads=2, grouped=True)
    assert choose(shared, Card(KNOWN["a100"])).backend == backend
    # One head for all is found without being told.
    assert choose(call(torch.float32, key_heads=1), Card(KNOWN["a100"])).backend == backend


def test_what_the_version_decides_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    large = call(shape={"head": 256})
    monkeypatch.setattr(attention_rules, "_version", lambda: (2, 14))
    with pytest.raises(Unsupported, match="heads of 256"):
        choose(large, Card(KNOWN["h100"]))
    monkeypatch.setattr(attention_rules, "_version", lambda: (2, 12))
    assert choose(large, Card(KNOWN["h100"])).backend == "flash"


def test_a_choice_says_why_the_others_were_not_taken() -> None:
    why = choose(call(torch.float32), Card(KNOWN["h100"])).why
    assert "no cudnn: float32 is not half precision" in why
    assert "no flash: float32 is not half precision" in why


CUDNN, FLASH, EFFICIENT, MATH = (
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
)


@pytest.mark.parametrize(
    ("card", "left_on", "ordered", "backend"),
    [
        ("h100", [FLASH, MATH], False, "flash"),
        ("h100", [EFFICIENT], False, "efficient"),
        ("a100", [EFFICIENT, MATH], False, "efficient"),
        ("h100", [MATH], False, "math"),
        # An A100 asks cuDNN last, after what always takes a call; it takes it where it is alone.
        ("a100", [CUDNN, MATH], False, "math"),
        ("a100", [CUDNN], False, "cudnn"),
        ("a100", [EFFICIENT, FLASH], True, "efficient"),
        ("h100", [MATH, FLASH, CUDNN], True, "math"),
        ("h100", [FLASH, CUDNN], True, "flash"),
        ("h100", [FLASH, CUDNN], False, "cudnn"),
    ],
)
def test_a_program_decides_which_are_asked_and_in_which_order(
    card: str, left_on: list[SDPBackend], ordered: bool, backend: str
) -> None:
    # By select_sdp_backend and priority_order of torch's sdp_utils.cpp.
    with sdpa_kernel(left_on, set_priority=ordered):
        assert choose(call(), Card(KNOWN[card])).backend == backend
    assert choose(call(), Card(KNOWN["h100"])).backend == "cudnn"


def test_what_a_program_has_off_is_the_reason_and_nothing_left_is_an_error_on_the_card() -> None:
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        chosen = choose(call(), Card(KNOWN["h100"]))
    finally:
        torch.backends.cuda.enable_cudnn_sdp(True)
    assert (chosen.backend, chosen.why) == ("flash", "no cudnn: the program has it off")
    with sdpa_kernel(FLASH), pytest.raises(Unsupported, match="float32 is not half precision"):
        choose(call(torch.float32), Card(KNOWN["h100"]))


@pytest.mark.slow
def test_a_backend_chosen_inside_the_compiled_function_is_the_one_of_the_graph() -> None:
    def attends(x: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel([FLASH, MATH]):
            return functional.scaled_dot_product_attention(x, x, x).sin()

    x = torch.ones(2, 4, 16, 16, dtype=torch.bfloat16)
    with compiler("h100") as codegen, modules() as generated_modules:
        codegen.compile(attends, {})(x)
        assert {one.backend for one in codegen.attention} == {"flash"}
    assert "_scaled_dot_product_flash_attention" in generated_modules[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "masked", "grouped", "operator"),
    [
        (torch.float32, False, False, "_scaled_dot_product_efficient_attention"),
        (torch.float32, True, False, "_scaled_dot_product_efficient_attention"),
        (torch.bfloat16, False, True, "_scaled_dot_product_flash_attention"),
    ],
)
def test_the_graph_has_the_cards_operator_and_the_cpu_its_values_and_gradients(
    dtype: torch.dtype, masked: bool, grouped: bool, operator: str
) -> None:
    def attends(query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        return functional.scaled_dot_product_attention(query, key, key, attn_mask=mask, enable_gqa=grouped)

    generator = torch.Generator().manual_seed(1)
    query = torch.randn(2, 4, 12, 16, generator=generator).to(dtype).requires_grad_()
    key = torch.randn(2, 2 if grouped else 4, 20, 16, generator=generator).to(dtype).requires_grad_()
    mask = torch.ones(12, 20, dtype=torch.bool).tril(5) if masked else None
    with compiler("a100") as codegen, modules() as generated_modules:
        out = codegen.compile(attends, {})(query, key, mask)
        found = torch.autograd.grad(out.float().square().sum(), (query, key))
    forward, backward = generated_modules
    assert f"torch.ops.aten.{operator}.default(" in forward
    assert f"torch.ops.aten.{operator}_backward.default(" in backward
    eager = attends(query, key, mask)
    right = torch.autograd.grad(eager.float().square().sum(), (query, key))
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if dtype is torch.bfloat16 else {}
    torch.testing.assert_close(out, eager, **tolerance)
    torch.testing.assert_close(found, right, **tolerance)


@pytest.mark.slow
def test_dropout_hides_the_same_in_forward_and_backward() -> None:
    # Each row of weights is one of 1/n or hidden, so with values of one an output is the share that was kept / 0.5;
    # the gradient of the values' sum must be the same share.
    query = torch.zeros(1, 1, 8, 16)
    value = torch.ones(1, 1, 64, 16, requires_grad=True)

    def attends(value: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(query, torch.zeros_like(value), value, dropout_p=0.5)

    with compiler("a100") as codegen:
        torch.manual_seed(3)
        out = codegen.compile(attends, {})(value)
        (gradient,) = torch.autograd.grad(out.sum(), value)
    torch.testing.assert_close(gradient.sum(), out.sum())
    kept = out[0, 0, :, 0] * 0.5 * 64
    torch.testing.assert_close(kept, kept.round())
    assert 0 < float(out.sum()) < 2 * out.numel()
