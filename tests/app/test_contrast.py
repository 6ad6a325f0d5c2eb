"""Words can be read in both themes: the contrast of every colour that is used for text, by the formula of WCAG 2."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest

from app import charts, theme
from app.timeline import chart as timeline_chart
from app.timeline.picture import KINDS
from app.trends import charts as trend_charts
from app.vega import in_theme, layered, named
from app.verdict import chart as verdict_chart
from tests.app.drawn import valid

APP = Path(theme.__file__).parent
SETTINGS = tomllib.loads((APP / ".streamlit" / "config.toml").read_text())["theme"]
THEMES = ("light", "dark")
# What text needs that is not large.
ENOUGH = 4.5


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two ``#RRGGBB``, from 1 to 21."""

    def luminance(color: str) -> float:
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def blended(over: str, under: str, opacity: float) -> str:
    """What a colour of this opacity looks like over another."""
    pairs = [(int(over[i : i + 2], 16), int(under[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * top + (1 - opacity) * low):02X}" for top, low in pairs)


def backgrounds(name: str) -> list[str]:
    """What text stands on: the page, boxes of code and cards, the sidebar."""
    own = SETTINGS[name]
    keys = ("backgroundColor", "secondaryBackgroundColor", "codeBackgroundColor")
    return [*(own[key] for key in keys), own["sidebar"]["backgroundColor"]]


def text_colors(name: str) -> dict[str, str]:
    """Every colour that is given for text in a theme, by where it is from."""
    place = THEMES.index(name)
    style = (APP / "style.css").read_text()
    tokens = re.findall(r"light-dark\((#[0-9a-fA-F]{6}), (#[0-9a-fA-F]{6})\)", style)
    assert len(tokens) == style.count("light-dark(")
    named_in = [key for key in SETTINGS[name] if key.endswith(("textColor", "TextColor", "linkColor"))]
    named_in += ["redColor", "orangeColor", "greenColor", "blueColor", "grayColor", "primaryColor"]
    return {
        **{f"settings {key}": SETTINGS[name][key] for key in named_in},
        **{f"status {tone}": pair[place] for tone, pair in theme.STATUS_COLORS.items()},
        **{f"chart {style}": pair[place] for style, pair in theme.TEXT_STYLES.items()},
        **{f"code {pair}": pair[place] for pair in tokens},
    }


def test_the_formula() -> None:
    # The ends of the scale, and the grey that WCAG's own examples give as the lightest on white.
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)
    assert blended("#000000", "#FFFFFF", 0.4) == "#999999"


@pytest.mark.parametrize("name", THEMES)
def test_every_colour_of_text_is_readable_on_every_background(name: str) -> None:
    poor = {
        (what, color, under): round(contrast(color, under), 2)
        for what, color in text_colors(name).items()
        for under in backgrounds(name)
        if contrast(color, under) < ENOUGH
    }
    assert poor == {}


@pytest.mark.parametrize("name", THEMES)
def test_words_on_a_chart_are_readable_on_its_bands(name: str) -> None:
    band = blended(theme.NEUTRAL_COLOR, SETTINGS[name]["backgroundColor"], 0.22)
    ink = theme.TEXT_STYLES["ink"][THEMES.index(name)]
    assert contrast(ink, band) >= ENOUGH


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "wait"])
def test_words_in_the_bars_of_a_timeline_are_readable(kind: str) -> None:
    assert contrast(timeline_chart.on_bar(kind), KINDS[kind][1]) >= ENOUGH


def forest() -> Any:
    row = {"cell": "w · n=1", "ratio": 1.1, "low": 1.05, "high": 1.2, "margin_low": 0.97, "margin_high": 1.03}
    row |= {"verdict": "regressed", "state": "unconfirmed", "word": "▲", "label": "+10% ?", "interval": "i"}
    return verdict_chart.forest(pd.DataFrame([{**row, "values": "v", "evaluation": 1}]), title="call")


def rail() -> Any:
    row = {"version": "1", "bucket": "b", "status": "✗", "failed": True, "reason": "r", "evaluation": 1}
    columns = ["version", "bucket", "median", "low", "high", "n", "evaluation", "note", "replica", "value"]
    none = pd.DataFrame([], columns=pd.Index(columns))
    return charts.history(none, none, pd.DataFrame([row]), title="t", unit="s", versions=["1"], buckets=["b"])


def totals() -> Any:
    row = {"point": "1", "label": "1", "torch": "1", "started": "2026", "series": "", "note": ""}
    return trend_charts.totals(
        pd.DataFrame([{**row, "what": "graph_breaks", "total": 2.0, "cells": 3}]), ["1"]
    )


def words_of(spec: Any) -> Iterator[dict[str, Any]]:
    """Marks of text; single signs are marks as others are."""
    for layer in spec["layer"]:
        if layer["mark"].get("type") == "text" and layer["mark"].get("fontWeight") != "bold":
            yield layer


@pytest.mark.parametrize("made", [forest, rail, totals])
def test_words_on_a_chart_have_a_colour_of_the_theme(made: Any) -> None:
    words = list(words_of(made()))
    assert words
    for layer in words:
        assert layer["mark"]["style"] in theme.TEXT_STYLES
        assert "color" not in layer["mark"]
        assert "color" not in layer["encoding"]


@pytest.mark.parametrize("name", THEMES)
def test_a_chart_takes_the_colours_of_a_theme(name: str) -> None:
    layer = alt.Chart(named("rows")).mark_text(style="quiet").encode(text=alt.Text("word:N"))
    config = {"axisY": {"labelAlign": "right"}}
    spec = layered([layer], {"rows": pd.DataFrame({"word": ["w"]})}, height=20, config=config)
    shown = in_theme(spec, dark=name == "dark")
    valid(shown)
    quiet = theme.TEXT_STYLES["quiet"][THEMES.index(name)]
    assert shown["config"]["style"]["quiet"]["color"] == shown["config"]["axis"]["labelColor"] == quiet
    assert shown["config"]["axisY"] == {"labelAlign": "right"}
    assert "style" not in spec["config"]
