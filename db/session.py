"""Engines: one that writes, one that only reads, for a SQLite file or a PostgreSQL URL."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session

from db.failures import not_a_database, translated
from db.schema import require_current
from evaluator.errors import UserError

# What queries read from.
Reads = Connection | Session

DEFAULT_DATABASE: Final = "results/compilewatch.db"

# How every SQLite file begins.
_HEADER: Final = b"SQLite format 3\x00"

# A writer waits this long for another one: far longer than any transaction of ours, so that none is lost.
BUSY_TIMEOUT_S: Final = 30.0
# Readers never wait for writers in WAL mode, except while a file is made or recovered.
_READER_TIMEOUT_S: Final = 5.0


def database_url(text: str | URL) -> URL:
    """A URL from what a user gave: a URL, or the path of a SQLite file. Raises UserError for any other database."""
    if isinstance(text, URL):
        url = text
    elif "://" not in text:
        url = URL.create("sqlite", database=text)
    else:
        try:
            url = make_url(text)
        except ArgumentError:
            raise UserError(
                # Not as it was given: it may hold a password.
                f"{text.partition('://')[0]}://... is not a database URL: give a file name or postgresql://host/name"
            ) from None
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise UserError(
            f"{backend} databases are not supported: give a SQLite file name or postgresql://host/name"
        )
    if backend == "sqlite" and (not url.database or url.database == ":memory:"):
        raise UserError("a database in memory would be lost at once: give a file name")
    return url


def sqlite_path(url: URL) -> Path | None:
    """The file of a SQLite URL as an absolute path; None for PostgreSQL."""
    if url.get_backend_name() != "sqlite" or url.database is None:
        return None
    return Path(url.database).absolute()


def writer_engine(url: URL, *, foreign_keys: bool = True) -> Engine:
    """An engine whose every transaction takes the write lock at its start, so that two writers lose nothing.

    SQLite: WAL, synchronous NORMAL (a power cut may undo the last transactions, never damage the file),
    ``foreign_keys`` on except for migrations. Makes the file on first use; look before with ``require_current``.
    """
    if url.get_backend_name() == "postgresql":
        return create_engine(url)
    engine = create_engine(url)

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: Any) -> None:
        # The driver's own transaction handling begins too late, and with a lock that two writers can share.
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _use_wal(connection: sqlite3.Connection) -> None:
    """Two writers that make a file at the same moment both change its mode; for that SQLite waits for neither."""
    end = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


def reader_engine(url: URL) -> Engine:
    """An engine that can't write, whose transactions each see one state of the database.

    A SQLite file is opened for reading only, anew for each connection: whether its folder can be written, which
    WAL needs, is looked at every time.
    """
    if url.get_backend_name() == "postgresql":
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        return create_engine(url, execution_options=options)
    path = sqlite_path(url)
    assert path is not None

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            _read_only_uri(path),
            uri=True,
            timeout=_READER_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA query_only = ON")
        return connection

    engine = create_engine(url, creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def open_reader(database: str | URL) -> Engine:
    """A read-only engine for a database that is there and has the schema of this code; UserError otherwise."""
    url = database_url(database)
    engine = reader_engine(url)
    with translated(url):
        require_exists(url)
        with engine.connect() as connection:
            require_current(connection, url)
    return engine


@contextmanager
def reading(database: str | URL) -> Iterator[Connection]:
    """A connection to read from, closed with all that belongs to it at the end. Raises UserError as ``open_reader``."""
    engine = open_reader(database)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def reading_if_there(database: str | URL) -> Iterator[Connection | None]:
    """As ``reading``; None where the database is a file that is not there yet."""
    path = sqlite_path(database_url(database))
    if path is not None and not path.exists():
        yield None
        return
    with reading(database) as connection:
        yield connection


def require_usable(url: URL) -> None:
    """Raises UserError where a SQLite file's name is taken by something that is no database.

    SQLite itself takes a file shorter than its header for an empty database, and would write over it.
    """
    path = sqlite_path(url)
    if path is None:
        return
    if path.is_dir():
        raise UserError(f"{url.database} is a folder: give --db the name of a file")
    if path.exists() and path.stat().st_size > 0:
        with path.open("rb") as file:
            begins = file.read(len(_HEADER))
        if begins != _HEADER:
            raise UserError(not_a_database(url))


def require_exists(url: URL) -> None:
    """Raises UserError where the SQLite file is not there, or is none."""
    require_usable(url)
    path = sqlite_path(url)
    if path is not None and not path.exists():
        raise UserError(
            f"{url.database} does not exist: `python -m evaluator run --db {url.database}` makes it"
        )


def _read_only_uri(path: Path) -> str:
    uri = f"file:{quote(str(path))}?mode=ro"
    log = path.with_name(path.name + "-wal")
    # A reader of a WAL file needs its shared-memory file and can't make one in a folder it may not write. With no
    # log beside it the file is complete, and can be read as one that nobody changes.
    has_log = log.exists() and log.stat().st_size > 0
    if not has_log and not os.access(path.parent, os.W_OK):
        uri += "&immutable=1"
    return uri
