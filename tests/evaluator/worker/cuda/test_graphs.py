"""What became of CUDA graphs: counted on a made-up tree of recordings, and told by Inductor itself on the CPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.worker.targets.cuda import graphs
from evaluator.worker.targets.cuda.graphs import Counts, captured, counted


def node(*children: Any) -> SimpleNamespace:
    return SimpleNamespace(children={"f": list(children)})


def test_recordings_are_the_nodes_of_the_tree() -> None:
    manager = SimpleNamespace(
        roots={"f": [node(node(), node(node()))], "g": [node()]}, num_rerecord={None: {"f": 2}, 4: {"g": 1}}
    )
    assert counted(manager, 3) == Counts(recorded=5, rerecorded=3, skipped=3)
    # Nothing recorded yet; and a torch that counts otherwise.
    assert counted(None, 0) == Counts(0, 0, 0)
    assert counted(SimpleNamespace(), 1) == Counts(None, None, 1)
    # Inductor takes the tree away where it ends its manager.
    assert counted(SimpleNamespace(roots=None), 0) == Counts(None, None, 0)


def test_only_what_came_since_is_told() -> None:
    assert Counts(5, 3, 2).since(Counts(2, 3, 1)) == {"recorded": 3, "rerecorded": 0, "skipped": 1}
    assert Counts(None, 1, 0).since(Counts(2, 0, 0)) == {"recorded": None, "rerecorded": 1, "skipped": 0}


@pytest.mark.parametrize(
    ("skipped", "recorded", "whole"),
    [(0, 4, True), (1, 4, False), (0, 0, False), (0, None, None), (2, None, False)],
)
def test_a_skip_or_no_recording_is_not_captured(skipped: int, recorded: int | None, whole: bool) -> None:
    assert captured(skipped, recorded) is whole


def visit(recorded: int | None, skipped: int, whole: bool | None, *why: str) -> dict[str, Any]:
    return {"recorded": recorded, "rerecorded": 0, "skipped": skipped, "captured": whole, "why": list(why)}


def test_two_visits_of_a_bucket_are_one_fact() -> None:
    one = visit(2, 0, True)
    assert graphs.merged(None, one) == one
    assert graphs.merged(one, visit(0, 0, True)) == one
    assert graphs.merged(visit(1, 1, False, "a"), visit(0, 0, True, "a", "b")) == visit(1, 1, False, "a", "b")
    assert graphs.merged(one, visit(None, 0, None))["recorded"] is None


def test_a_cell_says_whether_it_is_captured_or_why_not() -> None:
    modes = {"mode": "reduce-overhead"}
    assert graphs.fact(visit(2, 0, True), modes, ["0/0"])["captured"] is True
    left = graphs.fact(visit(2, 0, True), modes, [])
    assert (left["captured"], left["why"]) == (False, ["no compiled code ran"])
    assert graphs.fact(visit(0, 0, False), {}, ["0/0"]) == {
        "captured": False,
        "why": ["this variant does not ask for CUDA graphs"],
    }


@pytest.mark.parametrize(
    ("options", "asks"),
    [
        ({}, False),
        ({"mode": "default"}, False),
        ({"mode": "max-autotune-no-cudagraphs"}, False),
        ({"mode": "max-autotune"}, True),
        ({"mode": "reduce-overhead"}, True),
        ({"options": {"triton.cudagraphs": True}}, True),
        ({"backend": "cudagraphs"}, True),
    ],
)
def test_which_variants_ask(options: Mapping[str, Any], asks: bool) -> None:
    assert graphs.asks_for_graphs(options) is asks


@pytest.mark.slow
def test_inductor_s_own_count_and_reasons_are_heard() -> None:
    """On a CPU Inductor skips every graph, in silence; the second skip is by the function that it calls on a GPU."""
    program = """
import torch
from torch._inductor.cudagraph_utils import log_cudagraph_skip_and_bump_counter as skip
from evaluator.worker.targets.cuda.graphs import Watch
watch = Watch()
torch.compile(lambda x: x.sin() + 1, mode="reduce-overhead")(torch.ones(64))
skip("skipping cudagraphs due to mutated inputs (1 instances)")
found = watch.take()
assert found["skipped"] == 2 and found["captured"] is False, found
assert found["why"] == ["skipping cudagraphs due to mutated inputs (1 instances)"], found
assert found["recorded"] == found["rerecorded"] == 0, found
assert watch.take() == {"recorded": 0, "rerecorded": 0, "skipped": 0, "captured": False, "why": []}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
