"""Databases for the dashboard's tests, and the application as Streamlit's own test harness runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.app import codegen, profiled, seed, upgrades

ENTRY = Path(__file__).resolve().parents[2] / "app" / "streamlit_app.py"
# A machine under load may need long for the first imports; nothing here judges speed.
PATIENCE_S = 60

SCENARIOS = {**seed.SCENARIOS, **upgrades.SCENARIOS, **codegen.SCENARIOS, **profiled.SCENARIOS}
Opener = Callable[..., AppTest]


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The database of a scenario of ``seed`` or ``upgrades``, made once."""
    folder = tmp_path_factory.mktemp("databases")

    def made(scenario: str) -> Path:
        path = folder / f"{scenario}.db"
        return path if path.exists() else SCENARIOS[scenario](path)

    return made


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> Opener:
    """Opens the application on a database, on a page (``workload``), with a URL's values; always by the entry file."""

    def run(database: Path | str, page: str | None = None, **query: str) -> AppTest:
        monkeypatch.setenv("COMPILEWATCH_DB", str(database))
        st.cache_data.clear()
        st.cache_resource.clear()
        app = AppTest.from_file(str(ENTRY), default_timeout=PATIENCE_S)
        if page is not None:
            app.switch_page(f"views/{page}.py")
        for key, value in query.items():
            app.query_params[key] = value
        return app.run()

    return run


def said(app: AppTest) -> str:
    """Every text the page shows outside tables and charts, one a line."""
    kinds = (
        "title",
        "subheader",
        "text",
        "caption",
        "markdown",
        "code",
        "warning",
        "info",
        "error",
        "success",
    )
    texts = [str(element.value) for kind in kinds for element in app.get(kind)]
    cards = [f"{metric.label}: {metric.value} {metric.delta}" for metric in app.metric]
    return "\n".join([*texts, *cards])
