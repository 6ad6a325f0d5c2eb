"""A variant's rungs: the same compile with less of the compiler in it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workloads import catalog
from workloads.records import VARIANTS, Bucket, Place, Variant, Workload


def made(*variants: Variant) -> Workload:
    return Workload(
        name="mine.one",
        stands_for="",
        build=lambda target: torch.sin,
        inputs=lambda params, target: ((torch.zeros(2),), {}),
        buckets=(Bucket.of({}),),
        place=Place("mine", __file__, 1),
        variants=variants,
    )


@pytest.mark.parametrize(
    ("options", "rungs"),
    [
        ({}, {"v+eager": {"backend": "eager"}, "v+aot_eager": {"backend": "aot_eager"}}),
        (
            {"mode": "max-autotune", "dynamic": True, "fullgraph": True},
            {
                "v+eager": {"backend": "eager", "dynamic": True, "fullgraph": True},
                "v+aot_eager": {"backend": "aot_eager", "dynamic": True, "fullgraph": True},
            },
        ),
        (
            {"backend": "inductor", "options": {"max_fusion_size": 1}, "dynamic": False},
            {
                "v+eager": {"backend": "eager", "dynamic": False},
                "v+aot_eager": {"backend": "aot_eager", "dynamic": False},
            },
        ),
        ({"backend": "aot_eager", "fullgraph": True}, {"v+eager": {"backend": "eager", "fullgraph": True}}),
        ({"backend": "eager"}, {}),
    ],
)
def test_a_rung_replaces_the_backend_and_keeps_the_rest(
    options: dict[str, Any], rungs: dict[str, dict[str, Any]]
) -> None:
    assert {rung.name: rung.options for rung in Variant("v", options).rungs()} == rungs


def test_torch_takes_the_options_of_every_standard_rung() -> None:
    rungs = made(*VARIANTS).rungs()
    assert [rung.name for rung in rungs[:2]] == ["default+eager", "default+aot_eager"]
    for rung in rungs:
        torch._dynamo.reset()
        compiled = torch.compile(torch.sin, **rung.options)
        assert torch.equal(compiled(torch.ones(3)), torch.sin(torch.ones(3))), rung.name


def test_a_rung_is_timed_and_needs_what_its_variant_needs() -> None:
    own = {"backend": "aot_eager"}
    (rung,) = Variant("v", own, evidence_only=True, requires="cuda", precision="tf32").rungs()
    assert not rung.evidence_only
    assert rung.requires == "cuda"
    assert rung.precision == "tf32"


def test_a_workload_finds_the_rungs_of_its_variants_by_name() -> None:
    workload = made(*VARIANTS)
    assert workload.variant("dynamic+aot_eager").options == {"backend": "aot_eager", "dynamic": True}
    for absent in ("eager+aot_eager", "default+inductor", "other+eager", "default+"):
        with pytest.raises(KeyError, match="has no variant"):
            workload.variant(absent)


def test_a_variant_that_is_called_like_a_rung_goes_before_it() -> None:
    own = Variant("default+eager", {"dynamic": True})
    workload = made(Variant("default", {}), own)
    assert workload.variant("default+eager") is own
    assert [rung.name for rung in workload.rungs()] == [
        "default+aot_eager",
        "default+eager+eager",
        "default+eager+aot_eager",
    ]


def test_a_description_lists_them_beside_the_variants() -> None:
    loaded = catalog.Catalog(workloads={"breaks.deliberate": catalog.load_one([], True, "breaks.deliberate")})
    (described,) = catalog.describe(loaded)
    assert [variant["name"] for variant in described["variants"]] == [one.name for one in VARIANTS]
    rungs = {rung["name"]: rung["options"] for rung in described["rungs"]}
    assert rungs["fullgraph+eager"] == {"backend": "eager", "fullgraph": True}
    assert rungs["default+aot_eager"] == {"backend": "aot_eager"}
    assert "eager+eager" not in rungs
