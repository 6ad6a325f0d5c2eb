"""The float64 run: what is cast, what can't be, and that nothing rounds on the way."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from evaluator.worker.reference import (
    ReferenceUnavailable,
    cast_inputs,
    coarsest_dtype,
    float64_arithmetic,
    widened_state,
)


@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor
    weight: torch.Tensor


class Box:
    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def test_floats_and_complex_are_widened_and_integers_kept() -> None:
    (args, kwargs) = cast_inputs(
        (torch.ones(2).half(), torch.ones(2, dtype=torch.complex64), torch.arange(2)), {"flag": True}
    )
    assert [one.dtype for one in args] == [torch.float64, torch.complex128, torch.int64]
    assert kwargs == {"flag": True}


def test_containers_are_made_anew_around_cast_tensors() -> None:
    ((batch, pairs), _) = cast_inputs((Batch(torch.arange(2), torch.ones(2)), [(torch.ones(1), "x")]), {})
    assert (batch.tokens.dtype, batch.weight.dtype) == (torch.int64, torch.float64)
    assert pairs[0][0].dtype == torch.float64
    assert pairs[0][1] == "x"


def test_one_tensor_given_twice_stays_one() -> None:
    x = torch.ones(1)
    (args, kwargs) = cast_inputs((x, [x]), {"again": x})
    assert args[0] is args[1][0] is kwargs["again"]


def test_a_leaf_that_asks_for_gradients_stays_one() -> None:
    ((x,), _) = cast_inputs((torch.ones(1, requires_grad=True),), {})
    assert x.requires_grad
    assert x.is_leaf


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda x: (x, x[:1]), "share memory"),
        (lambda x: (Box(x),), "an object that holds tensors"),
        (lambda x: (x.requires_grad_() * 2,), "gradient history"),
        (
            lambda x: ({"opt": torch.optim.SGD([torch.nn.Parameter(x)], lr=0.1)},),
            "an object that holds tensors",
        ),
    ],
)
def test_inputs_that_a_cast_would_turn_into_another_program_are_refused(make: Any, said: str) -> None:
    with pytest.raises(ReferenceUnavailable, match=said):
        cast_inputs(make(torch.ones(2)), {})


def test_state_is_cast_in_place_so_ties_and_an_optimizers_hold_remain() -> None:
    module = torch.nn.Linear(2, 2)
    module.register_buffer("running", torch.ones(1, dtype=torch.complex64))
    module.twin = module.weight
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with widened_state(module):
        assert module.weight.dtype == torch.float64
        assert module.running.dtype == torch.complex128
        assert module.twin is module.weight
        assert optimizer.param_groups[0]["params"][0] is module.weight


def test_state_is_as_it_was_afterwards() -> None:
    module = torch.nn.Linear(1, 1, bias=False)
    weight, before = module.weight, module.weight.detach().clone()
    weight.grad = torch.ones(1, 1)
    with widened_state(module), torch.no_grad():
        weight += 1
        weight.grad = torch.zeros(1, 1, dtype=torch.float64)
    assert module.weight is weight
    assert torch.equal(weight, before)
    assert weight.grad.tolist() == [[1.0]]


def test_state_in_a_closure_is_cast() -> None:
    weight = torch.ones(1)

    def scale(x: torch.Tensor) -> torch.Tensor:
        return x * weight

    with widened_state(scale):
        assert scale(torch.ones(1)).dtype == torch.float64


def test_buffers_that_share_memory_are_refused() -> None:
    module = torch.nn.Module()
    module.register_buffer("whole", torch.ones(4))
    module.register_buffer("part", module.whole[:2])
    with pytest.raises(ReferenceUnavailable, match="share memory"), widened_state(module):
        pytest.fail("cast")


THIRD = torch.tensor([1 / 3], dtype=torch.float64)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.float() * 3,
        lambda x: x.to(torch.bfloat16) * 3,
        lambda x: x * torch.full((1,), 3, dtype=torch.float32),
        lambda x: (x * 3).sum(dtype=torch.float32).reshape(1),
        lambda x: x / torch.arange(1.0, 2.0) * torch.ones(1) * 3,
        lambda x: torch.nn.functional.softmax(torch.zeros(3), 0, dtype=torch.float32)[:1] * 3 * x * 3,
    ],
)
def test_no_operator_rounds_to_a_narrower_float(compute: Any) -> None:
    with float64_arithmetic("cpu"):
        found = compute(THIRD)
    assert found.dtype == torch.float64
    assert abs(found.item() - 1.0) < 1e-15


def test_a_write_through_a_view_still_reaches_its_base() -> None:
    with float64_arithmetic("cpu"):
        x = torch.zeros(4, dtype=torch.float64)
        x[1:3].add_(1.0)
    assert x.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_backward_is_in_float64_too() -> None:
    x = THIRD.clone().requires_grad_()
    with float64_arithmetic("cpu"):
        (x.float() ** 2).sum().backward()
    assert x.grad is not None
    assert abs(x.grad.item() - 2 / 3) < 1e-15


def test_the_coarsest_dtype_asked_for_is_noted_even_of_an_autocast_that_leaves_float64_alone() -> None:
    layer = torch.nn.Linear(1, 1).double()
    with float64_arithmetic("cpu") as coarsest, torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(THIRD)
    assert found.dtype == torch.float64
    assert coarsest.dtype == "bfloat16"
    with float64_arithmetic("cpu") as coarsest:
        THIRD.float()
    assert coarsest.dtype == "float32"


def test_the_coarsest_dtype_of_what_is_held_and_given() -> None:
    assert coarsest_dtype(torch.nn.Linear(1, 1), (torch.ones(1).half(),), {}) == "float16"
    assert coarsest_dtype(torch.nn.Linear(1, 1).bfloat16(), (), {"x": torch.ones(1)}) == "bfloat16"
    assert coarsest_dtype(torch.sin, (torch.arange(2),), {}) == "float64"


def test_the_default_dtype_is_put_back() -> None:
    with pytest.raises(ZeroDivisionError), float64_arithmetic("cpu"):
        raise ZeroDivisionError
    assert torch.get_default_dtype() == torch.float32


def by_sign(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))


def with_a_bias(x: torch.Tensor) -> torch.Tensor:
    def nearer(score: Any, batch: Any, head: Any, place: Any, other: Any) -> Any:
        return score - (place - other).abs()

    return flex_attention(x, x, x, score_mod=nearer)


def attention_with_a_bias(x: torch.Tensor) -> torch.Tensor:
    places = torch.arange(x.shape[2])
    scores = x @ x.transpose(2, 3) / math.sqrt(x.shape[3]) - (places[:, None] - places).abs()
    return scores.softmax(dim=-1) @ x


@pytest.mark.parametrize(
    ("compute", "expected"), [(by_sign, torch.sin), (with_a_bias, attention_with_a_bias)]
)
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_operators_over_functions_have_a_float64_run_and_are_as_before_afterwards(
    compute: Any, expected: Any
) -> None:
    x = torch.rand(1, 2, 5, 16, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        before = compute(x)
        with float64_arithmetic("cpu"):
            wide = compute(x.double())
        torch.testing.assert_close(wide, expected(x.double()), rtol=1e-13, atol=1e-13)
        # Eager compiles these by itself, which must go on working.
        assert torch.equal(compute(x), before)
        torch.compile(compute, backend="eager")(x)
        assert torch.equal(compute(x), before)
