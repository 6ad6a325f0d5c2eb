"""What a registration makes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workloads import registry
from workloads.registry import Bucket, Target, Variant, module_workload, workload

CPU = Target("cpu", "cpu")


def some_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.zeros(2),), {}


def register(name: str = "mine.one", **options: Any) -> registry.Registration:
    options = {"inputs": some_inputs, "buckets": [{}], **options}
    workload(name, **options)(lambda target: torch.sin)
    return registry.registrations()[-1]


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({}, "-"),
        ({"batch": 8, "seq": 512}, "batch=8,seq=512"),
        ({"seq": 512, "batch": 8}, "seq=512,batch=8"),
        (
            {"scale": 0.5, "mode": "wide", "causal": True, "mask": None},
            "scale=0.5,mode=wide,causal=True,mask=None",
        ),
        ({"shape": (2, 3, 4)}, "shape=2x3x4"),
        ({"dtype": torch.float16}, "dtype=torch.float16"),
    ],
)
def test_bucket_is_named_after_its_parameters_in_their_order(params: dict[str, Any], name: str) -> None:
    assert Bucket.of(params) == Bucket(name, params)


def test_long_bucket_names_are_cut_and_stay_different() -> None:
    first, second = (Bucket.of({"sizes": [*range(100), last]}) for last in (1, 2))
    assert len(first.name) == len(second.name) == 80
    assert first.name != second.name


def test_buckets_keep_the_order_they_are_given_in() -> None:
    made = register(buckets=[{"n": 9}, {"n": 1}, Bucket("short", {"n": 4})]).workload
    assert made is not None
    assert [bucket.name for bucket in made.buckets] == ["n=9", "n=1", "short"]
    assert made.bucket("short").params == {"n": 4}
    with pytest.raises(KeyError, match="has no bucket 'n=2'; it has n=9, n=1, short"):
        made.bucket("n=2")


def test_standard_variants_tell_evidence_and_devices_apart() -> None:
    made = register().workload
    assert made is not None
    by_name = {variant.name: variant for variant in made.variants}
    assert {name: variant.options for name, variant in by_name.items()} == {
        "default": {},
        "dynamic": {"dynamic": True},
        "fullgraph": {"fullgraph": True},
        "eager": {"backend": "eager"},
        "aot_eager": {"backend": "aot_eager"},
        "reduce-overhead": {"mode": "reduce-overhead"},
        "max-autotune": {"mode": "max-autotune"},
        "ieee": {},
        "tf32": {},
    }
    assert {name: v.precision for name, v in by_name.items() if v.precision} == {
        "ieee": "ieee",
        "tf32": "tf32",
    }
    assert {name for name, variant in by_name.items() if variant.evidence_only} == {"eager", "aot_eager"}
    assert {name for name, v in by_name.items() if v.requires == "cuda"} == {
        "reduce-overhead",
        "max-autotune",
    }


def test_decorator_returns_the_function_and_records_where_it_stands() -> None:
    def build(target: Target) -> Any:
        """Stands for a docstring.

        And not for its second paragraph.
        """
        return torch.sin

    assert workload("mine.two", inputs=some_inputs, buckets=[{}])(build) is build
    made = registry.registrations()[-1].workload
    assert made is not None
    assert made.stands_for == "Stands for a docstring."
    assert made.place.module == __name__
    assert made.place.file == __file__


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "has space"}, "letters, digits, dots, dashes and underscores"),
        ({"name": "../escape"}, "letters, digits, dots, dashes and underscores"),
        ({"name": ""}, "letters, digits, dots, dashes and underscores"),
        ({"buckets": []}, "no buckets"),
        ({"buckets": {"n": 1}}, "must be a list of dicts, not dict"),
        ({"buckets": [{"n": 1}, 7]}, "a bucket must be a dict of parameters, not int"),
        ({"buckets": [{"n": 1}, {"n": 1}]}, "two buckets have the same name: n=1"),
        ({"inputs": 3}, "inputs must be callable, not int"),
        ({"check": "no"}, "check must be callable, not str"),
        ({"request": 3}, "request must be callable, not int"),
        ({"request": print, "training": True}, "a workload that trains serves no request"),
        ({"calls": 0}, "calls must be a whole number of at least 1, not 0"),
        ({"repeats": 2.5}, "repeats must be a whole number"),
        (
            {"buckets": [{"n": 1}, Bucket.of({"n": 2}, requires="tpu")]},
            "requires must be 'gpu', 'cuda' or absent, not 'tpu'",
        ),
        ({"requires": "tpu"}, "requires must be 'gpu', 'cuda' or absent, not 'tpu'"),
        ({"precision": "half"}, "precision must be 'ieee', 'tf32' or absent"),
        ({"variants": []}, "variants must be a list of at least one"),
        (
            {"variants": [Variant("a", {}), Variant("a", {"dynamic": True})]},
            "two variants have the same name",
        ),
        ({"tolerance": {"float32": (1e-3,)}}, "tolerance of float32 must be"),
        ({"tolerance": {"float32": (1e-3, -1)}}, "tolerance of float32 must be"),
    ],
)
def test_what_makes_no_sense_is_a_problem_and_not_an_exception(
    options: dict[str, Any], sentence: str
) -> None:
    made = register(**options)
    assert made.workload is None
    assert made.problem is not None
    assert sentence in made.problem


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def test_module_adapter_takes_a_factory_and_sample_inputs() -> None:
    module_workload("mine.scaled", Scaled, lambda n: torch.ones(n, 3), buckets=[{"n": 4}], tags=("mine",))
    made = registry.registrations()[-1].workload
    assert made is not None
    module = made.build(CPU)
    args, kwargs = made.inputs({"n": 4}, CPU)
    assert not module.training
    assert torch.equal(module(*args, **kwargs), torch.full((4, 3), 2.0))
    assert made.tags == frozenset({"mine"})
    assert made.place.file == __file__


def test_module_adapter_takes_tuples_dicts_and_training() -> None:
    leaf = torch.ones(2, 3, requires_grad=True)
    module_workload("mine.args", Scaled, lambda: (leaf, [leaf * 1]), training=True)
    module_workload("mine.kwargs", Scaled, lambda: {"x": torch.ones(2, 3)})
    with_args, with_kwargs = (made.workload for made in registry.registrations()[-2:])
    assert with_args is not None and with_kwargs is not None
    assert with_args.training and with_args.build(CPU).training
    args, kwargs = with_args.inputs({}, CPU)
    assert kwargs == {}
    assert args[0].is_leaf and args[0].requires_grad
    assert isinstance(args[1], list)
    assert list(with_kwargs.inputs({}, CPU)[1]) == ["x"]
