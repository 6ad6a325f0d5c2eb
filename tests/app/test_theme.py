"""Words, numbers and units as they are shown."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from app import metric_words, theme
from evaluator.worker.protocol import METRICS, Status

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0.0, "0"),
        (1.2345, "1.23"),
        (0.0123456, "0.0123"),
        (12345.6, "12,346"),
        (-4.5, "-4.50"),
        (2.1e-7, "2.10e-07"),
        (math.inf, "inf"),
    ],
)
def test_number(value: float | None, shown: str) -> None:
    assert theme.number(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"), [(1.5, "s", "1.50 s"), (None, "s", "–"), (3.0, "1", "3.00")]
)
def test_quantity(value: float | None, unit: str, shown: str) -> None:
    assert theme.quantity(value, unit) == shown


@pytest.mark.parametrize(
    ("n", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KB"), (1024**3, "1.00 GB"), (None, "–"), (1536, "1.50 KB")],
)
def test_size(n: int | None, shown: str) -> None:
    assert theme.size(n) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "–"), (5.0, "5.0 s"), (59.94, "60 s"), (61, "1 min 1 s"), (7500, "2 h 5 min")],
)
def test_duration(seconds: float | None, shown: str) -> None:
    assert theme.duration(seconds) == shown


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(hours=6, minutes=50), "6 h ago"),
        (timedelta(days=3), "3 days ago"),
    ],
)
def test_ago(before: timedelta, shown: str) -> None:
    assert theme.ago(NOW - before, NOW) == shown


@pytest.mark.parametrize("status", get_args(Status))
def test_every_status_has_an_icon_a_word_and_a_tone(status: str) -> None:
    icon, _, word = theme.status_text(status).partition(" ")
    assert len(icon) == 1
    assert word
    assert theme.status_tone(status) in theme.STATUS_COLORS
    assert theme.status_color(status, dark=True) != theme.status_color(status, dark=False)


def test_only_ok_is_a_pass() -> None:
    assert [one for one in get_args(Status) if theme.status_tone(one) == "passed"] == ["ok"]


def test_listed_says_how_many_are_left_out() -> None:
    assert theme.listed(["a", "b", "c"], most=2) == "a, b and 1 more"
    assert theme.listed(["a", "b"], most=2) == "a, b"


def test_every_declared_metric_has_a_title_and_a_place() -> None:
    assert [metric for metric in METRICS if metric_words.title(metric) == metric] == []
    assert sorted(sorted(METRICS), key=metric_words.order) == [*METRICS]
    assert metric_words.order("unheard.of") > metric_words.order([*METRICS][-1])


@pytest.mark.parametrize(
    ("metric", "text", "shown"),
    [
        ("graph_breaks", "graph breaks: 0 -> 1", "0 -> 1"),
        ("graph_breaks", "Graph breaks 0 -> 1", "0 -> 1"),
        ("graph_breaks", "graph breaks", "graph breaks"),
        ("status", "compile error: no such operator", "compile error: no such operator"),
        ("unheard.of", "1 -> 2", "1 -> 2"),
    ],
)
def test_a_title_is_not_said_twice(metric: str, text: str, shown: str) -> None:
    assert metric_words.without_title(metric, text) == shown


def test_a_workload_without_buckets_has_none_in_a_sentence() -> None:
    assert theme.at_bucket("-") == ""
    assert theme.at_bucket("seq=64") == " at `seq=64`"
    assert theme.cell_text("w", "-") == "w"
    assert theme.cell_text("w", "-", "max-autotune") == "w · max-autotune"
    assert theme.cell_text("w", "n=1", "default", "cpu") == "w · n=1 · default · cpu"
