"""The first screen: the answer, what it rests on, and the ways from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Opener, said

Databases = Callable[[str], Path]


def cards(app: AppTest) -> dict[str, tuple[str, str]]:
    return {one.label: (str(one.value), str(one.delta)) for one in app.metric}


def test_answer_names_the_exception_the_offender_and_the_coverage(
    opens: Opener, databases: Databases
) -> None:
    app = opens(databases("upgrade"))
    assert not app.exception
    assert app.title[0].value == ":orange[!] Upgrade, except `models.llama`"
    shown = said(app)
    assert "Confirmed regressions there and none elsewhere" in shown
    assert "**Worst:** Compiled call **+" in shown
    assert "95% interval" in shown
    assert "confirmed. Likely cause: `other kernels were generated" in shown
    # 8 + 4 + 3 cells of seven workloads; BERT's two were evaluated on the base only.
    assert "**13 of 15 cells compared**; ○ 2 not compared: `one side did not evaluate this cell (2)`" in shown
    assert "measured in turns in run 1" in shown
    assert "only `torch 2.13.0+cpu → 2.14.1+cpu`, `triton 3.7.1 → 3.8.0` moved" in shown


def test_cards_say_over_how_many_cells_they_are(opens: Opener, databases: Databases) -> None:
    found = cards(opens(databases("upgrade")))
    assert found["Correctness"] == ("13 of 13", "as right as the base")
    value, detail = found["Compiled call"]
    assert value.startswith("×")
    assert detail.startswith("13 cells · ▲ 3 worse · ▼ 2 better")
    assert "warm cache ×" in found["Cold compile"][1]
    assert found["Graph breaks"] == ("±0", "recompiles ±0 · 13 cells")
    assert found["Compile memory"] == ("–", "○ not compared")


def test_hold_counts_what_is_wrong(opens: Opener, databases: Databases) -> None:
    app = opens(databases("hold"))
    assert app.title[0].value == ":red[✗] Hold"
    found = cards(app)
    assert found["Correctness"] == ("12 of 15", "✗ 2 newly failing · ✗ 1 wrong now")
    # A break in both buckets of BERT; the guard fails in the second.
    assert found["Graph breaks"][0] == "+2"
    assert found["Graph breaks"][1].startswith("recompiles +1 ")


def test_all_well_still_says_how_much_was_compared(opens: Opener, databases: Databases) -> None:
    app = opens(databases("all_well"))
    shown = said(app)
    assert app.title[0].value == ":green[✓] Upgrade"
    assert "**15 of 15 cells compared**" in shown
    assert "**Largest slowdown:**" in shown


def test_unconfirmed_regression_is_no_evidence(opens: Opener, databases: Databases) -> None:
    app = opens(databases("unconfirmed"))
    assert app.title[0].value == ":gray[?] Not enough evidence"
    assert ", unconfirmed." in said(app)
    assert "▲ regressed, unconfirmed" in set(app.dataframe[0].value["verdict"])


def test_nothing_comparable_is_not_unchanged(opens: Opener, databases: Databases) -> None:
    database = databases("nothing_comparable")
    app = opens(database)
    shown = said(app)
    assert "**0 of 4 cells compared**; ○ 4 not compared" in shown
    assert all(value == "–" for value, _ in cards(app).values())
    assert f"python -m evaluator upgrade 2.13.0 NEWER --db {database}" in shown
    assert set(app.dataframe[0].value["metric"]) == {"the whole cell"}


def test_runs_at_different_times_confirm_nothing(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("realistic")))
    assert "Not enough evidence" in shown
    assert "measured at different times in run 4" in shown


@pytest.mark.parametrize("scenario", ["tiny", "unfinished", "hostile"])
def test_one_version_names_the_command_that_makes_a_second(
    opens: Opener, databases: Databases, scenario: str
) -> None:
    app = opens(databases(scenario))
    assert not app.exception
    shown = said(app)
    assert "One torch version only: nothing to compare yet" in shown
    assert f"python -m evaluator upgrade 2.13.0 NEWER --db {databases(scenario)}" in shown
    assert not app.metric


def groups(app: AppTest) -> dict[str, int]:
    return {
        name: int(n)
        for name, _, n in (one.content.rpartition(" ") for one in app.get("button_group")[0].proto.options)
    }


def test_groups_have_counts_and_the_url_picks_one(opens: Opener, databases: Databases) -> None:
    app = opens(databases("upgrade"), show="not_compared")
    counts = groups(app)
    assert (counts["Regressed"], counts["Improved"], counts["Not compared"]) == (3, 2, 2)
    table = app.dataframe[0].value
    assert len(table) == 2
    assert set(table["workload"]) == {"models.bert"}
    assert set(table["why"]) == {"the candidate did not evaluate this cell"}


def test_empty_group_is_said_with_the_coverage(opens: Opener, databases: Databases) -> None:
    app = opens(databases("all_well"), show="regressed")
    assert "Regressed: nothing, with 15 of 15 cells compared." in said(app)


def test_worst_is_listed_first_with_values_and_interval(opens: Opener, databases: Databases) -> None:
    table = opens(databases("upgrade")).dataframe[0].value
    assert list(table["change"]) == sorted(table["change"], reverse=True)
    first = table.iloc[0]
    assert first["base"].endswith(" ms")
    assert 12 < first["change"] < 16
    assert first["interval"].startswith("+")
    assert first["verdict"] == "▲ regressed"


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("base", "9@9", "base"),
        ("cand", "2.99.0", "candidate"),
        ("show", "<b>x</b>", "group of findings"),
        ("plot", "no.such", "metric"),
    ],
)
def test_value_of_the_url_that_is_not_there_is_said(
    opens: Opener, databases: Databases, key: str, value: str, what: str
) -> None:
    app = opens(databases("upgrade"), **{key: value})
    assert not app.exception
    assert [one.value.partition(" is recorded")[0] for one in app.warning] == [f"No {what} `{value}`"]


def test_sides_of_the_url_are_compared(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), base="2.9.1", cand="4@1")
    assert not app.exception
    assert "`torch 2.9.1+cpu → 2.13.0+cpu`" in said(app)
    assert [box.value for box in app.sidebar.selectbox] == ["2.9.1+cpu", "4@1"]


def test_the_same_side_twice_is_said(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), base="4@1", cand="4@1")
    assert not app.exception
    assert "These two can't be compared" in said(app)
    assert "both mean 4@1" in said(app)


def test_picked_candidate_is_in_the_url(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"))
    app.sidebar.selectbox[1].set_value("3@1").run()
    assert not app.exception
    assert app.query_params["cand"] == "3@1"
    assert "2.12.0+cpu" in said(app)


def test_forest_has_a_row_a_cell_slowest_first(opens: Opener, databases: Databases) -> None:
    app = opens(databases("upgrade"))
    (chart,) = app.get("vega_lite_chart")
    spec = json.loads(chart.proto.spec)
    cells = spec["layer"][0]["encoding"]["y"]["sort"]
    assert len(cells) == 13
    assert [one.partition(" ")[0] for one in cells[:3]] == ["models.llama"] * 3
    assert [one.partition(" ")[0] for one in cells[-2:]] == ["models.vit"] * 2


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_comparison_can_be_saved(databases: Databases, form: str) -> None:
    from app import comparing, data
    from app.verdict import export

    database = data.opened(str(databases("upgrade")))
    assert isinstance(database, data.Database)
    found = comparing.compared(database, "1@1", "1@2")
    assert found is not None
    text = export.report(database, found, form)
    assert "Upgrade except" in text
    assert "models.llama" in text
    assert "13 of 15 cells compared" in text
    assert f"python -m evaluator compare 1@1 1@2 --db {databases('upgrade')}" in text
    assert "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
