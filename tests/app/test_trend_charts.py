"""The charts of Trends from hand-made frames, checked against Vega-Lite's schema, which the page does not wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from app.drawing import unchecked
from app.trends import axes as trend_axes
from app.trends import charts as trend_charts
from tests.app.drawn import picture, valid

ORDER = ["2.9.1", "2.12.0", "2.13.0"]
WHO = {"torch": "t", "started": "2026-03-04 21:15"}


def ratios(eager: bool = False) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for label, ratio, low, note in (
        ("2.9.1", 1.0, None, None),
        ("2.12.0", 0.9, 0.88, None),
        ("2.13.0", None, None, "out"),
    ):
        high = low and low + 0.04
        rows.append(
            {
                "point": f"{label}+cpu",
                "label": label,
                "series": "",
                "name": "Compiled call",
                "ratio": ratio,
                "low": low,
            }
            | {"high": high, "cells": 3, "wrong": 0, "note": note, **WHO}
        )
    found = pd.DataFrame(rows)
    beside = found.iloc[:2].assign(name=trend_axes.EAGER_NAME, low=None, high=None)
    return pd.concat([found, beside], ignore_index=True) if eager else found


def encodings(spec: dict[str, Any], channel: str) -> list[dict[str, Any]]:
    return [layer["encoding"][channel] for layer in spec["layer"] if channel in layer.get("encoding", {})]


def outcomes(n: int = 3, failed: int = 1) -> pd.DataFrame:
    rows = [
        {"point": f"p{i}", "label": f"v{i}", "rate": 0.75, "evaluated": 4, "ok": 4 - failed, "failed": failed}
        | {"wrong": 0, "unclear": 0, "not_run": 1, "open": 0, **WHO}
        for i in range(n)
    ]
    return pd.DataFrame(rows)


def test_points_keep_their_order_and_a_missing_one_its_place() -> None:
    spec = valid(trend_charts.ratios(ratios(), ORDER, margin=0.03))
    for x in encodings(spec, "x"):
        assert x["scale"]["domain"] == ORDER
        assert x["sort"] == ORDER
    assert [row["ratio"] for row in spec["datasets"]["mine"]] == [1.0, 0.9, None]


def test_left_out_point_is_a_mark_of_its_own_and_no_number() -> None:
    spec = valid(trend_charts.ratios(ratios(), ORDER, margin=0.03))
    assert [(row["label"], row["note"]) for row in spec["datasets"]["left"]] == [("2.13.0", "out")]
    ring = next(layer for layer in spec["layer"] if layer["data"]["name"] == "left")
    assert ring["mark"]["text"] == "○"
    assert "value" in ring["encoding"]["y"]


def test_ratios_are_on_a_log_axis_with_the_margin_around_one() -> None:
    spec = valid(trend_charts.ratios(ratios(), ORDER, margin=0.03))
    assert {y["scale"]["type"] for y in encodings(spec, "y") if "scale" in y} == {"log"}
    band = spec["datasets"]["band"][0]
    assert (band["from"], band["to"], band["one"]) == pytest.approx((1 / 1.03, 1.03, 1.0))


def test_eager_is_another_shape_and_dash_not_only_grey() -> None:
    spec = valid(trend_charts.ratios(ratios(eager=True), ORDER, margin=0.03))
    scale = encodings(spec, "shape")[0]["scale"]
    assert scale["domain"] == ["Compiled call", "eager"]
    assert len(set(scale["range"])) == 2
    assert any("strokeDash" in layer["mark"] for layer in spec["layer"])


def test_click_selects_a_point() -> None:
    charts = [
        trend_charts.ratios(ratios(), ORDER, margin=0.03),
        trend_charts.outcomes(outcomes(), ["v0", "v1", "v2"]),
    ]
    for chart in charts:
        assert [(one["name"], one["select"]["fields"]) for one in valid(chart)["params"]] == [
            ("picked", ["point"])
        ]


def test_outcomes_have_words_and_only_those_that_occur() -> None:
    spec = valid(trend_charts.outcomes(outcomes(), ["v0", "v1", "v2"]))
    assert encodings(spec, "color")[0]["scale"]["domain"] == ["✓ ok", "✗ failed", "○ not run"]
    assert [row["said"] for row in spec["datasets"]["shares"]] == ["75%"] * 3


def test_wrong_results_are_an_outcome_of_their_own() -> None:
    frame = outcomes(3, 0).assign(wrong=[0, 2, 0], ok=[4, 2, 4])
    spec = valid(trend_charts.outcomes(frame, ["v0", "v1", "v2"]))
    scale = encodings(spec, "color")[0]["scale"]
    assert scale["domain"] == ["✓ ok", "≠ wrong results", "○ not run"]
    assert len({color for _, color in trend_charts.OUTCOMES.values()}) == len(trend_charts.OUTCOMES)
    many = outcomes(20, 0).assign(wrong=[int(5 <= n < 9) for n in range(20)])
    spec = valid(trend_charts.outcomes(many, [f"v{n}" for n in range(20)]))
    assert [(row["label"], row["said"]) for row in spec["datasets"]["shares"]] == [
        ("v5", "✗0 ≠1"),
        ("v9", "✗0"),
    ]


def test_a_mean_of_wrong_results_is_hollow(tmp_path: Path) -> None:
    frame = ratios(eager=True)
    frame.loc[(frame["label"] == "2.12.0") & (frame["name"] != trend_axes.EAGER_NAME), "wrong"] = 2
    spec = valid(trend_charts.ratios(frame, ORDER, margin=0.03))
    (inside,) = encodings(spec, "fillOpacity")
    assert inside["condition"] == [{"test": "datum.wrong > 0", "value": 0}] and inside["value"] == 1
    assert [row["wrong"] for row in spec["datasets"]["mine"]] == [0, 2, 0]
    tips: Any = encodings(spec, "tooltip")[-2]
    assert "of them with wrong results" in [one["title"] for one in tips]
    svg = picture(trend_charts.ratios(frame, ORDER, margin=0.03), tmp_path / "hollow.svg", 500)
    assert 'fill-opacity="0"' in svg
    assert not encodings(valid(trend_charts.ratios(ratios(), ORDER, margin=0.03)), "fillOpacity")


@pytest.mark.parametrize(
    ("n", "said"), [(20, [("v3", "✗1"), ("v7", "✗2"), ("v9", "✗1"), ("v15", "✗0")]), (40, [])]
)
def test_many_points_show_where_failures_change_and_more_none(n: int, said: list[tuple[str, str]]) -> None:
    frame = outcomes(n, 0)
    failed = [int(3 <= i < 15) + int(7 <= i < 9) for i in range(n)]
    frame = frame.assign(failed=failed, ok=[4 - one for one in failed])
    spec = valid(trend_charts.outcomes(frame, [f"v{i}" for i in range(n)]))
    assert [(row["label"], row["said"]) for row in spec["datasets"]["shares"]] == said
    assert len(spec["layer"]) == (2 if said else 1)


def test_counts_start_at_zero_and_name_what_they_count() -> None:
    rows = [
        {
            "point": label,
            "label": label,
            "series": "",
            "what": what,
            "total": total,
            "cells": 2,
            "note": None,
            **WHO,
        }
        for what, total in (("graph_breaks", 4.0), ("recompiles", 7.0))
        for label in ORDER
    ]
    spec = valid(trend_charts.totals(pd.DataFrame(rows), ORDER))
    assert all(y["scale"]["zero"] for y in encodings(spec, "y") if "scale" in y)
    assert encodings(spec, "color")[0]["scale"]["domain"] == ["graph breaks", "recompiles"]


def test_phases_stack_in_order_with_seconds_on_the_axis() -> None:
    rows = [
        {"point": label, "label": label, "phase": phase, "seconds": 1.0, "cells": 2, **WHO}
        for label in ORDER
        for phase in ("Dynamo", "Inductor", "everything else")
    ]
    spec = valid(trend_charts.phases(pd.DataFrame(rows), ORDER))
    assert "(s)" in encodings(spec, "y")[0]["title"]
    assert encodings(spec, "color")[0]["sort"] == ["Dynamo", "Inductor", "everything else"]
    assert [row["rank"] for row in spec["datasets"]["phases"][:3]] == [0, 1, 2]


def test_mark_of_the_picked_point_is_still_a_valid_chart(tmp_path: Path) -> None:
    spec = unchecked(lambda: trend_charts.ratios(ratios(), ORDER, margin=0.03))
    marked = trend_charts.marked(spec, "2.12.0")
    assert marked["layer"][0]["data"]["values"] == [{"label": "2.12.0"}]
    assert len(spec["layer"]) + 1 == len(marked["layer"])
    valid(marked)
    # Vega-Lite names the parts of a chart by the places of its layers, and one more layer moves them.
    for kind in (
        marked,
        trend_charts.marked(unchecked(lambda: trend_charts.outcomes(outcomes(), ORDER)), "v1"),
    ):
        assert "<svg" in picture(kind, tmp_path / "marked.svg", 400)


def test_legend_of_many_versions_leaves_room_for_the_panel() -> None:
    names = [f"2.{i}.0" for i in range(30)]
    many = pd.concat([ratios().assign(series=name, name=name) for name in names], ignore_index=True)
    spec = valid(trend_charts.ratios(many, ORDER, margin=0.03))
    assert encodings(spec, "color")[0]["legend"]["symbolLimit"] == trend_axes.MOST_NAMED
    scales = encodings(spec, "color")[0]["scale"]["range"], encodings(spec, "shape")[0]["scale"]["range"]
    assert len(set(zip(*scales, strict=True))) == len(names)


def test_ratios_shown_span_ten_percent_at_least() -> None:
    low, high = trend_axes.ratio_domain([1.0, 1.002, float("nan")])
    assert low < 0.9 < 1.1 < high
    assert trend_axes.ratio_domain([])[0] < 0.9


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.89, 1.11, [0.9, 0.95, 1.0, 1.05, 1.1]),
        (0.7, 1.6, [0.8, 1.0, 1.2, 1.4, 1.6]),
        (0.1, 9.0, [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]),
    ],
)
def test_ticks_are_round_with_one_among_them(low: float, high: float, expected: list[float]) -> None:
    found = trend_axes.ratio_ticks(low, high)
    assert found == pytest.approx(expected)
    assert 1.0 in found


def test_charts_of_trends_know_no_streamlit_and_no_database() -> None:
    code = (
        "import sys, app.trends.charts; print([m for m in ('streamlit', 'sqlalchemy') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
