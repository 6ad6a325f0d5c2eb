"""The accuracy probe on small functions that differ when compiled; most without a C++ compiler."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from evaluator.worker.probes import accuracy
from evaluator.worker.session import ProbeSession
from workloads.registry import Bucket, Place, Target, Variant, Workload

Fn = Callable[..., Any]


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch.set_grad_enabled(True)


def probe(
    build: Callable[[], Any],
    *buckets: Callable[[], tuple[Any, ...]],
    backend: str = "aot_eager",
    **fields: Any,
) -> list[dict[str, Any]]:
    """The results of the probe, one a bucket; a bucket is given as what makes its positional arguments."""
    named = tuple(Bucket(f"b={index}", {"b": index}) for index in range(len(buckets)))
    workload = Workload(
        name="case",
        stands_for="a test",
        build=lambda target: build(),
        inputs=lambda params, target: (buckets[params["b"]](), {}),
        buckets=named,
        place=Place("case", "case.py", 1),
        **fields,
    )
    records: list[dict[str, Any]] = []
    variant = Variant("default", {"backend": backend})
    accuracy.run(
        ProbeSession("accuracy", workload, variant, Target("cpu", "cpu"), named, 0, {}, records.append)
    )
    results = [record for record in records if record["kind"] == "result"]
    assert [record["bucket"] for record in results] == [bucket.name for bucket in named]
    json.dumps(results, allow_nan=False)
    return results


def compiling() -> bool:
    return torch.compiler.is_compiling()


def vector() -> tuple[torch.Tensor]:
    return (torch.randn(8),)


def test_a_sound_workload_passes_with_figures_against_float64() -> None:
    (found,) = probe(lambda: torch.sin, vector)
    record = found["accuracy"]
    assert (found["status"], record["verdict"], record["reference"]) == ("ok", "pass", "float64")
    assert record["max_abs"] == 0.0
    assert 0 < record["rmse_fp64"] < 1e-6
    assert [one["metric"] for one in found["samples"]] == [
        "accuracy.rmse_fp64",
        "accuracy.eager_rmse_fp64",
        "accuracy.max_abs",
    ]


def test_a_wrong_number_when_compiled_fails() -> None:
    (found,) = probe(lambda: lambda x: x.sin() * (1.001 if compiling() else 1.0), vector)
    assert (found["status"], found["accuracy"]["verdict"]) == ("accuracy_failed", "fail")
    assert found["samples"][0]["flags"] == ["fail"]


def test_a_wrong_integer_when_compiled_fails() -> None:
    (found,) = probe(lambda: lambda x: x.argsort() + (1 if compiling() else 0), vector)
    assert found["status"] == "accuracy_failed"
    assert "8 of 8 integers differ, the largest by 1" in found["reason"]


def test_every_call_starts_from_the_same_state_in_both_modes() -> None:
    def build() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4)).train()

    (found,) = probe(build, lambda: (torch.randn(6, 8),), calls=3)
    assert (found["status"], found["accuracy"]["calls"]) == ("ok", 3)


def test_a_state_that_only_eager_writes_fails() -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not compiling():
                self.seen += 1
            return x

    (found,) = probe(Counting, vector)
    assert found["status"] == "accuracy_failed"
    assert found["accuracy"]["worst_leaf"] == "state.seen"


def test_written_inputs_agree_and_are_named() -> None:
    (found,) = probe(
        lambda: lambda state, x: state.mul_(1.5).add_(x).sum(), lambda: (torch.ones(3), torch.ones(3))
    )
    assert (found["status"], found["accuracy"]["mutates"]) == ("ok", ["args[0]"])


def test_a_keyword_that_is_written_into_is_an_output() -> None:
    def into(x: torch.Tensor, out: torch.Tensor) -> None:
        torch.add(x, 2.0 if compiling() else 1.0, out=out)

    (found,) = probe(lambda: into, lambda: (torch.ones(3), torch.empty(3)))
    assert (found["status"], found["accuracy"]["worst_leaf"]) == ("accuracy_failed", "args[1]")


def test_gradients_are_outputs_of_training() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            # The same value, twice the gradient.
            weight = 2 * self.weight - self.weight.detach() if compiling() else self.weight
            return (x * weight).sum()

    (found,) = probe(Scaled, vector, training=True)
    assert (found["status"], found["accuracy"]["worst_leaf"]) == ("accuracy_failed", "grad.weight")


def test_a_tied_weight_has_one_gradient() -> None:
    def build() -> torch.nn.Module:
        tied = torch.nn.Sequential(
            torch.nn.Linear(8, 8, bias=False), torch.nn.Tanh(), torch.nn.Linear(8, 8, bias=False)
        )
        tied[2].weight = tied[0].weight
        return tied

    (found,) = probe(build, vector, training=True)
    assert found["status"] == "ok"
    assert [one["leaf"] for one in found["accuracy"]["digests"]] == ["out", "grad.0.weight"]


def test_an_optimizer_in_a_closure_is_built_for_each_mode_and_has_a_reference() -> None:
    def build() -> Fn:
        weight = torch.nn.Parameter(torch.linspace(-1, 1, 8))
        optimizer = torch.optim.SGD([weight], lr=0.4, momentum=0.9)

        def step(gradient: torch.Tensor) -> None:
            weight.grad = gradient
            optimizer.step()

        return step

    (found,) = probe(build, lambda: (torch.ones(8),), backend="eager", grad=True, calls=2)
    record = found["accuracy"]
    assert (found["status"], record["reference"]) == ("ok", "float64")
    assert any(one["leaf"].startswith("state.") and one["shape"] == [8] for one in record["digests"])


def test_an_object_holding_the_parameter_it_is_given_has_no_reference_and_is_judged_by_eager() -> None:
    def inputs() -> tuple[Any, ...]:
        weight = torch.nn.Parameter(torch.linspace(-1, 1, 8))
        return weight, torch.ones(8), {"opt": torch.optim.SGD([weight], lr=0.4)}

    def step(weight: torch.Tensor, gradient: torch.Tensor, box: dict[str, Any]) -> torch.Tensor:
        weight.grad = gradient
        box["opt"].step()
        return weight.detach().clone()

    (found,) = probe(lambda: step, inputs, backend="eager", grad=True)
    record = found["accuracy"]
    assert (found["status"], record["reference"], record["rmse_fp64"]) == ("ok", "eager", None)
    assert "object that holds tensors" in record["reference_reason"]


def test_amplified_rounding_noise_is_not_comparable() -> None:
    def noise(x: torch.Tensor) -> torch.Tensor:
        # Mathematically 0: what is left is rounding, and the order of the sum decides it.
        rest = (x.flip(0) if compiling() else x).sum(0) - x.double().sum(0).float()
        return rest / rest.abs().max()

    (found,) = probe(lambda: noise, lambda: (torch.randn(4096, 8),))
    assert found["status"] == "not_comparable"
    assert "far from float64" in found["reason"]


def test_random_numbers_are_not_comparable_and_get_a_second_series() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        if compiling() and not torch._inductor.config.fallback_random:
            x = x + torch.rand(8)
        return x + torch.rand(8)

    (found,) = probe(lambda: noisy, vector)
    assert found["status"] == "not_comparable"
    assert "the torch generator moved" in found["reason"]
    assert found["accuracy_fallback_random"]["verdict"] == "pass"


def test_a_wrong_result_beside_random_numbers_fails_with_eagers_numbers() -> None:
    def noisy(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counts = torch.arange(4)
        return x + torch.rand(8), counts + 1 if compiling() else counts

    (found,) = probe(lambda: noisy, vector)
    assert (found["accuracy"]["verdict"], found["status"]) == ("not_comparable", "accuracy_failed")
    assert found["accuracy_fallback_random"]["verdict"] == "fail"
    assert found["reason"].startswith("with eager's random numbers: out[1] (call 1): 4 of 4 integers differ")


def test_dropout_that_scales_wrongly_fails_with_eagers_numbers() -> None:
    class Wrong(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            kept: torch.Tensor = torch.nn.functional.dropout(x, 0.5, training=True)
            return kept + 100 if compiling() else kept

    (found,) = probe(Wrong, vector)
    assert found["status"] == "accuracy_failed"
    assert found["accuracy_fallback_random"]["rmse_fp64"] == pytest.approx(100)


def test_another_shape_beside_random_numbers_fails_with_eagers_numbers() -> None:
    def noisy(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + torch.rand(8), x[:5] if compiling() else x

    (found,) = probe(lambda: noisy, vector)
    assert found["status"] == "accuracy_failed"
    assert "shape (8,) in eager, (5,) compiled" in found["reason"]


def test_other_random_numbers_than_eagers_can_t_be_judged_in_either_series() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand(8) + (torch.rand(8) if compiling() else 0)

    (found,) = probe(lambda: noisy, vector)
    assert (found["status"], found["accuracy_fallback_random"]["verdict"]) == ("not_comparable",) * 2
    assert "moved otherwise than in eager" in found["accuracy_fallback_random"]["reason"]


def test_a_sound_workload_has_no_second_series() -> None:
    (found,) = probe(lambda: torch.sin, vector)
    assert "accuracy_fallback_random" not in found


def test_eager_that_does_not_repeat_itself_is_not_comparable() -> None:
    calls = iter(range(100))
    (found,) = probe(lambda: torch._dynamo.disable(lambda x: x + next(calls)), vector)
    assert found["status"] == "not_comparable"
    assert "does not repeat itself" in found["reason"]
    assert found["accuracy"]["repeat_max_abs"] >= 1


def test_a_nan_in_another_place_fails() -> None:
    def shifted(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x == x[3 if compiling() else 2], torch.nan, x)

    (found,) = probe(lambda: shifted, vector)
    assert found["status"] == "accuracy_failed"
    assert "NaN or infinity in other places" in found["reason"]


class Tagged(torch.Tensor):
    pass


def test_stride_type_and_aliasing_differences_do_not_fail() -> None:
    def differing(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if compiling():
            return x.t().contiguous().t(), x.clone()
        return x.clone(), x

    (found,) = probe(lambda: differing, lambda: (torch.randn(2, 3),))
    assert found["status"] == "ok"
    assert [(one["leaf"], one["kind"]) for one in found["differences"]] == [
        ("out[0]", "stride"),
        ("out[1]", "aliasing"),
    ]
    (found,) = probe(lambda: lambda x: x + 1, lambda: (torch.randn(3).as_subclass(Tagged),), backend="eager")
    assert found["status"] == "ok"


def test_a_dtype_that_differs_fails() -> None:
    (found,) = probe(lambda: lambda x: x.half() if compiling() else x, vector)
    assert found["status"] == "accuracy_failed"
    assert "dtype float32 in eager, float16 compiled" in found["reason"]


def test_autocast_still_has_a_float64_reference() -> None:
    class Mixed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.layer(x).float().square().mean()

    (found,) = probe(Mixed, lambda: (torch.randn(4, 64),), training=True)
    record = found["accuracy"]
    assert (found["status"], record["reference"]) == ("ok", "float64")
    assert record["eager_rmse_fp64"] > 1e-5


def test_eager_raising_is_the_finding_and_the_other_bucket_is_still_measured() -> None:
    def picky(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 0 and not compiling():
            raise ValueError("nothing to do")
        return x * 2

    empty, full = probe(lambda: picky, lambda: (torch.empty(0),), vector, backend="eager")
    assert (empty["status"], empty["reason"]) == (
        "runtime_error",
        "eager raised ValueError, compiled returned",
    )
    assert empty["error"]["message"] == "EAGER: nothing to do"
    assert "accuracy" not in empty
    assert full["status"] == "ok"


def test_compiled_raising_is_typed_and_the_other_bucket_is_still_measured() -> None:
    def picky(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 2 and compiling():
            raise ValueError("only when compiled")
        return x * 2

    broken, sound = probe(lambda: picky, lambda: (torch.ones(2),), vector, backend="eager")
    assert (broken["status"], broken["stage"]) == ("runtime_error", "compile")
    assert "only when compiled" in broken["error"]["message"]
    assert [one["value"] for one in broken["samples"]] == [None, None, None]
    assert sound["status"] == "ok"


def test_a_second_call_that_raises_keeps_the_figures_of_the_first_but_no_pass() -> None:
    def build() -> Fn:
        calls: list[int] = []

        @torch._dynamo.disable
        def count(mode: bool) -> None:
            calls.append(1)
            if mode and len(calls) == 2:
                raise ValueError("the second time")

        def counted(x: torch.Tensor) -> torch.Tensor:
            count(compiling())
            return x * 2

        return counted

    (found,) = probe(build, vector, backend="eager")
    assert found["status"] == "runtime_error"
    assert (found["accuracy"]["verdict"], found["accuracy"]["calls"]) == ("not_comparable", 1)


def test_sys_exit_in_inputs_is_a_setup_error_of_that_bucket_alone() -> None:
    exiting, sound = probe(lambda: torch.sin, lambda: (_ for _ in ()).throw(SystemExit(3)), vector)
    assert (exiting["status"], exiting["error"]["message"]) == (
        "setup_error",
        "the workload called sys.exit(3)",
    )
    assert sound["status"] == "ok"


def test_a_build_that_raises_is_a_setup_error_of_every_bucket() -> None:
    def build() -> Any:
        raise ValueError("no such model")

    assert [found["status"] for found in probe(build, vector, vector)] == ["setup_error", "setup_error"]


def tile_is_positive(args: tuple[Any, ...], kwargs: dict[str, Any], output: torch.Tensor) -> None:
    if not bool((output > 0).all()):
        raise AssertionError("a tile is negative")


def test_the_workloads_own_check_fails_the_compiled_output_only_if_eager_passes_it() -> None:
    def negative_when_compiled(x: torch.Tensor) -> torch.Tensor:
        return -x if compiling() else x

    ones = lambda: (torch.ones(3),)  # noqa: E731 - as short as the others
    (sound,) = probe(lambda: torch.exp, ones, check=tile_is_positive)
    assert (sound["status"], sound["accuracy"]["check"]) == ("ok", "ok")
    (wrong,) = probe(
        lambda: negative_when_compiled, ones, check=tile_is_positive, tolerance={"float32": (9.0, 9.0)}
    )
    assert (wrong["status"], wrong["accuracy"]["check"]) == ("accuracy_failed", "a tile is negative")
    (both,) = probe(lambda: torch.neg, ones, check=tile_is_positive)
    assert both["status"] == "not_comparable"
    assert "fails in eager too" in both["reason"]


def test_eager_that_changed_after_a_compile_is_contamination() -> None:
    seen: list[bool] = []

    @torch._dynamo.disable
    def note(mode: bool) -> None:
        seen.append(mode)

    def tainted(x: torch.Tensor) -> torch.Tensor:
        note(compiling())
        return x + (1.0 if not compiling() and any(seen) else 0.0)

    (found,) = probe(lambda: tainted, vector, backend="eager")
    assert [one["kind"] for one in found["differences"]] == ["contamination"]


def test_a_grad_mode_that_inputs_switch_reaches_no_further() -> None:
    def without() -> tuple[torch.Tensor]:
        torch.set_grad_enabled(False)
        return vector()

    weight = torch.ones(8, requires_grad=True)
    first, second = probe(lambda: lambda x: x * weight, without, vector, grad=True)
    assert (first["status"], second["status"]) == ("ok", "ok")
    assert torch.is_grad_enabled()


def test_stages_are_said_before_they_begin() -> None:
    records: list[dict[str, Any]] = []
    bucket = Bucket("-", {})
    workload = Workload(
        "case",
        "a test",
        lambda target: torch.sin,
        lambda params, target: ((torch.ones(1),), {}),
        (bucket,),
        Place("c", "c", 1),
    )
    variant = Variant("eager", {"backend": "eager"})
    accuracy.run(
        ProbeSession("accuracy", workload, variant, Target("cpu", "cpu"), (bucket,), 0, {}, records.append)
    )
    said = [record["stage"] for record in records if record["kind"] == "stage"]
    order = ["build", "inputs", "eager", "reference", "compile", "compare", "call"]
    assert list(dict.fromkeys(said)) == order
