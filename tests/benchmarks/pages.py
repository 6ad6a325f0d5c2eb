"""How fast the dashboard is over a large database, while somebody records into it.

    python -m tests.benchmarks.pages [--database FILE] [--quiet] [--only PAGE ...]

Makes the database of ``tests.app.large`` (over a million samples; ``--database`` keeps it, and takes it again), and
prints for each page: the time of its script alone, cold (nothing read yet) and warm, and of these the processor's; in Chromium
the time of a reload until all is drawn, the bytes that it takes beside Streamlit's own files, and over twenty clicks the
95th percentile from the click to the redrawn page. A writer commits a probe of another run twice a second meanwhile
(``--quiet``: none). Beside each number stands its aim; what misses it is marked. Exit code 1 if anything does.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import streamlit as st
from playwright.sync_api import Page, TimeoutError, WebSocket, sync_playwright
from streamlit import config
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.testing.v1 import AppTest

from app import data
from tests.app import large
from tests.e2e.browser import ROOT, launch, served

ENTRY: Final = ROOT / "app" / "streamlit_app.py"
PAGES: Final = ("verdict", "matrix", "workload", "why", "trends", "coverage", "runs")
# ms, ms, s, s, KB; Verdict has an aim of its own for bytes.
COLD_MS, WARM_MS, RELOAD_S, CLICK_S, PAGE_KB, VERDICT_KB = 300, 150, 2.0, 0.6, 1000, 100
COLD_RUNS, WARM_RUNS, RELOADS, CLICKS = 3, 5, 3, 20
# Resolves once the script that a click started is done and what it sent is drawn.
_REDRAWN: Final = """async () => {
  const app = document.querySelector('[data-testid="stApp"]');
  const state = () => app.getAttribute('data-test-script-state');
  const begun = performance.now();
  const frame = () => new Promise(requestAnimationFrame);
  while (state() === 'notRunning' && performance.now() - begun < 400) await frame();
  while (state() !== 'notRunning' || document.querySelector('[data-stale="true"]')) await frame();
  await frame(); await frame();
  return performance.now();
}"""


@dataclass
class Figures:
    """What was measured of one page; None where it was not."""

    cold_ms: float | None = None
    warm_ms: float | None = None
    cold_cpu_ms: float | None = None
    warm_cpu_ms: float | None = None
    reload_s: float | None = None
    kb: float | None = None
    clicks_s: list[float] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", type=Path, help="made if it is not there")
    parser.add_argument("--quiet", action="store_true", help="nobody writes meanwhile")
    parser.add_argument("--only", action="append", choices=PAGES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pages-") as temporary:
        database = arguments.database or Path(temporary) / "large.db"
        if not database.exists():
            begun = time.monotonic()
            large.write(database)
            print(f"made {database} in {time.monotonic() - begun:.0f} s", flush=True)
        opened_database = data.opened(str(database))
        if isinstance(opened_database, data.Unavailable):
            # Its pages would be fast: they would only say this.
            parser.error(opened_database.sentence)
        found = {page: Figures() for page in arguments.only or PAGES}
        scripts(database, found)
        writer = nullcontext() if arguments.quiet else writing(database)
        with writer, served(database, cwd=ROOT, target="app") as url, sync_playwright() as playwright:
            browser = launch(playwright)
            for name, figures in found.items():
                in_browser(browser.new_page(viewport={"width": 1280, "height": 900}), url, name, figures)
            browser.close()
    return show(found)


def scripts(database: Path, found: dict[str, Figures]) -> None:
    """The time of each page's script, cold and warm, with nobody writing."""
    os.environ["COMPILEWATCH_DB"] = str(database)
    # As `streamlit run app` takes them: the harness alone knows nothing of the settings beside the entry file.
    config._main_script_path = str(ENTRY)
    config.get_config_options(force_reparse=True)
    with timing_scripts() as took:
        # Imports are paid once by a server, not by a reader.
        for page in found:
            opened(page).run()
        for page, figures in found.items():
            cold, warm = [], []
            for _ in range(COLD_RUNS):
                st.cache_data.clear()
                st.cache_resource.clear()
                gc.collect()
                app = opened(page)
                cold.append(ran(app, took))
                warm += [ran(app, took) for _ in range(WARM_RUNS)]
            figures.cold_ms, figures.cold_cpu_ms = (statistics.median(one) for one in zip(*cold, strict=True))
            figures.warm_ms, figures.warm_cpu_ms = (statistics.median(one) for one in zip(*warm, strict=True))


@contextmanager
def timing_scripts() -> Iterator[list[tuple[float, float]]]:
    """A list that each run of a script is added to: its time and its processor's time, in ms. What the harness does
    before and after, such as reading all elements of the page back, is no part of it: a server has none of that."""
    took: list[tuple[float, float]] = []
    whole = ScriptRunner._run_script

    def timed(runner: ScriptRunner, *arguments: Any) -> None:
        begun = time.perf_counter(), time.thread_time()
        whole(runner, *arguments)
        took.append(((time.perf_counter() - begun[0]) * 1000, (time.thread_time() - begun[1]) * 1000))

    ScriptRunner._run_script = timed  # type: ignore[method-assign]
    try:
        yield took
    finally:
        ScriptRunner._run_script = whole  # type: ignore[method-assign]


