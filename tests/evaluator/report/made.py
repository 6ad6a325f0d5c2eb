"""Verdicts with invented numbers: a comparison that has one of everything a report must show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from evaluator.report.context import Context, RunMention
from evaluator.verdicts.findings import (
    BreakChange,
    Cause,
    CellVerdict,
    Differences,
    Estimate,
    Evidence,
    Finding,
    GuardChange,
    KernelChange,
    Moved,
    PhaseChange,
    Verdicts,
)
from evaluator.verdicts.sides import CellName
from evaluator.verdicts.words import VERDICTS, Answer

BASE_KERNEL, CANDIDATE_KERNEL = "a" * 64, "b" * 64
KERNELS = {
    BASE_KERNEL: "void kernel(const float* in0, float* out0)\n{\n    out0[0] = in0[0] * 2;\n}\n",
    CANDIDATE_KERNEL: "void kernel(const float* in0, float* out0)\n{\n    out0[0] = in0[0] + in0[0];\n}\n",
}
# What a recorded name may hold: markup, a table's separator, a code fence, a mention, a terminal's escape.
HOSTILE = "<script>alert(1)</script> a|b `tick` **bold** @nobody \x1b[31m](http://evil.example/) ]]>"


def estimate(
    ratio: float, low: float, high: float, margin: float = 0.03, confidence: float = 0.95
) -> Estimate:
    return Estimate(ratio, low, high, confidence, margin, 5, 5)


def finding(metric: str = "compiled.wall_ms", verdict: str = "unchanged", **changes: Any) -> Finding:
    """A gating time that needs no rerun, with these changes."""
    start: dict[str, Any] = {
        "metric": metric,
        "kind": "time",
        "verdict": verdict,
        "gating": True,
        "confirmed": None,
        "base": 10.0,
        "candidate": 10.0,
        "unit": "ms",
        "text": f"{metric} is {verdict}",
    }
    return Finding(**(start | changes))


def cell(workload: str, *findings: Finding, bucket: str = "n=4", **changes: Any) -> CellVerdict:
    """A cell with these findings; its verdict is the worst of the gating ones."""
    gating = [one for one in findings if one.gating] or list(findings)
    worst = min(gating, key=lambda one: VERDICTS.index(one.verdict))
    start: dict[str, Any] = {
        "cell": CellName(workload, bucket, "default", "cpu"),
        "verdict": worst.verdict,
        "confirmed": worst.confirmed,
        "findings": findings,
        "differences": Differences(),
        "base_evaluation": 12,
        "candidate_evaluation": 57,
    }
    return CellVerdict(**(start | changes))


def verdicts(*cells: CellVerdict, **changes: Any) -> Verdicts:
    """A comparison of these cells, in the order given."""
    compared = sum(one.compared for one in cells)
    answer: Answer = "Upgrade"
    start: dict[str, Any] = {
        "base": "torch 2.13.0+cpu",
        "candidate": "torch 2.14.1+cpu",
        "moved": (Moved("torch", "2.13.0+cpu", "2.14.1+cpu", "torch"),),
        "warnings": (),
        "cells": cells,
        "environment": (),
        "answer": answer,
        "answer_text": f"Upgrade: nothing regressed; {compared} of {len(cells)} cells compared",
        "excepted": (),
        "compared": compared,
        "total": len(cells),
    }
    return Verdicts(**(start | changes))


def slower(**changes: Any) -> Finding:
    """A confirmed slowdown of the warm time by 14.6%, explained by other kernels."""
    cause = Cause(
        "kernels_changed",
        "other kernels were generated",
        (Evidence("kernel", 3344, "base"), Evidence("kernel", 4555, "candidate")),
        "inductor",
    )
    start: dict[str, Any] = {
        "verdict": "regressed",
        "confirmed": True,
        "base": 12.3,
        "candidate": 14.1,
        "text": "14.6% slower",
        "reasons": ("rerun_confirmed",),
        "estimate": estimate(1.146, 1.131, 1.160),
        "rerun": estimate(1.15, 1.12, 1.18, confidence=0.99)._replace(base_replicas=8, candidate_replicas=8),
        "magnitude": "medium",
        "cause": cause,
        "evidence": (Evidence("evaluation", 12, "base"), Evidence("evaluation", 57, "candidate")),
    }
    return finding(**(start | changes))


REGRESSED = cell(
    "models.bert",
    slower(),
    finding("compile.cold_s", "unchanged", unit="s", estimate=estimate(1.01, 0.98, 1.04, 0.1)),
    finding("compile.warm_cache_s", "improved", unit="s", estimate=estimate(0.8, 0.75, 0.85, 0.1)),
    finding(
        "eager.wall_ms",
        "unchanged",
        gating=False,
        estimate=estimate(1.001, 0.99, 1.01),
    ),
    finding(
        "kernels",
        "changed",
        kind="set",
        gating=False,
        base=3,
        candidate=3,
        unit=None,
        text="1 kernel changed",
    ),
    bucket="batch=1,seq=128",
    differences=Differences(
        breaks=(
            BreakChange(
                "added",
                "Data-dependent branching",
                "forward",
                None,
                "bert.py:47",
                (Evidence("graph_break", 8, "candidate"),),
            ),
        ),
        guards=(GuardChange("removed", "x.size()[0] == 4", "forward", (Evidence("recompile", 3, "base"),)),),
        kernels=(
            KernelChange(
                "changed",
                "cpp_fused_mul_0",
                "cpp",
                BASE_KERNEL,
                CANDIDATE_KERNEL,
                (Evidence("kernel", 3344, "base"), Evidence("kernel", 4555, "candidate")),
            ),
            KernelChange("added", "cpp_fused_add_1", "cpp", None, CANDIDATE_KERNEL, ()),
        ),
        phases=(PhaseChange("compile.inductor_s", 1.0, 1.6),),
    ),
)
FAILING = cell(
    "models.vit",
    finding(
        "status",
        "newly_failing",
        kind="status",
        confirmed=True,
        base="ok",
        candidate="compile_error",
        unit=None,
        text="compiles no more",
        cause=Cause(None, "cause unknown"),
    ),
    finding("compiled.wall_ms", "not_compared", candidate=None, reasons=("one_side_failed",)),
    differences=Differences(error=(None, "LoweringException: no layout <here> | there\nsecond line")),
)
UNCONFIRMED = cell(
    "norm.layer_norm",
    slower(
        confirmed=False,
        reasons=("not_rerun",),
        rerun=None,
        cause=None,
        estimate=estimate(1.08, 1.05, 1.11),
        candidate=13.3,
        magnitude="small",
    ),
    base_evaluation=20,
    candidate_evaluation=60,
)
DISAGREED = cell(
    "graphs.breaks",
    finding(
        "graph_breaks",
        "flaky",
        kind="count",
        confirmed=False,
        base=1,
        candidate=2,
        unit=None,
        text="1 → 2, and the rerun found 1 → 1",
        reasons=("rerun_disagreed",),
    ),
)
UNDECIDED = cell(
    "pointwise.silu",
    finding(
        verdict="inconclusive",
        estimate=estimate(1.012, 0.97, 1.06),
        more_replicas=6,
        reasons=("interval_wide", "noisy"),
    ),
)
ABSENT = cell(
    "models.llama",
    finding(
        "status", "not_compared", kind="status", base=None, candidate=None, reasons=("definition_changed",)
    ),
    base_evaluation=None,
    candidate_evaluation=None,
)
FASTER = cell(
    "mlp.wide",
    finding(
        verdict="improved", base=10.0, candidate=8.1, estimate=estimate(0.81, 0.79, 0.83), magnitude="large"
    ),
)
SAME = cell("mlp.small", finding(estimate=estimate(1.002, 0.99, 1.015)))

ONE_OF_EVERYTHING = verdicts(
    FAILING,
    REGRESSED,
    UNCONFIRMED,
    DISAGREED,
    UNDECIDED,
    ABSENT,
    FASTER,
    SAME,
    answer="Upgrade except",
    answer_text=(
        "Upgrade except models.vit and models.bert: 2 cells regressed and a rerun confirmed it; "
        "7 of 8 cells compared"
    ),
    excepted=("models.vit", "models.bert"),
    moved=(
        Moved("torch", "2.13.0+cpu", "2.14.1+cpu", "torch"),
        Moved("triton", "3.7.1", "3.8.0", "torch"),
        Moved("libraries.transformers", "5.24.0", "5.25.0", "transformers"),
    ),
    warnings=("more than one dependency moved (torch, transformers): torch alone can't be blamed",),
    environment=(
        finding(
            "import.torch_s",
            "not_compared",
            gating=False,
            base=3.9,
            candidate=4.4,
            unit="s",
            reasons=("different_builds",),
        ),
    ),
)
CONTEXT = Context(
    made_at=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    machine="Some CPU, 2 CPUs, 8 GB, Linux 6.1",
    runs=(
        RunMention(3, "0b9f1c2d-0000-4000-8000-000000000000", "upgrade", "before-the-pin"),
        RunMention(4, "77aa1c2d-0000-4000-8000-000000000000", "confirm"),
    ),
    commands=("python -m evaluator upgrade 2.13.0 2.14.1",),
    wall_s=3725.0,
    sources=KERNELS.get,
)


def hostile() -> Verdicts:
    """A comparison whose every recorded text tries to be something else."""
    bad = slower(text=HOSTILE, cause=Cause("kernels_changed", HOSTILE, (Evidence(HOSTILE, 1, "base"),)))
    status = finding(
        "status", "newly_failing", kind="status", base=HOSTILE, candidate=HOSTILE, unit=None, text=HOSTILE
    )
    differences = Differences(
        breaks=(BreakChange("added", HOSTILE, HOSTILE, None, HOSTILE, ()),),
        guards=(GuardChange("added", HOSTILE, HOSTILE, ()),),
        kernels=(KernelChange("changed", HOSTILE, HOSTILE, "c" * 64, "d" * 64, ()),),
        error=(HOSTILE, HOSTILE),
    )
    one = replace(
        cell(HOSTILE, status, bad, differences=differences), cell=CellName(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    )
    rest = [
        replace(found, cell=CellName(HOSTILE, f"{HOSTILE}{index}", HOSTILE, HOSTILE))
        for index, found in enumerate((DISAGREED, UNDECIDED, ABSENT, FASTER, SAME))
    ]
    return verdicts(
        one,
        *rest,
        base=HOSTILE,
        candidate=HOSTILE,
        answer="Hold",
        answer_text=f"Hold: {HOSTILE}",
        excepted=(HOSTILE,),
        moved=(Moved(HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
        warnings=(HOSTILE,),
    )


def hostile_context() -> Context:
    """A context whose every text tries to be something else, kernels included."""
    return replace(
        CONTEXT,
        machine=HOSTILE,
        notes=(HOSTILE,),
        commands=(HOSTILE,),
        database=HOSTILE,
        sources={"c" * 64: f"{HOSTILE}\n", "d" * 64: f"{HOSTILE}!\n"}.get,
    )
