"""A device that an error has cost its process: the bucket says so and where it came from, the others are measured.

On the CPU the error is only raised, in torch's own class and words; what follows is the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluator.commandline import document, evaluator

pytestmark = pytest.mark.slow

ASSERTS = """
import os

import torch

BUCKETS = [{"n": 4}, {"n": 8}, {"n": 12}]
COMPILE = {"backend": "eager"}


@torch.compiler.disable
def gather(x):
    if x.shape[0] == 8:
        where = "gather_kernel" if os.environ.get("CUDA_LAUNCH_BLOCKING") else "some later call"
        raise torch.AcceleratorError(f"CUDA error: device-side assert triggered, raised by {where}")
    return x


def build():
    def twice(x):
        return gather(x) * 2

    return twice


def inputs(bucket):
    return (torch.ones(bucket["n"]),), {}
"""


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("lost")
    source = folder / "asserts.py"
    source.write_text(ASSERTS)
    done = evaluator(folder, "run", "--no-packs", "--workloads", str(source))
    assert done.returncode == 0, done.stderr
    return {one["bucket"]: one for one in document(folder)["evaluations"]}


def test_the_others_are_measured_in_new_processes(cells: dict[str, dict[str, Any]]) -> None:
    assert {bucket: one["status"] for bucket, one in cells.items()} == {
        "n=4": "ok",
        "n=8": "crashed",
        "n=12": "ok",
    }


def crashed(cells: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (probe, process)
        for probe, of in cells["n=8"]["probes"].items()
        for process in of["processes"]
        if process["status"] == "crashed"
    ]


def test_every_probe_of_the_bucket_says_what_the_device_said(cells: dict[str, dict[str, Any]]) -> None:
    found = crashed(cells)
    assert {probe for probe, _ in found} >= {"compile", "walk"}
    for _, process in found:
        assert process["reason"] == "CUDA: device-side assert triggered; it ended the process"
        assert process["error"]["type"] == "torch.AcceleratorError"
        assert "raised by some later call" in process["error"]["message"]
        assert process["facts"]["exit_code"] == 71


def test_one_more_run_in_which_launches_are_waited_for_names_the_origin(
    cells: dict[str, dict[str, Any]],
) -> None:
    for _, process in crashed(cells):
        origin = process["facts"]["origin"]
        assert "raised by gather_kernel" in origin["message"]
        assert "in gather" in origin["traceback"]
