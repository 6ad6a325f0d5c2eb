"""Why with two evaluations beside each other, opened through the entry file as a user does."""

from __future__ import annotations

import fnmatch
import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from app import theme
from db.session import database_url, reader_engine
from evaluator.__main__ import build_parser
from tests.app import seed
from tests.app.conftest import Opener, said
from tests.app.records import MadeRun, MadeWorkload
from tests.app.test_hostile_names import FRAGMENTS, rendered

Databases = Callable[[str], Path]

TABS = (
    "Findings",
    "Graph breaks",
    "Recompiles",
    "Kernels",
    "Times",
    "Accuracy",
    "Probes and logs",
    "Files",
    "Environment",
)


def evaluations(database: Path, workload: str, bucket: str) -> list[str]:
    """Ids of a cell's evaluations in the order in which they were recorded."""
    query = text(
        "SELECT evaluation.id FROM evaluation JOIN cell ON cell.id = cell_id JOIN bucket ON bucket.id = bucket_id "
        "JOIN workload ON workload.id = bucket.workload_id WHERE workload.name = :w AND bucket.name = :b "
        "ORDER BY evaluation.id"
    )
    with reader_engine(database_url(str(database))).connect() as reads:
        return [str(row.id) for row in reads.execute(query, {"w": workload, "b": bucket})]


def compared(opens: Opener, database: Path, workload: str, bucket: str, **query: str) -> AppTest:
    """Why of a cell with its first evaluation as the base and its second as the candidate."""
    base, candidate, *_ = evaluations(database, workload, bucket)
    app = opens(database, "why", w=workload, b=bucket, e=candidate, vs=base, **query)
    assert not app.exception
    return app


def two(path: Path, before: MadeWorkload, after: MadeWorkload, **changes: str) -> Path:
    """A workload evaluated under 2.13.0 in one run and under 2.14.1 in another."""
    runs = [MadeRun("2.13.0+cpu", 1), MadeRun("2.14.1+cpu", 2, **changes)]  # type: ignore[arg-type]
    return seed.write(path, [(runs[0], [before]), (runs[1], [after])])


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize(
    ("scenario", "workload", "bucket"),
    [
        ("hold", "models.bert", "batch=2,seq=128"),
        ("hold", "models.vit", "batch=1"),
        ("upgrade", "models.llama", "batch=1,seq=256"),
        ("nothing_comparable", "pointwise.silu", "n=4096"),
    ],
)
def test_every_tab_opens(
    opens: Opener, databases: Databases, scenario: str, workload: str, bucket: str, tab: str
) -> None:
    app = compared(opens, databases(scenario), workload, bucket, tab=tab)
    assert [one.label for one in app.tabs] == list(TABS)


def test_the_verdict_and_its_cause_come_first(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("hold"), "models.bert", "batch=2,seq=128")
    assert app.subheader[0].value == "▲ Regressed, confirmed · `torch 2.13.0+cpu` → `torch 2.14.1+cpu`"
    shown = said(app)
    assert "Likely cause: a graph break was added: Unsupported context manager" in shown
    assert "Break sites: 1 base 0" in shown
    assert "Accuracy: pass same" in shown


def test_both_sides_are_marked_in_the_list(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("upgrade"), "models.llama", "batch=1,seq=64")
    sides = app.dataframe[0].value["side"].dropna()
    assert sorted(sides) == ["base", "candidate"]


def test_a_new_break_shows_where_it_is_and_torchs_words(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("hold"), "models.bert", "batch=2,seq=32", tab="Graph breaks")
    table = app.dataframe[1].value
    assert list(table["change"]) == ["+ added"]
    assert list(table["candidate"]) == ["workloads/graphs.py:63"]


def test_a_new_guard_is_listed(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("hold"), "models.bert", "batch=2,seq=128", tab="Recompiles")
    table = app.dataframe[1].value
    assert list(table["change"]) == ["+ added"]
    assert "size mismatch at index 0" in table["guard"].iloc[0]


def test_a_changed_kernel_is_shown_as_a_unified_diff(opens: Opener, tmp_path: Path) -> None:
    other = seed.SILU_SOURCE.replace("x0 += 16", "x0 += 8")
    # One name and another body, which is what a change of code generation looks like.
    changed = replace(seed.VIT, failures={}, kernels=({**seed.VIT.kernels[0], "source": other},))
    database = two(tmp_path / "kernels.db", replace(seed.VIT, failures={}), changed)
    app = compared(opens, database, "models.vit", "batch=1", tab="Kernels")
    assert list(app.dataframe[1].value["change"]) == ["≠ changed"]
    (diff,) = [one for one in app.code if one.language == "diff"]
    lines = diff.value.splitlines()
    assert "-    for (int64_t x0 = 0; x0 < 4096; x0 += 16)" in lines
    assert "+    for (int64_t x0 = 0; x0 < 4096; x0 += 8)" in lines


def test_the_same_kernels_are_said_to_be_the_same(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("all_well"), "models.vit", "batch=1", tab="Kernels")
    assert "Kernels: 1 the same." in said(app)
    assert "The sources are the same, character by character." in said(app)


