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
def module_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A database that a module's tests share: filled once, then only looked at."""
    folder = tmp_path_factory.mktemp("shared")
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv(FOLDER_VARIABLE, str(folder / "artifacts"))
        url = str(folder / "runs.db")
        if request.param == "postgresql":
            url = stack.enter_context(postgres.fresh_database(request.getfixturevalue("postgres_server")))
        yield url


@pytest.fixture(scope="module")
def two_runs(module_database: str) -> str:
    """A shared database with a finished run ``first`` and one ``going-on``."""
    made.store_two_runs(module_database)
    return module_database
