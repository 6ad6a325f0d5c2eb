"""The HTML report: one file, no network, no script, and recorded text stays text."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evaluator.report.html import MOST_DIFFS, as_html
from evaluator.verdicts.findings import Differences, KernelChange, Verdicts
from evaluator.verdicts.sides import CellName
from tests.evaluator.report import made

VOID = {"meta", "br", "hr", "img", "input", "link"}
# Elements of a drawing that may close themselves.
DRAWN = {"rect", "line", "path", "circle"}


class Page(HTMLParser):
    """A page's elements, checked to be nested properly, with its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in DRAWN
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text.append(data)

    @property
    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())


def page(verdicts: Verdicts = made.ONE_OF_EVERYTHING) -> Page:
    return Page(as_html(verdicts, made.CONTEXT))


@pytest.mark.parametrize(
    "text",
    [as_html(made.ONE_OF_EVERYTHING, made.CONTEXT), as_html(made.hostile(), made.hostile_context())],
    ids=["plain", "hostile"],
)
def test_it_needs_no_network_and_no_script(text: str) -> None:
    found = Page(text)
    assert not found.names & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "use"}
    for _, attributes in found.tags:
        assert not {
            name for name in attributes if name.startswith("on") or name in ("src", "style", "srcset")
        }
        assert (attributes.get("href") or "#").startswith("#")
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert "url(" not in style and "@import" not in style
    assert "http" not in style


def test_recorded_text_is_shown_and_means_nothing() -> None:
    found = Page(as_html(made.hostile(), made.hostile_context()))
    shown = "".join(sign if sign.isprintable() else " " for sign in made.HOSTILE)
    assert " ".join(shown.split()) in found.words
    assert "\x1b" not in "".join(found.text)
    ids = [attributes["id"] for _, attributes in found.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))


def test_the_answer_what_moved_and_counts_come_first() -> None:
    words = page().words
    order = [
        words.index(part)
        for part in (
            "Upgrade except models.vit and models.bert",
            "more than one dependency moved",
            "What moved",
            "7 of 8 cells compared 1",
            "Confirmed regressions",
            "Regressions that no rerun confirmed",
            "All cells",
        )
    ]
    assert order == sorted(order)


def test_a_regression_has_ratio_interval_cause_evidence_diff_and_command() -> None:
    words = page().words
    for part in (
        "12.3 ms → 14.1 ms",
        "+14.6% (+13.1% to +16.0%, 95%)",
        "+15.0% (+12.0% to +18.0%, 99%)",
        "Likely cause: other kernels were generated; layer that moved: Inductor",
        "evaluation 12 (base), 57 (candidate); kernel 3344 (base), 4555 (candidate)",
        "+ out0[0] = in0[0] + in0[0];",
        "graph break added in forward: Data-dependent branching (bert.py:47)",
        "python -m evaluator repro --ab 12 57",
        "LoweringException: no layout <here> | there",
    ):
        assert part in words, part


def test_an_interval_is_drawn_where_its_numbers_are() -> None:
    (drawing,) = (
        part for part in re.findall(r"<svg.*?</svg>", as_html(made.verdicts(made.SAME), made.CONTEXT), re.S)
    )
    low, high = re.search(r'class="range" x1="([\d.]+)" x2="([\d.]+)" y1="9"', drawing).groups()  # type: ignore[union-attr]
    middle = re.search(r'cx="([\d.]+)"', drawing).group(1)  # type: ignore[union-attr]
    assert float(low) < 80 < float(middle) < float(high)
    assert "+0.2% (-1.0% to +1.5%, 95%)" in drawing


def test_every_cell_has_a_row_in_the_order_of_the_verdicts() -> None:
    text = as_html(made.ONE_OF_EVERYTHING, made.CONTEXT)
    (table,) = re.findall(r'<table class="cells">.*?</table>', text, re.S)
    rows = re.findall(r"<tr><td><code>(.*?)</code>", table)
    assert rows == [one.cell.workload for one in made.ONE_OF_EVERYTHING.cells]


def test_equal_pairs_of_sources_are_shown_once_and_not_without_end() -> None:
    def cells(sources: int, each: int) -> list[made.CellVerdict]:
        return [
            replace(
                made.REGRESSED,
                cell=CellName(f"w{number}", "n=4", "default", "cpu"),
                differences=Differences(
                    kernels=(
                        KernelChange(
                            "changed", "k", "cpp", f"a{number % sources}", f"b{number % sources}", ()
                        ),
                    )
                ),
            )
            for number in range(sources * each)
        ]

    context = replace(made.CONTEXT, sources=lambda sha256: f"source {sha256}\n")
    twice = as_html(made.verdicts(*cells(3, 2)), context)
    assert twice.count('<pre class="diff">') == 3
    assert twice.count("shown above") == 3
    many = as_html(made.verdicts(*cells(MOST_DIFFS + 20, 1)), context)
    assert many.count('<pre class="diff">') == MOST_DIFFS


def test_a_large_comparison_is_still_one_page() -> None:
    many = [
        replace(one, cell=CellName(f"{one.cell.workload}.{index}", "n=4", "default", "cpu"))
        for one in made.ONE_OF_EVERYTHING.cells
        for index in range(60)
    ]
    text = as_html(made.verdicts(*many), made.CONTEXT)
    assert len(text) < 5_000_000
    Page(text)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_offline_in_both_colour_schemes(tmp_path: Path, scheme: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not Path("/usr/bin/chromium").exists():
        pytest.skip("there is no /usr/bin/chromium: apt-get install chromium")
    path = tmp_path / "report.html"
    path.write_text(as_html(made.hostile(), made.hostile_context()))
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        shown = browser.new_context(color_scheme=scheme, offline=True).new_page()
        said: list[str] = []
        asked: list[str] = []
        shown.on("console", lambda message: said.append(message.text))
        shown.on("dialog", lambda dialog: said.append("a dialog"))
        shown.on("request", lambda request: asked.append(request.url))
        shown.goto(path.as_uri())
        background = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        overflow = shown.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        browser.close()
    assert said == [] and asked == [path.as_uri()]
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}[scheme]
    assert overflow == 0
