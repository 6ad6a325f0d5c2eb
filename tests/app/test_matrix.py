"""The Matrix page: opened through the entry file over made-up comparisons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.matrix import frames as matrix_frames
from tests.app.conftest import Opener, said
from tests.app.test_hostile_names import FRAGMENTS, rendered

Databases = Callable[[str], Path]
WARM = "compiled.wall_ms"


def table_of(app: AppTest) -> pd.DataFrame:
    return pd.DataFrame(app.dataframe[0].value)


@pytest.mark.parametrize(
    "scenario",
    ["upgrade", "all_well", "hold", "unconfirmed", "nothing_comparable", "hostile_upgrade", "realistic"],
)
@pytest.mark.parametrize("metric", [matrix_frames.WORST, WARM, "graph_breaks"])
def test_page_opens(opens: Opener, databases: Databases, scenario: str, metric: str) -> None:
    app = opens(databases(scenario), "matrix", m=metric)
    assert not app.exception
    assert " cells compared" in said(app)


@pytest.mark.parametrize("scenario", ["tiny", "unfinished"])
def test_one_version_only_is_said(opens: Opener, databases: Databases, scenario: str) -> None:
    app = opens(databases(scenario), "matrix")
    assert not app.exception
    assert "One torch version only" in said(app)
    assert not app.get("vega_lite_chart")


def test_page_says_how_much_was_compared_before_what_regressed(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("upgrade"), "matrix", m=WARM))
    assert "**13 of 15 cells compared**" in shown
    assert "in 13 of 15" in shown
    assert "3 cells regressed or newly failing" in shown


def test_only_what_regressed(opens: Opener, databases: Databases) -> None:
    app = opens(databases("upgrade"), "matrix", m=WARM, only="regressed")
    assert set(table_of(app)["workload"]) == {"models.llama"}
    quiet = opens(databases("all_well"), "matrix", m=WARM, only="regressed")
    assert not quiet.exception
    assert "No cell that was compared regressed" in said(quiet)
    assert "**15 of 15 cells compared**" in said(quiet)


def test_unknown_metric_of_the_url_is_said(opens: Opener, databases: Databases) -> None:
    app = opens(databases("upgrade"), "matrix", m="no.such_ms")
    assert not app.exception
    assert any("no.such_ms" in one.value for one in app.warning)


@pytest.mark.parametrize("metric", [matrix_frames.WORST, "graph_breaks"])
def test_names_never_reach_markdown(opens: Opener, databases: Databases, metric: str) -> None:
    app = opens(databases("hostile_upgrade"), "matrix", m=metric)
    assert not app.exception
    for text in rendered(app):
        assert not [one for one in FRAGMENTS if one in text], text


def test_a_choice_goes_into_the_url(opens: Opener, databases: Databases) -> None:
    app = opens(databases("upgrade"), "matrix")
    app.selectbox(key="m-verdict").select("graph_breaks").run()
    assert app.query_params["m"] == "graph_breaks"
    assert "`graph_breaks` (Graph breaks)" in said(app)
