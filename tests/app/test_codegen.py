"""Every page over cells of a card that is not there: what is known of their kernels, and why they have no times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app import theme
from app.kernels import between, build_lines, columns, worded
from app.matrix.words import deciding
from app.matrix.words import said as tile_of
from app.scripts import of_one
from evaluator.verdicts.cells import compare_cell
from evaluator.verdicts.policy import Policy
from evaluator.verdicts.sides import KernelUse
from tests.app import codegen as given
from tests.app.conftest import Opener, said
from tests.app.test_findings import record
from tests.app.test_pages import PAGES, WHY_TABS
from tests.db.made import BUILD, REFUSED
from tests.evaluator.verdicts import fused

Databases = Callable[[str], Path]


def tables(app: AppTest) -> list[pd.DataFrame]:
    return [table.value for table in app.dataframe]


def table_with(app: AppTest, column: str) -> pd.DataFrame:
    (found,) = [one for one in tables(app) if column in one]
    return found


def rows(app: AppTest, column: str) -> list[dict[Any, Any]]:
    return table_with(app, column).to_dict("records")


@pytest.mark.parametrize("scenario", ["codegen", "mixed"])
@pytest.mark.parametrize("page", PAGES)
def test_page_opens(opens: Opener, databases: Databases, page: str | None, scenario: str) -> None:
    app = opens(databases(scenario), page)
    assert not app.exception and app.title


@pytest.mark.parametrize("tab", WHY_TABS)
def test_every_tab_of_why_opens(opens: Opener, databases: Databases, tab: str) -> None:
    assert not opens(databases("codegen"), "why", w="point.gate", tab=tab).exception


def test_the_answer_comes_from_facts_and_has_no_card_of_times(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("codegen")))
    # Three of nine workloads, which is more than a quarter.
    assert "Hold" in shown and "confirmed regressions in 3 of 9 workloads" in shown.lower()
    assert "9 of 9 cells compared" in shown
    assert theme.NOTHING_RAN in shown
    # By hand: 9 kernels moved 3, 2, 3, 2 and 5 x 3 tensors, and now 4 more.
    assert f"Bytes moved: {29 * given.TENSOR / 1e6:.3g} MB base {25 * given.TENSOR / 1e6:.3g} MB" in shown
    assert "Spills: 80 B base 0 B" in shown and "Refused kernels: 1 base 0" in shown
    assert "Compiled call" not in shown and "not judged" not in shown


def test_all_well_is_said_of_facts_alone(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("codegen_calm")))
    assert "✓] Upgrade" in shown and "5 of 5 cells compared" in shown
    assert "No regression, facts only: no times on codegen targets." in shown


def test_findings_name_what_is_worse_and_why(opens: Opener, databases: Databases) -> None:
    found = {row["workload"]: row for row in rows(opens(databases("codegen"), show="regressed"), "verdict")}
    assert set(found) == {"point.gate", "point.spill", "matmul.product"}
    gate = found["point.gate"]
    assert (gate["metric"], gate["base"], gate["candidate"]) == (
        "Bytes moved (estimate)",
        "3.15 MB",
        "7.34 MB",
    )
    assert "fusion lost: 1 kernel became 2" in gate["why"]
    assert (found["point.spill"]["base"], found["point.spill"]["candidate"]) == ("0 B", "80 B")
    assert given.WHY_REFUSED in found["matmul.product"]["why"]


def test_the_matrix_maps_bytes_and_says_why_there_are_no_times(opens: Opener, databases: Databases) -> None:
    app = opens(databases("codegen"), "matrix", m="bytes_moved")
    assert theme.NOTHING_RAN in said(app)
    found = {row["workload"]: row for row in rows(app, "why")}
    assert (found["point.gate"]["base"], found["point.gate"]["candidate"]) == (3145728, 7340032)
    assert "regressed" in found["point.gate"]["verdict"] and "unchanged" in found["calm.w0"]["verdict"]


def tile(base: KernelUse, candidate: KernelUse) -> str:
    """What a tile of the map says of a cell whose kernel was ``base`` and is ``candidate``."""
    pair = fused.codegen(fused.base_of(base), fused.candidate_of(candidate))
    cell = compare_cell(pair, Policy(), different_builds=False, dependencies=1)
    return str(tile_of(deciding(cell), cell, "", whole=True)["change"])


def test_a_tile_of_spills_and_refusals_has_a_mark_of_its_own() -> None:
    assert tile(fused.FUSED, fused.with_build(fused.FUSED, spill_stores=80)) == "⤓ +80 B"
    assert tile(fused.FUSED, replace(fused.FUSED, build=fused.refused())) == "⊘ 0 → 1"
    assert tile(fused.with_build(fused.FUSED, spill_stores=80), fused.FUSED) == "-80 B"
    assert tile(
        fused.triton("triton_poi_fused_add_0", 3, "a"), fused.triton("triton_poi_fused_add_0", 7, "b")
    ) == ("+4.19 MB")


def test_targets_can_be_told_apart_where_there_are_several(opens: Opener, databases: Databases) -> None:
    for page in ("matrix", "coverage", None):
        everything = table_with(opens(databases("mixed"), page, show="unchanged"), "why")
        assert set(everything["target"]) == {"cpu", given.TARGET}
        one = table_with(opens(databases("mixed"), page, show="unchanged", tgt=given.TARGET), "why")
        assert 0 < len(one) < len(everything)
        other = opens(databases("mixed"), page, show="unchanged", tgt="cpu")
        assert len(table_with(other, "why")) == len(everything) - len(one)
        assert theme.NOTHING_RAN not in said(other)


def test_cells_that_ran_keep_their_cards_beside_those_that_did_not(
    opens: Opener, databases: Databases
) -> None:
    shown = said(opens(databases("mixed")))
    # Three shape buckets on the CPU, all as right as before; the others have no result to judge.
    assert "Correctness: 3 of 3 as right as the base" in shown and "Compiled call: " in shown


@pytest.mark.parametrize("part", ["Times", "Pays off", "Phases", "Accuracy", "Memory"])
def test_panels_of_what_never_ran_say_why_they_are_empty(
    opens: Opener, databases: Databases, part: str
) -> None:
    app = opens(databases("codegen"), "workload", w="point.gate", see=part)
    assert not app.exception
    assert [one.value for one in app.info] == [theme.NOTHING_RAN]
    assert not app.get("vega_lite_chart")


def test_the_workload_follows_what_its_kernels_cost(opens: Opener, databases: Databases) -> None:
    app = opens(databases("codegen"), "workload", w="point.gate", see="Kernels")
    found = {row["torch"]: row for row in rows(app, "bytes_moved")}
    old, new = found["2.13.0+cpu"], found["2.14.1+cpu"]
    assert (old["generated"], old["bytes_moved"], old["registers"]) == (1, 3 * given.TENSOR, 22)
    assert (new["generated"], new["bytes_moved"], new["refused"]) == (2, 7 * given.TENSOR, 0)
    assert len(app.get("vega_lite_chart")) == 6


def test_a_target_that_runs_is_shown_first(opens: Opener, databases: Databases) -> None:
    app = opens(databases("mixed"), "workload", w="point.gate")
    (box,) = [one for one in app.sidebar.selectbox if one.label == "Target"]
    assert (box.value, list(box.options)) == ("cpu", ["cpu", given.TARGET])


def test_why_lists_what_inductor_and_ptxas_say(opens: Opener, databases: Databases) -> None:
    newest = opens(databases("codegen"), "why", w="point.spill", tab="Kernels")
    (row,) = rows(newest, "moved")
    assert not newest.exception
    assert (row["form"], row["loads"], row["stores"], row["registers"]) == ("pointwise", 2, 1, 255)
    assert (row["moved"], row["spills"], row["cubin"]) == ("2.1 MB", "80 B", "9.8 kB")
    assert row["mark"] == "⤓ spills" and row["machine_code"] == "5" * 12
    shown = said(newest)
    assert "48 B stored, 32 B loaded a thread" in shown and "XBLOCK 1024" in shown
    assert "1 kernel spills registers to memory." in shown and theme.NOTHING_RAN in shown


def test_columns_of_words_are_no_numbers() -> None:
    """A browser takes 2.1 MB in a column of numbers for 2,100,000."""
    known = {
        "form": ["pointwise"],
        "calls": [1],
        "loads": [2],
        "stores": [1],
        "reductions": [0],
        "stack": [0],
    }
    more = {
        "bytes_moved": [2097152],
        "registers": [40],
        "spilled": [80],
        "shared": [0],
        "cubin_bytes": [9800],
    }
    frame = worded(pd.DataFrame(known | more | {"sass_hash": ["5" * 64], "error": [None]}))
    kinds = {name: column["type_config"]["type"] for name, column in columns(frame).items()}
    words = {"mark", "form", "moved", "spills", "cubin", "machine_code"}
    assert {name for name, kind in kinds.items() if kind == "text"} == words
    assert {name for name, kind in kinds.items() if kind == "number"} == set(kinds) - words


def test_why_offers_the_script_that_shows_something_and_says_what(
    opens: Opener, databases: Databases
) -> None:
    shown = said(opens(databases("codegen"), "why", w="point.gate"))
    assert "Reproduce its breaks, recompiles and graphs on the CPU with only torch:" in shown
    assert "python -m evaluator repro " in shown
    both = said(compared(opens, databases, "point.gate", "Kernels"))
    assert "No script shows the difference" in both and "repro" not in both


@pytest.mark.parametrize(
    ("target", "status", "error", "offered"),
    [
        ("codegen:h100", "ok", None, True),
        ("codegen:h100", "runtime_error", "RuntimeError", True),
        # A break under fullgraph, which the CPU shows too, and what only the card's lowering raised.
        ("codegen:h100", "compile_error", "torch._dynamo.exc.Unsupported", True),
        ("codegen:h100", "compile_error", "torch._inductor.exc.InductorError", False),
        ("codegen:h100", "compile_error", "torch._dynamo.exc.BackendCompilerFailed", False),
        ("codegen:h100", "unsupported", None, False),
        ("codegen:h100", "skipped", None, False),
        ("cpu", "compile_error", "torch._inductor.exc.InductorError", True),
        ("cpu", "unsupported", None, True),
    ],
)
def test_a_script_is_offered_where_it_shows_what_was_recorded(
    target: str, status: str, error: str | None, offered: bool
) -> None:
    probes = pd.DataFrame({"status": ["ok", status], "error": [{"type": "other"}, error and {"type": error}]})
    evaluation = replace(record(status), target=target, source_sha256="1" * 64, probes=probes)
    script = of_one(evaluation, " --db r.db")
    assert (script.command is not None) is offered
    if offered:
        assert script.command == "python -m evaluator repro 1 --db r.db"
    else:
        assert script.said.startswith("No script shows it again: it ")


def test_one_table_of_columns_serves_one_side_and_two() -> None:
    two = between(replace(fused.FUSED, loads=2), replace(fused.FUSED, loads=3, bytes_moved=2 * fused.TENSOR))
    assert (two["loads"], two["moved"], two["registers"]) == ("2 → 3", "3.15 MB → 2.1 MB", "22")
    known = [name for name, text in two.items() if text is not None]
    made = columns(pd.DataFrame([two], dtype="object"), of_two=True)
    # Nothing that two sides have is without a column, and nothing that neither has is with one.
    assert sorted(made) == sorted(known)
    assert {column["type_config"]["type"] for column in made.values()} == {"text"}


def test_a_refused_kernel_has_its_mark_and_its_reason_and_no_numbers(
    opens: Opener, databases: Databases
) -> None:
    app = opens(databases("codegen"), "why", w="matmul.product", tab="Kernels")
    (row,) = rows(app, "moved")
    assert row["mark"] == "⊘ refused"
    # What nobody has is no column, and no zero.
    assert "registers" not in row and "cubin" not in row
    assert given.WHY_REFUSED in said(app) and "refused 1 kernel" in said(app)


def test_a_build_that_came_to_no_end_is_not_called_refused() -> None:
    given_of = {"sass_hash": None, "spilled": None, "bytes_moved": None, "cubin_bytes": None}
    errors = ["not built: no end within 120 s", given.WHY_REFUSED, None]
    frame = worded(pd.DataFrame([given_of | {"error": error} for error in errors], dtype="object"))
    assert list(frame["mark"].dropna()) == ["? not built", "⊘ refused"]
    assert build_lines(REFUSED | {"error": errors[0]}).splitlines()[0] == f"failed:        {errors[0]}"
    assert build_lines(REFUSED).splitlines()[0] == f"refused:       {REFUSED['error']}"
    assert f"note:          {BUILD['note']}" in build_lines(BUILD).splitlines()
    unknown = replace(fused.FUSED, build=fused.accident())
    assert between(fused.FUSED, unknown)["mark"] == "– → ? not built"
    assert between(unknown, unknown)["registers"] is None


def compared(opens: Opener, databases: Databases, workload: str, tab: str) -> AppTest:
    return opens(databases("codegen"), "why", w=workload, base="1@1", cand="1@2", tab=tab)


def test_why_shows_both_sides_of_a_lost_fusion(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases, "point.gate", "Kernels")
    assert not app.exception
    fusion, kernels = tables(app)[-2:]
    (row,) = fusion.to_dict("records")
    # Its script would measure code that can't be run.
    assert "repro --ab" not in said(app)
    assert (row["change"], row["base"], row["more"]) == ("≠ lost", given.ONE["name"], "+4.19 MB")
    assert row["candidate"] == f"{given.TWO[0]['name']}, {given.TWO[1]['name']}"
    assert set(kernels["change"]) == {"+ added", "− removed"}
    shown = [str(one.value) for one in app.code]
    for source in ("both_at_once", "the_first_piece", "the_second_piece"):
        assert any(source in one for one in shown), source


def test_why_tells_the_layers_apart(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases, "point.rebuilt", "Kernels")
    (row,) = rows(app, "machine_code")
    assert (row["change"], row["body"], row["machine_code"]) == (
        "≠ rebuilt",
        "equal",
        "555555555555 → 666666666666",
    )
    assert "same source with other machine code (Triton or ptxas moved)" in said(app)


@pytest.mark.parametrize("tab", ["Times", "Accuracy"])
def test_why_says_why_two_sides_have_no_times(opens: Opener, databases: Databases, tab: str) -> None:
    app = compared(opens, databases, "point.gate", tab)
    assert theme.NOTHING_RAN in [one.value for one in app.info]


def test_runs_name_the_target_and_say_that_nothing_ran(opens: Opener, databases: Databases) -> None:
    found = rows(opens(databases("codegen"), "runs", run="1"), "speed_up")
    assert {row["target"] for row in found} == {given.TARGET}
    assert {row["note"] for row in found} == {"generated and built, never run: no times"}


def test_what_never_ran_needs_no_calibration(opens: Opener, databases: Databases) -> None:
    app = opens(databases("codegen"), "coverage", only="not calibrated")
    assert any("is not calibrated" in one.value for one in app.info)


def test_trends_say_why_there_are_no_times_and_draw_the_rest(opens: Opener, databases: Databases) -> None:
    app = opens(databases("codegen"), "trends")
    assert theme.NOTHING_RAN in [one.value for one in app.info]
    assert "9 of 9 cells ok" in said(app)
