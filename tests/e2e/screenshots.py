"""Takes the dashboard's pictures in both themes: ``python -m tests.e2e.screenshots URL FOLDER [--width 1280]``.

The dashboard must be running at URL. Which workload and run the pictures show is what the pages show at first, or
what ``--workload`` names.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from tests.e2e.browser import Watched, launch

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HEIGHT = 900


def take(
    url: str,
    folder: Path,
    *,
    width: int = 1280,
    workload: str | None = None,
    sides: tuple[str, str] | None = None,
    full: bool = False,
) -> list[Path]:
    """A picture of each page in each theme, with two ``sides`` also of Why about both; returns their files. Fails on any
    error that the page reports, and where a page is wider than the window."""
    folder.mkdir(parents=True, exist_ok=True)
    query = f"?{urlencode({'w': workload})}" if workload else ""
    pages = {
        "verdict": "/",
        "matrix": "/matrix",
        "workload": f"/workload{query}",
        "why": f"/why{query}",
        "trends": "/trends",
        "coverage": "/coverage",
        "runs": "/runs",
        "timeline": "/timeline?program=Missing+wait",
    }
    if sides is not None:
        asked = {"base": sides[0], "cand": sides[1], "tab": "Kernels"} | ({"w": workload} if workload else {})
        pages["why-compared"] = f"/why?{urlencode(asked)}"
    taken = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for theme in THEMES:
            context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=theme)
            for name, path in pages.items():
                watched = Watched(context.new_page())
                watched.visit(url.rstrip("/") + path)
                if name == "workload":
                    watched.charts_drawn(4)
                across = watched.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
                assert across <= 0, f"{name} is {across} pixels wider than the window"
                if full:
                    grow(watched)
                taken.append(folder / f"{name}-{theme}.png")
                watched.page.screenshot(path=taken[-1])
                assert not watched.errors, watched.errors
                watched.page.close()
            context.close()
        browser.close()
    return taken


def grow(watched: Watched) -> None:
    """Make the window as tall as the page: the app scrolls inside, which a full-page picture would cut."""
    size = watched.page.viewport_size
    height = watched.page.evaluate("() => document.querySelector('[data-testid=\"stMain\"]').scrollHeight")
    assert size is not None
    watched.page.set_viewport_size({"width": size["width"], "height": max(HEIGHT, int(height))})
    watched.settle()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--workload", help="show this one on Workload and Why")
    parser.add_argument(
        "--sides", nargs=2, metavar=("BASE", "CAND"), help="show Why about both as well: 7@1 7@2"
    )
    parser.add_argument("--full", action="store_true", help="as tall as the page, not as the window")
    arguments = parser.parse_args()
    for path in take(
        arguments.url,
        arguments.folder,
        width=arguments.width,
        workload=arguments.workload,
        sides=tuple(arguments.sides) if arguments.sides else None,
        full=arguments.full,
    ):
        print(path)


if __name__ == "__main__":
    main()
