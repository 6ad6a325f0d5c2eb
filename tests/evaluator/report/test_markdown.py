"""The Markdown report, read back by a parser of CommonMark with tables."""

from __future__ import annotations

import html
import re

import pytest
from markdown_it import MarkdownIt

from evaluator.report.markdown import as_markdown, block, code, prose, table, table_code
from tests.evaluator.report import made

REPORT = as_markdown(made.ONE_OF_EVERYTHING, made.CONTEXT)
PARSER = MarkdownIt("commonmark").enable("table")
TRICKY = [
    "a|b",
    "a\\|b",
    "\\",
    "a``b`",
    "`",
    " x ",
    "<b>&amp;</b>",
    "[text](http://evil.example)",
    "![x](y)",
    "*a* _b_ ~~c~~ **d**",
    "# heading",
    "1. one",
    "- item",
    "+ item",
    "===",
    "---",
    "http://evil.example www.evil.example a@b.example",
    "$x^2$",
    "| --- |",
    made.HOSTILE,
]


def shown(markdown: str) -> str:
    """What a reader sees of rendered Markdown: tags gone, entities decoded, joined lines."""
    rendered = PARSER.render(markdown)
    return html.unescape(re.sub(r"<!--.*?-->|</?[a-z][^>]*>", "", rendered)).strip()


def as_seen(text: str) -> str:
    """The text on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


@pytest.mark.parametrize("text", TRICKY)
def test_recorded_text_is_shown_as_it_is(text: str) -> None:
    assert shown(prose(text)) == as_seen(text)
    assert shown(code(text)) == as_seen(text)
    (row,) = re.findall(
        r"<tbody>(.*)</tbody>", PARSER.render(table(["a", "b"], [[prose(text), table_code(text)]])), re.S
    )
    cells = re.findall(r"<td>(.*?)</td>", row, re.S)
    assert [html.unescape(re.sub(r"<!--.*?-->|</?code>", "", cell)).strip() for cell in cells] == [
        as_seen(text)
    ] * 2
    assert not re.search(r"<(?!/?(?:p|code)>|!--)", PARSER.render(prose(text)))


def test_a_fence_outlasts_what_it_holds() -> None:
    text = "```\n````\n# no heading"
    rendered = PARSER.render(block(text, "diff"))
    assert rendered == f'<pre><code class="language-diff">{text}\n</code></pre>\n'


def test_a_mention_or_link_of_a_record_is_none() -> None:
    report = as_markdown(made.hostile(), made.hostile_context())
    rendered = PARSER.render(report)
    assert "<script" not in rendered and "<a " not in rendered and "<img" not in rendered
    assert "<strong>bold" not in rendered
    # Outside of code a name after an at sign would call somebody.
    outside = re.sub(r"<code[^>]*>.*?</code>", "", rendered, flags=re.S)
    assert "@nobody" not in outside


def test_every_table_row_has_the_cells_of_its_heading() -> None:
    for report in (REPORT, as_markdown(made.hostile(), made.hostile_context())):
        tables = re.findall(r"<table>.*?</table>", PARSER.render(report), re.S)
        assert len(tables) >= 6
        for one in tables:
            rows = re.findall(r"<tr>(.*?)</tr>", one, re.S)
            assert len({len(re.findall(r"<t[hd]>", row)) for row in rows}) == 1


def test_the_report_has_its_parts_in_order() -> None:
    headings = re.findall(r"^(?:## |<details><summary>)(.*?)(?:</summary>)?$", REPORT, re.M)
    assert headings == [
        "What moved",
        "Cells",
        "Confirmed regressions",
        "Regressions that no rerun confirmed",
        "Flaky",
        "Improved",
        "Inconclusive",
        "Changed",
        "Not compared",
        "The environments themselves",
        "Where this comes from",
    ]
    assert REPORT.splitlines()[0] == f"# {made.ONE_OF_EVERYTHING.answer_text}"


def test_a_regression_comes_with_its_sources_and_a_command() -> None:
    assert "+    out0[0] = in0[0] + in0[0];" in REPORT
    assert "```sh\npython -m evaluator repro --ab 12 57\n```" in REPORT
    assert "other kernels were generated; layer that moved: Inductor" in REPORT
    assert "evaluation 12 (base), 57 (candidate); kernel 3344 (base), 4555 (candidate)" in REPORT
