"""The probe's figures of three workloads are those that a few lines compute by hand, with real generated code."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from evaluator.worker.probes import accuracy
from evaluator.worker.session import ProbeSession
from workloads.registry import Bucket, Place, Target, Variant, Workload

pytestmark = pytest.mark.slow

SEED = 11
FIGURES = ("max_abs", "max_rel", "rmse_fp64", "eager_rmse_fp64", "max_abs_fp64", "eager_max_abs_fp64")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def silu() -> Any:
    return lambda x, y: torch.nn.functional.silu(x + y) * (x - y)


def normalised_softmax() -> Any:
    return torch.nn.Sequential(torch.nn.LayerNorm(96), torch.nn.Softmax(-1))


def mlp() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))


def recorded(build: Callable[[], Any], shapes: list[tuple[int, ...]], training: bool) -> dict[str, Any]:
    bucket = Bucket("-", {})
    workload = Workload(
        name="case",
        stands_for="a test",
        build=lambda target: build(),
        inputs=lambda params, target: (tuple(torch.randn(shape) for shape in shapes), {}),
        buckets=(bucket,),
        place=Place("case", "case.py", 1),
        training=training,
    )
    records: list[dict[str, Any]] = []
    accuracy.run(
        ProbeSession(
            "accuracy",
            workload,
            Variant("default", {}),
            Target("cpu", "cpu"),
            (bucket,),
            SEED,
            {},
            records.append,
        )
    )
    (result,) = [record for record in records if record["kind"] == "result"]
    assert result["status"] == "ok"
    return dict(result["accuracy"])


def by_hand(eager: list[Any], compiled: list[Any], exact: list[Any]) -> dict[str, float]:
    """The definitions, leaf by leaf, from plain torch operations."""
    triples = [(e.double(), c.double(), r) for e, c, r in zip(eager, compiled, exact, strict=True)]
    return {
        "max_abs": max((c - e).abs().max().item() for e, c, _ in triples),
        "max_rel": max(((c - e).abs() / e.abs())[e != 0].max().item() for e, c, _ in triples),
        "rmse_fp64": max((c - r).square().mean().sqrt().item() for _, c, r in triples),
        "eager_rmse_fp64": max((e - r).square().mean().sqrt().item() for e, _, r in triples),
        "max_abs_fp64": max((c - r).abs().max().item() for _, c, r in triples),
        "eager_max_abs_fp64": max((e - r).abs().max().item() for e, _, r in triples),
    }


@pytest.mark.parametrize(
    ("build", "shapes"), [(silu, [(64, 64), (64, 64)]), (normalised_softmax, [(32, 96)])]
)
def test_figures_of_an_inference_call(build: Callable[[], Any], shapes: list[tuple[int, ...]]) -> None:
    found = recorded(build, shapes, training=False)
    torch._dynamo.reset()
    torch.manual_seed(SEED)
    fn = build()
    torch.manual_seed(SEED)
    args = [torch.randn(shape) for shape in shapes]
    wide = copy.deepcopy(fn).double() if isinstance(fn, torch.nn.Module) else fn
    with torch.no_grad():
        expected = by_hand([fn(*args)], [torch.compile(fn)(*args)], [wide(*(arg.double() for arg in args))])
    assert expected["rmse_fp64"] > 0
    assert {name: found[name] for name in FIGURES} == pytest.approx(expected, rel=1e-12)


def test_figures_of_a_training_step() -> None:
    found = recorded(lambda: torch.nn.Sequential(mlp(), Mean()), [(8, 16)], training=True)
    torch._dynamo.reset()

    def step(wide: bool, compiled: bool) -> list[torch.Tensor]:
        torch.manual_seed(SEED)
        module = torch.nn.Sequential(mlp(), Mean())
        torch.manual_seed(SEED)
        x = torch.randn(8, 16)
        if wide:
            module, x = module.double(), x.double()
        loss = (torch.compile(module) if compiled else module)(x)
        loss.backward()
        return [loss.detach(), *(one.grad for one in module.parameters() if one.grad is not None)]

    expected = by_hand(step(False, False), step(False, True), step(True, False))
    assert found["leaves"] == 5
    assert expected["rmse_fp64"] > 0
    assert {name: found[name] for name in FIGURES} == pytest.approx(expected, rel=1e-12)


class Mean(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.square().mean()
