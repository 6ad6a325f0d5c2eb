"""Charts as specifications: order, units, and failures that are never a number."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from app import charts
from app.trends.axes import x_axis
from tests.app.drawn import picture, valid

VERSIONS = ["2.9.1", "2.12.0", "2.13.0"]
BUCKETS = ["seq=16", "seq=64", "seq=256"]


def summary(
    *rows: tuple[str, str, float, float | None, float | None], note: str | None = None
) -> pd.DataFrame:
    columns = ["version", "bucket", "median", "low", "high"]
    return pd.DataFrame(rows, columns=columns).assign(n=8, evaluation=range(len(rows)), note=note)


def points(*rows: tuple[str, str, int, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["version", "bucket", "replica", "value"])


def failures(*rows: tuple[str, str, bool]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["version", "bucket", "failed"])
    return frame.assign(status="✗ timeout", reason=None, evaluation=range(7, 7 + len(rows)))


MEASURED = summary(("2.12.0", "seq=16", 3.0, 2.8, 3.3), ("2.9.1", "seq=16", 4.0, None, None))
POINTS = points(("2.12.0", "seq=16", 0, 2.9), ("2.9.1", "seq=16", 0, 4.0))
NONE = failures()


def drawn(*frames: pd.DataFrame, **options: Any) -> dict[str, Any]:
    return valid(
        charts.history(*frames, title="Cold compile", unit="s", versions=VERSIONS, buckets=BUCKETS, **options)
    )


def encodings(spec: dict[str, Any], channel: str) -> list[dict[str, Any]]:
    """Every definition of a channel anywhere in the chart."""
    found = []
    if channel in spec.get("encoding", {}):
        found.append(spec["encoding"][channel])
    for layer in spec.get("layer", []):
        found += encodings(layer, channel)
    return found


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for data in spec["datasets"].values() for row in data]


def test_versions_and_buckets_keep_their_order() -> None:
    spec = drawn(POINTS, MEASURED, NONE)
    for x in encodings(spec, "x"):
        assert x["scale"]["domain"] == VERSIONS
        assert x["sort"] == VERSIONS
    for color in encodings(spec, "color"):
        assert color["scale"]["domain"] == BUCKETS


def test_every_version_has_its_place_though_nothing_was_measured_there() -> None:
    spec = drawn(POINTS, MEASURED, NONE)
    assert {row["version"] for row in rows(spec) if "median" in row} == set(VERSIONS)
    empty = [row for row in rows(spec) if "median" in row and row["version"] == "2.13.0"]
    assert [row["median"] for row in empty] == [None, None, None]


def test_unit_stands_on_the_axis() -> None:
    titles = {y.get("title") for y in encodings(drawn(POINTS, MEASURED, NONE), "y")}
    assert titles == {"Cold compile (s)"}


def test_failure_is_a_mark_and_no_number() -> None:
    spec = drawn(POINTS, MEASURED, failures(("2.13.0", "seq=16", True), ("2.13.0", "seq=64", False)))
    numbers = [row[name] for row in rows(spec) for name in ("median", "value", "low", "high") if name in row]
    assert 0 not in numbers
    failed = [row for row in rows(spec) if row.get("status")]
    assert [(row["version"], row["bucket"], row["sign"]) for row in failed] == [
        ("2.13.0", "seq=16", "×"),
        ("2.13.0", "seq=64", "○"),
    ]
    assert not [row for row in failed if "median" in row or "value" in row]


def test_marks_of_failures_stay_below_the_data() -> None:
    many = failures(*[("2.13.0", bucket, True) for bucket in BUCKETS])
    spec = drawn(POINTS, MEASURED, many)
    downs = [row["down"] for row in rows(spec) if "down" in row]
    assert len(set(downs)) == 3
    # Pixels from the top: below the line above the rail, and inside the panel.
    assert spec["height"] * (1 - charts.RAIL_SHARE) < min(downs) <= max(downs) < spec["height"]
    low, high = next(y["scale"]["domain"] for y in encodings(spec, "y") if y.get("scale"))
    # The least value, 2.8, must be drawn above the share of the panel that the rail takes.
    place = (pd.Series([2.8]).map("{:.15f}".format).astype(float)[0] / low) ** 1
    assert place > (high / low) ** charts.RAIL_SHARE


def test_panel_without_any_value_has_no_number_on_its_axis() -> None:
    spec = drawn(points(), summary(), failures(("2.9.1", "seq=16", True)))
    logs = [y for y in encodings(spec, "y") if y.get("scale")]
    assert {y["scale"]["type"] for y in logs} == {"log"}
    assert all(y["axis"]["values"] == [] for y in logs)


def test_panel_without_any_value_or_failure_says_so() -> None:
    spec = drawn(points(), summary(), NONE)
    assert [row["word"] for row in rows(spec) if "word" in row] == ["not measured"]


def test_axis_numbers_stay_off_the_rail() -> None:
    axis = charts.value_axis(1.0, 100.0, rail=True, measured=True).to_dict()
    assert min(axis["values"]) >= 100**charts.RAIL_SHARE


def test_band_only_where_an_interval_exists() -> None:
    without = summary(("2.12.0", "seq=16", 3.0, None, None))
    with_band = [row for row in rows(drawn(POINTS, MEASURED, NONE)) if row.get("low") is not None]
    assert [(row["version"], row["low"], row["high"]) for row in with_band] == [("2.12.0", 2.8, 3.3)]
    assert not [row for row in rows(drawn(POINTS, without, NONE)) if row.get("low") is not None]


def test_median_with_a_note_is_hollow() -> None:
    noted = summary(("2.12.0", "seq=16", 3.0, 2.8, 3.3), note="ran eager")
    spec = drawn(POINTS, noted, NONE)
    assert [row["note"] for row in rows(spec) if row.get("median") is not None] == ["ran eager"]
    opacities = encodings(spec, "fillOpacity")
    assert [(one["condition"], one["value"]) for one in opacities] == [
        ([{"test": "isValid(datum.note)", "value": 0}], 1)
    ]


def test_click_selects_the_evaluation() -> None:
    spec = drawn(POINTS, MEASURED, failures(("2.13.0", "seq=16", True)))
    assert {one["name"] for one in spec["params"]} == set(charts.PICKED)
    assert all(one["select"]["fields"] == ["evaluation"] for one in spec["params"])


def test_colour_is_never_alone() -> None:
    spec = drawn(POINTS, MEASURED, NONE)
    shapes = encodings(spec, "shape")
    assert shapes
    assert len(set(shapes[0]["scale"]["range"])) == len(BUCKETS)


def test_too_many_points_give_way_to_the_line() -> None:
    many = points(*[("2.12.0", "seq=16", i, 3.0) for i in range(charts.MOST_POINTS + 1)])
    spec = drawn(many, MEASURED, NONE)
    assert not [row for row in rows(spec) if "value" in row]
    assert len([row for row in rows(spec) if row.get("median") is not None]) >= 2


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        # By hand: 1 and 10 are a decade, each end gets a twentieth of it: 10^0.05 = 1.12202.
        ([1.0, 10.0], 1 / 1.12202, 11.2202),
        # 2 and 2.02 are 1% apart: widened to a factor of two around their geometric mean of 2.01.
        ([2.0, 2.02], 2.00997 / 2**0.5 / 1.05, 2.00997 * 2**0.5 * 1.05),
    ],
)
def test_log_domain(values: list[float], low: float, high: float) -> None:
    assert charts.log_domain(values, rail=False) == pytest.approx((low, high), rel=1e-4)


def test_log_domain_leaves_room_for_the_rail() -> None:
    plain, railed = charts.log_domain([1.0, 10.0], rail=False), charts.log_domain([1.0, 10.0], rail=True)
    assert railed[1] == plain[1]
    # The rail's share of the whole axis, in decades, is what lies below the plain lower end.
    whole, below = (railed[1] / railed[0]), (plain[0] / railed[0])
    assert whole**charts.RAIL_SHARE == pytest.approx(below)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.5, 2000.0, [1.0, 10.0, 100.0, 1000.0]),
        (0.9, 6.0, [1.0, 2.0, 5.0]),
        (9.0, 21.0, [9.0, 10.0, 15.0, 20.0]),
        (0.011, 0.031, [0.015, 0.02, 0.025, 0.03]),
    ],
)
def test_log_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert charts.log_ticks(low, high) == pytest.approx(expected)


def test_phases_stack_in_order_and_add_up() -> None:
    frame = pd.DataFrame({"phase": ["Dynamo", "Inductor"], "value": [0.5, 1.5]})
    spec = valid(charts.phases(frame))
    assert [(row["phase"], row["start"], row["end"]) for row in rows(spec)] == [
        ("Dynamo", 0.0, 0.5),
        ("Inductor", 0.5, 2.0),
    ]
    assert encodings(spec, "x")[0]["title"].endswith("(s)")


def test_chart_becomes_a_picture(tmp_path: Path) -> None:
    chart = charts.history(
        POINTS,
        MEASURED,
        failures(("2.13.0", "seq=64", True)),
        title="Cold compile",
        unit="s",
        versions=VERSIONS,
        buckets=BUCKETS,
    )
    svg = picture(chart, tmp_path / "chart.svg", 400)
    assert "×" in svg
    assert svg.index("2.9.1") < svg.index("2.12.0") < svg.index("2.13.0")


def test_charts_do_not_know_streamlit() -> None:
    code = (
        "import sys, app.charts; print([m for m in ('streamlit', 'sqlalchemy', 'torch') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_line_joins_versions_that_are_kept_apart(tmp_path: Path) -> None:
    measured = summary(*((version, "seq=16", 3.0, None, None) for version in VERSIONS))
    apart = dict(zip(VERSIONS, ("CUDA", "CPU", "CUDA"), strict=True))

    def lines(**options: Any) -> list[int]:
        """How many points each line of the chart's picture joins."""
        spec = drawn(POINTS.iloc[:0], measured, NONE, **options)
        svg = picture(spec, tmp_path / "chart.svg", 400)
        paths = re.findall(
            r'<path aria-label="[^"]*" role="graphics-symbol" aria-roledescription="line mark" d="([^"]*)"',
            svg,
        )
        return sorted(len(re.findall("[ML]", path)) for path in paths)

    assert lines() == [3]
    assert lines(apart=apart) == [1, 2]


