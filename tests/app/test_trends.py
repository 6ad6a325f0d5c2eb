"""Trends: what its queries read, and the page on every kind of database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from streamlit.testing.v1 import AppTest

from app.trends import shown as trend_data
from app.trends.axes import EAGER_NAME
from db.queries import trends
from db.session import open_reader
from db.store import Store
from tests.app import seed
from tests.app.conftest import Opener, said
from tests.app.records import MadeRun
from tests.app.test_hostile_names import FRAGMENTS, rendered
from tests.db import upgrades as made_upgrades

Databases = Callable[[str], Path]
METRIC = "compiled.wall_ms"
TABS = ("Ratios", "Pass rate", "Breaks and recompiles", "Compile phases", "Cells")
SCENARIOS = ("realistic", "tiny", "unfinished", "all_failed", "hostile")


def scope(over: trends.Over = "versions", **changes: Any) -> trends.Scope:
    return replace(trends.Scope(over, "machine-1", "cpu", None), **changes)


@pytest.fixture
def connection(databases: Databases) -> Iterator[Connection]:
    with open_reader(str(databases("realistic"))).connect() as opened:
        yield opened


@pytest.fixture
def upgraded(tmp_path: Path) -> Path:
    """An upgrade run of two environments, its rerun and its rungs, and a later run of one of them."""
    path = tmp_path / "upgraded.db"
    first = made_upgrades.MadeRun("u", purpose="upgrade", replicas=4, slower={1: 1.2})
    runs = [
        first,
        made_upgrades.MadeRun(
            "c", purpose="confirm", parent=first.uuid, started_at="2026-03-02T10:00:00+00:00", slower={1: 9.0}
        ),
        made_upgrades.MadeRun(
            "x",
            purpose="explain",
            parent=first.uuid,
            variants=("default+eager",),
            started_at="2026-03-03T10:00:00+00:00",
        ),
        made_upgrades.MadeRun(
            "n", environments=(made_upgrades.BASE,), started_at="2026-03-04T10:00:00+00:00", label="night"
        ),
    ]
    store = Store(str(path))
    for run in runs:
        store.write_many(run.records())
    store.close()
    return path


def test_versions_are_points_in_version_order(connection: Connection) -> None:
    points, at = trends.recorded(connection, scope(), (METRIC,))
    assert [point.torch for point in points] == ["2.9.1+cpu", "2.12.0+cpu", "2.13.0+cpu", "2.14.1+cpu"]
    # 2.13.0 was measured in runs 1 and 4: the newest evaluation of each cell counts.
    assert [point.runs for point in points] == [(2,), (3,), (4,), (5,)]
    assert list(at.groupby("point").size()) == [32] * 4


def test_runs_are_points_by_date(connection: Connection) -> None:
    points, at = trends.recorded(connection, scope("runs"), (METRIC,))
    assert [point.key for point in points] == ["1", "2", "3", "4", "5"]
    assert [point.torch for point in points][:2] == ["2.13.0+cpu", "2.9.1+cpu"]
    assert len(at) == 5 * 32


def test_numbers_are_those_of_the_summaries(connection: Connection) -> None:
    _, at = trends.recorded(connection, scope("runs"), (METRIC, "compile.cold_s"))
    row = at[(at["run"] == 3) & (at["workload"] == "models.bert")].iloc[0]
    values = sorted(json.loads(row["replica_medians"]))
    assert row[METRIC] == pytest.approx((values[3] + values[4]) / 2)
    assert json.loads(row["replica_numbers"]) == list(range(8))
    failed = at[at["workload"] == "failures.crash"]
    assert failed[[METRIC, "compile.cold_s", "replica_medians"]].isna().all().all()


def test_one_variant_can_be_followed(connection: Connection) -> None:
    _, at = trends.recorded(connection, scope(variant="dynamic"), (METRIC,))
    assert set(at["variant"]) == {"dynamic"}
    assert set(at["workload"]) == {"pointwise.silu"}


def test_environments_of_a_run_are_points_of_their_own(upgraded: Path) -> None:
    with open_reader(str(upgraded)).connect() as reads:
        points, _ = trends.recorded(reads, scope("runs"), (METRIC,))
        assert [point.key for point in points] == ["1@1", "1@2", "4"]
        assert [point.label for point in points] == [None, None, "night"]


def test_reruns_and_rungs_are_no_points_of_a_trend(upgraded: Path) -> None:
    with open_reader(str(upgraded)).connect() as reads:
        points, at = trends.recorded(reads, scope(), trend_data.metrics_with(METRIC))
        assert [point.runs for point in points] == [(4,), (1,)]
        assert set(at["variant"]) == {"default"}
        found = trends.choices(reads)
    assert (found.variants, found.targets, found.runs) == (("default",), ("cpu",), 2)
    of = trend_data.recorded("versions", METRIC, points, at)
    shown = trend_data.shown(of, "2.13.0+cpu")
    ratio = shown.ratios[shown.ratios["name"] != EAGER_NAME].set_index("point")["ratio"]
    # The upgrade said 1.2 times as slow; the rerun, which is no whole run, would say 9.
    assert ratio["2.14.1+cpu"] == pytest.approx(1.2)


def test_only_the_newest_runs_are_points(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trends, "MOST_RUNS", 2)
    points, _ = trends.recorded(connection, scope("runs"), (METRIC,))
    assert [point.key for point in points] == ["4", "5"]


def test_machine_without_runs_has_no_points(connection: Connection) -> None:
    points, at = trends.recorded(connection, scope(machine="elsewhere"), (METRIC,))
    assert points == ()
    assert at.empty


@pytest.mark.parametrize("over", ["versions", "runs"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_page_opens(opens: Opener, databases: Databases, scenario: str, over: str) -> None:
    app = opens(databases(scenario), "trends", over=over)
    assert not app.exception
    assert app.title[0].value == "Trends"


@pytest.mark.parametrize("scenario", ["realistic", "all_failed", "hostile"])
@pytest.mark.parametrize("tab", TABS)
def test_every_table_opens(opens: Opener, databases: Databases, tab: str, scenario: str) -> None:
    app = opens(databases(scenario), "trends", table=tab)
    assert not app.exception
    for text in rendered(app):
        assert not [one for one in FRAGMENTS if one in text], text


def charts_of(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in app.get("vega_lite_chart")]


def test_page_says_over_how_many_cells(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "trends")
    assert len(charts_of(app)) == 4
    shown = said(app)
    # 32 cells: not measured are 3 evidence-only, the crash, and the one that compiled nothing; batch=9 ran eager. 2.9.1
    # failed 3 more: one of llama, both of vit.
    assert "The same **23 of 26 cells** at 4 torch versions." in shown
    assert "**30 of 32 cells ok**" in shown
    assert "Measured on different days: a trend, no verdict." in shown


def test_reference_of_the_url_is_what_the_others_stand_against(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "trends", ref="2.13.0+cpu", at="2.9.1+cpu")
    assert "against `2.13.0`" in said(app)
    table = app.dataframe[0].value.set_index("torch")
    assert table.loc["2.13.0+cpu", "ratio"] == 1.0
    assert table.loc["2.13.0+cpu", "note"] == "the reference"
    assert table.loc["2.9.1+cpu", "ratio"] > 1.1


def test_one_version_is_said_with_the_command_and_draws_no_ratio(opens: Opener, databases: Databases) -> None:
    database = databases("tiny")
    app = opens(database, "trends")
    assert "One torch version only: no trend yet" in said(app)
    assert f"python -m evaluator upgrade 2.13.0 NEWER --db {database}" in said(app)
    assert "nothing to compare" in said(app)
    # Pass rate, breaks and phases are facts of one version as well.
    assert len(charts_of(app)) == 3


def test_all_failed_is_a_pass_rate_of_zero_and_no_ratio(opens: Opener, databases: Databases) -> None:
    app = opens(databases("all_failed"), "trends", table="Pass rate")
    assert "**0 of 6 cells ok**" in said(app)
    assert "No cell has a number for it." in said(app)
    assert list(app.dataframe[0].value["percent"]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("key", "what"),
    [("m", "metric"), ("ref", "torch version with this metric"), ("at", "point"), ("v", "variant")],
)
def test_value_of_the_url_that_is_not_there_is_said(
    opens: Opener, databases: Databases, key: str, what: str
) -> None:
    app = opens(databases("realistic"), "trends", **{key: "**no** <b>such</b> thing"})
    assert not app.exception
    assert [one.value.startswith(f"No {what} `**no** <b>such</b> thing`") for one in app.warning] == [True]


def test_changed_definition_is_not_followed_and_is_said(opens: Opener, tmp_path: Path) -> None:
    path = tmp_path / "redefined.db"
    edited = replace(seed.LLAMA, edition="second", failures={})
    runs = [
        (MadeRun("2.12.0+cpu", 1, replicas=1), [seed.POINTWISE, seed.LLAMA]),
        (MadeRun("2.13.0+cpu", 2, replicas=1), [seed.POINTWISE, edited]),
    ]
    app = opens(seed.write(path, runs), "trends")
    assert "The same **6 of 9 cells**" in said(app)
    assert "3 cells of it changed definition elsewhere" in said(app)


def test_cells_of_the_picked_point_are_listed(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "trends", table="Cells", at="2.12.0+cpu", m="compile.cold_s")
    table = app.dataframe[0].value
    assert len(table) == 25
    assert list(table["percent"]) == sorted(table["percent"], reverse=True)
    assert set(table["followed"]) == {"yes"}


def test_cells_with_wrong_results_are_marked(opens: Opener, databases: Databases) -> None:
    app = opens(databases("hold"), "trends", table="Cells", at="2.14.1+cpu")
    assert not app.exception
    table = app.dataframe[0].value
    # The seed makes one result wrong, at the candidate.
    wrong = table.loc[table["results"] != "", ["workload", "results"]]
    assert wrong.to_numpy().tolist() == [["norm.layer_norm", "≠ wrong here"]]
    assert "1 with wrong results" in said(app) and "Hollow: some of its cells have wrong results" in said(app)
    right = opens(databases("all_well"), "trends", table="Cells", at="2.14.1+cpu")
    assert "results" not in right.dataframe[0].value and "wrong results" not in said(right)


def test_target_is_asked_for_only_where_there_are_two(opens: Opener, databases: Databases) -> None:
    labels = {box.label for box in opens(databases("realistic"), "trends").selectbox}
    assert labels == {"Metric", "Variant", "Reference"}
