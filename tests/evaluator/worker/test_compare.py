"""Whole calls: forms, integers, noise, random numbers, written inputs, and differences that fail nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from evaluator.worker.bucket_accuracy import BucketAccuracy
from evaluator.worker.calling import Outcome
from evaluator.worker.closeness import Rules
from evaluator.worker.compare import ComparedCall, repeat_noise
from evaluator.worker.digest import json_number, sample
from evaluator.worker.snapshot import Snapshot, Watch

Call = Callable[..., Any]


class Plain:
    def __init__(self, **kept: Any) -> None:
        vars(self).update(kept)


class Slotted:
    __slots__ = ("inside",)

    def __init__(self, inside: Any) -> None:
        self.inside = inside


def snap(fn: Call, *args: Any) -> Snapshot:
    watch = Watch(fn)
    before = watch.before(args, {})
    return watch.after(before, Outcome(fn(*args), args, {}))


def accuracy(eager: Snapshot, compiled: Snapshot, again: Snapshot | None = None) -> BucketAccuracy:
    found = BucketAccuracy(Rules())
    noise = repeat_noise(eager, again, Rules()) if again is not None else None
    found.add(ComparedCall(eager, compiled, None, "told not to", noise))
    return found


def of(output: Any) -> Snapshot:
    return snap(lambda: output)


@pytest.mark.parametrize(
    ("eager", "compiled", "said"),
    [
        ((torch.ones(1),), [torch.ones(1)], "structure"),
        (torch.ones(3), torch.ones(1), "shape (3,)"),
        (torch.ones(1), torch.ones(1).half(), "dtype float32"),
        (torch.ones(1), 1.0, "eager gives a Tensor"),
        (torch.ones(1), None, "eager gives a Tensor"),
        ({"a": 1}, {"a": 2}, "1 in eager, 2 compiled"),
        (1, True, "dtype int"),
        ("x", "y", "'x' in eager"),
        (torch.tensor([1_000_000]), torch.tensor([1_000_001]), "the largest by 1"),
        (torch.tensor([2**62]), torch.tensor([2**62 + 1]), "the largest by 1"),
        (torch.tensor([True, False]), torch.tensor([True, True]), "1 of 2"),
    ],
)
def test_what_fails_and_why(eager: Any, compiled: Any, said: str) -> None:
    found = accuracy(of(eager), of(compiled))
    assert found.verdict() == "fail"
    assert said in str(found.reason())


@pytest.mark.parametrize(
    "output",
    [
        None,
        {"n": 3, "name": "tiny", "ok": True, "none": None},
        torch.tensor([2**62, -(2**62)]),
        torch.tensor([200, 255], dtype=torch.uint8),
        torch.tensor([float("nan"), float("inf"), 1.0]),
        float("nan"),
        torch.ones(2, dtype=torch.float8_e4m3fn),
        torch.empty(0),
    ],
)
def test_the_same_output_passes(output: Any) -> None:
    assert accuracy(of(output), of(output)).verdict() == "pass"


def test_a_stride_is_a_difference_that_does_not_fail() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    found = accuracy(of(x), of(x.t().contiguous().t()))
    assert found.verdict() == "pass"
    assert found.differences == [{"leaf": "out", "kind": "stride", "eager": [3, 1], "compiled": [1, 2]}]


def test_the_stride_of_a_length_one_dimension_means_nothing() -> None:
    x = torch.ones(1, 3)
    assert accuracy(of(x), of(torch.ones(1, 3).as_strided((1, 3), (77, 1)))).differences == []


def test_types_and_requires_grad_are_differences_that_do_not_fail() -> None:
    found = accuracy(of(torch.nn.Parameter(torch.ones(1))), of(torch.ones(1)))
    assert found.verdict() == "pass"
    assert [(one["kind"], one["eager"], one["compiled"]) for one in found.differences] == [
        ("type", "Parameter", "Tensor"),
        ("requires_grad", True, False),
    ]


def test_aliasing_of_an_input_is_recorded_and_a_difference_if_only_one_side_has_it() -> None:
    eager = snap(lambda x: x[1:], torch.arange(3.0))
    compiled = snap(lambda x: x[1:].clone(), torch.arange(3.0))
    found = accuracy(eager, compiled)
    assert found.verdict() == "pass"
    assert found.record()["aliases"] == ["out shares memory with args[0]"]
    assert found.differences == [{"leaf": "out", "kind": "aliasing", "eager": "args[0]", "compiled": None}]


def test_disjoint_parts_of_one_storage_are_no_aliases() -> None:
    assert snap(lambda: torch.arange(4.0).split(2)).aliases == ()
    assert snap(lambda x: (x, x), torch.ones(1)).aliases == (("out[0]", "args[0]"), ("out[1]", "args[0]"))


def add_one(x: torch.Tensor) -> None:
    x.add_(1)


def test_a_written_input_is_an_output_too() -> None:
    eager = snap(add_one, torch.zeros(2))
    assert eager.mutates() == ["args[0]"]
    assert accuracy(eager, snap(add_one, torch.zeros(2))).verdict() == "pass"
    left_alone = accuracy(eager, snap(lambda x: None, torch.zeros(2)))
    assert left_alone.verdict() == "fail"
    assert str(left_alone.reason()).startswith("args[0]")


def test_a_snapshot_outlives_a_later_write_to_the_same_memory() -> None:
    x = torch.zeros(2)
    first = snap(lambda one: one.add_(1), x)
    snap(lambda one: one.add_(1), x)
    assert first.outputs["out"].value.tolist() == [1.0, 1.0]


def test_buffers_and_tensors_in_a_closure_are_compared_once_they_change() -> None:
    def counting(step: float) -> Call:
        total = torch.zeros(1)

        def count() -> int:
            total.add_(step)
            return 1

        return count

    eager = snap(counting(1.0))
    assert eager.changed == {"state.total"}
    assert accuracy(eager, snap(counting(1.0))).verdict() == "pass"
    assert str(accuracy(eager, snap(counting(2.0))).reason()).startswith("state.total")


def test_a_tied_parameter_has_one_gradient() -> None:
    module = torch.nn.Module()
    module.first = torch.nn.Linear(2, 2, bias=False)
    module.second = torch.nn.Linear(2, 2, bias=False)
    module.second.weight = module.first.weight
    (module.first.weight.sum() + module.second.weight.sum()).backward()
    found = Watch(module)
    snapshot = found.after(found.before((), {}), Outcome(None, (), {}))
    assert list(snapshot.gradients) == ["grad.first.weight"]
    assert snapshot.gradients["grad.first.weight"].value.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_eager_that_does_not_repeat_itself_is_not_comparable() -> None:
    found = accuracy(of(torch.ones(2)), of(torch.zeros(2)), again=of(torch.full((2,), 3.0)))
    assert found.verdict() == "not_comparable"
    assert "does not repeat itself" in str(found.reason())
    assert found.record()["repeat_max_abs"] == 2.0


def test_integers_are_exact_unless_eagers_repeat_differs_too() -> None:
    wrong = of(torch.tensor([1, 2])), of(torch.tensor([1, 3]))
    assert accuracy(*wrong, again=of(torch.tensor([1, 2]))).verdict() == "fail"
    assert accuracy(*wrong, again=of(torch.tensor([5, 2]))).verdict() == "not_comparable"


def test_noise_of_one_leaf_does_not_excuse_another() -> None:
    eager, again = of((torch.ones(1), torch.ones(1))), of((torch.zeros(1), torch.ones(1)))
    found = accuracy(eager, of((torch.ones(1), torch.zeros(1))), again)
    assert found.verdict() == "fail"
    assert found.record()["worst_leaf"] == "out[1]"


def test_random_numbers_make_a_difference_not_comparable_but_excuse_no_dtype() -> None:
    torch.manual_seed(0)
    eager = snap(lambda: torch.rand(3))
    assert eager.generators == ("torch",)
    torch.manual_seed(1)
    assert accuracy(eager, snap(lambda: torch.rand(3))).verdict() == "not_comparable"
    assert accuracy(eager, snap(lambda: torch.rand(3).double())).verdict() == "fail"


def test_generators_of_python_and_numpy_count() -> None:
    import random

    assert snap(random.random).generators == ("python",)
    numpy = pytest.importorskip("numpy")
    assert snap(numpy.random.rand).generators == ("numpy",)


def test_the_workloads_own_check_decides_too() -> None:
    found = accuracy(of(torch.ones(1)), of(torch.ones(1)))
    found.note_check("fail", "tile (0, 3) is off by 4")
    assert (found.verdict(), found.reason()) == ("fail", "tile (0, 3) is off by 4")
    assert found.record()["check"] == "tile (0, 3) is off by 4"


def test_a_bucket_that_ended_early_does_not_pass() -> None:
    found = accuracy(of(torch.ones(1)), of(torch.ones(1)))
    found.note_unfinished("call 2 raised ValueError")
    assert (found.verdict(), found.reason()) == ("not_comparable", "call 2 raised ValueError")


def test_nothing_but_opaque_leaves_can_not_be_judged() -> None:
    found = accuracy(of(object()), of(object()))
    assert found.verdict() == "not_comparable"
    assert [one["leaf"] for one in found.record()["unjudged"]] == ["out"]


def test_a_pass_says_what_it_leaves_out() -> None:
    left_out = accuracy(of((torch.ones(1), object())), of((torch.ones(1), object())))
    assert left_out.verdict() == "pass"
    assert (
        left_out.record()["reason"]
        == "1 leaf not compared: out[1] (an object of type object can't be opened)"
    )
    many = [torch.ones(1), *(object() for _ in range(5))]
    said = accuracy(of(many), of(many)).reason()
    assert said is not None
    assert said.startswith("5 leaves not compared: out[1] (") and said.endswith(") and 2 more")
    assert accuracy(of(torch.ones(1)), of(torch.ones(1))).reason() is None


def test_keys_in_another_order_are_a_difference_that_fails_nothing() -> None:
    x, y = torch.ones(1), torch.zeros(1)
    found = accuracy(of({"a": x, "b": y, "c": 1}), of({"a": x, "c": 1, "b": y}))
    assert found.verdict() == "pass"
    assert found.differences == [
        {"leaf": "out", "kind": "key_order", "eager": ["['b']", "['c']"], "compiled": ["['c']", "['b']"]}
    ]
    # The values still belong to their keys.
    assert accuracy(of({"a": x, "b": y}), of({"b": x, "a": y})).verdict() == "fail"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("eager", "compiled", "leaf"),
    [
        (Slotted(torch.ones(2)), Slotted(torch.full((2,), 3.0)), "out[1].inside"),
        (Slotted(3), Slotted(4), "out[1].inside"),
        (Plain(n=3), Plain(n=4), "out[1].n"),
        (Plain(deep=[Plain(name="a")]), Plain(deep=[Plain(name="b")]), "out[1].deep[0].name"),
        (torch.eye(3).to_sparse_csr(), torch.eye(3).mul(5).to_sparse_csr(), "out[1].values"),
        (torch.eye(2).to_sparse_csc(), torch.eye(2).flip(0).to_sparse_csc(), "out[1].row_indices"),
        (
            torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
            torch.quantize_per_tensor(torch.ones(2), 0.1, 1, torch.qint8),
            "out[1].int_repr",
        ),
    ],
)
def test_what_a_leaf_holds_inside_fails_where_it_is_wrong(eager: Any, compiled: Any, leaf: str) -> None:
    found = accuracy(of((torch.ones(1), eager)), of((torch.ones(1), compiled)))
    assert (found.verdict(), found.record()["worst_leaf"]) == ("fail", leaf)
    assert found.record()["unjudged"] == []
    assert accuracy(of((torch.ones(1), eager)), of((torch.ones(1), eager))).verdict() == "pass"


def test_digests_see_values_and_not_strides() -> None:
    def digest(output: torch.Tensor) -> dict[str, Any]:
        (made,) = accuracy(of(output), of(output)).record()["digests"]
        return dict(made)

    x = torch.arange(6.0).reshape(2, 3)
    straight, turned = digest(x), digest(x.t().contiguous().t())
    assert straight["sha256"] == turned["sha256"]
    assert (straight["stride"], turned["stride"]) == ([3, 1], [1, 2])
    assert straight["sha256"] != digest(x + 1)["sha256"]
    # The four bytes of the float32 number 1: printf '\000\000\200\077' | sha256sum
    one = "e00e5eb9444182f352323374ef4e08ebcb784725fdd4fd612d7730540b3e0c8c"
    assert digest(torch.ones(1))["sha256"] == one


def test_a_sample_is_evenly_spaced_with_both_ends_and_json_safe() -> None:
    assert sample(torch.arange(31)) == list(range(0, 31, 2))
    assert sample(torch.tensor([1.0, float("nan"), float("-inf")])) == [1.0, "nan", "-inf"]
    assert sample(torch.tensor([1 + 2j])) == [1.0, 2.0]
    assert sample(torch.empty(0)) == []
    assert json_number(None) is None
