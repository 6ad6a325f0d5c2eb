"""Float32 precision: what is set is what torch reads, whose it is, and where it would change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.testing._internal.common_mkldnn import tf32_is_not_fp32

from evaluator.worker import precision
from evaluator.worker.calling import WorkloadError
from evaluator.worker.errors import Unsupported
from evaluator.worker.repro import repro_precision
from evaluator.worker.session import ProbeSession
from evaluator.worker.visit import Visit
from workloads.registry import Bucket, Place, Target, Variant, Workload

BUCKET = Bucket("-", {})
# By the names that torch's own documentation has for them.
PLACES: dict[str, Any] = {
    "torch.backends": torch.backends,
    "cuda.matmul": torch.backends.cuda.matmul,
    "cudnn.conv": torch.backends.cudnn.conv,
    "cudnn.rnn": torch.backends.cudnn.rnn,
    "mkldnn.matmul": torch.backends.mkldnn.matmul,
    "mkldnn.conv": torch.backends.mkldnn.conv,
    "mkldnn.rnn": torch.backends.mkldnn.rnn,
}


def read() -> set[str]:
    return {place.fp32_precision for place in PLACES.values()}


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    before = {name: place.fp32_precision for name, place in PLACES.items()}
    yield
    for name, place in PLACES.items():
        place.fp32_precision = before[name]


def session(
    workload_asks: str | None, variant_asks: str | None, device: str = "cpu", **fields: Any
) -> ProbeSession:
    workload = Workload(
        name="case",
        stands_for="",
        build=fields.get("build", lambda target: torch.sin),
        inputs=lambda params, target: ((torch.ones(2),), {}),
        buckets=(BUCKET,),
        place=Place("case", "case.py", 1),
        precision=workload_asks,
    )
    variant = Variant("v", {"backend": "eager"}, precision=variant_asks)
    target = Target("cuda" if device == "cuda" else "cpu", device)
    return ProbeSession("walk", workload, variant, target, (BUCKET,), 0, {}, lambda record: None)


@pytest.mark.parametrize("asked", ["ieee", "tf32"])
def test_it_is_set_for_products_convolutions_and_recurrent_layers_alike(asked: str) -> None:
    precision.set_precision(asked)
    assert read() == {asked}
    assert set(precision.in_force().values()) == {asked}


@pytest.mark.parametrize("asked", ["ieee", "tf32"])
def test_a_script_that_shows_it_again_sets_the_same(asked: str) -> None:
    repro_precision(asked)
    assert read() == {asked}


@pytest.mark.parametrize(
    ("workload", "variant", "set_"),
    [
        ("ieee", "tf32", "tf32"),
        ("tf32", "ieee", "ieee"),
        ("tf32", None, "tf32"),
        (None, "ieee", "ieee"),
        (None, None, None),
    ],
)
def test_the_variant_goes_before_the_workload(
    workload: str | None, variant: str | None, set_: str | None
) -> None:
    one = session(workload, variant)
    before = read()
    one.build()
    assert one.precision == set_
    assert read() == ({set_} if set_ else before)


def test_the_reference_is_loose_only_under_the_precision_of_the_cell_and_on_a_gpu() -> None:
    def coarsest(workload: str | None, variant: str | None, device: str) -> str:
        return Visit(BUCKET, coarsest="float32").rules(session(workload, variant, device)).coarsest

    assert coarsest("ieee", "tf32", "cuda") == "tf32"
    assert coarsest("tf32", None, "cuda") == "tf32"
    assert coarsest("tf32", "ieee", "cuda") == "float32"
    assert coarsest(None, "tf32", "cpu") == "float32"


@pytest.mark.parametrize(
    "change",
    [
        lambda: torch.set_float32_matmul_precision("high"),
        lambda: setattr(torch.backends.cudnn, "allow_tf32", True),
        lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
    ],
)
def test_a_build_that_takes_another_precision_is_said_and_not_measured(change: Any) -> None:
    def build(target: Target) -> Any:
        change()
        return torch.sin

    with pytest.raises(WorkloadError, match=r"build\(\) changed the float32 precision.*'ieee'.*tf32"):
        session(None, "ieee", build=build).build()
    # What nobody asked for is the workload's own business.
    assert session(None, None, build=build).build() is torch.sin


def older_flags() -> None:
    torch.get_float32_matmul_precision()


@pytest.fixture
def untouched() -> None:
    """The older flag as torch begins with it, whatever a test before set."""
    torch.set_float32_matmul_precision("highest")


def test_what_torch_s_own_tuning_refuses_under_a_precision_is_unsupported_and_says_where(
    untouched: None,
) -> None:
    """Inductor keeps what it measured of products by the older flag, and asks for it before it measures: by the very
    function that it calls, since it tunes none on a CPU by default."""
    from torch._inductor.codecache import PersistentCache
    from torch._inductor.exc import InductorError

    precision.set_precision("tf32")
    with pytest.raises(RuntimeError) as raised:
        PersistentCache().lookup([], "mm", "inputs", None)
    wrapped = InductorError(raised.value, None)
    ended = session(None, "tf32").ended(BUCKET, wrapped, "compile")
    assert ended.status == "unsupported"
    assert ended.reason == (
        f"torch {torch.__version__} can't do this under the float32 precision 'tf32': torch/_inductor/codecache.py reads it "
        "by an older flag, which torch answers no more where fp32_precision is set"
    )
    # Where nobody asked for a precision it is the compiler's own failure.
    assert session(None, None).ended(BUCKET, wrapped, "compile").status == "compile_error"


def test_a_workload_that_reads_an_older_flag_is_named(untouched: None) -> None:
    precision.set_precision("tf32")
    with pytest.raises(RuntimeError) as raised:
        older_flags()
    for stage in ("eager", "call"):
        ended = session(None, "tf32").ended(BUCKET, raised.value, stage)
        assert ended.status == "unsupported"
        assert "test_precision.py reads it by an older flag" in ended.reason
    with pytest.raises(RuntimeError) as other:
        torch.ones(2) @ torch.ones(3)
    assert precision.refused(other.value, "tf32") is None


class Old:
    """Flags as a torch before 2.9 has them: others are refused, as its own modules refuse them."""

    __slots__ = ("allow_tf32",)


class Deaf:
    """Takes whatever is set and goes on with what it had."""

    fp32_precision = property(lambda self: "ieee", lambda self, value: None)


class Refusing:
    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def fp32_precision(self) -> str:
        return "none"

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        raise RuntimeError("no such precision")


def backends(kind: Any) -> Any:
    parts = {name: kind() for name in ("matmul", "conv", "rnn")}
    return SimpleNamespace(
        fp32_precision="none",
        cuda=SimpleNamespace(matmul=kind()),
        cudnn=SimpleNamespace(**parts),
        mkldnn=SimpleNamespace(**parts),
    )


def test_a_torch_without_the_setting_is_unsupported_and_left_alone() -> None:
    old = backends(Old)
    with pytest.raises(Unsupported, match="has no fp32_precision to set 'tf32' with"):
        precision.set_precision("tf32", old)
    assert old.fp32_precision == "none"
    assert not hasattr(old.cuda.matmul, "allow_tf32")


@pytest.mark.parametrize(
    ("kind", "said"), [(Deaf, "did not keep"), (Refusing, "can't set.*no such precision")]
)
def test_what_torch_does_not_take_is_unsupported(kind: Any, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        precision.set_precision("tf32", backends(kind))


def test_the_reason_reaches_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "in_force", lambda backends=None: {"matmul": None})
    one = session(None, "tf32")
    with pytest.raises(Unsupported) as raised:
        one.build()
    ended = one.ended(BUCKET, raised.value, "build")
    assert (ended.status, "has no fp32_precision" in ended.reason) == ("unsupported", True)


@pytest.mark.parametrize(
    ("asked", "target", "capability", "variables", "said"),
    [
        (None, "cpu", None, {}, None),
        ("ieee", "cpu", None, {}, None),
        ("ieee", "cuda", "7.0", {"NVIDIA_TF32_OVERRIDE": "0"}, None),
        ("tf32", "cuda", "8.0", {}, None),
        ("tf32", "cuda", "12.0", {"NVIDIA_TF32_OVERRIDE": "1"}, None),
        ("tf32", "cuda", None, {}, None),
        ("tf32", "codegen:h100", None, {}, None),
        ("tf32", "cuda", "7.5", {}, "compute capability 7.5"),
        ("tf32", "cuda", "9.0", {"NVIDIA_TF32_OVERRIDE": "0"}, "NVIDIA_TF32_OVERRIDE=0"),
    ],
)
def test_where_it_would_change_nothing(
    asked: str | None, target: str, capability: str | None, variables: dict[str, str], said: str | None
) -> None:
    found = precision.why_not(asked, target, capability, variables)
    assert found is None if said is None else said in (found or "")


def test_on_a_processor_it_is_there_where_torch_tests_it() -> None:
    found = precision.why_not("tf32", "cpu", None, {})
    assert (found is None) == tf32_is_not_fp32()


def test_a_description_says_which_variants_can_not_have_it() -> None:
    variants: list[dict[str, Any]] = [
        {"name": "default", "precision": None},
        {"name": "ieee", "precision": "ieee"},
        {"name": "tf32", "precision": "tf32"},
    ]
    for asks, unsupported in ((None, {"tf32"}), ("ieee", {"tf32"}), ("tf32", {"default", "tf32"})):
        described = {"precision": asks, "variants": [dict(one) for one in variants]}
        precision.mark_unsupported(described, "cuda", "7.0", {})
        assert {one["name"] for one in described["variants"] if one.get("unsupported")} == unsupported
