"""What a budget takes of an upgrade, and what is said of it; times are the documented guesses."""

from __future__ import annotations

import pytest

from evaluator.errors import UserError
from evaluator.estimate import GUESS_S, estimate
from evaluator.fitting import Fit, fit
from evaluator.plan import Unit, plan
from evaluator.selection import Cell

# By hand: a compile, a walk, an accuracy and a memory unit of a bucket, on two sides.
BUCKET_S = 2 * (GUESS_S["compile"] + GUESS_S["walk"] + GUESS_S["accuracy"] + GUESS_S["memory"])


def units(*workloads: str) -> list[Unit]:
    """The units of one side with one replica, each workload with two buckets."""
    cells = [Cell(name, "d" * 64, bucket, "default", "cpu") for name in workloads for bucket in ("a", "b")]
    return plan([cells], 1)


def fitted(budget_s: float, *workloads: str) -> Fit:
    listed = units(*workloads)
    return fit(listed, estimate(listed, 1, {}).seconds, {}, budget_s, sides=2)


def test_what_fits_is_named_with_its_time() -> None:
    fixed = estimate(units("x.one", "y.two"), 1, {}).seconds * 2 - 4 * BUCKET_S
    # 70% of the budget hold the first bucket of one workload and not of two.
    found = fitted((fixed + 1.5 * BUCKET_S) / 0.7, "x.one", "y.two")
    assert not found.whole
    assert "takes 1 of 2 workloads, the first bucket of each" in found.note
    assert found.note.endswith("; left out: y.two")
    assert list(found.lines) == [f"  x.one: about {BUCKET_S:.0f} s"]
    assert found.choice.seconds == pytest.approx(fixed + BUCKET_S)


def test_everything_is_taken_where_it_fits() -> None:
    found = fitted(3600, "x.one", "y.two")
    assert found.whole
    assert found.note.startswith("all 2 workloads fit into the budget of 1 h 00 min")
    assert len(list(found.lines)) == 2


def test_nothing_fits_is_said_with_what_would() -> None:
    with pytest.raises(UserError, match="nothing fits into 30 s: the cheapest workload takes about"):
        fitted(30, "x.one")
