"""Every page over more than a million samples: it opens, draws no more than a browser can, and sends little."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.app import large
from tests.app.conftest import Opener, said

pytestmark = pytest.mark.slow

PAGES = (None, "matrix", "workload", "why", "trends", "coverage", "runs")
# Bytes that a page may send.
MOST_BYTES = 1_000_000
MOST_OF_THE_FIRST = 100_000
MOST_MARKS = 5_000


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large.write(tmp_path_factory.mktemp("large") / "large.db")


def elements(block: Any) -> Iterator[Any]:
    """Every element of a page, however deep."""
    for child in getattr(block, "children", {}).values():
        if hasattr(child, "children"):
            yield from elements(child)
        yield child


def sent(app: AppTest) -> int:
    """Bytes of all elements of a page."""
    return sum(
        len(one.proto.SerializeToString())
        for block in (app.main, app.sidebar)
        for one in elements(block)
        if getattr(one, "proto", None) is not None and not getattr(one, "children", None)
    )


def marks(spec: dict[str, Any]) -> int:
    """Rows of the largest dataset of a chart."""
    named = [len(rows) for rows in spec.get("datasets", {}).values()]
    inline = [len(spec["data"]["values"])] if "values" in spec.get("data", {}) else []
    return max([*named, *inline], default=0)


def test_it_is_as_large_as_it_says(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        (samples,) = connection.execute("SELECT count(*) FROM sample").fetchone()
        (evaluations,) = connection.execute("SELECT count(*) FROM evaluation").fetchone()
        assert not connection.execute("PRAGMA foreign_key_check").fetchall()
    # 25 versions x 4 runs x 50 workloads x 5 buckets, and the upgrade's two sides.
    assert evaluations == 25_000 + 500
    assert samples > 1_000_000


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_and_sends_little(opens: Opener, database: Path, page: str | None) -> None:
    app = opens(database, page)
    assert not app.exception
    assert sent(app) <= (MOST_OF_THE_FIRST if page is None else MOST_BYTES)
    for chart in app.get("vega_lite_chart"):
        assert marks(json.loads(chart.proto.spec)) <= MOST_MARKS


def test_the_first_screen_answers(opens: Opener, database: Path) -> None:
    shown = said(opens(database))
    assert "250 of 250 cells compared" in shown
    # Of the three workloads that the seed makes worse none was measured again.
    assert "Not enough evidence" in shown


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("trends", {"over": "runs"}),
        ("runs", {"tab": "Samples"}),
        ("matrix", {"m": "compiled.wall_ms"}),
        ("coverage", {"part": "noise"}),
        ("workload", {"see": "Kernels"}),
        ("workload", {"see": "Phases"}),
    ],
)
def test_its_other_views_open(opens: Opener, database: Path, page: str, query: dict[str, str]) -> None:
    app = opens(database, page, **query)
    assert not app.exception
    assert sent(app) <= MOST_BYTES
