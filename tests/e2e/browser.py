"""Drives Chromium against a running dashboard, and starts one with the literal command."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
SETTLED = '[data-testid="stApp"][data-test-connection-state="CONNECTED"][data-test-script-state="notRunning"]'
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"no {CHROMIUM}: apt-get install chromium"),
]
# A machine under load redraws slowly; nothing here judges speed.
PATIENCE_MS = 60_000
# Keeps each address that the page makes a step for the browser's Back.
KEEP_STEPS = """
window.stepsForBack = [];
const push = history.pushState.bind(history);
const replace = history.replaceState.bind(history);
const made = () => window.stepsForBack.length;
// Of a step that was made and then changed, the address that it has now.
history.pushState = (state, title, address) => { window.stepsForBack.push(String(address)); push(state, title, address); };
history.replaceState = (state, title, address) => {
  replace(state, title, address);
  if (made()) window.stepsForBack[made() - 1] = location.href;
};
"""
LOCAL = {"localhost", "127.0.0.1", "::1", ""}


def launch(playwright: Playwright) -> Browser:
    """The system's Chromium, without what containers do not allow."""
    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
    return playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)


@dataclass
class Watched:
    """A page, and everything about it that must not happen."""

    page: Page
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.add_init_script(KEEP_STEPS)
        self.page.on("pageerror", lambda error: self.errors.append(f"page error: {error}"))
        self.page.on("console", self._console)
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if "/_stcore/" in message.location["url"]:
            # On a page's own address Streamlit first looks for its server below that page, and is told 404.
            return
        if message.type == "error" or "Infinite extent" in message.text:
            self.errors.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and (parts.hostname or "") not in LOCAL:
            self.foreign.append(request.url)

    def settle(self) -> None:
        """Wait until the script is done, its results are drawn and no exception is shown."""
        self.page.wait_for_selector(SETTLED)
        # The state turns to done before the last elements are drawn, and stale ones are dropped after that.
        self.page.wait_for_timeout(700)
        self.page.wait_for_selector(SETTLED)
        self.page.wait_for_function("() => !document.querySelector('[data-stale=\"true\"]')")
        assert self.page.locator('[data-testid="stException"]').count() == 0, self.page.inner_text("body")

    def query(self) -> dict[str, str]:
        """The values in the URL."""
        return values(self.page.url)

    def steps(self) -> list[dict[str, str]]:
        """The values of each address that was made a step for Back since the page was visited, the oldest first."""
        pushed: list[str] = self.page.evaluate("() => window.stepsForBack")
        return [values(address) for address in pushed]

    def visit(self, url: str) -> None:
        self.page.goto(url)
        self.settle()

    def charts_drawn(self, count: int) -> None:
        """Wait until this many charts have a drawing of their own."""
        self.page.wait_for_function(
            "n => document.querySelectorAll('[data-testid=\"stVegaLiteChart\"] :is(canvas, svg)').length >= n",
            arg=count,
        )

    def click_a_tile(self) -> None:
        """Click the first tile of the Matrix."""
        self.charts_drawn(1)
        box = self.page.locator('[data-testid="stVegaLiteChart"] :is(canvas, svg)').first.bounding_box()
        assert box is not None
        # Below the legend and the axis, right of the workloads' names.
        self.page.mouse.click(box["x"] + 250, box["y"] + 150)


def values(address: str) -> dict[str, str]:
    """The values in an address."""
    return {key: several[0] for key, several in parse_qs(urlsplit(address).query).items()}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def served(database: Path | None, cwd: Path, target: str) -> Iterator[str]:
    """``streamlit run TARGET`` with the streamlit executable in ``cwd``; yields the address once it answers."""
    port = free_port()
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "COMPILEWATCH_DB")}
    if database is not None:
        environment["COMPILEWATCH_DB"] = str(database)
    streamlit = Path(sys.executable).with_name("streamlit")
    # Which port and that no window opens is all that differs from what a user types.
    command = [str(streamlit), "run", target, "--server.port", str(port), "--server.headless", "true"]
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            url = f"http://localhost:{port}"
            _await_health(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(timeout=30)


def _await_health(url: str, server: subprocess.Popen[str]) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise AssertionError(f"streamlit ended: {server.stdout.read() if server.stdout else ''}")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("streamlit did not answer within a minute")