def test_both_compiles_are_drawn_on_one_axis(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("upgrade"), "models.llama", "batch=1,seq=64", tab="Times")
    (chart,) = app.get("vega_lite_chart")
    bars = json.loads(chart.proto.spec)["layer"][0]["encoding"]
    assert bars["y"]["scale"]["domain"] == ["Base", "Candidate"]


def test_a_side_that_failed_is_said_before_any_difference(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("hold"), "models.vit", "batch=1", tab="Kernels")
    assert "Candidate: compile error: what it shows is what came before that" in app.warning[0].value
    # Both counts are zero, and one of them was not reached.
    assert "Break sites: 0 base 0" in said(app)


def test_what_was_raised_is_shown_for_both_sides(opens: Opener, databases: Databases) -> None:
    shown = said(compared(opens, databases("hold"), "models.vit", "batch=1", tab="Probes and logs"))
    assert "(the base raised nothing)" in shown
    assert "LoweringException: assertion failed in conv layout" in shown


def test_the_same_failure_twice_is_not_a_difference(opens: Opener, databases: Databases) -> None:
    database = databases("nothing_comparable")
    shown = said(compared(opens, database, "pointwise.silu", "n=4096", tab="Probes and logs"))
    assert "Both sides raised the same" in shown
    assert "○ Not compared" in shown


def test_only_the_environments_differences_are_listed(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("upgrade"), "models.llama", "batch=1,seq=64", tab="Environment")
    table = app.dataframe[1].value
    assert list(table["field"]) == ["torch", "torch_git", "triton"]
    assert set(table["counts"]) == {"torch"}


def test_the_command_for_both_sides_is_named(opens: Opener, databases: Databases) -> None:
    database = databases("upgrade")
    base, candidate, *_ = evaluations(database, "models.llama", "batch=1,seq=64")
    shown = said(compared(opens, database, "models.llama", "batch=1,seq=64"))
    assert f"python -m evaluator repro --ab {base} {candidate} --db {database}" in shown


def test_a_changed_definition_is_not_compared_and_both_sides_are_shown(opens: Opener, tmp_path: Path) -> None:
    database = two(tmp_path / "definition.db", seed.BREAKS, replace(seed.BREAKS, edition="2", breaks=()))
    app = compared(opens, database, "graphs.breaks", "n=64", tab="Graph breaks")
    assert app.subheader[0].value.startswith("○ Not compared")
    assert "Not compared, which is not the same as unchanged." in app.warning[0].value
    shown = said(app)
    assert "No graph breaks." in shown
    assert "the same" not in shown.replace("not the same as unchanged", "")
    assert [len(frame.value) for frame in app.dataframe] == [2, 2]


def test_other_machines_are_said_before_any_number(opens: Opener, tmp_path: Path) -> None:
    plain = replace(seed.VIT, failures={})
    database = two(tmp_path / "machines.db", plain, plain, machine="machine-2")
    app = compared(opens, database, "models.vit", "batch=1", tab="Times")
    assert "The sides ran on different machines, so times are not compared." in said(app)
    verdicts = dict(zip(app.dataframe[1].value["metric"], app.dataframe[1].value["verdict"], strict=True))
    assert verdicts["Compiled call"] == "○ not compared"


