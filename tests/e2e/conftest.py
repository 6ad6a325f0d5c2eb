"""What every test in the browser uses: Chromium, and a session in which nothing may go wrong unseen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from tests.e2e.browser import Watched, launch


# Closed before other tests: one process drives one Playwright at a time.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


@pytest.fixture
def viewport() -> ViewportSize:
    """The window's size; a module may have its own."""
    return {"width": 1280, "height": 900}


@pytest.fixture
def watched(browser: Browser, viewport: ViewportSize) -> Iterator[Watched]:
    """A fresh session; whatever it does, it must report no error and ask nobody else for anything."""
    context = browser.new_context(viewport=viewport)
    one = Watched(context.new_page())
    yield one
    context.close()
    assert one.errors == []
    assert one.foreign == []
