"""A way to another page is one step, and the browser's Back finds the page that was left, with the URL that it had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ViewportSize

from tests.app import seed, upgrades
from tests.e2e.browser import IN_BROWSER, ROOT, Watched, served, values

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A dashboard of an upgrade, and one of runs of several versions."""
    folder = tmp_path_factory.mktemp("e2e")
    upgrade, runs = upgrades.upgrade(folder / "upgrade.db"), seed.realistic(folder / "realistic.db")
    with served(upgrade, ROOT, "app") as first, served(runs, ROOT, "app") as second:
        yield {"upgrade": first, "realistic": second}


@pytest.fixture
def viewport() -> ViewportSize:
    return {"width": 1280, "height": 1200}


def row(watched: Watched, table: int = 0) -> None:
    """Click in the second row of a table: the first may be what is shown at first anyway."""
    one = watched.page.locator('[data-testid="stDataFrame"]').nth(table)
    one.scroll_into_view_if_needed()
    one.click(position={"x": 60, "y": 75})


def row_of_a_run(watched: Watched) -> None:
    row(watched, 1)


def main_text(watched: Watched) -> str:
    """What the page says; a chart is drawn when it is ready."""
    parts = ("stHeading", "stMarkdown", "stMetric", "stText", "stAlert", "stTab")
    chosen = ", ".join(f'[data-testid="stMain"] [data-testid="{one}"]' for one in parts)
    read: list[str] = []
    # Some kinds of element are loaded when they are first needed, after the script is done.
    while len(read) < 4 or len(set(read[-4:])) > 1:
        read.append("\n".join(watched.page.locator(chosen).all_inner_texts()))
        watched.page.wait_for_timeout(250)
    return read[-1]


LEFT = [
    ("upgrade", "/?show=inconclusive&rows=true&cand=2.14.1%2Bcpu", row, "/why"),
    ("upgrade", "/matrix?m=compiled.wall_ms&base=1%401", Watched.click_a_tile, "/why"),
    ("upgrade", "/matrix?m=compiled.wall_ms&goes=Workload", Watched.click_a_tile, "/workload"),
    ("upgrade", "/coverage?only=missing", row, "/why"),
    ("realistic", "/runs?run=3&tab=Cells", row_of_a_run, "/why"),
    ("realistic", "/workload?w=models.vit&see=Kernels", row, "/why"),
    ("realistic", "/trends?m=compile.cold_s&at=2.12.0%2Bcpu&table=Cells", row, "/why"),
]


@pytest.mark.parametrize(("database", "path", "click", "to"), LEFT, ids=[one[1] for one in LEFT])
def test_one_step_leaves_a_page_and_back_finds_it(
    watched: Watched,
    browser: Browser,
    urls: dict[str, str],
    database: str,
    path: str,
    click: Callable[[Watched], None],
    to: str,
) -> None:
    watched.visit(urls[database] + path)
    before, steps = main_text(watched), len(watched.steps())
    click(watched)
    watched.page.wait_for_url(lambda url: urlsplit(url).path == to)
    watched.settle()
    assert watched.steps()[steps:] == [watched.query()]
    watched.page.go_back()
    watched.page.wait_for_url(lambda url: urlsplit(url).path == urlsplit(path).path)
    watched.settle()
    # All of its own, and nothing of the page that was gone to.
    assert watched.query() == values(path)
    assert main_text(watched) == before
    context = browser.new_context(viewport={"width": 1280, "height": 1200})
    other = Watched(context.new_page())
    other.visit(watched.page.url)
    assert main_text(other) == before
    context.close()


# Values that only the page left has, values that both have, and none at all.
BY_A_LINK = [
    ("/why?w=models.llama&b=batch%3D1%2Cseq%3D256&tab=Times", "Trends"),
    ("/why?w=models.llama&e=24&vs=9&finding=compiled.wall_ms", "Matrix"),
    ("/workload?w=models.llama&see=Kernels", "Verdict"),
    ("/workload?w=models.llama", "Why"),
    ("/trends?m=compile.cold_s", "Coverage"),
    ("/?show=improved&base=1%401&cand=1%402", "Workload"),
    ("/runs?run=1&tab=Files", "Timeline"),
    ("/timeline?program=Missing+wait", "Runs"),
]


