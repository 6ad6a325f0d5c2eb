"""Matrix and Coverage in a real browser: a click on a tile or a row opens its evidence, and Back finds the page again."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import ViewportSize

from tests.app import upgrades
from tests.e2e.browser import IN_BROWSER, ROOT, Watched, served

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    database = upgrades.upgrade(tmp_path_factory.mktemp("e2e") / "upgrade.db")
    with served(database, cwd=ROOT, target="app") as address:
        yield address


@pytest.fixture
def viewport() -> ViewportSize:
    return {"width": 1280, "height": 1200}


def heading(watched: Watched, name: str) -> None:
    watched.page.get_by_role("heading", name=name).wait_for()
    watched.settle()


def click_the_first_row(watched: Watched) -> None:
    box = watched.page.locator('[data-testid="stDataFrame"]').first.bounding_box()
    assert box is not None
    watched.page.mouse.click(box["x"] + 60, box["y"] + 45)


def test_a_tile_opens_its_two_evaluations_and_back_finds_the_metric(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/matrix?m=compiled.wall_ms")
    watched.click_a_tile()
    heading(watched, "Why · models.llama")
    asked = watched.query()
    assert asked["w"] == "models.llama" and asked["e"] != asked["vs"]
    watched.page.go_back()
    heading(watched, "Matrix")
    assert "compiled.wall_ms (Compiled call) in 13 of 15" in watched.page.inner_text('[data-testid="stMain"]')


def test_a_tile_opens_its_workload(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/matrix")
    watched.page.get_by_test_id("stMain").get_by_role("radio", name="Workload").click()
    watched.settle()
    watched.click_a_tile()
    heading(watched, "models.llama")
    assert urlsplit(watched.page.url).path == "/workload"


def test_a_row_of_coverage_opens_its_evidence_and_back_returns(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/coverage?only=missing")
    click_the_first_row(watched)
    heading(watched, "Why · models.bert")
    watched.page.go_back()
    heading(watched, "Coverage")
