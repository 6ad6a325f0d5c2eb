"""Flattening: what is a leaf, what it is called, and what makes two structures differ."""

from __future__ import annotations

import array
import collections
import dataclasses
import logging
import threading
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


class Count:
    def __init__(self, n: Any) -> None:
        self.n = n


class Slots:
    __slots__ = ("inside", "more", "unset")

    def __init__(self, inside: torch.Tensor) -> None:
        self.inside, self.more = inside, "text"


class Listed(list[Any]):
    more: Any


class Keyed(dict[str, Any]):
    more: Any


@dataclasses.dataclass
class Grown:
    field: torch.Tensor

    def __post_init__(self) -> None:
        self.more: Any = None


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
    assert (last.path, last.kind, last.value) == ("out[1]", "scalar", "the structure contains itself: out")
    # Where it leads is part of the value.
    deeper: list[Any] = [[]]
    deeper[0].append(deeper[0])
    other: list[Any] = [[]]
    other[0].append(other)
    assert flatten(deeper).leaves[0].value != flatten(other).leaves[0].value


def test_a_plain_object_is_opened_with_all_it_keeps() -> None:
    tree = flatten(
        {"held": Holder(torch.ones(1)), "count": Count(3), "slots": Slots(torch.ones(2)), "bare": object()}
    )
    assert [(leaf.path, leaf.kind) for leaf in tree.leaves] == [
        ("out['held'].tensor", "tensor"),
        ("out['held'].itself", "scalar"),
        ("out['count'].n", "scalar"),
        ("out['slots'].inside", "tensor"),
        ("out['slots'].more", "scalar"),
        ("out['bare']", "opaque"),
    ]
    assert tree.opened == ("out['held']", "out['count']", "out['slots']")


def test_a_library_object_is_opened_only_for_its_tensors() -> None:
    weight = torch.nn.Parameter(torch.ones(1))
    tree = flatten(
        (torch.optim.SGD([weight], lr=0.5), threading.Lock(), torch.Generator(), logging.getLogger())
    )
    assert tree.libraries == ("out[0]",)
    assert dict(tree.tensors())["out[0].param_groups[0]['params'][0]"] is weight
    assert [leaf.path for leaf in tree.leaves if leaf.kind == "opaque"] == ["out[1]", "out[2]", "out[3]"]


def test_what_can_not_be_seen_whole_says_so() -> None:
    class Half(array.array):  # type: ignore[type-arg]
        pass

    half = Half("i", [1, 2])
    half.note = torch.ones(1)  # type: ignore[attr-defined]
    assert [(leaf.path, leaf.kind) for leaf in flatten(half).leaves] == [
        ("out.note", "tensor"),
        ("out", "opaque"),
    ]
    table = Count({str(word): word for word in range(1000)})
    (leaf,) = flatten(table).leaves
    assert leaf.opaque is not None and leaf.opaque.reason == "it holds 1000 plain values"


def test_what_a_subclass_of_a_container_keeps_besides_is_compared() -> None:
    for made in (Listed([1]), Keyed(a=1), Grown(torch.ones(1))):
        made.more = torch.zeros(2)
        assert ("out.more", made.more) in flatten(made).tensors()
    assert paths(MappedOutput(logits=torch.ones(1))) == ["out.logits", "out.cache"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sparse_coo_is_compared_in_order() -> None:
    indices = torch.tensor([[2, 0, 2]])
    tree = flatten(torch.sparse_coo_tensor(indices, torch.tensor([1.0, 5.0, 2.0]), (3,)))
    found = dict(tree.tensors())
    assert found["out.indices"].tolist() == [[0, 2]]
    assert found["out.values"].tolist() == [5.0, 3.0]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_a_compressed_sparse_tensor_is_compared_by_its_parts(layout: str) -> None:
    # [[0, 2], [0, 0]]: one entry in row 0 and column 1.
    dense = torch.zeros(2, 2)
    dense[0, 1] = 2.0
    block = ((1, 1),) if layout in ("bsr", "bsc") else ()
    parts = dict(flatten(getattr(dense, f"to_sparse_{layout}")(*block)).tensors())
    rows, columns = ([0, 1, 1], [1]) if layout in ("csr", "bsr") else ([0, 0, 1], [0])
    assert [part.tolist() for part in list(parts.values())[:2]] == [rows, columns]
    assert parts["out.values"].flatten().tolist() == [2.0]
    assert "opaque" not in kinds(dense.to_sparse_csr())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_quantised_tensor_is_compared_by_its_integers_and_how_they_are_meant() -> None:
    # 1.0 is 10 steps of 0.1 above the zero point 3.
    tree = flatten(torch.quantize_per_tensor(torch.tensor([1.0, 0.0]), 0.1, 3, torch.qint8))
    found = {leaf.path: leaf.value for leaf in tree.leaves}
    assert found["out.int_repr"].tolist() == [13, 3]
    assert (found["out.q_scale"], found["out.q_zero_point"]) == (0.1, 3)
    scales = torch.tensor([0.5, 0.25], dtype=torch.float64)
    by_row = torch.quantize_per_channel(
        torch.ones(2, 1), scales, torch.zeros(2, dtype=torch.long), 0, torch.qint8
    )
    rows = {leaf.path: leaf.value for leaf in flatten(by_row).leaves}
    assert rows["out.int_repr"].tolist() == [[2], [4]]
    assert rows["out.q_per_channel_scales"].tolist() == [0.5, 0.25]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_nested_tensor_is_compared_piece_by_piece() -> None:
    pieces = [torch.ones(2), torch.zeros(3)]
    assert [tensor.tolist() for _, tensor in flatten(torch.nested.nested_tensor(pieces)).tensors()] == [
        [1.0, 1.0],
        [0.0, 0.0, 0.0],
    ]
    jagged = flatten(torch.nested.nested_tensor(pieces, layout=torch.jagged))
    assert [1.0, 1.0, 0.0, 0.0, 0.0] in [tensor.tolist() for _, tensor in jagged.tensors()]


def test_the_order_of_keys_is_told_apart_from_the_structure() -> None:
    forth, back = flatten({"a": 1, "b": (2, 3)}), flatten({"b": (2, 3), "a": 1})
    assert forth.structure == back.structure
    assert (forth.orders["out"], back.orders["out"]) == (("['a']", "['b']"), ("['b']", "['a']"))
    # As Python has it: OrderedDict(a=1, b=2) != OrderedDict(b=2, a=1).
    ordered = collections.OrderedDict
    assert flatten(ordered(a=1, b=2)).structure != flatten(ordered(b=2, a=1)).structure


def test_numpy_arrays_and_scalars() -> None:
    numpy = pytest.importorskip("numpy")
    assert kinds((numpy.ones(2), numpy.float32(1), numpy.array(["a"]))) == ["array"] * 3
    assert kinds(numpy.array([object()])) == ["opaque"]


def test_a_key_that_is_an_object_is_named_by_position() -> None:
    assert paths({torch.ones(1): 1, "k": 2}) == ["out[key 0]", "out['k']"]
