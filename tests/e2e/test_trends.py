"""Trends in a browser: a click on a row of cells leads to Why, and Back to the same view."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import ViewportSize

from tests.app import seed
from tests.e2e.browser import IN_BROWSER, ROOT, Watched, served

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    database = seed.realistic(tmp_path_factory.mktemp("trends") / "realistic.db")
    with served(database, ROOT, "app") as address:
        yield address


@pytest.fixture
def viewport() -> ViewportSize:
    return {"width": 1280, "height": 1250}


def test_cells_of_a_point_lead_to_why_and_back(watched: Watched, url: str) -> None:
    page = watched.page
    watched.visit(f"{url}/trends?m=compile.cold_s&at=2.12.0%2Bcpu&table=Cells")
    watched.charts_drawn(4)
    box = page.locator('[data-testid="stDataFrame"]').first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 60, box["y"] + 45)
    page.wait_for_url("**/why?**")
    watched.settle()
    page.go_back()
    page.wait_for_url("**/trends?**m=compile.cold_s**")
    watched.settle()
    assert "2.12.0" in page.inner_text('[data-testid="stMain"]').partition("cold compile")[0]


def test_click_on_a_bar_picks_its_point(watched: Watched, url: str) -> None:
    page = watched.page
    watched.visit(f"{url}/trends")
    watched.charts_drawn(4)
    page.wait_for_timeout(1000)
    box = page.locator('[data-testid="stVegaLiteChart"]').nth(1).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.24, box["y"] + box["height"] * 0.55)
    page.wait_for_url("**at=2.9.1**")
    watched.settle()
