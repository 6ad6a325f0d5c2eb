"""Names, messages and sources from records are text: never Markdown, HTML, formulas, links or paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app import data, steps, theme
from evaluator.errors import UserError
from tests.app import seed
from tests.app.conftest import Opener

# Streamlit draws these kinds from Markdown; code, text and table cells it draws as they are.
MARKDOWN = ("title", "header", "subheader", "caption", "markdown", "warning", "info", "error", "success")
FRAGMENTS = (
    "<script",
    "<img",
    "**bold**",
    ":smile:",
    "$x^2$",
    "](http",
    "<b>",
    ":red[red]",
    ":red[v]",
    "\\frac",
)
VIEWS: list[tuple[str | None, dict[str, str]]] = [
    (None, {}),
    ("runs", {}),
    ("runs", {"tab": "Failures and logs"}),
    ("runs", {"tab": "Environment"}),
    ("runs", {"tab": "Files"}),
    ("workload", {}),
    ("why", {}),
    ("why", {"b": "b=2"}),
    ("why", {"tab": "Kernels"}),
    ("why", {"tab": "Environment"}),
    ("why", {"b": "b=2", "tab": "Probes and logs"}),
]


def rendered(app: AppTest) -> list[str]:
    """Every text that is drawn from Markdown, with what stands in code spans taken out."""
    texts = [str(element.value) for kind in MARKDOWN for element in app.get(kind)]
    for metric in app.metric:
        texts += [metric.label, str(metric.value), str(metric.delta)]
    texts += [box.label for box in app.selectbox] + [tab.label for tab in app.tabs]
    return [outside_code(text) for text in texts]


def outside_code(text: str) -> str:
    """``text`` without its code spans: a run of backticks up to the next run of the same length."""
    left, rest = "", text
    while "`" in rest:
        before, _, rest = rest.partition("`")
        fence = 1 + len(rest) - len(rest.lstrip("`"))
        rest = rest.lstrip("`")
        parts = _closing(rest, fence)
        left += before
        rest = parts
    return left + rest


def _closing(text: str, fence: int) -> str:
    position = 0
    while position < len(text):
        start = text.find("`", position)
        assert start >= 0, "a code span that never ends"
        end = start
        while end < len(text) and text[end] == "`":
            end += 1
        if end - start == fence:
            return text[end:]
        position = end
    raise AssertionError("a code span that never ends")


@pytest.mark.parametrize(("page", "query"), VIEWS)
def test_no_name_reaches_markdown(
    opens: Opener, databases: Callable[[str], Path], page: str | None, query: dict[str, str]
) -> None:
    app = opens(databases("hostile"), page, **query)
    assert not app.exception
    for text in rendered(app):
        assert not [one for one in FRAGMENTS if one in text], text


@pytest.mark.parametrize("group", ["regressed", "changed", "unchanged"])
def test_no_name_of_a_comparison_reaches_markdown(
    opens: Opener, databases: Callable[[str], Path], group: str
) -> None:
    app = opens(databases("hostile_upgrade"), show=group)
    assert not app.exception
    assert seed.HOSTILE_NAME in app.title[0].value
    for text in rendered(app):
        assert not [one for one in FRAGMENTS if one in text], text


def test_no_element_but_the_style_sheet_and_the_script_of_steps_is_html(
    opens: Opener, databases: Callable[[str], Path]
) -> None:
    app = opens(databases("hostile"), "why")
    assert not [one for one in app.get("markdown") if one.proto.allow_html]
    bodies = [one.proto.body for one in app.get("html")]
    ours = f"<script>{Path(steps.__file__).with_name('steps.js').read_text()}</script>"
    assert [body for body in bodies if "<script" in body] == [ours]
    assert len(bodies) == 2


def test_name_is_shown_whole(opens: Opener, databases: Callable[[str], Path]) -> None:
    app = opens(databases("hostile"), "workload")
    assert theme.literal(seed.HOSTILE_NAME) in app.title[0].value


@pytest.mark.parametrize(
    ("text", "span"),
    [
        # As CommonMark reads them: a fence longer than any run inside, a space where a backtick touches the fence.
        ("plain", "`plain`"),
        ("a`b``c", "```a`b``c```"),
        ("` lead", "`` ` lead ``"),
        ("trail `", "`` trail ` ``"),
        ("`", "`` ` ``"),
        ("", "` `"),
        ("two\n\nlines", "`two  lines`"),
        ("tab\there", "`tab here`"),
    ],
)
def test_literal_is_one_code_span(text: str, span: str) -> None:
    assert theme.literal(text) == span
    assert outside_code(span) == ""


@pytest.mark.parametrize("name", ["../../etc/passwd", "A" * 64, "a" * 63, "", "a" * 64 + "\n"])
def test_artifact_is_named_by_its_hash_alone(tmp_path: Path, name: str) -> None:
    path = seed.tiny(tmp_path / "tiny.db")
    database = data.opened(str(path))
    assert isinstance(database, data.Database)
    with pytest.raises(UserError, match="64 hexadecimal digits"):
        data.artifact(database, name)
