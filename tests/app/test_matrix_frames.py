"""What a tile and a row of the Matrix say of a cell: what was not compared never looks like unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from app.matrix import chart as matrix_chart
from app.matrix import frames as matrix_frames
from app.matrix.words import FAILURE, FIXED, NOT_COMPARED, OPEN, SETTLED, WRONG, change_of
from evaluator.verdicts.sides import Side
from evaluator.verdicts.whole import compare
from evaluator.verdicts.words import REASONS
from tests.app import seed
from tests.app.comparisons import compared
from tests.app.drawn import picture, valid
from tests.app.records import MadeRun
from tests.evaluator.verdicts import given

Databases = Callable[[str], Path]
WARM = "compiled.wall_ms"
# A side that ran to its end with wrong results.
IS_WRONG: dict[str, Any] = {"status": "accuracy_failed", "accuracy": given.accuracy("fail")}


def frame_of(path: Path, metric: str) -> pd.DataFrame:
    found = compared(path)
    return matrix_frames.rows(found.verdicts, found.pairs, metric)


def of(frame: pd.DataFrame, workload: str) -> pd.DataFrame:
    return frame[frame["workload"] == workload]


def test_every_cell_has_a_row_and_its_place_in_the_walk(databases: Databases) -> None:
    frame = frame_of(databases("upgrade"), WARM)
    llama = of(frame, "models.llama").set_index("bucket")["place"].to_dict()
    assert llama == {"batch=1,seq=16": 1, "batch=1,seq=64": 2, "batch=1,seq=256": 3}
    # By hand from the seed: 3 + 1 + 2 + 2 + 3 + 2 + 2 buckets, one variant each.
    assert len(frame) == 15


def test_a_regression_has_its_ratio_interval_and_verdict(databases: Databases) -> None:
    frame = of(frame_of(databases("upgrade"), WARM), "models.llama")
    assert set(frame["verdict"]) == {"regressed"}
    assert set(frame["kind"]) == {SETTLED}
    assert frame["bad"].all()
    # The seed makes it 1.14 times as slow.
    assert frame["ratio"].tolist() == pytest.approx([1.14] * 3, abs=0.03)
    assert (frame["shade"] == frame["ratio"]).all()
    assert (frame["low"] < frame["ratio"]).all() and (frame["ratio"] < frame["high"]).all()
    assert frame["percent"].tolist() == pytest.approx(((frame["ratio"] - 1) * 100).tolist())
    assert set(frame["word"]) == {"▲ regressed"}


def test_the_worst_comes_first(databases: Databases) -> None:
    frame = frame_of(databases("upgrade"), WARM)
    assert set(frame["workload"].iloc[:3]) == {"models.llama"}
    assert frame["cell"].tolist() == list(range(15))


def test_a_cell_of_one_side_is_not_compared_and_has_no_colour(databases: Databases) -> None:
    for metric in (WARM, matrix_frames.WORST, "graph_breaks"):
        frame = of(frame_of(databases("upgrade"), metric), "models.bert")
        assert set(frame["kind"]) == {NOT_COMPARED}
        assert set(frame["word"]) == {"○ not compared"}
        assert frame["shade"].isna().all() and frame["ratio"].isna().all()
        assert set(frame["change"]) == {"not compared"}
        assert frame["why"].str.contains("the candidate did not evaluate this cell").all()


@pytest.mark.parametrize("metric", [matrix_frames.WORST, WARM, "compile.cold_s", "graph_breaks"])
def test_what_fails_newly_is_failed_and_bad_whatever_is_looked_at(databases: Databases, metric: str) -> None:
    frame = of(frame_of(databases("hold"), metric), "models.vit")
    assert set(frame["kind"]) == {FAILURE}
    assert frame["bad"].all()
    assert set(frame["icon"]) == {"✗"}
    assert set(frame["word"]) == {"✗ newly failing"}
    assert frame["shade"].isna().all()
    assert frame["why"].str.contains("compile_error on the candidate only").all()


def test_what_fails_on_both_sides_is_crossed_and_not_compared(databases: Databases) -> None:
    frame = frame_of(databases("nothing_comparable"), matrix_frames.WORST)
    assert set(frame["kind"]) == {FAILURE}
    assert set(frame["verdict"]) == {"not_compared"}
    assert set(frame["icon"]) == {"✗"} and set(frame["change"]) == {"failed"}
    assert not frame["bad"].any()


def test_correctness_decides_before_speed(databases: Databases) -> None:
    frame = frame_of(databases("hold"), matrix_frames.WORST)
    worst = frame.iloc[0]
    assert (worst["workload"], worst["metric"]) in {("models.vit", "status")}
    norm = of(frame, "norm.layer_norm").iloc[0]
    assert (norm["metric"], norm["change"], norm["shade"]) == ("accuracy", "pass → fail", 1.1)


def test_counts_are_shown_as_they_are(databases: Databases) -> None:
    frame = frame_of(databases("hold"), "graph_breaks")
    bert = of(frame, "models.bert").iloc[0]
    assert (bert["base"], bert["candidate"], bert["change"], bert["verdict"]) == (0, 1, "0 → 1", "regressed")
    assert bert["shade"] == 1.1 and pd.isna(bert["ratio"])
    assert set(of(frame, "graphs.breaks")["change"]) == {"2"}
    assert matrix_frames.numeric(frame)


def test_metrics_begin_with_the_verdict_and_hold_only_what_findings_name(databases: Databases) -> None:
    names = matrix_frames.metrics(compared(databases("upgrade")).verdicts)
    assert names[:3] == [matrix_frames.WORST, WARM, "compile.cold_s"]
    assert "status" not in names and "compiled.stream_ms" not in names


def test_too_few_replicas_settle_nothing(tmp_path: Path) -> None:
    runs = [MadeRun("2.13.0+cpu", 1, replicas=2), MadeRun("2.14.1+cpu", 2, replicas=2)]
    path = seed.write(tmp_path / "few.db", [(run, [seed.MATMUL]) for run in runs])
    (row,) = frame_of(path, WARM).to_dict("records")
    assert (row["verdict"], row["kind"], row["interval"]) == ("inconclusive", OPEN, "")
    assert row["ratio"] == pytest.approx(row["candidate"] / row["base"])


def spec_of(frame: pd.DataFrame) -> dict[str, Any]:
    return valid(matrix_chart.matrix(frame, base="torch 2.13.0", candidate="torch 2.14.1"))


def layers(spec: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    wanted = [{"filter": f"datum.kind == '{kind}'"}]
    return [one for one in spec["layer"] if one.get("transform") == wanted]


def test_the_scale_of_colours_is_fixed_and_diverges_around_equal(databases: Databases) -> None:
    spec = spec_of(frame_of(databases("upgrade"), WARM))
    (settled,) = layers(spec, SETTLED)
    assert settled["encoding"]["color"]["scale"] == {
        "scheme": "purpleorange",
        "domain": [0.9, 1.1],
        "domainMid": 1.0,
        "clamp": True,
    }


def test_no_colour_of_the_scale_where_nothing_was_compared(databases: Databases) -> None:
    spec = spec_of(frame_of(databases("upgrade"), WARM))
    (hatched,) = layers(spec, NOT_COMPARED)
    assert "color" not in hatched["encoding"]
    stops = hatched["mark"]["color"]["stops"]
    assert len({stop["color"] for stop in stops}) == 2 and len(stops) > 8
    (failed,) = layers(spec, FAILURE)
    assert "color" not in failed["encoding"]
    (still_open,) = layers(spec, OPEN)
    assert still_open["mark"]["opacity"] < 0.5 and still_open["mark"]["strokeDash"]


def test_colour_is_never_alone(databases: Databases) -> None:
    spec = spec_of(frame_of(databases("hold"), matrix_frames.WORST))
    (rows,) = spec["datasets"].values()
    assert all(row["said"].split()[0] in "✗▲≈?○≠▼✓=" for row in rows)
    words = [one["encoding"]["text"]["field"] for one in spec["layer"] if "text" in one["encoding"]]
    assert words == ["said", "bucket", "title"]


def test_what_changed_with_no_better_side_still_has_a_tile(databases: Databases) -> None:
    frame = of(frame_of(databases("upgrade"), "kernels"), "models.llama")
    # Its later buckets reuse the code of the first one, and have no kernels of their own.
    frame = frame[frame["place"] == 1]
    assert set(frame["verdict"]) == {"changed"}
    assert set(frame["kind"]) == {OPEN} and set(frame["icon"]) == {"≠"}
    assert frame["shade"].notna().all() and frame["ratio"].isna().all()


def test_counts_have_no_legend_of_ratios(databases: Databases) -> None:
    (settled,) = layers(spec_of(frame_of(databases("hold"), "graph_breaks")), SETTLED)
    assert settled["encoding"]["color"]["legend"] is None


def test_a_click_selects_the_cell(databases: Databases) -> None:
    (param,) = spec_of(frame_of(databases("upgrade"), WARM))["params"]
    assert (param["name"], param["select"]["fields"]) == (matrix_chart.PICKED, ["cell"])


def test_of_too_many_rows_the_worst_are_drawn(databases: Databases) -> None:
    frame = frame_of(databases("upgrade"), WARM)
    many = pd.concat([frame.assign(row=f"w{i}") for i in range(200)], ignore_index=True)
    drawn = matrix_chart.worst_rows(many)
    assert 0 < len(drawn) <= matrix_chart.MOST_TILES < len(many)
    assert drawn["row"].tolist() == many["row"].iloc[: len(drawn)].tolist()
    assert matrix_chart.worst_rows(frame) is frame


def test_the_map_becomes_a_picture(databases: Databases, tmp_path: Path) -> None:
    chart = matrix_chart.matrix(frame_of(databases("hold"), matrix_frames.WORST), base="a", candidate="b")
    svg = picture(chart, tmp_path / "matrix.svg", 700)
    assert "✗ failed" in svg and "pass → fail" in svg


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.144, "+14.4%"),
        (0.9, "-10.0%"),
        (1.0, "0.0%"),
        (0.9997, "0.0%"),
        (2.126, "×2.13"),
        (1.999, "+99.9%"),
    ],
)
def test_changes_are_signed_percentages_and_factors_from_a_doubling_on(ratio: float, text: str) -> None:
    assert change_of(ratio) == text


def test_a_cell_that_lost_evidence_is_open_and_says_what_is_missing() -> None:
    times = given.series(compiled__wall_ms=1)
    lost = given.pair(given.side(series=times), replace(given.candidate(series=times), facts=None))
    found = compare(given.environment(), given.environment(given.NEXT_TORCH), [lost])
    row = matrix_frames.rows(found, [lost], matrix_frames.WORST).iloc[0]
    assert (row["verdict"], row["kind"], row["word"]) == ("inconclusive", OPEN, "? inconclusive")
    assert "the trace of a side was lost" in row["why"]
    assert "not compared" not in row["change"]


def row_of(base: Side, candidate: Side, metric: str) -> Any:
    one = given.pair(base, candidate)
    found = compare(given.environment(), given.environment(given.NEXT_TORCH), [one])
    return matrix_frames.rows(found, [one], metric).iloc[0]


@pytest.mark.parametrize("metric", [matrix_frames.WORST, WARM])
def test_what_no_rerun_confirmed_is_drawn_as_open(metric: str) -> None:
    slower = given.candidate(series=given.series(compiled__wall_ms=1.5))
    row = row_of(given.side(series=given.series(compiled__wall_ms=1)), slower, metric)
    assert (row["kind"], row["icon"], row["word"]) == (OPEN, "▲?", "▲ regressed, unconfirmed")
    assert row["bad"] and row["unconfirmed"]


def test_what_is_wrong_on_both_sides_says_so_whatever_is_looked_at() -> None:
    times = given.series(compiled__wall_ms=1)
    wrong = given.accuracy("fail")
    sides = (given.side(series=times, accuracy=wrong), given.candidate(series=times, accuracy=wrong))
    for metric in (matrix_frames.WORST, WARM):
        row = row_of(*sides, metric)
        assert row["wrong"] and row["icon"].startswith("≠")
        assert row["why"].startswith("wrong on both sides")
    assert not row_of(given.side(series=times), given.candidate(series=times), WARM)["wrong"]


def still_open(**changes: Any) -> tuple[Side, Side]:
    """A base with these changes, and a right candidate; two replicas a side, so that the time stays open."""
    few = given.series(given.STEADY[:2], compiled__wall_ms=1)
    return given.side(series=few, **changes), given.candidate(series=few)


@pytest.mark.parametrize("metric", [matrix_frames.WORST, WARM])
def test_a_fixed_result_is_said_beside_an_open_time(metric: str) -> None:
    row = row_of(*still_open(**IS_WRONG), metric)
    assert (row["metric"], row["verdict"], row["kind"]) == (WARM, "inconclusive", OPEN)
    assert row["word"] == "✓ results fixed · ? inconclusive"
    assert row["icon"] == "✓ fixed · ?" and row["edge"] == FIXED
    assert row["why"].startswith("results fixed; ")
    assert not row["wrong"] and not row["bad"]


def test_what_the_verdict_says_is_not_said_twice() -> None:
    fixed = row_of(*still_open(**IS_WRONG), "accuracy")
    assert (fixed["word"], fixed["icon"], fixed["edge"]) == ("✓ fixed", "✓", FIXED)
    base, candidate = still_open()
    worse = row_of(base, replace(candidate, **IS_WRONG), matrix_frames.WORST)
    assert (worse["word"], worse["edge"]) == ("▲ regressed, unconfirmed", WRONG)


def test_a_failure_that_is_gone_is_said_and_framed() -> None:
    row = row_of(given.failing(given.BASE_ID), given.candidate(), matrix_frames.WORST)
    assert (row["verdict"], row["word"], row["edge"]) == ("fixed", "✓ fixed", FIXED)


def test_a_time_of_results_that_became_wrong_says_so() -> None:
    base, candidate = still_open()
    wrong = replace(candidate, **IS_WRONG)
    row = row_of(base, wrong, WARM)
    assert row["word"] == "≠ wrong on the candidate · ? inconclusive"
    assert row["icon"] == "≠?" and row["edge"] == WRONG and not row["wrong"]


def test_row_and_file_have_the_signs_of_the_tile() -> None:
    times = {WARM: given.times(WARM, flags=["noisy"])}
    wrong = {**IS_WRONG, "series": times}
    row = row_of(given.side(**wrong), given.candidate(**wrong), WARM)
    assert row["icon"] == "≠=" and row["change"].startswith("~")
    assert row["word"] == "≠ wrong on both sides · = unchanged"
    assert row["rounds"] == "~ noisy"
    assert {"word", "rounds", "why"} <= set(matrix_frames.SAVED)


def test_a_thick_edge_is_of_the_failed_the_fixed_and_the_wrong() -> None:
    pairs = [
        given.pair(*still_open(**IS_WRONG), "pack.fixed"),
        given.pair(given.side(**IS_WRONG), given.candidate(**IS_WRONG), "pack.wrong"),
        given.pair(*still_open(), "pack.right"),
    ]
    found = compare(given.environment(), given.environment(given.NEXT_TORCH), pairs)
    frame = matrix_frames.rows(found, pairs, matrix_frames.WORST)
    assert frame.set_index("workload")["edge"].to_dict() == {
        "pack.fixed": FIXED,
        "pack.wrong": WRONG,
        "pack.right": "",
    }
    (edges,) = [
        one for one in spec_of(frame)["layer"] if one.get("transform") == [{"filter": "datum.edge != ''"}]
    ]
    # A colour of its own for what is better, and none without the sign in the tile.
    (fixed,) = edges["encoding"]["stroke"]["condition"]
    assert fixed["test"] == "datum.edge == 'fixed'"
    assert fixed["value"] != edges["encoding"]["stroke"]["value"]


@pytest.mark.parametrize(
    ("flags", "mark"), [(["noisy"], "~"), (["throttled"], "*"), (["shared_gpu", "noisy"], "~*")]
)
def test_a_time_whose_rounds_are_qualified_is_marked_and_says_why(flags: list[str], mark: str) -> None:
    times = {WARM: given.times(WARM, flags=flags)}
    one = given.pair(given.side(series=times), given.candidate(series=times))
    found = compare(given.environment(), given.environment(given.NEXT_TORCH), [one])
    row = matrix_frames.rows(found, [one], WARM).iloc[0]
    assert re.split(r"\d|\+", row["base_text"])[0] == mark
    assert re.split(r"\d|\+", row["change"])[0] == mark
    assert all(REASONS[flag] in row["why"] for flag in flags)


def test_the_course_over_versions_is_in_percent_within_fixed_ends() -> None:
    frame = pd.DataFrame(
        {"candidate_evaluation": [7.0, 8.0, None, None], "base_evaluation": [1.0, 2.0, 3.0, None]}
    )
    lines = {7: (2.0, 2.0, 4.0), 8: (1.0, 1.0), 3: (10.0, 11.0, 9.0)}
    found = matrix_frames.sparks(frame, lines)
    # Twice the median is beyond the end; two versions show no course; one side is enough; without any there is none.
    assert found == [[100, 100, 125], None, [100, 110, 90], None]
    assert matrix_frames.spark_metric(matrix_frames.WORST) == WARM
    assert matrix_frames.spark_metric("graph_breaks") is None
