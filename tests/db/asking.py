"""Looking into a database of a test, and changing it behind the store's back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text

from db import migrate
from db.session import database_url, reader_engine, writer_engine


@contextmanager
def reading(database: str) -> Iterator[Connection]:
    """A read-only connection."""
    engine = reader_engine(database_url(database))
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def ask(database: str, query: str, **parameters: Any) -> list[Any]:
    """The rows of a query as tuples."""
    with reading(database) as connection:
        return [tuple(row) for row in connection.execute(text(query), parameters)]


def row_counts(database: str) -> dict[str, int]:
    """Rows of every table."""
    with reading(database) as connection:
        return migrate.row_counts(connection)


@contextmanager
def changing(database: str) -> Iterator[Connection]:
    """A transaction of a writer that is not the store."""
    engine = writer_engine(database_url(database))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()
