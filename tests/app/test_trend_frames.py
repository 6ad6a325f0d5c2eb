"""The frames of Trends from hand-made evaluations: which cells are followed, and what is said of them."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest

from app.trends import frames as trend_frames
from app.trends import intervals as trend_intervals
from app.trends import shown as trend_data
from app.trends import wrong as trend_wrong
from db.queries.trends import Point

METRIC = "compiled.wall_ms"
VERSIONS = ("2.9.1+cpu", "2.12.0+cpu", "2.13.0+cpu")


def point(index: int, torch: str, key: str | None = None, build: str = "CPU") -> Point:
    started = datetime(2026, 3, 1 + index, tzinfo=UTC)
    return Point(key or torch, torch, (index,), started, None, True, frozenset({(index, index)}), build)


POINTS = tuple(point(index, torch) for index, torch in enumerate(VERSIONS, 1))


def row(index: int, cell: int, value: float | None, **changes: Any) -> dict[str, Any]:
    """One evaluation of a cell at the point with this number, from 1."""
    values = changes.pop("replicas", [value] * 4 if value is not None else None)
    return {
        "evaluation": index * 100 + cell,
        "run": index,
        "environment": index,
        "point": VERSIONS[index - 1],
        "cell": cell,
        "workload": f"w{cell}",
        "bucket": "-",
        "variant": "default",
        "status": "ok",
        "graph_breaks": 1,
        "recompiles": 0,
        "nothing_compiled": False,
        "ran_eager": "none",
        METRIC: value,
        "eager.wall_ms": value,
        "replica_numbers": json.dumps(list(range(len(values)))) if values else None,
        "replica_medians": json.dumps(values) if values else None,
        "compile.cold_s": 10.0,
        "compile.dynamo_s": 1.0,
        "compile.aot_autograd_s": None,
        "compile.inductor_s": 2.0,
        "compile.toolchain_s": 4.0,
    } | changes


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows)


# Three cells at three versions: the first halves, the second doubles, the third fails at 2.12.0.
AT = frame(
    row(1, 1, 4.0),
    row(1, 2, 1.0),
    row(1, 3, 5.0),
    row(2, 1, 4.0),
    row(2, 2, 2.0),
    row(2, 3, None, status="compile_error"),
    row(3, 1, 2.0),
    row(3, 2, 1.0),
    row(3, 3, 50.0),
)


def followed(at: pd.DataFrame, reference: str = VERSIONS[0]) -> tuple[pd.DataFrame, trend_frames.Same]:
    wide = trend_frames.values(at, METRIC, POINTS)
    return wide, trend_frames.same_cells(wide, reference, at)


def test_only_cells_with_a_value_at_every_point_are_followed() -> None:
    wide, same = followed(AT)
    assert same.cells == (1, 2)
    assert same.points == VERSIONS
    assert (same.total, same.known, same.left_out) == (3, 3, ())
    found = trend_frames.ratios(wide, same)
    # By hand: sqrt(1 x 2) and sqrt(1/2 x 1); the cell that got ten times slower is not at every version.
    assert list(found["ratio"]) == pytest.approx([1.0, math.sqrt(2), math.sqrt(0.5)])
    assert list(found["cells"]) == [2, 2, 2]
    # Over every cell shared with the reference it is: (1/2 x 1 x 10) ** (1/3).
    assert found["own"].iloc[2] == pytest.approx(5 ** (1 / 3))
    assert list(found["own_cells"]) == [3, 2, 3]


def test_point_with_too_few_cells_is_left_out_and_costs_the_others_none() -> None:
    at = pd.concat([AT[AT["point"] != VERSIONS[1]], frame(row(2, 1, 4.0))], ignore_index=True)
    wide, same = followed(at)
    assert same.left_out == (VERSIONS[1],)
    assert same.cells == (1, 2, 3)
    found = trend_data.noted(trend_frames.ratios(wide, same), same, "ratio")
    assert math.isnan(found["ratio"].iloc[1])
    assert found["note"].iloc[1] == "left out: it has 1 of the reference's 3 cells"


def test_point_without_any_shared_cell_says_so() -> None:
    at = pd.concat([AT[AT["point"] != VERSIONS[1]], frame(row(2, 9, 4.0))], ignore_index=True)
    wide, same = followed(at)
    found = trend_data.noted(trend_frames.ratios(wide, same), same, "ratio")
    assert "nothing to compare" in found["note"].iloc[1]
    assert same.known == 4


def test_first_reference_has_at_least_half_of_the_cells() -> None:
    wide = trend_frames.values(frame(row(1, 1, 1.0), *AT.to_dict("records")[3:]), METRIC, POINTS)
    assert trend_frames.first_reference(wide) == VERSIONS[1]
    assert trend_frames.first_reference(wide.iloc[:0]) is None


@pytest.mark.parametrize("change", [{"nothing_compiled": True}, {"ran_eager": "some"}, {"ran_eager": "all"}])
def test_time_of_code_that_ran_eager_is_no_compiled_time(change: dict[str, Any]) -> None:
    at = frame(row(1, 1, 4.0, **change), row(1, 2, 4.0))
    assert list(trend_frames.values(at, METRIC, POINTS).index) == [2]
    # The cold compile of such a cell is one all the same.
    assert list(trend_frames.values(at, "compile.cold_s", POINTS).index) == [1, 2]


def test_zero_and_missing_are_no_values() -> None:
    at = frame(row(1, 1, 0.0), row(1, 2, None), row(1, 3, 1.0))
    assert list(trend_frames.values(at, METRIC, POINTS).index) == [3]


def test_cell_of_two_definitions_counts_once() -> None:
    twice = [row(index, cell, 1.0, workload="w") for index in (1, 2, 3) for cell in (1, 2)]
    _, same = followed(frame(*twice))
    assert same.cells == (2,)
    assert (same.total, same.known) == (1, 1)


def test_changed_definition_is_another_cell_and_is_counted() -> None:
    at = frame(row(1, 1, 1.0, workload="w"), row(1, 5, 1.0), row(2, 2, 1.0, workload="w"), row(2, 5, 1.0))
    _, same = followed(at)
    assert same.cells == (5,)
    assert trend_frames.redefined(at, VERSIONS[0]) == 1
    assert trend_frames.redefined(AT, VERSIONS[0]) == 0


def test_interval_is_over_replicas_not_cells() -> None:
    # Each replica is 1%, 2%, ... slower in every cell: what replicas share does not average out over cells.
    luck = [1.0, 1.01, 1.02, 1.03, 1.04]
    before = [row(1, cell, 1.02, replicas=luck) for cell in range(1, 11)]
    after = [row(2, cell, 1.02 * 1.1, replicas=[1.1 * one for one in luck]) for cell in range(1, 11)]
    at = frame(*before, *after)
    wide, same = followed(at)
    found = trend_intervals.with_intervals(trend_frames.ratios(wide, same), at, METRIC, same)
    low, high = found["low"].iloc[1], found["high"].iloc[1]
    # 5 against 5 at 95%: the interval runs from the third least of the 25 pairwise ratios to the third greatest.
    pairs = sorted(1.1 * b / a for a in luck for b in luck)
    assert (low, high) == pytest.approx((pairs[2], pairs[-3]))
    assert math.isnan(found["low"].iloc[0])


def test_no_interval_from_three_replicas_or_from_two_runs() -> None:
    three = [row(index, cell, 1.0, replicas=[1.0, 1.1, 0.9]) for index in (1, 2) for cell in (1, 2)]
    mixed = [row(index, cell, 1.0, run=10 * cell) for index in (1, 2) for cell in (1, 2)]
    for rows in (three, mixed):
        at = frame(*rows)
        wide, same = followed(at)
        found = trend_intervals.with_intervals(trend_frames.ratios(wide, same), at, METRIC, same)
        assert found["low"].isna().all()
        assert list(found["ratio"].dropna()) == [1.0, 1.0]


def test_outcomes_tell_failed_from_not_run_and_from_not_judged() -> None:
    statuses = ["ok", "ok", "timeout", "accuracy_failed", "not_comparable", "unsupported", "skipped", None]
    at = frame(*(row(1, cell, 1.0, status=status) for cell, status in enumerate(statuses, 1)))
    found = trend_frames.outcomes(at, POINTS[:1], VERSIONS[0]).iloc[0]
    counted = [found[name] for name in ("ok", "wrong", "failed", "unclear", "evaluated", "not_run", "open")]
    assert counted == [2, 1, 1, 1, 5, 2, 1]
    assert found["rate"] == pytest.approx(2 / 5)


def test_pass_rate_of_the_same_cells_beside_that_of_all() -> None:
    found = trend_frames.outcomes(AT, POINTS, VERSIONS[0]).set_index("point")
    assert list(found["rate"]) == pytest.approx([1.0, 2 / 3, 1.0])
    assert list(found["same_ok"]) == [3, 2, 3]
    assert list(found["same"]) == [3, 3, 3]


def test_nothing_evaluated_has_no_rate() -> None:
    at = frame(row(1, 1, None, status="skipped"))
    assert math.isnan(trend_frames.outcomes(at, POINTS[:1], None)["rate"].iloc[0])


def test_counts_leave_out_what_did_not_compile() -> None:
    at = frame(
        row(1, 1, 1.0, graph_breaks=3),
        row(1, 2, 1.0, graph_breaks=5, nothing_compiled=True),
        row(1, 3, 1.0, graph_breaks=5, ran_eager="all"),
        row(1, 4, None, graph_breaks=5, status="timeout"),
        row(1, 5, 1.0, graph_breaks=None),
        row(1, 6, 1.0, graph_breaks=7, status="accuracy_failed"),
    )
    wide = trend_frames.counts(at, "graph_breaks", POINTS[:1])
    assert wide[VERSIONS[0]].to_dict() == {1: 3.0, 6: 7.0}


def test_phases_add_up_and_a_missing_phase_is_no_zero() -> None:
    wide = trend_frames.values(AT, "compile.cold_s", POINTS)
    same = trend_frames.same_cells(wide, VERSIONS[0], AT)
    found = trend_frames.phases(AT, same)
    first = found[found["point"] == VERSIONS[0]].set_index("phase")["seconds"].to_dict()
    # Three cells of 10 s: 1 + 2 + 4 s are known, and AOTAutograd says nothing.
    assert first == {"Dynamo": 3.0, "Inductor": 6.0, "C++ or Triton compiler": 12.0, "everything else": 9.0}
    table = trend_data.wide_phases(found, VERSIONS)
    assert list(table["total"]) == [30.0, 30.0, 30.0]


def test_cells_behind_a_point_come_most_above_the_reference_first() -> None:
    wide, _ = followed(AT)
    found = trend_frames.moved(wide, VERSIONS[2], VERSIONS[0])
    assert list(zip(found["cell"], found["ratio"], strict=True)) == [(3, 10.0), (2, 1.0), (1, 0.5)]
    assert len(trend_frames.moved(wide, VERSIONS[1], VERSIONS[0])) == 2


def test_versions_of_two_builds_keep_their_names_apart() -> None:
    builds = [point(1, "2.13.0+cpu"), point(2, "2.13.0+cu130"), point(3, "2.14.1+cpu")]
    assert list(trend_frames.about(builds, "versions")["label"]) == [one.torch for one in builds]
    assert list(trend_frames.about(POINTS, "versions")["label"]) == ["2.9.1", "2.12.0", "2.13.0"]


def test_runs_of_a_version_are_one_line_and_nightly_builds_another() -> None:
    torches = ["2.13.0+cpu", "2.15.0.dev20260301+cpu", "2.13.0+cpu", "2.15.0.dev20260302+cpu"]
    runs = [point(index, torch, f"{index}@1") for index, torch in enumerate(torches, 1)]
    about = trend_frames.about(runs, "runs")
    assert list(about["series"]) == ["2.13.0", "nightly builds"] * 2
    assert about["label"].iloc[0] == "1@1\n03-02"


def test_headline_says_how_the_picked_point_stands() -> None:
    of = trend_data.recorded("versions", METRIC, POINTS, AT)
    shown = trend_data.shown(of, VERSIONS[0])
    said = trend_data.headline(of, shown, VERSIONS[2])
    assert said.startswith("**`2.13.0`**: compiled call **-29.3%** against `2.9.1`")
    assert "-50.0% against `2.12.0` before it" in said
    assert "**3 of 3 cells ok**, 2 graph breaks, 0 recompiles." in said
    assert said.endswith("Measured on different days: a trend, no verdict.")
    assert trend_data.said(of, shown.same) == "The same **2 of 3 cells** at 3 torch versions."


# The cells of AT that are followed, 1 and 2, and what is wrong of them: one at the reference, both at the last version.
WRONG_AT = {(1, 1), (3, 1), (3, 2), (3, 3)}
PARTLY_WRONG = AT.assign(
    status=[
        "accuracy_failed" if (run, cell) in WRONG_AT else status
        for run, cell, status in zip(AT["run"], AT["cell"], AT["status"], strict=True)
    ]
)


def test_wrong_results_are_counted_there_and_at_the_reference() -> None:
    _, same = followed(PARTLY_WRONG)
    # Cell 3 is wrong at the last version too, and is not followed.
    assert list(trend_wrong.count(PARTLY_WRONG, same).values()) == [1, 1, 2]
    assert set(trend_wrong.count(AT, same).values()) == {0}
    assert trend_wrong.where(PARTLY_WRONG, VERSIONS[2], VERSIONS[0]) == {
        1: "≠ wrong on both sides",
        2: "≠ wrong here",
        3: "≠ wrong here",
    }
    assert trend_wrong.where(PARTLY_WRONG, VERSIONS[1], VERSIONS[0]) == {1: "≠ wrong at the reference"}


def test_headline_says_of_how_many_cells_the_results_are_wrong() -> None:
    of = trend_data.recorded("versions", METRIC, POINTS, PARTLY_WRONG)
    shown = trend_data.shown(of, VERSIONS[0])
    last = trend_data.headline(of, shown, VERSIONS[2])
    assert "**-29.3%** over 2 cells, **2 of them with wrong results**, against `2.9.1`" in last
    assert "**0 of 3 cells ok** (3 with wrong results)" in last
    middle = trend_data.headline(of, shown, VERSIONS[1])
    assert "over 2 cells, **1 of them with wrong results**, against" in middle
    first = trend_data.headline(of, shown, VERSIONS[0])
    assert "the reference itself over 2 cells, **1 of them with wrong results**, **2 of 3" in first
    right = trend_data.recorded("versions", METRIC, POINTS, AT)
    assert "wrong" not in trend_data.headline(right, trend_data.shown(right, VERSIONS[0]), VERSIONS[2])


@pytest.mark.parametrize(("replicas", "sure"), [(1, False), (3, False), (4, True)])
def test_a_ratio_without_an_interval_is_open_in_the_headline(replicas: int, sure: bool) -> None:
    at = frame(row(1, 1, 4.0, replicas=[4.0] * replicas), row(2, 1, 2.0, replicas=[2.0] * replicas))
    of = trend_data.recorded("versions", METRIC, POINTS[:2], at)
    said = trend_data.headline(of, trend_data.shown(of, VERSIONS[0]), VERSIONS[1])
    # Half the time: what is not sure is neither bold nor first.
    assert ("**-50.0%**" in said) is sure and "-50.0%" in said
    assert ("compiled call **? open** (-50.0% against `2.9.1`; no interval" in said) is not sure


def test_host_memory_is_followed_within_a_build_only() -> None:
    built = ("CUDA", "CPU", "CUDA")
    points = tuple(
        point(n, torch, build=one) for n, (torch, one) in enumerate(zip(VERSIONS, built, strict=True), 1)
    )
    metric = "compile.host_peak_mb"
    rows = [row(n, 1, 100.0 * n) for n in (1, 2, 3)]
    at = pd.DataFrame(rows).rename(columns={METRIC: metric})
    of = trend_data.recorded("versions", metric, points, at)
    said = trend_data.builds_differ(of) or ""
    assert "CUDA at `2.9.1+cpu`, `2.13.0+cpu`; CPU at `2.12.0+cpu`" in said
    assert "one build only" in said
    same = trend_frames.same_cells(of.wide, VERSIONS[0], at)
    assert trend_data.ratios(of, same)["series"].tolist() == ["CUDA build", "CPU build", "CUDA build"]
    # The builds of other metrics are named too, and their line is one.
    times = trend_data.recorded("versions", METRIC, points, pd.DataFrame([row(n, 1, 1.0) for n in (1, 2, 3)]))
    assert "one build only" not in (trend_data.builds_differ(times) or "one build only")
    alike = trend_data.recorded("versions", metric, POINTS, at)
    assert trend_data.builds_differ(alike) is None
