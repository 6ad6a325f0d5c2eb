"""Sentences, cards, rows and the forest plot, from verdicts made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.verdict import cards as verdict_cards
from app.verdict import chart as verdict_chart
from app.verdict import frames
from app.verdict import words as verdict_words
from db.queries.sides import Measured
from evaluator.report.sections import sections
from evaluator.verdicts.findings import (
    Cause,
    CellVerdict,
    Differences,
    Estimate,
    Finding,
    Moved,
    Verdicts,
)
from evaluator.verdicts.sides import CellName
from evaluator.verdicts.words import Answer, Verdict
from tests.app.drawn import valid

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def estimate(ratio: float, spread: float = 1.02, margin: float = 0.03) -> Estimate:
    return Estimate(ratio, ratio / spread, ratio * spread, 0.95, margin, 5, 5)


def time(ratio: float, verdict: Verdict, *, metric: str = "compiled.wall_ms", **changes: Any) -> Finding:
    given = {
        "metric": metric,
        "kind": "time",
        "verdict": verdict,
        "gating": True,
        "confirmed": True if verdict == "regressed" else None,
        "base": 2.0,
        "candidate": 2.0 * ratio,
        "unit": "ms",
        "text": "",
        "estimate": estimate(ratio),
    }
    return Finding(**(given | changes))


def count(metric: str, base: int, candidate: int) -> Finding:
    verdict: Verdict = "unchanged" if base == candidate else "regressed" if candidate > base else "improved"
    text = f"{metric}: {base} -> {candidate}"
    return Finding(metric, "count", verdict, True, True, base, candidate, None, text)


def cell(workload: str, bucket: str, *findings: Finding, verdict: Verdict | None = None) -> CellVerdict:
    worst = verdict or findings[0].verdict
    name = CellName(workload, bucket, "default", "cpu")
    number = abs(hash((workload, bucket))) % 1000
    return CellVerdict(name, worst, True, findings, Differences(), number, number + 1000)


def whole(*cells: CellVerdict, answer: Answer = "Upgrade", excepted: tuple[str, ...] = ()) -> Verdicts:
    compared = sum(one.compared for one in cells)
    title = f"{answer} {', '.join(excepted)}" if excepted else answer
    text = f"{title}: that is why; {compared} of {len(cells)} cells compared."
    moved = (Moved("torch", "2.13.0", "2.14.1", "torch"), Moved("torch_git", "a", "b", "torch"))
    return Verdicts(
        "torch 2.13.0", "torch 2.14.1", moved, (), cells, (), answer, text, excepted, compared, len(cells)
    )


MISSING = Finding(
    "status", "status", "not_compared", True, None, None, None, None, "no such cell", ("one_side_missing",)
)


def test_headline_names_the_buckets_where_only_some_are_worse() -> None:
    found = whole(
        cell("w", "n=1", time(1.2, "regressed")),
        cell("w", "n=2", time(1.0, "unchanged")),
        cell("v", "n=1", time(1.2, "regressed")),
        answer="Upgrade except",
        excepted=("w", "v"),
    )
    assert verdict_words.headline(found) == ":orange[!] Upgrade, except `w` at `n=1`, `v`"


@pytest.mark.parametrize(
    ("answer", "excepted"),
    [("Upgrade", ()), ("Hold", ()), ("Not enough evidence", ()), ("Upgrade except", ("a: b; c",))],
)
def test_reason_is_neither_the_answer_nor_the_coverage(answer: Answer, excepted: tuple[str, ...]) -> None:
    found = whole(cell("w", "n=1", time(1.0, "unchanged")), answer=answer, excepted=excepted)
    assert verdict_words.because(found) == "That is why."


def test_offender_is_said_with_interval_and_cause() -> None:
    worse = time(1.124, "regressed", cause=Cause("kernels_changed", "2 kernels for 1", layer="inductor"))
    found = whole(cell("w", "n=1", worse), cell("v", "n=1", time(1.05, "regressed")))
    assert verdict_words.offender(found, sections(found)) == (
        "**Worst:** Compiled call **+12.4%** (95% interval +10.2% to +14.6%; 2.00 ms → 2.25 ms) in `w` at `n=1`, "
        "confirmed. Likely cause: `2 kernels for 1; layer that moved: Inductor`. Something is worse in 1 more cell."
    )


def test_largest_slowdown_is_said_where_nothing_is_worse() -> None:
    found = whole(cell("w", "n=1", time(0.8, "improved")), cell("v", "n=1", time(1.01, "unchanged")))
    said = verdict_words.offender(found, sections(found))
    assert said is not None
    assert said.startswith("**Largest slowdown:** Compiled call **+1.0%**")
    assert said.endswith("in `v` at `n=1`: = unchanged.")
    nothing = whole(cell("w", "n=1", MISSING))
    assert verdict_words.offender(nothing, sections(nothing)) is None


def test_coverage_says_why_cells_were_not_compared() -> None:
    found = whole(cell("w", "n=1", time(1.0, "unchanged")), cell("v", "n=1", MISSING))
    said = verdict_words.coverage(found, sections(found).not_compared)
    assert said == "**1 of 2 cells compared**; ○ 1 not compared: `one side did not evaluate this cell (1)`"


def test_a_commit_is_not_said_to_have_moved() -> None:
    assert verdict_words.moved(whole()) == "only `torch 2.13.0 → 2.14.1` moved"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([Moved("built_cuda", None, "13.0", "torch")], "built for CPU → CUDA 13.0"),
        ([Moved("built_cuda", "12.6", "13.0", "torch")], "built for CUDA 12.6 → CUDA 13.0"),
        (
            [Moved("built_cuda", "13.0", None, "torch"), Moved("built_hip", None, "6.4", "torch")],
            "built for CUDA 13.0 → ROCm 6.4",
        ),
        (
            [
                Moved("triton", "3.7.1", "3.8.0", "torch"),
                Moved("libraries.triton", "3.7.1", "3.8.0", "torch"),
            ],
            "triton 3.7.1 → 3.8.0",
        ),
    ],
)
def test_what_moved_is_said_once_and_in_words(changes: list[Moved], said: str) -> None:
    moved = (*whole().moved, *changes)
    assert (
        verdict_words.moved(replace(whole(), moved=moved)) == f"only `torch 2.13.0 → 2.14.1`, `{said}` moved"
    )


def test_a_library_that_moved_otherwise_is_said_beside_the_package() -> None:
    moved = (Moved("triton", "3.7.1", "3.8.0", "torch"), Moved("libraries.triton", "3.7.0", "3.8.0", "torch"))
    said = verdict_words.moved(replace(whole(), moved=moved))
    assert "`triton 3.7.1 → 3.8.0`, `libraries.triton 3.7.0 → 3.8.0`" in said


def test_when_it_was_measured() -> None:
    done = Measured(7, "upgrade", NOW - timedelta(hours=9), NOW - timedelta(hours=6), "m", "finished")
    going = Measured(8, "evaluate", NOW - timedelta(hours=1), None, "m", "running")
    cut = replace(done, status="interrupted")
    assert verdict_words.measured([cut], NOW).endswith(
        "run 7 (6 h ago); run 7 was interrupted before its end"
    )
    assert verdict_words.measured([done], NOW) == "measured in turns in run 7 (6 h ago)"
    assert verdict_words.measured([done, going], NOW) == (
        "measured at different times in run 7 (6 h ago) and run 8 (1 h ago); run 8 is not finished"
    )


def test_geometric_mean_is_over_cells_that_both_sides_have() -> None:
    found = whole(
        cell("a", "n=1", time(2.0, "regressed")),
        cell("b", "n=1", time(0.5, "improved")),
        # Too few replicas for an interval: the medians still are there.
        cell("c", "n=1", time(1.0, "inconclusive", estimate=None)),
        cell("d", "n=1", MISSING),
    )
    card = verdict_cards.cards(found)[1]
    assert (card.value, card.detail) == ("×1.000", "3 cells · ▲ 1 worse · ▼ 1 better · ? 1 open")


def test_the_time_on_the_device_stands_for_a_call_where_there_is_one() -> None:
    both = cell("a", "n=1", time(1.5, "regressed", metric="compiled.stream_ms"), time(1.0, "unchanged"))
    assert verdict_cards.cards(whole(both))[1].value == "×1.500"


def test_nothing_compared_is_no_number() -> None:
    assert [card.value for card in verdict_cards.cards(whole(cell("d", "n=1", MISSING)))] == ["–"] * 5


def test_a_ratio_of_which_nothing_is_settled_is_no_headline() -> None:
    open_ = [time(0.5, "inconclusive"), time(0.5, "inconclusive")]
    card = verdict_cards.ratio_card("Compiled call", open_, "time of a compiled call")
    assert card.value == "? open"
    assert "2 cells, none settled" in card.detail
    # One that is settled makes it a result, with how many are not.
    card = verdict_cards.ratio_card(
        "Compiled call", [*open_, time(0.5, "improved")], "time of a compiled call"
    )
    assert "0.5" in card.value and "2 open" in card.detail


def test_correctness_tells_wrong_failing_and_not_judged_apart() -> None:
    def judged(verdict: Verdict) -> Finding:
        return Finding("accuracy", "accuracy", verdict, True, True, "pass", "fail", None, "")

    failing = Finding("status", "status", "newly_failing", True, True, "ok", "crashed", None, "")
    drifted = Finding("drift", "drift", "changed", False, None, None, None, None, "")
    found = whole(
        cell("a", "n=1", judged("unchanged"), drifted),
        cell("b", "n=1", judged("regressed")),
        cell("c", "n=1", failing, judged("not_compared")),
        cell("d", "n=1", time(1.0, "unchanged")),
        cell("e", "n=1", MISSING),
        cell("f", "n=1", Finding("accuracy", "accuracy", "unchanged", True, None, "fail", "fail", None, "")),
    )
    card = verdict_cards.cards(found)[0]
    # That of `a` alone: one that is wrong on both sides is not right, however little it moved.
    assert card.value == "1 of 5"
    assert card.detail == (
        "✗ 1 newly failing · ✗ 1 wrong now · ≠ 1 wrong on both sides · ○ 1 not judged · ≠ 1 outputs differ"
    )


def test_breaks_that_came_and_went_do_not_cancel() -> None:
    found = whole(
        cell("a", "n=1", count("graph_breaks", 0, 2), count("recompiles", 1, 1)),
        cell("b", "n=1", count("graph_breaks", 3, 2), count("recompiles", 1, 0)),
    )
    card = verdict_cards.cards(found)[3]
    assert (card.value, card.detail) == ("+2 −1", "recompiles −1 · 2 cells")


def test_every_finding_is_in_one_group_and_a_silent_cell_is_one_row() -> None:
    eager = time(1.1, "regressed", metric="eager.wall_ms", gating=False, confirmed=False)
    found = whole(
        cell("a", "n=1", time(1.1, "regressed"), eager),
        cell("b", "n=1", time(1.0, "unchanged"), count("graph_breaks", 1, 1)),
        cell("c", "n=1", MISSING, MISSING),
    )
    sizes = {group: len(rows) for group, rows in frames.grouped(found).items() if rows}
    assert sizes == {"regressed": 1, "explains": 1, "unchanged": 2, "not_compared": 1}


def test_a_row_has_values_change_and_interval() -> None:
    found = whole(cell("a", "n=1", time(1.1, "regressed")))
    (row,) = frames.table(frames.grouped(found)["regressed"]).to_dict("records")
    assert (row["base"], row["candidate"], row["interval"]) == ("2.00 ms", "2.20 ms", "+7.8% to +12.2%")
    assert row["change"] == pytest.approx(10)
    assert (row["verdict"], row["confirmed"], row["why"]) == ("▲ regressed", "confirmed", "cause unknown")


def test_forest_is_slowest_first_and_draws_open_intervals() -> None:
    wide = time(1.3, "inconclusive", estimate=Estimate(1.3, 0.0, math.inf, 0.95, 0.03, 4, 4))
    found = whole(
        cell("a", "n=1", time(0.9, "improved")),
        cell("b", "n=1", wide),
        cell("c", "n=1", MISSING),
        cell("d", "n=1", time(1.0, "unchanged", estimate=None)),
    )
    drawn = frames.forest(found, "compiled.wall_ms")
    assert list(drawn["cell"]) == ["b · n=1", "a · n=1"]
    assert drawn[["ratio", "low", "high"]].map(math.isfinite).all(axis=None)
    spec = valid(verdict_chart.forest(drawn, title="Compiled call"))
    scale = spec["layer"][0]["encoding"]["x"]["scale"]
    assert scale["type"] == "log"
    low, high = scale["domain"]
    assert 0 < low < 1 < high


def test_cells_with_a_ratio_and_no_interval_are_counted_apart() -> None:
    found = whole(
        cell("a", "n=1", time(0.9, "improved")),
        cell("b", "n=1", time(1.3, "inconclusive", estimate=None)),
        cell("c", "n=1", MISSING),
    )
    drawn = len(frames.forest(found, "compiled.wall_ms"))
    said = frames.how_many(found, "compiled.wall_ms", drawn)
    assert said == "1 of 3 cells have an interval of this ratio (of 1 more a ratio alone)"
    # As many as the card says that its mean is of.
    card = verdict_cards.ratio_card(
        "Compiled call", verdict_cards.of_metric(found.cells, verdict_cards.CALL), ""
    )
    assert card.detail.startswith("2 cells")
    assert frames.how_many(whole(*found.cells[:1]), "compiled.wall_ms", 1) == (
        "1 of 1 cells have an interval of this ratio"
    )


def test_a_regression_that_no_rerun_confirmed_is_drawn_as_one() -> None:
    sure, owed = time(1.2, "regressed"), time(1.1, "regressed", confirmed=False)
    found = whole(cell("a", "n=1", sure), cell("b", "n=1", owed))
    drawn = frames.forest(found, "compiled.wall_ms")
    assert drawn[["state", "label"]].to_numpy().tolist() == [
        ["regressed", "+20.0%"],
        ["unconfirmed", "+10.0% ?"],
    ]
    spec = valid(verdict_chart.forest(drawn, title="Compiled call"))
    color = spec["layer"][3]["encoding"]["color"]
    assert color["scale"]["domain"] == ["regressed", "unconfirmed"]
    assert len(set(color["scale"]["range"])) == 2
    assert "▲ regressed, unconfirmed" in color["legend"]["labelExpr"]


def test_numbers_of_noisy_rounds_are_marked() -> None:
    noisy = time(1.1, "regressed", reasons=("noisy",))
    row = frames.table(frames.grouped(whole(cell("a", "n=1", noisy)))["regressed"]).iloc[0]
    assert (row["base"], row["candidate"]) == ("~2.00 ms", "~2.20 ms")


def test_the_largest_slowdown_says_what_a_rerun_found() -> None:
    rerun = Estimate(1.01, 0.98, 1.04, 0.99, 0.03, 8, 8)
    again = time(1.3, "inconclusive", rerun=rerun, reasons=("rerun_disagreed",))
    found = whole(cell("a", "n=1", again))
    said = verdict_words.offender(found, sections(found))
    assert said is not None
    assert "in a fresh rerun **+1.0%** (99% interval -2.0% to +4.0%)" in said


def test_axis_is_never_narrower_than_what_counts() -> None:
    drawn = frames.forest(whole(cell("a", "n=1", time(1.0, "unchanged"))), "compiled.wall_ms")
    low, high = verdict_chart.domain(drawn)
    assert low < 1 / 1.06
    assert high > 1.06
    assert 1 in verdict_chart.ticks(low, high)


def test_metrics_that_count_come_first() -> None:
    eager = time(1.0, "unchanged", metric="eager.wall_ms", gating=False)
    cold = time(1.0, "unchanged", metric="compile.cold_s")
    found = whole(cell("a", "n=1", eager, cold, time(1.0, "unchanged")))
    assert frames.metrics_with_ratios(found) == ["compiled.wall_ms", "compile.cold_s", "eager.wall_ms"]