@pytest.mark.parametrize(("path", "name"), BY_A_LINK, ids=[one[0] for one in BY_A_LINK])
def test_a_page_that_is_left_by_a_link_is_found_by_back(
    watched: Watched, urls: dict[str, str], path: str, name: str
) -> None:
    watched.visit(urls["upgrade"] + path)
    before, steps = main_text(watched), len(watched.steps())
    watched.page.get_by_role("link", name=name).first.click()
    to = "/" if name == "Verdict" else f"/{name.lower()}"
    watched.page.wait_for_url(lambda url: urlsplit(url).path == to)
    main_text(watched)
    there = watched.page.url
    assert watched.steps()[steps:] == [watched.query()]
    watched.page.go_back()
    watched.page.wait_for_url(lambda url: urlsplit(url).path == urlsplit(path).path)
    assert main_text(watched) == before
    assert watched.query() == values(path)
    watched.page.go_forward()
    watched.page.wait_for_url(there)


def test_a_run_that_was_picked_is_found_again(watched: Watched, urls: dict[str, str]) -> None:
    watched.visit(f"{urls['realistic']}/runs")
    watched.page.locator('[data-testid="stDataFrame"]').first.click(position={"x": 15, "y": 75})
    watched.page.wait_for_url("**/runs?run=4")
    watched.settle()
    row_of_a_run(watched)
    watched.page.wait_for_url("**/why?**")
    watched.settle()
    assert [set(step) & {"run", "tab"} for step in watched.steps()] == [{"run"}, set()]
    watched.page.go_back()
    watched.page.get_by_role("heading", name="Run 4").wait_for()
    watched.settle()
    assert watched.query() == {"run": "4"}


def test_sides_that_go_along_are_no_step_of_their_own(watched: Watched, urls: dict[str, str]) -> None:
    watched.visit(f"{urls['upgrade']}/?base=1%401&cand=1%402&show=improved")
    watched.page.get_by_role("link", name="Coverage").click()
    watched.page.get_by_role("heading", name="Coverage").wait_for()
    watched.settle()
    assert watched.query() == {"base": "1@1", "cand": "1@2"}
    watched.page.go_back()
    watched.page.wait_for_url("**show=improved")
    watched.settle()
    assert watched.query() == {"base": "1@1", "cand": "1@2", "show": "improved"}


def test_tabs_of_why_are_steps(watched: Watched, urls: dict[str, str]) -> None:
    watched.visit(f"{urls['realistic']}/why?w=models.vit")
    for name in ("Kernels", "Times"):
        watched.page.get_by_role("tab", name=name).click()
        watched.page.wait_for_url(f"**tab={name}")
        watched.settle()
    watched.page.go_back()
    watched.page.wait_for_url("**tab=Kernels")
    watched.settle()
    assert watched.page.get_by_role("tab", name="Kernels").get_attribute("aria-selected") == "true"


def test_another_cell_on_why_is_the_same_step_with_its_evaluations(
    watched: Watched, urls: dict[str, str]
) -> None:
    watched.visit(f"{urls['upgrade']}/why?w=models.llama&base=1%401&cand=1%402")
    before, steps = watched.query(), len(watched.steps())
    assert {"e", "vs"} <= set(before)
    watched.page.locator('[data-testid="stSelectbox"]', has_text="Shape bucket").locator("input").click()
    watched.page.get_by_role("option").nth(1).click()
    watched.page.wait_for_url("**b=**")
    watched.settle()
    after = watched.query()
    assert len(watched.steps()) <= steps + 1
    assert after["e"] != before["e"]
    assert after["vs"] != before["vs"]
    assert "finding" not in after
