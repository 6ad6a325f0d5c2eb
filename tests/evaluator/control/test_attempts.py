"""How a bucket that ends its process is told from the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluator.control.attempts import Attempt, settle
from evaluator.plan import Step

COMPILE = Step("compile", ("a",), "f", cache="cold")
WALK = Step("walk", ("a", "b", "c"), "f")
TIMED = Step("walk", ("a", "b", "c"), "f", timing=True)


class Processes:
    """Plays processes by script: each is (results as (probe, bucket, status), how it ended)."""

    def __init__(self, *script: tuple[list[tuple[str, str, str]], dict[str, Any]]) -> None:
        self.script = list(script)
        self.asked: list[tuple[tuple[str, ...], bool]] = []

    def __call__(self, buckets: tuple[str, ...], continued: bool) -> Attempt:
        self.asked.append((buckets, continued))
        results, ending = self.script.pop(0)
        attempt = Attempt(log=Path("/nonexistent"), limits={})
        records: list[dict[str, Any]] = [
            {"kind": "result", "probe": probe, "bucket": bucket, "status": status}
            for probe, bucket, status in results
        ]
        records.append({"kind": "done", "status": "ok", **ending})
        attempt.listen(records, ("walk", buckets[0]), lambda stage: None)
        return attempt


def statuses(settled: dict[Any, Any]) -> dict[tuple[str, str], str]:
    return {place: one.result["status"] for place, one in settled.items()}


def test_one_process_that_reports_all() -> None:
    processes = Processes(([("walk", bucket, "ok") for bucket in "abc"], {}))
    settled, attempts = settle(WALK, WALK.buckets, processes)
    assert statuses(settled) == {("walk", bucket): "ok" for bucket in "abc"}
    assert processes.asked == [(("a", "b", "c"), False)]
    assert len(attempts) == 1


def test_a_crash_belongs_to_its_bucket_and_the_others_go_on() -> None:
    processes = Processes(
        ([("walk", "a", "ok")], {"status": "crashed", "bucket": "b", "reason": "signal 11", "signal": 11}),
        ([("walk", "c", "ok")], {}),
    )
    settled, _ = settle(WALK, WALK.buckets, processes)
    assert statuses(settled) == {("walk", "a"): "ok", ("walk", "b"): "crashed", ("walk", "c"): "ok"}
    assert settled["walk", "b"].result["reason"] == "signal 11"
    assert settled["walk", "b"].result["facts"]["signal"] == 11
    assert processes.asked[1] == (("c",), True)


def test_buckets_whose_results_died_with_the_process_are_asked_for_again() -> None:
    processes = Processes(
        ([], {"status": "timeout", "bucket": "b", "reason": "too long"}),
        ([("walk", "a", "ok"), ("walk", "c", "ok")], {}),
    )
    settled, _ = settle(WALK, WALK.buckets, processes)
    assert processes.asked[1] == (("a", "c"), True)
    assert statuses(settled)["walk", "b"] == "timeout"


def test_what_dies_before_any_bucket_is_everyones() -> None:
    processes = Processes(([], {"status": "timeout", "bucket": None, "reason": "build never ends"}))
    settled, attempts = settle(WALK, WALK.buckets, processes)
    assert set(statuses(settled).values()) == {"timeout"}
    assert len(attempts) == 1


def test_a_crash_while_timing_leaves_the_walks_result() -> None:
    walked = [("walk", bucket, "ok") for bucket in "abc"]
    processes = Processes(
        ([*walked, ("timing", "a", "ok")], {"status": "crashed", "bucket": "b", "reason": "gone"}),
        ([("walk", "c", "ok"), ("timing", "c", "ok")], {}),
    )
    settled, _ = settle(TIMED, TIMED.buckets, processes)
    assert statuses(settled)["walk", "b"] == "ok"
    assert statuses(settled)["timing", "b"] == "crashed"
    assert statuses(settled)["timing", "c"] == "ok"
    # The first process's walk of c stands: it came after a and b, as a server would meet it.
    assert settled["walk", "c"].attempt is not settled["timing", "c"].attempt


def test_a_bucket_that_only_raised_is_not_tried_again_after_anothers_crash() -> None:
    processes = Processes(
        ([("walk", "a", "runtime_error")], {"status": "crashed", "bucket": "b"}),
        ([("walk", "c", "ok"), ("timing", "c", "ok")], {}),
    )
    settled, _ = settle(TIMED, TIMED.buckets, processes)
    assert processes.asked[1][0] == ("c",)
    assert statuses(settled)["timing", "a"] == "skipped"
    assert "runtime_error" in settled["timing", "a"].result["reason"]


def test_what_follows_from_a_failed_walk_is_skipped() -> None:
    processes = Processes(([("walk", "a", "compile_error")], {}))
    settled, _ = settle(TIMED, ("a",), processes)
    assert statuses(settled) == {("walk", "a"): "compile_error", ("timing", "a"): "skipped"}
    assert settled["timing", "a"].attempt is None


def test_a_process_that_reports_nothing_and_is_content_is_no_success() -> None:
    settled, _ = settle(COMPILE, ("a",), Processes(([], {})))
    assert statuses(settled) == {("compile", "a"): "crashed"}


def test_every_bucket_that_crashes_ends() -> None:
    ends = [([], {"status": "crashed", "bucket": bucket}) for bucket in "abc"]
    settled, attempts = settle(WALK, WALK.buckets, Processes(*ends))
    assert set(statuses(settled).values()) == {"crashed"}
    assert len(attempts) == 3


def test_an_ending_that_blames_a_bucket_with_all_its_results_still_ends() -> None:
    processes = Processes(
        ([("walk", "a", "ok")], {"status": "crashed", "bucket": "a"}),
        ([("walk", "c", "ok")], {}),
    )
    settled, _ = settle(WALK, WALK.buckets, processes)
    assert statuses(settled) == {("walk", "a"): "ok", ("walk", "b"): "crashed", ("walk", "c"): "ok"}


def test_the_life_of_a_process_is_counted_to_the_places_it_was_at() -> None:
    attempt = Attempt(log=Path("/nonexistent"), limits={})
    stages: list[str] = []
    attempt.listen(
        [
            {"kind": "stage", "stage": "build", "probe": "walk", "bucket": None},
            {"kind": "stage", "stage": "compile", "probe": "walk", "bucket": "b"},
            {"kind": "stage", "stage": "timing", "probe": "timing", "bucket": "b"},
            {"kind": "done", "status": "ok"},
        ],
        ("walk", "a"),
        lambda record: stages.append(record["stage"]),
    )
    assert set(attempt.spent) == {("walk", "a"), ("walk", "b"), ("timing", "b")}
    assert stages == ["build", "compile", "timing"]


def test_a_lost_device_is_its_buckets_and_the_others_go_on() -> None:
    processes = Processes(
        ([("walk", "a", "ok")], {"status": "crashed", "bucket": "b", "reason": "exit code 71"}),
        ([("walk", "c", "ok")], {}),
    )
    error = {"type": "torch.AcceleratorError", "message": "CUDA error: device-side assert triggered"}

    def ask(buckets: tuple[str, ...], continued: bool) -> Attempt:
        attempt = processes(buckets, continued)
        if not continued:
            told = {"kind": "lost", "reason": "CUDA: device-side assert triggered", "error": error}
            attempt.listen([told, {"kind": "done", **attempt.done}], ("walk", "a"), lambda stage: None)
            attempt.done["origin"] = {"message": "where it came from"}
        return attempt

    settled, _ = settle(WALK, WALK.buckets, ask)
    assert statuses(settled) == {("walk", "a"): "ok", ("walk", "b"): "crashed", ("walk", "c"): "ok"}
    result = settled["walk", "b"].result
    assert result["reason"] == "CUDA: device-side assert triggered; it ended the process"
    assert (result["error"], result["facts"]["origin"]) == (error, {"message": "where it came from"})


def test_an_origin_that_does_not_come_again_says_so() -> None:
    attempt = Attempt(log=Path("/nonexistent"), limits={})
    attempt.listen([{"kind": "done", "status": "ok"}], ("walk", "a"), lambda stage: None)
    assert attempt.origin() == {"message": "it did not come again with CUDA_LAUNCH_BLOCKING=1"}
