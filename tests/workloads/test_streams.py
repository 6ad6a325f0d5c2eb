"""Workloads on streams, on a machine that has none: their values, and whether what they submit is ordered."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from evaluator.ordering.calls import Call, RecordStream, SyncEvent, SyncStream, Wait, WaitStream
from evaluator.ordering.conflicts import verdicts
from evaluator.ordering.order import order_of
from evaluator.ordering.program import Program
from evaluator.ordering.schedule import schedule
from evaluator.ordering.storage import reuses
from evaluator.selection import unsupported
from evaluator.worker.calling import build as fresh_build
from evaluator.worker.calling import make_inputs as fresh_inputs
from tests.workloads.recorded_streams import DEFAULT, Recorder, recording
from workloads import catalog
from workloads.registry import Target, Workload

CPU = Target("cpu", "cpu")
WORKLOADS = {name: one for name, one in catalog.load().workloads.items() if one.requires == "cuda"}
CALLS = 3


def submitted(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Program, list[Any], set[str]]:
    """What some calls of a workload submit, each with fresh inputs and results that the caller uses and drops; the results of
    the last; the streams it says it has."""
    workload = WORKLOADS[name]
    with recording(monkeypatch) as recorder:
        built = fresh_build(workload, CPU, 0)
        for held in ("staging", "landing"):
            if hasattr(built, held):
                recorder.belongs_to_host(getattr(built, held))
        kept: list[Any] = []
        for call in range(CALLS):
            kept = one_call(workload, built, recorder, call)
            gc.collect()
        return recorder.program(), kept, {one.name for one in built.streams}


def one_call(workload: Workload, built: Any, recorder: Recorder, seed: int) -> list[Any]:
    on_host = workload.name == "streams.pinned_copies"
    # Another bucket each time: what a call leaves is met by one of another size.
    bucket = workload.buckets[seed % len(workload.buckets)]
    with torch.set_grad_enabled(workload.grad), recorder:
        with _disable_current_modes() if on_host else nullcontext():
            args, kwargs = fresh_inputs(workload, bucket, CPU, seed)
        if on_host:
            recorder.belongs_to_host(*args)
        output = built(*args, **kwargs)
        if workload.check is not None:
            with _disable_current_modes():
                workload.check(args, kwargs, output)
        # The caller uses the results on its own stream.
        return [(one * 1).tolist() for one in pytree.tree_leaves(output)]


def problems(program: Program) -> list[str]:
    order = order_of(program)
    times = schedule(order)
    found = [f"{one.dependency}" for one in verdicts(order, times) if not one.ordered]
    return found + [f"{one}" for one in reuses(order, times)]


def without(program: Program, position: int) -> Program:
    return Program(program.calls[:position] + program.calls[position + 1 :])


def waits(calls: tuple[Call, ...]) -> list[int]:
    return [at for at, one in enumerate(calls) if isinstance(one, Wait | WaitStream | SyncEvent | SyncStream)]


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_all_that_is_submitted_is_ordered(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, _, declared = submitted(name, monkeypatch)
    assert problems(program) == []
    # Nothing runs on a stream that the workload does not name.
    assert set(program.streams) == {DEFAULT, *declared}


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_every_wait_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted missing wait is found, whichever it is: leaving out any wait of the last call is a race or a reuse too early."""
    program, _, _ = submitted(name, monkeypatch)
    found = waits(program.calls)
    last = found[-len(found) // CALLS :]
    assert last
    planted = {f"{at}: {program.calls[at]}": problems(without(program, at)) for at in last}
    assert [wait for wait, named in planted.items() if not named] == []


@pytest.mark.parametrize(("name", "needs_it"), [("streams.handover", True), ("streams.handover_kept", False)])
def test_what_keeps_the_memory_that_is_handed_over(
    name: str, needs_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else makes a tensor on the producer's stream as soon as the call has returned."""
    with recording(monkeypatch) as recorder:
        built = fresh_build(WORKLOADS[name], CPU, 0)
        one_call(WORKLOADS[name], built, recorder, 0)
        with recorder, torch.cuda.stream(built.producer):
            torch.zeros(8)
        program = recorder.program()
    assert problems(program) == []
    told = Program(tuple(one for one in program.calls if not isinstance(one, RecordStream)))
    assert bool(problems(told)) == needs_it


def test_the_values_of_a_handover_are_those_that_were_worked_out_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("streams.handover", "streams.handover_kept"):
        assert submitted(name, monkeypatch)[1] == [[1, 2, 5, 10, 17, 26, 37, 50]]


def test_copies_through_pinned_memory_bring_the_product_of_these_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workload = WORKLOADS["streams.pinned_copies"]
    with recording(monkeypatch):
        built = fresh_build(workload, CPU, 0)
        for seed in (1, 2):
            (rows,), _ = fresh_inputs(workload, workload.buckets[0], CPU, seed)
            torch.testing.assert_close(built(rows), rows @ (built.weight @ built.weight))


def test_the_norm_of_gradients_is_that_of_a_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = WORKLOADS["streams.gradients_aside"]
    with recording(monkeypatch):
        built = fresh_build(workload, CPU, 0)
        (x,), _ = fresh_inputs(workload, workload.buckets[0], CPU, 3)
        loss, norm = built(x)
    again = built.net(x).square().mean()
    again.backward()
    gradients = torch.cat([one.grad.flatten() for one in built.net.parameters()])
    torch.testing.assert_close(loss, again.detach())
    torch.testing.assert_close(norm, gradients.norm())


def test_a_step_of_a_server_attends_to_each_requests_own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = WORKLOADS["serving.continuous_batching"]
    with recording(monkeypatch):
        built = fresh_build(workload, CPU, 0)
        for bucket in workload.buckets:
            (tokens, keys, values), _ = fresh_inputs(workload, bucket, CPU, 4)
            ahead, caches, (chosen,) = built(tokens, keys, values)
            requests = bucket.params["requests"]
            assert [len(one) for one in caches] == [len(one) + 1 for one in (*keys, *values)]
            assert chosen.shape == (requests,)
            for at in range(requests):
                q, k, v = built.qkv(tokens[at]).chunk(3)
                grown = torch.cat([keys[at], k[None]]), torch.cat([values[at], v[None]])
                attended = F.scaled_dot_product_attention(q[None, None], grown[0][None], grown[1][None])
                assert chosen[at] == built.head(attended.flatten()).argmax()
                torch.testing.assert_close(ahead[at], grown[0].mean(dim=0))


def test_checks_find_a_wrong_result() -> None:
    for name, wrong in (
        ("streams.handover", torch.tensor([1.0, 2, 5, 10, 17, 26, 37, 49])),
        ("streams.side_product", (torch.ones(2, 2), torch.ones(2, 2) + 1e-7)),
    ):
        check = WORKLOADS[name].check
        assert check is not None
        with pytest.raises(AssertionError):
            check((), {}, wrong)


def test_without_cuda_they_are_unsupported_and_say_so() -> None:
    described = {one["name"]: one for one in catalog.describe(catalog.load())}
    assert set(WORKLOADS) == {
        "streams.handover",
        "streams.handover_kept",
        "streams.side_product",
        "streams.pinned_copies",
        "streams.gradients_aside",
        "serving.continuous_batching",
    }
    assert all(described[name]["standalone"] for name in WORKLOADS)
    for name in WORKLOADS:
        for target in ("cpu", "codegen:h200"):
            said = unsupported(described[name], None, target)
            assert said == "requires cuda: run it on a machine that has it, with --target cuda"


def test_the_recorder_sees_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no accident that nothing is found: code with a fault is found out."""
    with recording(monkeypatch) as recorder:
        side = torch.cuda.Stream()
        with recorder:
            x = torch.ones(4)
            with torch.cuda.stream(side):
                y = x * 2
            assert y.sum().item() == 8
    named = problems(recorder.program())
    assert len(named) == 2
    assert "producer='ones" in named[0] and "consumer='mul" in named[0]
    assert "producer='mul" in named[1] and "consumer='sum" in named[1]