def test_an_evaluation_that_is_not_there_is_said(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", w="models.vit", b="batch=1", vs="99999")
    assert not app.exception
    assert "No evaluation of this cell `99999` is recorded here" in said(app)
    assert "Findings" not in [one.label for one in app.tabs]


def test_a_link_may_name_the_sides_of_a_comparison(opens: Opener, databases: Databases) -> None:
    database = databases("upgrade")
    ids = evaluations(database, "models.llama", "batch=1,seq=64")
    app = opens(database, "why", w="models.llama", b="batch=1,seq=64", base="1@1", cand="1@2")
    assert not app.exception
    assert (app.query_params["vs"], app.query_params["e"]) == (ids[0], ids[1])
    assert "python -m evaluator repro --ab" in said(app)


def test_a_link_to_another_evaluation_keeps_it(opens: Opener, databases: Databases) -> None:
    database = databases("upgrade")
    base, *_ = evaluations(database, "models.llama", "batch=1,seq=64")
    app = opens(database, "why", w="models.llama", b="batch=1,seq=64", e=base, base="1@1", cand="1@2")
    assert "vs" not in app.query_params
    assert f"python -m evaluator repro {base} --db" in said(app)


def test_one_evaluation_alone_again_forgets_the_sides(opens: Opener, databases: Databases) -> None:
    app = opens(databases("upgrade"), "why", w="models.llama", b="batch=1,seq=64", base="1@1", cand="1@2")
    (box,) = [one for one in app.selectbox if one.label == "Compare with"]
    box.set_value("").run()
    assert not app.exception
    assert not {"vs", "base", "cand"} & set(app.query_params)
    assert "Findings" not in [one.label for one in app.tabs]


def test_a_cell_that_one_side_lacks_is_said_not_to_be_compared(opens: Opener, databases: Databases) -> None:
    app = opens(databases("upgrade"), "why", w="models.bert", base="1@1", cand="1@2")
    assert "Not compared: a side of this comparison did not evaluate this cell." in app.warning[0].value


def test_sides_of_a_link_that_are_not_there_are_said(opens: Opener, databases: Databases) -> None:
    app = opens(databases("upgrade"), "why", w="models.llama", base="1@1", cand="77@2")
    assert not app.exception
    assert "77" in said(app)
    assert app.tabs


def test_a_base_is_picked_from_the_other_evaluations(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", w="graphs.breaks", b="n=64")
    (box,) = [one for one in app.selectbox if one.label == "Compare with"]
    assert len(box.options) == 5
    assert box.options[0].startswith("nothing")
    first = evaluations(databases("realistic"), "graphs.breaks", "n=64")[0]
    box.set_value(first).run()
    assert not app.exception
    assert app.query_params["vs"] == first
    assert "Findings" in [one.label for one in app.tabs]


def test_another_bucket_keeps_the_two_runs(opens: Opener, databases: Databases) -> None:
    database = databases("upgrade")
    app = compared(opens, database, "models.llama", "batch=1,seq=64")
    (box,) = [one for one in app.selectbox if one.label == "Shape bucket"]
    box.set_value("batch=1,seq=256").run()
    base, candidate, *_ = evaluations(database, "models.llama", "batch=1,seq=256")
    assert not app.exception
    assert (app.query_params["vs"], app.query_params["e"]) == (base, candidate)
    assert not app.warning


def test_one_evaluation_alone_offers_nothing_to_compare(opens: Opener, databases: Databases) -> None:
    app = opens(databases("tiny"), "why")
    (box,) = [one for one in app.selectbox if one.label == "Compare with"]
    assert box.disabled
    assert "There is no other evaluation of this cell yet." in said(app)


@pytest.mark.parametrize("tab", TABS)
def test_no_name_reaches_markdown(opens: Opener, databases: Databases, tab: str) -> None:
    app = compared(
        opens,
        databases("hostile_upgrade"),
        seed.HOSTILE_NAME,
        seed.HOSTILE_BUCKET,
        variant=":red[v] `x` <b>",
        tab=tab,
    )
    for shown in rendered(app):
        assert not [one for one in FRAGMENTS if one in shown], shown
    assert theme.literal(seed.HOSTILE_NAME) in app.title[0].value


def test_another_workload_keeps_the_two_runs_and_blames_no_link(opens: Opener, databases: Databases) -> None:
    database = databases("upgrade")
    app = compared(opens, database, "models.llama", "batch=1,seq=64")
    (box,) = [one for one in app.selectbox if one.label == "Workload"]
    box.set_value("models.vit").run()
    base, candidate, *_ = evaluations(database, "models.vit", "batch=1")
    assert not app.exception
    assert not app.warning
    (bucket,) = [one for one in app.selectbox if one.label == "Shape bucket"]
    assert bucket.value == "batch=1"
    assert (app.query_params["vs"], app.query_params["e"]) == (base, candidate)


def test_as_many_other_kernels_are_not_the_same(opens: Opener, databases: Databases) -> None:
    app = compared(opens, databases("upgrade"), "models.llama", "batch=1,seq=64")
    shown = said(app)
    assert "Kernels: 5 base 5, others" in shown
    assert "Graphs: 1 same" in shown


def test_an_unknown_layer_has_a_reason_and_a_command_that_finds_it(opens: Opener, tmp_path: Path) -> None:
    failing = replace(seed.VIT, failures={("2.14.1", "*"): ("accuracy", "accuracy_failed", "leaf 0 is off")})
    database = two(
        tmp_path / "[a].db", replace(failing, name="pack.[vit]"), replace(failing, name="pack.[vit]")
    )
    app = compared(opens, database, "pack.[vit]", "batch=1")
    shown = said(app)
    assert "Layer that moved: not known. What a rerun confirms is measured layer by layer" in shown
    (command,) = [one.value for one in app.code if "evaluator upgrade" in one.value]
    words = shlex.split(command)[3:]
    parser, _ = build_parser(["upgrade"])
    asked = parser.parse_args(words)
    assert asked.spec == ["2.13.0", "2.14.1"]
    assert (asked.target, asked.db) == ("cpu", str(database))
    # As patterns they mean this cell and no other.
    cell = ("pack.[vit]", "batch=1", "default")
    for (pattern,), name in zip((asked.workload, asked.buckets, asked.variants), cell, strict=True):
        assert fnmatch.fnmatchcase(name, pattern)
    assert not fnmatch.fnmatchcase("pack.v", asked.workload[0])


def test_no_layer_is_asked_for_where_nothing_got_worse(opens: Opener, databases: Databases) -> None:
    shown = said(compared(opens, databases("upgrade"), "models.vit", "batch=1"))
    assert "Layer that moved" not in shown
