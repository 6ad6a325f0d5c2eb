"""Which cells a selection takes, and what it says when it takes none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.errors import UserError
from evaluator.selection import Selection, problem_description, select, unsupported


def described(name: str, buckets: list[str], variants: list[str], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "definition_hash": f"hash of {name}",
        "buckets": [{"name": bucket, "params": {}} for bucket in buckets],
        "variants": [{"name": variant, "options": more.pop(variant, {})} for variant in variants],
        "tags": [],
        **more,
    }


MLP = described("mlp", ["batch=1", "batch=8", "batch=64"], ["default", "dynamic", "eager"], tags=["quick"])
NORM = described("norm.layer", ["rows=[1]", "rows=1"], ["default"], tags=["slow"])
BOTH = [MLP, NORM]


def cells(selection: Selection) -> list[tuple[str, str, str]]:
    return [(cell.workload, cell.bucket, cell.variant) for cell in select(BOTH, selection)]


def test_everything_is_taken_in_its_default_variant() -> None:
    assert cells(Selection()) == [
        ("mlp", "batch=1", "default"),
        ("mlp", "batch=8", "default"),
        ("mlp", "batch=64", "default"),
        ("norm.layer", "rows=[1]", "default"),
        ("norm.layer", "rows=1", "default"),
    ]


def test_the_described_order_of_buckets_stays_whatever_the_order_of_globs() -> None:
    chosen = cells(Selection(workloads=("mlp",), buckets=("batch=64", "batch=1")))
    assert [bucket for _, bucket, _ in chosen] == ["batch=1", "batch=64"]


def test_variants_come_in_their_described_order_each_with_all_buckets() -> None:
    chosen = cells(Selection(workloads=("m*",), variants=("*",), max_buckets=1))
    assert chosen == [
        ("mlp", "batch=1", "default"),
        ("mlp", "batch=1", "dynamic"),
        ("mlp", "batch=1", "eager"),
    ]


def test_a_name_in_full_is_meant_even_where_it_reads_as_a_pattern() -> None:
    # As a pattern rows=[1] would match rows=1.
    assert cells(Selection(workloads=("norm.layer",), buckets=("rows=[1]",)))[0][1] == "rows=[1]"


def test_a_workload_without_a_default_variant_has_its_first() -> None:
    odd = described("odd", ["-"], ["fullgraph", "dynamic"])
    assert [cell.variant for cell in select([odd], Selection())] == ["fullgraph"]


def test_a_glob_that_matches_in_one_workload_leaves_the_others_out() -> None:
    assert {name for name, _, _ in cells(Selection(variants=("dynamic",)))} == {"mlp"}


def test_tags_are_alternatives() -> None:
    assert len(cells(Selection(tags=("quick", "slow")))) == 5
    assert {name for name, _, _ in cells(Selection(tags=("slow",)))} == {"norm.layer"}


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(workloads=("mpl",)), ["no workload matches 'mpl'", "did you mean mlp?"]),
        (Selection(workloads=("zzz",)), ["there are mlp, norm.layer"]),
        (Selection(buckets=("batch=9",)), ["no bucket matches 'batch=9'", "batch=8"]),
        (Selection(variants=("defualt",)), ["no variant matches 'defualt'", "did you mean default?"]),
        (Selection(tags=("quik",)), ["the tag 'quik'", "did you mean quick?"]),
        (Selection(workloads=("norm*",), variants=("dynamic",)), ["no variant matches 'dynamic'"]),
        (Selection(buckets=("rows=1",), variants=("dynamic",)), ["nothing is selected"]),
    ],
)
def test_what_matches_nothing_is_said_with_what_is_near(selection: Selection, words: list[str]) -> None:
    with pytest.raises(UserError) as error:
        select(BOTH, selection)
    for word in words:
        assert word in str(error.value)


def test_one_glob_of_several_that_matches_nothing_is_misuse_too() -> None:
    with pytest.raises(UserError, match="no workload matches 'nrom'"):
        select(BOTH, Selection(workloads=("mlp", "nrom")))


def test_a_workload_that_did_not_load_is_a_cell_whatever_else_is_asked() -> None:
    broken = problem_description({"name": "mlp_mine", "problem": "line 3 is no Python"})
    chosen = select([MLP, broken], Selection(workloads=("mlp*",), tags=("quick",), buckets=("batch=1",)))
    assert [(cell.workload, cell.bucket, cell.problem) for cell in chosen] == [
        ("mlp", "batch=1", None),
        ("mlp_mine", "-", "line 3 is no Python"),
    ]
    assert [cell.measurable for cell in chosen] == [True, False]
    # Alone, it is what the run is about.
    (alone,) = select([MLP, broken], Selection(workloads=("mlp_mine",), variants=("dynamic",)))
    assert alone.problem == "line 3 is no Python"


def test_what_needs_another_device_is_selected_and_says_why_it_is_not_measured() -> None:
    needy = described("needy", ["-"], ["default"], requires="cuda")
    (cell,) = select([needy], Selection())
    assert cell.unsupported is not None
    assert cell.unsupported.startswith("requires cuda: ")
    (cell,) = select([needy], Selection(target="cuda"))
    assert cell.unsupported is None


def test_a_variant_may_need_what_its_workload_does_not() -> None:
    assert unsupported({}, {"requires": "cuda"}, "cpu") is not None
    assert unsupported({}, {"requires": None}, "cpu") is None
    assert unsupported({"requires": "cuda"}, None, "cuda") is None


def sized(*, small: int = 2, large: int = 2) -> dict[str, Any]:
    """A workload with small buckets, and large ones that only a GPU takes; the first of all is large."""
    names = [f"n={index}" for index in range(small)] + [f"N={index}" for index in range(large)]
    made = described("sized", sorted(names), ["default"])
    for bucket in made["buckets"]:
        bucket["requires"] = "gpu" if bucket["name"].startswith("N") else None
    return made


def taken(selection: Selection, **sizes: int) -> dict[str, bool]:
    """Bucket -> whether it can be measured."""
    return {cell.bucket: cell.unsupported is None for cell in select([sized(**sizes)], selection)}


@pytest.mark.parametrize("target", ["cuda", "codegen:h100"])
def test_a_gpu_takes_what_is_sized_for_one_and_so_does_code_generated_for_one(target: str) -> None:
    assert taken(Selection(target=target)) == {"N=0": True, "N=1": True, "n=0": True, "n=1": True}
    assert taken(Selection(target=target, max_buckets=1)) == {"N=0": True}


def test_a_cpu_run_is_not_cluttered_with_what_is_sized_for_a_gpu() -> None:
    assert taken(Selection()) == {"n=0": True, "n=1": True}
    # The large ones come first, and do not count.
    assert taken(Selection(max_buckets=1)) == {"n=0": True}
    assert taken(Selection(buckets=("*=0",))) == {"n=0": True}


def test_a_gpu_bucket_that_is_named_on_a_cpu_says_why_it_is_not_measured() -> None:
    assert taken(Selection(buckets=("N=1", "n*"), max_buckets=1)) == {"N=1": False, "n=0": True}
    cells = select([sized()], Selection(buckets=("N=1",)))
    assert [cell.unsupported is not None and "requires gpu" in cell.unsupported for cell in cells] == [True]
    assert not cells[0].measurable


def test_a_workload_of_which_nothing_else_is_asked_does_not_vanish() -> None:
    assert taken(Selection(), small=0) == {"N=0": False, "N=1": False}
    assert taken(Selection(buckets=("N*",))) == {"N=0": False, "N=1": False}


@pytest.mark.parametrize(
    ("need", "target", "possible"),
    [
        ("gpu", "cpu", False),
        ("gpu", "cuda", True),
        ("gpu", "codegen:h100", True),
        ("cuda", "cpu", False),
        ("cuda", "cuda", True),
        ("cuda", "codegen:h100", False),
    ],
)
def test_what_a_need_is_satisfied_by(need: str, target: str, possible: bool) -> None:
    needy: dict[str, Any] = {"requires": need}
    found = [
        unsupported(needy, None, target),
        unsupported({}, needy, target),
        unsupported({}, None, target, needy),
    ]
    assert [reason is None for reason in found] == [possible] * 3
    assert all(reason is None or reason.startswith(f"requires {need}: ") for reason in found)


def test_backends_that_only_capture_need_no_compiler() -> None:
    capture = described("c", ["-"], ["default"], default={"backend": "aot_eager", "fullgraph": True})
    (cell,) = select([capture], Selection())
    assert (cell.needs_toolchain, cell.fullgraph) == (False, True)
    (cell,) = select([described("d", ["-"], ["default"])], Selection())
    assert (cell.needs_toolchain, cell.fullgraph) == (True, False)


def test_a_selection_survives_being_stored() -> None:
    selection = Selection(
        workloads=("a", "b"),
        variants=("*",),
        max_buckets=3,
        target="cuda",
        rungs=("eager", "aot_eager"),
        only=(("a", "default"), ("b", "dynamic")),
    )
    stored = {**json.loads(json.dumps(selection.as_json())), "from_a_newer_version": 1}
    assert Selection.from_json(stored) == selection


def test_pairs_restrict_it_and_stand_for_variants() -> None:
    only = (("mlp", "dynamic"), ("mlp", "eager"))
    chosen = cells(Selection(max_buckets=1, only=only))
    assert chosen == [("mlp", "batch=1", "dynamic"), ("mlp", "batch=1", "eager")]
    assert cells(Selection(max_buckets=1, variants=("d*",), only=only)) == [("mlp", "batch=1", "dynamic")]


def test_a_glob_or_tag_that_only_meets_what_the_pairs_leave_out_is_no_mistake() -> None:
    selection = Selection(
        workloads=("mlp", "norm*"),
        buckets=("batch=8", "rows=1"),
        tags=("quick", "slow"),
        only=(("mlp", "default"),),
    )
    assert cells(selection) == [("mlp", "batch=8", "default")]


def test_pairs_that_meet_nothing_are_said() -> None:
    with pytest.raises(UserError, match="nothing is selected"):
        cells(Selection(only=(("mlp", "fullgraph"),)))


def test_of_the_workloads_that_did_not_load_only_those_in_the_pairs_are_cells() -> None:
    broken = [problem_description({"name": name, "problem": "no Python"}) for name in ("one", "two")]
    chosen = select([MLP, *broken], Selection(max_buckets=1, only=(("mlp", "default"), ("two", "default"))))
    assert [(cell.workload, cell.problem) for cell in chosen] == [("mlp", None), ("two", "no Python")]
    (alone,) = select([MLP, *broken], Selection(only=(("one", "default"),)))
    assert alone.problem == "no Python"


WITH_RUNGS = {
    **described("deep", ["n=1", "n=2"], ["default", "strict", "low"], low={"backend": "aot_eager"}),
    "rungs": [
        {"name": "default+eager", "options": {"backend": "eager"}},
        {"name": "default+aot_eager", "options": {"backend": "aot_eager"}},
        {"name": "strict+eager", "options": {"backend": "eager", "fullgraph": True}},
        {"name": "strict+aot_eager", "options": {"backend": "aot_eager", "fullgraph": True}},
        {"name": "low+eager", "options": {"backend": "eager"}},
    ],
}


def test_rungs_are_taken_instead_of_their_variants_and_are_timed() -> None:
    chosen = select([WITH_RUNGS], Selection(rungs=("eager", "aot_eager")))
    assert [(cell.variant, cell.bucket) for cell in chosen] == [
        ("default+eager", "n=1"),
        ("default+eager", "n=2"),
        ("default+aot_eager", "n=1"),
        ("default+aot_eager", "n=2"),
    ]
    assert not any(cell.evidence_only or cell.needs_toolchain for cell in chosen)


def test_rungs_of_pairs_keep_what_their_variant_demands() -> None:
    only = (("deep", "strict"), ("deep", "low"))
    chosen = select([WITH_RUNGS], Selection(rungs=("eager", "aot_eager"), only=only, max_buckets=1))
    assert [(cell.variant, cell.fullgraph) for cell in chosen] == [
        ("strict+eager", True),
        ("strict+aot_eager", True),
        ("low+eager", False),
    ]


def test_a_rung_needs_the_device_of_its_variant() -> None:
    needy = described("needy", ["-"], [])
    needy |= {
        "variants": [{"name": "reduce", "options": {"mode": "reduce-overhead"}, "requires": "cuda"}],
        "rungs": [{"name": "reduce+eager", "options": {"backend": "eager"}}],
    }
    (cell,) = select([needy], Selection(variants=("reduce",), rungs=("eager",)))
    assert cell.unsupported is not None
    assert cell.unsupported.startswith("requires cuda: ")


def test_variants_without_such_a_rung_are_left_out() -> None:
    with pytest.raises(UserError, match="nothing is selected"):
        select([MLP], Selection(rungs=("eager",)))
