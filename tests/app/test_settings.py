"""The dashboard's own settings: private by default, no prompt, no network, both themes readable."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from app import theme
from tests.app.test_contrast import contrast

APP = Path(__file__).resolve().parents[2] / "app"


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    return tomllib.loads((APP / ".streamlit" / "config.toml").read_text())


def test_it_listens_on_loopback_alone_and_tells_nobody(settings: dict[str, Any]) -> None:
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["server"]["showEmailPrompt"] is False
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["client"]["showErrorLinks"] is False


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_is_readable(settings: dict[str, Any], mode: str) -> None:
    colors = settings["theme"][mode]
    for surface in ("backgroundColor", "secondaryBackgroundColor", "codeBackgroundColor"):
        assert contrast(colors["textColor"], colors[surface]) >= 7
        assert contrast(colors["primaryColor"], colors[surface]) >= 4.5


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_first_six_series_stand_out_from_the_background(settings: dict[str, Any], mode: str) -> None:
    background = settings["theme"][mode]["backgroundColor"]
    for color in theme.PALETTE[:6]:
        assert contrast(color, background) >= 2, color


def test_charts_and_streamlit_share_one_palette(settings: dict[str, Any]) -> None:
    assert tuple(settings["theme"]["chartCategoricalColors"]) == theme.PALETTE


def test_nothing_is_fetched_for_looks() -> None:
    for path in (*APP.rglob("*.py"), *APP.rglob("*.css"), *APP.rglob("*.toml"), *APP.rglob("*.svg")):
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert ":material/" not in text, path
        assert "http://" not in text, path
        assert "https://" not in text, path


@pytest.mark.parametrize("path", sorted((APP / "views").glob("*.py")), ids=lambda path: path.name)
def test_a_page_stays_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 150
