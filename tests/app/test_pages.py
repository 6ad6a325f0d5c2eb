"""Every page on every kind of database, opened through the entry file as a user does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.workload.panels import PARTS
from tests.app import seed
from tests.app.conftest import Opener, said
from tests.app.records import MadeRun

PAGES = (None, "matrix", "workload", "why", "coverage", "runs", "trends", "timeline")
SCENARIOS = ("realistic", "tiny", "unfinished", "all_failed", "hostile")
RUN_TABS = ("Cells", "Failures and logs", "Environment", "Files", "Samples")
WHY_TABS = (
    "Graph breaks",
    "Recompiles",
    "Kernels",
    "Times",
    "Accuracy",
    "Probes and logs",
    "Files",
    "Environment",
)

Databases = Callable[[str], Path]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("page", PAGES)
def test_page_opens(opens: Opener, databases: Databases, page: str | None, scenario: str) -> None:
    app = opens(databases(scenario), page)
    assert not app.exception
    assert app.title


@pytest.mark.parametrize("scenario", ["realistic", "all_failed", "hostile", "unfinished"])
@pytest.mark.parametrize("tab", RUN_TABS)
def test_every_tab_of_a_run_opens(opens: Opener, databases: Databases, tab: str, scenario: str) -> None:
    app = opens(databases(scenario), "runs", tab=tab)
    assert not app.exception


@pytest.mark.parametrize("scenario", ["realistic", "all_failed", "hostile", "unfinished"])
@pytest.mark.parametrize("tab", WHY_TABS)
def test_every_tab_of_why_opens(opens: Opener, databases: Databases, tab: str, scenario: str) -> None:
    app = opens(databases(scenario), "why", tab=tab)
    assert not app.exception


def test_runs_counts_what_is_there(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("realistic"), "runs"))
    # By hand from the seed: 10 workloads of 3x3, 1, 2, 2, 9, 1, 3, 2, 2 and 1 buckets x variants, in 5 runs.
    cells = 3 * 3 + 1 + 2 + 2 + 9 + 1 + 3 + 2 + 2 + 1
    assert "Runs: 5 " in shown
    assert "torch versions: 4 `2.9.1 to 2.14.1`" in shown
    assert "Workloads: 10 " in shown
    assert f"Cells: {cells} {cells * 5} evaluations" in shown
    assert f"Newest run: {cells - 2} of {cells} ok 1 accuracy failed, 1 crashed" in shown


def test_statuses_have_an_icon_and_a_word(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("all_failed"), "runs"))
    assert "✗ 6 compile error" in shown


def test_run_of_the_url_is_shown(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "runs", run="2")
    assert any("Run 2" in one.value and "oldest we still serve" in one.value for one in app.subheader)


def charts_of(app: AppTest) -> list[dict[str, object]]:
    return [json.loads(chart.proto.spec) for chart in app.get("vega_lite_chart")]


def test_workload_draws_four_panels_with_units(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "workload", w="models.llama")
    assert not app.exception
    specs = [json.dumps(spec) for spec in charts_of(app)]
    titles = ["Cold compile (s)", "Warm-cache compile (s)", "Eager call (ms)", "Compiled call (ms)"]
    assert len(specs) == 4
    for spec, title in zip(specs, titles, strict=True):
        assert f'"title": "{title}"' in spec


def test_requests_have_panels_of_their_own_where_a_workload_serves_some(
    opens: Opener, databases: Databases
) -> None:
    app = opens(databases("realistic"), "workload", w="models.vit")
    assert not app.exception
    specs = [json.dumps(spec) for spec in charts_of(app)]
    assert [
        sum(f'"title": "Request, {side} (ms)"' in one for one in specs) for side in ("eager", "compiled")
    ] == [1, 1]
    assert len(specs) == 6


def test_every_metric_says_what_it_includes(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", w="models.vit", tab="Times")
    (table,) = [one.value for one in app.dataframe if "includes" in one.value.columns]
    told = dict(zip(table["title"], table["includes"], strict=True))
    assert "until the batch is known complete" in told["Compiled call"]
    assert "from its input on the host to its output on the host" in told["Request, eager"]
    assert all(told.values())


@pytest.mark.parametrize("scenario", ["realistic", "all_failed", "hostile", "unfinished", "tiny"])
@pytest.mark.parametrize("part", list(PARTS))
def test_every_part_of_a_workload_opens(
    opens: Opener, databases: Databases, part: str, scenario: str
) -> None:
    app = opens(databases(scenario), "workload", see=part)
    assert not app.exception
    assert PARTS[part] in said(app)
    assert not [one for one in app.warning if "older or of another database" in one.value]


@pytest.mark.parametrize(
    ("part", "titles"),
    [
        ("Pays off", ["Speed-up, eager ÷ compiled (×)", "Calls to pay off (calls)"]),
        ("Phases", ["cold compile, medians (s)"]),
        ("Graphs", ["graph break sites", "recompiles"]),
        ("Kernels", ["generated kernels", "extern calls"]),
        ("Accuracy", ["Compiled to float64 (RMSE)", "Eager to float64 (RMSE)"]),
    ],
)
def test_parts_of_a_workload_have_their_charts(
    opens: Opener, databases: Databases, part: str, titles: list[str]
) -> None:
    specs = [
        json.dumps(one, ensure_ascii=False)
        for one in charts_of(opens(databases("realistic"), "workload", w="models.llama", see=part))
    ]
    assert len(specs) == len(titles)
    for spec, title in zip(specs, titles, strict=True):
        assert f'"title": "{title}"' in spec


def test_workload_says_what_it_leaves_out(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("realistic"), "workload", w="models.llama"))
    # 2.13.0 was measured twice: the older evaluation of each of the three buckets is not drawn.
    assert "3 earlier evaluations left out" in shown


@pytest.mark.parametrize("part", ["Times", "Pays off", "Phases", "Accuracy", "Memory"])
def test_workload_says_which_builds_its_lines_join(opens: Opener, tmp_path: Path, part: str) -> None:
    runs = [
        MadeRun("2.12.0+cu130", 1, fields={"built_cuda": "13.0"}),
        MadeRun("2.13.0+cpu", 2),
        MadeRun("2.14.1+cpu", 3),
    ]
    differ = seed.write(tmp_path / "builds.db", [(run, [seed.MATMUL]) for run in runs])
    shown = said(opens(differ, "workload", see=part))
    assert "Builds of torch differ: CUDA at `2.12.0+cu130`; CPU at `2.13.0+cpu`, `2.14.1+cpu`." in shown
    assert ("a line joins one build only" in shown) is (part == "Memory")
    alike = seed.write(tmp_path / "alike.db", [(run, [seed.MATMUL]) for run in runs[1:]])
    assert "Builds of torch" not in said(opens(alike, "workload", see=part))


def test_one_version_only_is_said(opens: Opener, databases: Databases) -> None:
    assert "One torch version only" in said(opens(databases("tiny"), "workload"))


def test_why_shows_break_sites_with_file_and_line(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", w="graphs.breaks")
    table = app.dataframe[1].value
    assert list(table["where"]) == ["workloads/graphs.py:41", "workloads/graphs.py:47"]
    assert set(table["inherited"]) == {"here"}


def test_why_names_the_command_that_reproduces(opens: Opener, databases: Databases) -> None:
    database = databases("realistic")
    app = opens(database, "why", w="graphs.breaks")
    newest = app.dataframe[0].value
    assert len(newest) == 5
    assert f"python -m evaluator repro 141 --db {database}" in said(app)


def test_why_shows_guards_of_recompiles(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", w="shapes.recompiles", b="batch=2", tab="Recompiles")
    assert "size mismatch at index 0" in str(app.dataframe[1].value["reason"].iloc[0])
    assert "check_tensor(L['x']" in said(app)


def test_why_says_a_reused_bucket_inherits_its_breaks(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", w="models.llama", b="batch=1,seq=256")
    assert "it reused code of earlier buckets" in said(app)


@pytest.mark.parametrize("tab", ["Graph breaks", "Recompiles", "Kernels"])
def test_why_says_nothing_was_compiled(opens: Opener, databases: Databases, tab: str) -> None:
    shown = said(opens(databases("realistic"), "why", w="graphs.disabled", tab=tab))
    assert "Nothing was compiled" in shown
    assert f"No {tab.lower()}: nothing was compiled." in shown


def test_why_says_code_ran_eager_after_the_limit(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("realistic"), "why", w="shapes.recompiles", b="batch=9"))
    assert "ran eager after the recompile limit" in shown


def test_why_shows_the_error_of_the_probe_that_failed(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", w="failures.crash", tab="Probes and logs")
    shown = said(app)
    assert "Failed: crashed." in shown
    assert "signal 11 (segmentation fault)" in shown
    assert "printed by the workload" in shown


def test_kernel_source_comes_from_its_file(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", w="pointwise.silu", tab="Kernels")
    assert "at::vec::Vectorized<float>::loadu" in said(app)


def test_missing_artifact_is_one_sentence(opens: Opener, tmp_path: Path) -> None:
    from tests.app import seed

    database = seed.tiny(tmp_path / "copied.db")
    for file in (tmp_path / "copied.artifacts").rglob("*.gz"):
        file.unlink()
    app = opens(database, "why", tab="Kernels")
    assert not app.exception
    assert "copy the artifact folder together with the database" in said(app)
