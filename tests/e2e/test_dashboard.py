"""The dashboard in a real browser, started with the literal command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator

from tests.app import seed, upgrades
from tests.e2e.browser import IN_BROWSER, ROOT, Watched, served

pytestmark = IN_BROWSER

ROW = 30


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    database = seed.realistic(tmp_path_factory.mktemp("e2e") / "realistic.db")
    with served(database, cwd=ROOT, target="app") as address:
        yield address


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard of an upgrade that is fine but for one workload."""
    database = upgrades.upgrade(tmp_path_factory.mktemp("e2e") / "upgrade.db")
    with served(database, cwd=ROOT, target="app") as address:
        yield address


def click_row(table: Locator, row: int, x: int) -> None:
    """Click in a data row (from 0) of a table, ``x`` pixels from its left edge."""
    table.scroll_into_view_if_needed()
    table.click(position={"x": x, "y": ROW * (row + 1) + ROW // 2})


def tables(watched: Watched) -> Locator:
    return watched.page.locator('[data-testid="stDataFrame"]')


def test_runs_then_a_row_to_its_evidence(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/runs")
    assert "30 of 32 ok" in watched.page.inner_text('[data-testid="stMain"]')
    click_row(tables(watched).nth(1), row=1, x=60)
    watched.page.wait_for_url("**/why?**")
    watched.settle()
    asked = watched.query()
    assert (asked["w"], asked["e"]) == ("graphs.breaks", "141")
    assert {step.get("w") for step in watched.steps() if "e" in step} == {"graphs.breaks"}
    assert "2 graph break sites" in watched.page.inner_text('[data-testid="stMain"]')


def test_picking_a_run_is_in_the_url_and_back_undoes_it(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/runs")
    click_row(tables(watched).first, row=2, x=15)
    watched.page.wait_for_url("**run=3**")
    watched.settle()
    assert watched.page.get_by_role("heading", name="Run 3").is_visible()
    watched.page.go_back()
    watched.page.get_by_role("heading", name="Run 5").wait_for()
    watched.settle()
    assert "run" not in watched.query()


def test_first_screen_answers_and_a_row_leads_to_both_sides(watched: Watched, compared: str) -> None:
    watched.visit(f"{compared}/?cand=2.14.1%2Bcpu")
    assert "Upgrade, except models.llama" in watched.page.inner_text("h1")
    assert "13 of 15 cells compared" in watched.page.inner_text('[data-testid="stMain"]')
    click_row(tables(watched).first, row=0, x=60)
    watched.page.wait_for_url("**/why?**")
    watched.settle()
    # The URL holds what Why would not show anyway: evaluations 9 and 24 are of the first bucket.
    cell = {"cand": "2.14.1+cpu", "w": "models.llama", "e": "24", "vs": "9"}
    # What is slower there, and nothing else, is its compiled call.
    assert watched.query() == {**cell, "finding": "compiled.wall_ms"}
    watched.page.go_back()
    watched.page.get_by_role("heading", name="Upgrade, except models.llama").wait_for()
    watched.settle()
    assert watched.query()["cand"] == "2.14.1+cpu"


def test_a_row_of_the_forest_leads_to_both_sides(watched: Watched, compared: str) -> None:
    watched.visit(f"{compared}/?show=improved")
    watched.charts_drawn(1)
    chart = watched.page.locator('[data-testid="stVegaLiteChart"]')
    chart.locator('path[aria-label*="cell: models.vit · batch=4"]').last.click()
    watched.page.wait_for_url("**/why?**")
    watched.settle()
    asked = watched.query()
    assert (asked["w"], asked["b"]) == ("models.vit", "batch=4")
    assert int(asked["e"]) > int(asked["vs"])


def test_sides_stay_from_page_to_page(watched: Watched, compared: str) -> None:
    watched.visit(compared)
    watched.page.get_by_role("combobox", name="Candidate").click()
    watched.page.get_by_role("option", name="2.14.1+cpu · newest run with it").click()
    watched.page.wait_for_url("**cand=2.14.1**")
    watched.settle()
    for page in ("Matrix", "Runs", "Verdict"):
        watched.page.get_by_role("link", name=page).click()
        watched.settle()
    watched.page.wait_for_url("**cand=2.14.1**")
    watched.page.go_back()
    watched.page.wait_for_url("**/runs**")
    watched.settle()


@pytest.mark.parametrize(("form", "ending"), [("Markdown", ".md"), ("HTML", ".html")])
def test_comparison_is_saved_as_a_file(
    watched: Watched, compared: str, tmp_path: Path, form: str, ending: str
) -> None:
    watched.visit(compared)
    with watched.page.expect_download() as download:
        watched.page.get_by_role("button", name=form).click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == ending
    assert "13 of 15 cells compared" in path.read_text()
    if form == "HTML":
        watched.page.goto(path.as_uri())
        assert "models.llama" in watched.page.inner_text("body")


def test_a_table_is_saved_with_all_its_rows(watched: Watched, compared: str, tmp_path: Path) -> None:
    watched.visit(f"{compared}/matrix?m=compiled.wall_ms")
    with watched.page.expect_download() as download:
        watched.page.get_by_role("button", name="⤓ CSV").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    saved = pd.read_csv(path)
    assert path.name == "matrix.csv"
    # Every cell that a side evaluated, and of the evaluations whole ids.
    assert len(saved) == 15
    assert len(saved[saved["workload"] == "models.llama"]) == len(seed.LLAMA.buckets)
    assert "24," in path.read_text() or ",24" in path.read_text()
    assert "24.0" not in path.read_text()


def test_a_mark_opens_its_evaluation(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/workload?w=matmul.fp32_1024")
    watched.charts_drawn(4)
    panel = watched.page.locator('[data-testid="stVegaLiteChart"]').nth(2)
    panel.locator('path[aria-label*="torch: 2.12.0+cpu; median"]').click()
    watched.page.wait_for_url("**/why?**")
    watched.settle()
    asked = watched.query()
    # Its only bucket is the one that is shown anyway, and so not in the URL.
    assert asked["w"] == "matmul.fp32_1024"
    chosen = watched.page.locator("code").filter(has_text="evaluator repro").inner_text()
    # Run 3 is the one of 2.12.0; each run has 32 evaluations, in which matmul is the tenth.
    assert f"repro {2 * 32 + 10} " in chosen and asked["e"] == str(2 * 32 + 10)


def test_a_count_opens_its_evaluation_and_back_finds_the_part(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/workload?w=graphs.breaks")
    watched.page.get_by_test_id("stMain").get_by_role("radio", name="Graphs").click()
    watched.page.wait_for_url("**see=Graphs**")
    watched.settle()
    watched.charts_drawn(2)
    panel = watched.page.locator('[data-testid="stVegaLiteChart"]').first
    # One line a bucket: both have two breaks, so that the later bucket's mark is on top.
    panel.locator('path[aria-label*="bucket: n=128; torch: 2.12.0+cpu"]').click()
    watched.page.wait_for_url("**/why?**")
    watched.settle()
    assert watched.query()["b"] == "n=128"
    # Whichever of these steps Back comes to, and that depends on how fast the page is, it is about this workload.
    assert {step.get("w") for step in watched.steps()} == {"graphs.breaks"}
    watched.page.go_back()
    watched.page.get_by_role("heading", name="graphs.breaks", exact=True).wait_for()
    watched.settle()
    assert "Graph breaks (sites) and recompiles" in watched.page.inner_text('[data-testid="stMain"]')


def test_a_failure_opens_its_evaluation(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/workload?w=models.llama")
    watched.charts_drawn(4)
    panel = watched.page.locator('[data-testid="stVegaLiteChart"]').first
    panel.locator('[aria-label*="no value: ✗ timeout"]').click()
    watched.page.wait_for_url("**/why?**")
    watched.settle()
    assert watched.query()["b"] == "batch=1,seq=256"
    assert "longer than 300 s" in watched.page.inner_text('[data-testid="stMain"]')


def test_a_view_can_be_sent_to_a_colleague(watched: Watched, browser: Browser, url: str) -> None:
    watched.visit(f"{url}/why?w=shapes.recompiles")
    watched.page.get_by_label("Shape bucket").click()
    watched.page.get_by_role("option", name="batch=9").click()
    watched.page.wait_for_url("**b=batch**")
    watched.page.get_by_role("tab", name="Recompiles").click()
    watched.page.wait_for_url("**tab=Recompiles**")
    watched.settle()
    shown = watched.page.inner_text('[data-testid="stMain"]')
    assert "ran eager after the recompile limit" in shown
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    other = Watched(context.new_page())
    other.visit(watched.page.url)
    assert other.page.inner_text('[data-testid="stMain"]') == shown
    assert (other.errors, other.foreign) == ([], [])
    context.close()


def test_filters_follow_from_page_to_page(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/workload?w=pointwise.silu&variant=dynamic")
    watched.page.get_by_role("link", name="Why").click()
    watched.page.wait_for_url("**/why**")
    watched.settle()
    assert watched.query() == {"w": "pointwise.silu", "variant": "dynamic"}


def test_both_sides_go_along_to_another_bucket_and_back_brings_them_back(
    watched: Watched, compared: str
) -> None:
    def tabs() -> list[str]:
        return watched.page.get_by_role("tab").all_inner_texts()

    def choose(label: str, option: str) -> None:
        watched.page.get_by_role("combobox", name=label).click()
        watched.page.get_by_role("option", name=option).click()

    # Evaluations 9 to 11 are of the three buckets under 2.13.0, 24 to 26 under 2.14.1.
    watched.visit(f"{compared}/why?w=models.llama&e=24&vs=9&tab=Kernels")
    assert "Kernels: 1 added, 1 removed, 4 the same." in watched.page.inner_text('[data-testid="stMain"]')
    choose("Shape bucket", "batch=1,seq=64")
    watched.page.wait_for_url("**vs=10**")
    watched.settle()
    assert (watched.query()["e"], watched.query()["tab"]) == ("25", "Kernels")
    choose("Compare with", "nothing")
    watched.page.wait_for_url(lambda url: "vs=" not in url)
    watched.settle()
    assert tabs()[0] == "Graph breaks"
    watched.page.go_back()
    watched.page.get_by_role("tab", name="Findings").wait_for()
    watched.settle()
    assert watched.query()["vs"] == "10"


def test_hostile_names_do_nothing(watched: Watched, tmp_path: Path) -> None:
    database = seed.hostile(tmp_path / "hostile.db")
    dialogs: list[str] = []
    watched.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    with served(database, cwd=ROOT, target="app") as address:
        for path in (
            "/",
            "/runs",
            "/runs?tab=Failures+and+logs",
            "/workload",
            "/why",
            "/why?tab=Kernels",
            "/why?tab=Environment",
        ):
            watched.visit(address + path)
            # All but the dashboard's own script, which no name gets into.
            found = ':is(script, img[src*="evil"], b):not(.st-key-steps *)'
            assert watched.page.locator(f'[data-testid="stMain"] {found}').count() == 0
            assert watched.page.locator('[data-testid="stMain"] a[href*="evil"]').count() == 0
        assert "<script>alert(1)</script> **bold**" in watched.page.inner_text("h1")
        # A page that is still open when its server ends complains.
        watched.page.goto("about:blank")
    compared = upgrades.hostile(tmp_path / "hostile_upgrade.db")
    with served(compared, cwd=ROOT, target="app") as address:
        watched.visit(address)
        watched.charts_drawn(1)
        main = watched.page.locator('[data-testid="stMain"]')
        assert (
            main.locator(':is(script, img[src*="evil"], b, a[href*="evil"]):not(.st-key-steps *)').count()
            == 0
        )
        assert "<script>alert(1)</script> **bold**" in watched.page.inner_text("h1")
        watched.page.goto("about:blank")
    assert dialogs == []


def test_command_works_from_elsewhere_and_says_how_to_begin(watched: Watched, tmp_path: Path) -> None:
    absent = tmp_path / "results" / "none.db"
    with served(absent, cwd=tmp_path, target=str(ROOT / "app")) as address:
        watched.visit(address)
        assert f"python -m evaluator run --tag quickstart --db {absent}" in watched.page.inner_text(
            '[data-testid="stMain"]'
        )


@pytest.mark.parametrize("width", [1280, 2560])
def test_pictures_of_every_page_in_both_themes(url: str, tmp_path: Path, width: int) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.e2e.screenshots",
        url,
        str(tmp_path),
        "--workload",
        "models.llama",
        "--width",
        str(width),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {
        f"{page}-{theme}.png"
        for page in ("verdict", "matrix", "workload", "why", "trends", "coverage", "runs", "timeline")
        for theme in ("light", "dark")
    }
    assert {Path(line).name for line in done.stdout.splitlines()} == names
    assert all((tmp_path / name).stat().st_size > 20_000 for name in names)
    assert (tmp_path / "runs-light.png").read_bytes() != (tmp_path / "runs-dark.png").read_bytes()