@pytest.mark.parametrize("n", [1, 2, 6, 16, 17, 25, 26, 60, 401])
def test_newest_and_first_version_are_labelled_however_many_there_are(n: int, tmp_path: Path) -> None:
    versions = [f"2.{minor}.0" for minor in range(n)]
    measured = summary(*((version, "seq=16", 3.0, None, None) for version in versions))
    spec = charts.history(
        POINTS.iloc[:0], measured, NONE, title="t", unit="s", versions=versions, buckets=["seq=16"]
    )
    shown = re.findall(r">(2\.\d+\.0)<", picture(spec, tmp_path / "history.svg", 440))
    assert {versions[0], versions[-1]} <= set(shown)
    assert len(shown) <= charts.MOST_LABELLED
    places = sorted(versions.index(one) for one in shown)
    steps = [after - before for before, after in pairwise(places)]
    # Even, but for the first: what is left over is nowhere twice as wide.
    assert len(set(steps[1:])) <= 1
    assert not steps or steps[0] < 2 * steps[-1]


@pytest.mark.parametrize("n", [9, 20, 33, 120])
def test_newest_run_is_labelled_on_trends(n: int) -> None:
    order = [f"{run}\n03-{run % 28 + 1:02d}" for run in range(n)]
    shown = x_axis(order).to_dict()["axis"]["values"]
    assert (shown[0], shown[-1]) == (order[0], order[-1])
    # A label of two lines takes the room of two.
    assert len(shown) <= charts.MOST_LABELLED / 2
