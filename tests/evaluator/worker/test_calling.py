"""How a workload is built, fed and called: seeds, grad modes, backward, and where backward begins."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from evaluator.worker import calling
from evaluator.worker.calling import WorkloadError
from evaluator.worker.owned import owned_tensors
from workloads.registry import Bucket, Place, Target, Workload

CPU = Target("cpu", "cpu")
BUCKET = Bucket("n=3", {"n": 3})


@pytest.fixture(autouse=True)
def ordinary_grad_mode() -> Iterator[None]:
    yield
    torch.set_grad_enabled(True)


def workload(**fields: Any) -> Workload:
    plain = Workload(
        name="case",
        stands_for="a test",
        build=lambda target: torch.sin,
        inputs=lambda params, target: ((torch.randn(params["n"]),), {}),
        buckets=(BUCKET,),
        place=Place("case", "case.py", 1),
    )
    return replace(plain, **fields)


def test_a_build_is_seeded() -> None:
    linear = workload(build=lambda target: torch.nn.Linear(2, 2))
    first, second = (calling.build(linear, CPU, 7) for _ in range(2))
    assert torch.equal(first.weight, second.weight)
    assert not torch.equal(first.weight, calling.build(linear, CPU, 8).weight)


@pytest.mark.parametrize(("made", "said"), [(None, "returned nothing"), (3, "returned a int")])
def test_a_build_must_return_something_callable(made: Any, said: str) -> None:
    with pytest.raises(WorkloadError, match=said):
        calling.build(workload(build=lambda target: made), CPU, 0)


def test_inputs_are_fresh_and_the_same_for_the_same_seed() -> None:
    def inputs(params: dict[str, int], target: Target) -> Any:
        return (torch.randn(3), random.random()), {}

    case = workload(inputs=inputs)
    (first, second) = (calling.make_inputs(case, BUCKET, CPU, 5)[0] for _ in range(2))
    assert first[0] is not second[0]
    assert torch.equal(first[0], second[0])
    assert first[1] == second[1]


def test_numpys_generator_is_seeded_too() -> None:
    numpy = pytest.importorskip("numpy")
    calling.seed_all(2**40 + 3)
    first = numpy.random.rand()
    calling.seed_all(2**40 + 3)
    assert numpy.random.rand() == first


def test_inputs_can_not_change_the_bucket() -> None:
    def inputs(params: dict[str, int], target: Target) -> Any:
        params["n"] = 99
        return (), {}

    calling.make_inputs(workload(inputs=inputs), BUCKET, CPU, 0)
    assert BUCKET.params == {"n": 3}


@pytest.mark.parametrize("made", [None, torch.ones(2), (1, 2), ((1,), [2])])
def test_inputs_must_be_arguments_and_keyword_arguments(made: Any) -> None:
    with pytest.raises(WorkloadError, match=r"inputs\(\) must return"):
        calling.make_inputs(workload(inputs=lambda params, target: made), BUCKET, CPU, 0)


@pytest.mark.parametrize(
    ("fields", "enabled"), [({}, False), ({"grad": True}, True), ({"grad": True, "calls": 1}, True)]
)
def test_gradients_are_off_unless_the_workload_asks(fields: dict[str, Any], enabled: bool) -> None:
    found = calling.call(workload(**fields), torch.is_grad_enabled, (), {})
    assert found.output is enabled
    assert torch.is_grad_enabled()


def test_a_grad_mode_that_inputs_switch_holds_for_the_call_and_ends_with_the_next_inputs() -> None:
    def inputs(params: dict[str, Any], target: Target) -> Any:
        seen.append(torch.is_grad_enabled())
        torch.set_grad_enabled(False)
        return (), {}

    seen: list[bool] = []
    case = workload(inputs=inputs, grad=True)
    calling.make_inputs(case, BUCKET, CPU, 0)
    assert calling.call(case, torch.is_grad_enabled, (), {}).output is False
    calling.make_inputs(case, BUCKET, CPU, 0)
    assert seen == [True, True]


def test_training_runs_backward_and_clears_what_was_there() -> None:
    layer = torch.nn.Linear(2, 1, bias=False)
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    for _ in range(2):
        calling.call(workload(training=True), lambda one: layer(one).sum(), (x,), {})
    # d(w . x)/dw = x, once and not twice.
    assert layer.weight.grad is not None and x.grad is not None
    assert layer.weight.grad.tolist() == [[1.0, 2.0]]
    assert torch.equal(x.grad, layer.weight.detach())


def test_a_scalar_loss_is_taken_as_it_is_and_the_logits_beside_it_are_not() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    found = calling.call(
        workload(training=True), lambda one: {"loss": (one**2).sum(), "logits": one * 5}, (x,), {}
    )
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 6.0]
    assert found.cotangents == (("out['loss']", None),)


def test_other_outputs_get_seeded_cotangents_that_every_float_dtype_can_hold() -> None:
    x = torch.zeros(64, requires_grad=True)
    found = calling.call(workload(training=True), lambda one: (one * 1, one * 2), (x,), {}, seed=3)
    first, second = (cotangent for _, cotangent in found.cotangents)
    assert first is not None and second is not None and x.grad is not None
    assert torch.equal(x.grad, first + 2 * second)
    assert not torch.equal(first, second)
    for dtype in (torch.bfloat16, torch.float16, torch.float8_e4m3fn):
        assert torch.equal(first.to(dtype).float(), first)
    again = calling.random_cotangent(torch.zeros(64, dtype=torch.float64), 3)
    assert torch.equal(again, first.double())


def test_the_gradient_of_a_softmax_is_not_lost() -> None:
    x = torch.zeros(4, requires_grad=True)
    calling.call(workload(training=True), lambda one: one.softmax(0), (x,), {})
    assert x.grad is not None and x.grad.abs().max() > 0.01


def test_complex_outputs_get_complex_cotangents() -> None:
    x = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    found = calling.call(workload(training=True), lambda one: one * 1, (x,), {})
    ((_, cotangent),) = found.cotangents
    assert cotangent is not None and x.grad is not None
    assert cotangent.is_complex()
    assert torch.equal(x.grad, cotangent)


def test_cotangents_leave_the_workloads_generator_alone() -> None:
    x = torch.zeros(4, requires_grad=True)
    before = torch.get_rng_state()
    calling.call(workload(training=True), lambda one: one * 1, (x,), {})
    assert torch.equal(torch.get_rng_state(), before)


def test_training_without_anything_to_train_says_so() -> None:
    with pytest.raises(RuntimeError, match="no output of its forward needs a gradient"):
        calling.call(workload(training=True), torch.sin, (torch.ones(1),), {})


class Callable:
    def __init__(self) -> None:
        self.weight = torch.ones(1, requires_grad=True)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def test_what_a_compiled_workload_holds_is_found_behind_the_compiler() -> None:
    tied = torch.nn.Module()
    tied.one = torch.nn.Linear(1, 1, bias=False)
    tied.two = tied.one
    assert list(owned_tensors(torch.compile(tied, backend="eager")).parameters) == ["one.weight"]
    assert list(owned_tensors(torch.compile(Callable(), backend="eager")).parameters) == ["weight"]

    def closing(x: torch.Tensor) -> torch.Tensor:
        return x * held + optimizer.param_groups[0]["lr"]

    held = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([held], lr=0.1, momentum=0.9)
    held.grad = torch.ones(1)
    optimizer.step()
    found = owned_tensors(torch.compile(closing, backend="eager"))
    assert list(found.parameters) == ["held"]
    assert list(found.buffers) == ["optimizer.state[0].momentum_buffer"]


def test_a_module_s_unregistered_tensors_are_its_state() -> None:
    module = torch.nn.Module()
    module.inner = torch.nn.Module()
    module.inner.scale = torch.ones(1)
    module.inner.caches = [torch.ones(1)]
    assert list(owned_tensors(module).buffers) == ["inner.scale", "inner.caches.0"]
