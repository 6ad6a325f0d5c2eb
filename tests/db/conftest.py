"""Databases to test on: every test that asks for ``database`` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from db.artifacts import FOLDER_VARIABLE
from tests.db import made, postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


@pytest.fixture
def postgres_database(postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "artifacts"))
    with postgres.fresh_database(postgres_server) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL or file name of a database that holds nothing yet."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    url: str = request.getfixturevalue("postgres_database")
    return url


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def two_runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with a finished run ``first`` and one ``going-on``, shared by a module's tests: change nothing."""
    folder = tmp_path_factory.mktemp("two-runs")
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv(FOLDER_VARIABLE, str(folder / "artifacts"))
        url = str(folder / "runs.db")
        if request.param == "postgresql":
            url = stack.enter_context(postgres.fresh_database(request.getfixturevalue("postgres_server")))
        made.store_two_runs(url)
        yield url