def ran(app: AppTest, took: list[tuple[float, float]]) -> tuple[float, float]:
    """Time and processor time, in ms, of a run of the script and of those that it starts itself."""
    took.clear()
    app.run()
    assert took and not app.exception, app.exception
    wall, processor = (sum(one) for one in zip(*took, strict=True))
    return wall, processor


def opened(page: str) -> AppTest:
    app = AppTest.from_file(str(ENTRY), default_timeout=120)
    if page != "verdict":
        app.switch_page(f"views/{page}.py")
    return app


def in_browser(page: Page, url: str, name: str, figures: Figures) -> None:
    """Reload, bytes and clicks of one page in Chromium."""
    page.set_default_timeout(120_000)
    received: list[int] = []

    def opened_socket(socket: WebSocket) -> None:
        socket.on("framereceived", lambda payload: received.append(len(payload)))

    page.on("websocket", opened_socket)
    address = url if name == "verdict" else f"{url}/{name}"
    page.goto(address)
    page.evaluate(_REDRAWN)
    page.wait_for_timeout(1500)
    reloads, sizes = [], []
    for _ in range(RELOADS):
        received.clear()
        begun = time.perf_counter()
        page.reload()
        page.wait_for_selector('[data-testid="stMain"] [data-testid="stHeading"]')
        page.evaluate(_REDRAWN)
        reloads.append(time.perf_counter() - begun)
        page.wait_for_timeout(1000)
        sizes.append(sum(received))
    figures.reload_s, figures.kb = statistics.median(reloads), statistics.median(sizes) / 1000
    for click in clicks(page):
        begun = time.perf_counter()
        try:
            click()
        except TimeoutError:
            # What was to be clicked is not there any more: nothing was asked of the page.
            continue
        page.evaluate(_REDRAWN)
        figures.clicks_s.append(time.perf_counter() - begun)
        assert page.locator('[data-testid="stException"]').count() == 0
    assert urlsplit(page.url).hostname in ("localhost", "127.0.0.1")
    page.close()


def clicks(page: Page) -> Iterator[Callable[[], None]]:
    """Clicks that a reader makes on a page and that change what it shows: what is not chosen yet, in turn."""
    found = page.locator(
        '[data-testid="stMain"] :is([role="tab"][aria-selected="false"], [role="radio"][aria-checked="false"])'
    )
    # What does not fit beside the others is there as well, and hidden.
    choices = found.filter(visible=True)
    for number in range(CLICKS):
        n = choices.count()
        if n:
            yield partial(choices.nth(number % n).click, timeout=3000)


@contextmanager
def writing(database: Path) -> Iterator[None]:
    """Somebody who records a run into the database, a commit every half second, until the end."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.pages_writer", str(database)], cwd=ROOT
    ) as writer:
        try:
            yield
        finally:
            writer.terminate()
            writer.wait(timeout=30)


def show(found: dict[str, Figures]) -> int:
    """Print the figures; 1 if an aim is missed."""
    missed = 0
    heads = ("cold ms", "(cpu)", "warm ms", "(cpu)", "reload s", "click p95 s", "KB")
    print("page".ljust(10) + "".join(head.rjust(12) for head in heads))
    aims = "aim".ljust(10)
    aims += "".join(f"{aim:>12}" for aim in (COLD_MS, "", WARM_MS, "", RELOAD_S, CLICK_S, PAGE_KB))
    print(f"{aims} (Verdict {VERDICT_KB})")
    for page, one in found.items():
        click = p95(one.clicks_s)
        kb_aim = VERDICT_KB if page == "verdict" else PAGE_KB
        cells = [
            (one.cold_ms, COLD_MS, 0),
            (one.cold_cpu_ms, math.inf, 0),
            (one.warm_ms, WARM_MS, 0),
            (one.warm_cpu_ms, math.inf, 0),
            (one.reload_s, RELOAD_S, 2),
            (click, CLICK_S, 2),
            (one.kb, kb_aim, 0),
        ]
        line = f"{page:10}"
        for value, aim, digits in cells:
            over = value is not None and value > aim
            missed += over
            text = "-" if value is None else f"{value:.{digits}f}{' !' if over else ''}"
            line += f"{text:>12}"
        print(line)
    print(f"{missed} over their aim (!)")
    return 1 if missed else 0


def p95(values: list[float]) -> float | None:
    """The 95th percentile, nearest rank; None of nothing."""
    return sorted(values)[max(0, -(-95 * len(values) // 100) - 1)] if values else None


if __name__ == "__main__":
    raise SystemExit(main())
