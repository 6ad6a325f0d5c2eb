"""Flattening: what is a leaf, what it is called, and what makes two structures differ."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest
import torch

from evaluator.worker.trees import flatten

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Result:
    logits: torch.Tensor
    hidden: tuple[Any, ...]
    loss: object = None
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class MappedOutput(collections.OrderedDict[str, Any]):
    """As Hugging Face's outputs are: a mapping that is a dataclass, whose items are the fields that are not None."""

    logits: Any = None
    cache: Any = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                super().__setitem__(field.name, getattr(self, field.name))


class Registered:
    def __init__(self, inside: list[torch.Tensor], mode: str) -> None:
        self.inside, self.mode = inside, mode


class Holder:
    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.itself = self


torch.utils._pytree.register_pytree_node(
    Registered, lambda one: (one.inside, one.mode), lambda children, mode: Registered(list(children), mode)
)


def paths(value: Any) -> list[str]:
    return [leaf.path for leaf in flatten(value).leaves]


def kinds(value: Any) -> list[str]:
    return [leaf.kind for leaf in flatten(value).leaves]


def test_a_dataclass_is_opened_with_its_nested_values() -> None:
    x = torch.ones(2)
    result = Result(x, (x, [x, None]), None, {"n": 3, "name": "tiny", "ok": True})
    assert paths(result) == [
        "out.logits",
        "out.hidden[0]",
        "out.hidden[1][0]",
        "out.hidden[1][1]",
        "out.loss",
        "out.extra['n']",
        "out.extra['name']",
        "out.extra['ok']",
    ]


def test_a_mapping_that_is_a_dataclass_has_each_field_once() -> None:
    assert paths(MappedOutput(logits=torch.ones(1))) == ["out.logits", "out.cache"]


def test_named_tuples_registered_types_and_sets() -> None:
    assert paths(Pair(1, torch.ones(1))) == ["out.first", "out.second"]
    assert paths(Registered([torch.ones(1)], "fast")) == ["out[0]", "out.context"]
    assert kinds({3, 1}) == ["scalar", "scalar"]


def test_plain_values_are_leaves() -> None:
    plain = [None, True, 3, 2.5, 1j, "text", torch.Size([2]), torch.float32, torch.device("cpu")]
    assert kinds(plain) == ["scalar"] * len(plain)


def test_a_type_name_is_part_of_the_structure() -> None:
    x = torch.ones(1)
    assert flatten((x, x)).structure != flatten([x, x]).structure
    assert flatten({"a": x}).structure != flatten(collections.OrderedDict(a=x)).structure
    assert flatten({"a": x}).structure != flatten({"b": x}).structure
    assert flatten((x, x)).structure == flatten((x, 1)).structure


def test_a_return_type_of_torch_differs_from_a_tuple() -> None:
    top = torch.max(torch.eye(2), 1)
    assert paths(top) == ["out[0]", "out[1]"]
    assert flatten(top).structure != flatten(tuple(top)).structure


def test_a_cycle_ends_in_a_leaf_that_says_so() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    last = flatten(loop).leaves[-1]
    assert (last.path, last.kind) == ("out[1]", "opaque")
    assert last.opaque is not None and "contains itself" in last.opaque.reason


def test_an_object_is_opened_if_it_holds_a_tensor() -> None:
    tree = flatten({"held": Holder(torch.ones(1)), "bare": object()})
    assert [(leaf.path, leaf.kind) for leaf in tree.leaves] == [
        ("out['held'].tensor", "tensor"),
        ("out['held'].itself", "opaque"),
        ("out['bare']", "opaque"),
    ]
    assert tree.opened == ("out['held']",)


def test_sparse_coo_is_compared_in_order_and_other_layouts_are_opaque() -> None:
    indices = torch.tensor([[2, 0, 2]])
    tree = flatten(torch.sparse_coo_tensor(indices, torch.tensor([1.0, 5.0, 2.0]), (3,)))
    found = dict(tree.tensors())
    assert found["out.indices"].tolist() == [[0, 2]]
    assert found["out.values"].tolist() == [5.0, 3.0]
    (leaf,) = flatten(torch.eye(2).to_sparse_csr()).leaves
    assert leaf.opaque is not None and "sparse_csr" in leaf.opaque.reason


def test_a_quantised_tensor_is_opaque_with_its_reason() -> None:
    (leaf,) = flatten(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)).leaves
    assert leaf.opaque is not None and "quantised" in leaf.opaque.reason


def test_numpy_arrays_and_scalars() -> None:
    numpy = pytest.importorskip("numpy")
    assert kinds((numpy.ones(2), numpy.float32(1), numpy.array(["a"]))) == ["array"] * 3
    assert kinds(numpy.array([object()])) == ["opaque"]


def test_a_key_that_is_an_object_is_named_by_position() -> None:
    assert paths({torch.ones(1): 1, "k": 2}) == ["out[key 0]", "out['k']"]
