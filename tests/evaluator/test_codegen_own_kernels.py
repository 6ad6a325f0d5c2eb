"""Workloads with Triton kernels that no interpreter runs, for a card that is not there, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluator.commandline import document, evaluator

pytestmark = pytest.mark.slow

# Assembly in the middle of a graph, and a library's function that works in place on what the program then goes by.
OWN = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

BUCKETS = [{"n": 64}]


@triton.jit
def assembled(source, goal, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    value = tl.load(source + place)
    said = tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(goal + place, said)


@triton.jit
def grown(values, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    tl.store(values + place, libdevice.sinh(tl.load(values + place)) + 1)


def negated(x):
    y = torch.sin(x)
    out = torch.empty_like(y)
    assembled[(1,)](y, out, BLOCK=64)
    return out + 1


def counted(x):
    places = torch.zeros_like(x)
    grown[(1,)](places, BLOCK=64)
    if places.sum() == 0:
        raise ValueError("nothing was counted")
    return places + x


def build():
    return FUNCTION


def inputs(bucket):
    return (torch.ones(bucket["n"]),), {}
"""


def test_a_kernel_that_can_not_run_here_is_built_with_its_neighbours(tmp_path: Path) -> None:
    names = ("negated", "counted")
    for name in names:
        (tmp_path / f"{name}.py").write_text(OWN.replace("FUNCTION", name))
    words = [word for name in names for word in ("--workloads", f"{name}.py")]
    done = evaluator(tmp_path, "run", *words, "--no-packs", "--target", "codegen:h100")
    assert done.returncode == 0, done.stderr
    found = {one["workload"]: one for one in document(tmp_path)["evaluations"]}

    negated = found["negated"]
    assert negated["status"] == "ok"
    assert {(one["name"], one["form"]) for one in negated["kernels"]} == {
        ("triton_poi_fused_sin_0", "pointwise"),
        ("assembled", "user"),
        ("triton_poi_fused_add_1", "pointwise"),
    }
    assert {one["name"]: one["error"] for one in negated["builds"]} == dict.fromkeys(
        ("triton_poi_fused_sin_0", "assembled", "triton_poi_fused_add_1")
    )
    (note,) = negated["facts"]["card_notes"]
    assert "the Triton kernel assembled was not executed" in note
    assert f"not as on the card: {note}" in evaluator(tmp_path, "show", "latest").stdout

    # What it raised hangs on a value that nobody computed: that says nothing of the workload.
    counted = found["counted"]
    assert (counted["status"], counted["reason"]) == (
        "unsupported",
        "the first call raised ValueError after grown was not executed",
    )
    assert any("grown was not executed" in one for one in counted["facts"]["card_notes"])
