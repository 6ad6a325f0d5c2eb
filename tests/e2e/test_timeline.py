"""Timeline in a real browser: what is chosen is in the URL, the picture follows, and a file can be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize

from tests.app import timelines
from tests.e2e.browser import IN_BROWSER, ROOT, Watched, served
from tests.evaluator.chrome_trace.made import BATCH, written

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    database = timelines.traced(tmp_path_factory.mktemp("e2e") / "traced.db")
    with served(database, cwd=ROOT, target="app") as address:
        yield address


@pytest.fixture
def viewport() -> ViewportSize:
    return {"width": 1280, "height": 1400}


def main_text(watched: Watched) -> str:
    return watched.page.inner_text('[data-testid="stMain"]')


def picture(watched: Watched) -> bytes:
    """The chart as it is drawn."""
    watched.charts_drawn(1)
    return watched.page.locator('[data-testid="stVegaLiteChart"]').first.screenshot()


def choose(watched: Watched, title: str) -> None:
    watched.page.get_by_test_id("stMain").get_by_role("combobox").click()
    watched.page.get_by_role("option", name=title, exact=True).click()
    watched.settle()


def test_a_duration_is_drawn_kept_in_the_url_and_found_again(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/timeline?program=Missing+wait")
    assert "B is NOT ordered after A: it starts at 2 while A runs until 7" in main_text(watched)
    before = picture(watched)
    box = watched.page.get_by_role("spinbutton", name="A takes")
    box.fill("1")
    box.press("Enter")
    watched.settle()
    assert "B is NOT ordered after A, though the times look right" in main_text(watched)
    assert picture(watched) != before
    assert watched.query() == {"program": "Missing wait", "missing-wait.A": "1"}
    watched.visit(watched.page.url)
    assert "though the times look right" in main_text(watched)


def test_another_program_takes_its_own_durations_and_leaves_none_behind(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/timeline?event-wait.A=50")
    assert watched.page.get_by_role("spinbutton", name="A takes").input_value() == "50"
    choose(watched, "Missing wait, short A")
    assert watched.page.get_by_role("spinbutton", name="A takes").input_value() == "1"
    assert watched.query() == {"program": "Missing wait, short A"}
    choose(watched, "Same stream")
    assert "both are in s1, which runs its work in order" in main_text(watched)


def test_a_duration_out_of_bounds_can_not_be_typed(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/timeline")
    box = watched.page.get_by_role("spinbutton", name="A takes")
    box.fill("500")
    box.press("Enter")
    watched.settle()
    assert "until 501" not in main_text(watched)
    assert watched.query().get("event-wait.A") in (None, "100")


def test_a_recorded_trace_is_drawn_and_another_can_be_picked(watched: Watched, url: str) -> None:
    watched.visit(f"{url}/timeline")
    watched.page.get_by_test_id("stMain").get_by_role("radio", name="Recorded traces").click()
    watched.settle()
    assert watched.query() == {"lanes": "Recorded traces"}
    assert "The file has no end" in main_text(watched)
    before = picture(watched)
    box = watched.page.locator('[data-testid="stDataFrame"]').first.bounding_box()
    assert box is not None
    # The mark before the second row.
    watched.page.mouse.click(box["x"] + 16, box["y"] + 75)
    watched.settle()
    assert len(watched.query()["trace"]) == 12
    assert "stream 7 and stream 13 worked at the same time for 30.0 µs" in main_text(watched)
    assert picture(watched) != before


def test_a_file_can_be_looked_at_and_is_not_kept(watched: Watched, url: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_bytes(written(*BATCH))
    watched.visit(f"{url}/timeline?lanes=Recorded+traces")
    watched.page.get_by_text("Look at a file instead").click()
    watched.page.locator('input[type="file"]').set_input_files(file)
    watched.page.get_by_text("mine.json").wait_for()
    watched.settle()
    assert "The file has no end" not in main_text(watched)
    assert "Stream interval\n\n110 µs" in main_text(watched).replace("\n\n\n", "\n\n")
    picture(watched)
    watched.visit(f"{url}/timeline?lanes=Recorded+traces")
    assert "mine.json" not in main_text(watched)
