"""Cached reads. The database is opened for reading only; what was read is kept until something was recorded.

Nothing here writes, migrates or starts anything.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

import streamlit as st
from sqlalchemy import URL, Connection, Engine

from db import schema
from db.artifacts import folder_of
from db.failures import place, translated
from db.queries import overview
from db.session import DEFAULT_DATABASE, database_url, open_reader, reader_engine, require_exists, sqlite_path
from evaluator.errors import UserError

DATABASE_VARIABLE: Final = "COMPILEWATCH_DB"
FIRST_RUN: Final = "python -m evaluator run --tag quickstart"
ROOT: Final = Path(__file__).resolve().parents[1]

# Shown instead of a file where its text would hang the browser; the download has all of it.
MOST_SHOWN_BYTES: Final = 200_000

P = ParamSpec("P")
T = TypeVar("T")

# The connections of one run of the script, by URL.
_OPEN: Final[ContextVar[dict[str, Connection] | None]] = ContextVar("_OPEN", default=None)


@dataclass(frozen=True)
class Database:
    """A database that can be read. ``stamp`` changes with every record: cached reads are keyed on it."""

    url: str
    place: str
    stamp: tuple[int, ...]

    @property
    def option(self) -> str:
        """What a command needs after it to mean this database; empty where it is the default one."""
        return _option(self.place)


@dataclass(frozen=True)
class Unavailable:
    """Why there is nothing to show: a title in our words, the whole sentence, and what to type, if anything helps."""

    title: str
    sentence: str
    command: str | None = None


def _option(place: str) -> str:
    return "" if place == DEFAULT_DATABASE else f" --db {shlex.quote(place)}"


def located() -> str:
    """The database to show: COMPILEWATCH_DB (a file or a URL), else the default file below the current folder, else
    the one below the folder of the code (which also names the file where there is neither)."""
    named = os.environ.get(DATABASE_VARIABLE, "").strip()
    if named:
        return named
    if Path(DEFAULT_DATABASE).exists() or Path.cwd() == ROOT:
        return DEFAULT_DATABASE
    return str(ROOT / DEFAULT_DATABASE)


def opened(location: str) -> Database | Unavailable:
    """Look at the database: what there is to read, or why there is nothing."""
    try:
        url = database_url(location)
        path = sqlite_path(url)
        if path is not None and not path.exists():
            return _first_run(url, f"{place(url)} does not exist yet.")
        with translated(url):
            require_exists(url)
            return _looked_at(url)
    except UserError as error:
        return unavailable("The database can't be read", error)


def _first_run(url: URL, found: str) -> Unavailable:
    sentence = f"{found} This evaluates a few real workloads in under five minutes and records them there:"
    return Unavailable("No runs yet", sentence, f"{FIRST_RUN}{_option(place(url))}")


def unavailable(title: str, error: UserError) -> Unavailable:
    """The error's own sentence, with the command it names (between backticks) apart, to be copied."""
    text = str(error)
    command = re.search(r"`(python -m [^`]+)`", text)
    return Unavailable(title, text.replace("`", ""), command[1] if command else None)


def _looked_at(url: URL) -> Database | Unavailable:
    with _connected(url.render_as_string(hide_password=False)) as connection:
        found = schema.state(connection)
        if found == "current":
            stamp = overview.stamp(connection)
            path = sqlite_path(url)
            # Another file put in this place may count its rows just alike.
            identity = path.stat().st_ino if path else 0
            return Database(url.render_as_string(hide_password=False), place(url), (identity, *stamp))
    if found == "empty":
        return _first_run(url, f"{place(url)} has nothing in it yet.")
    titles = {
        "older": "The database is older than this dashboard",
        "newer": "The database is newer than this dashboard",
        "foreign": "This is a database of something else",
    }
    try:
        open_reader(url).dispose()
    except UserError as error:
        return unavailable(titles[found], error)
    return Unavailable(
        "The database has just changed", "It was brought up to date meanwhile: reload the page."
    )


@st.cache_resource(show_spinner=False, max_entries=4)
def _engine(url: str) -> Engine:
    return reader_engine(database_url(url))


def read(database: Database, query: Callable[P, T], *arguments: Any, **options: Any) -> T:
    """``query(connection, *arguments, **options)``, or what it gave before if nothing was recorded since.

    Raises UserError where the database can no longer be read.
    """
    return resting(database, database.stamp, query, *arguments, **options)


def resting(
    database: Database,
    rests: tuple[Any, ...],
    query: Callable[..., T],
    *arguments: Any,
    **options: Any,
) -> T:
    """As ``read``, while ``rests`` is what it was: what the query's rows rest on, whatever else is recorded."""
    name = f"{query.__module__}.{getattr(query, '__qualname__', query)}"
    # Streamlit looks at every part of what it is given; of hundreds of numbers their text is looked at faster.
    asked = repr((arguments, sorted(options.items())))
    return cast(T, _kept(database.url, rests, name, asked, query, arguments, options))


@st.cache_data(show_spinner=False, max_entries=512)
def _kept(
    url: str,
    rests: tuple[Any, ...],
    name: str,
    asked: str,
    _query: Callable[..., Any],
    _arguments: tuple[Any, ...],
    _options: dict[str, Any],
) -> Any:
    with _connected(url) as connection:
        return _query(connection, *_arguments, **_options)


def connected(database: Database) -> AbstractContextManager[Connection]:
    """A connection that reads, for what is kept otherwise than ``read`` keeps it; its errors are UserErrors."""
    return _connected(database.url)


@contextmanager
def one_connection() -> Iterator[None]:
    """Within it each database is read over one connection and in one transaction: a page is of one state of the database,
    and the schema, which SQLite reads anew for each connection, is read once."""
    opened: dict[str, Connection] = {}
    outside = _OPEN.set(opened)
    try:
        yield
    finally:
        _OPEN.reset(outside)
        for connection in opened.values():
            connection.close()


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    opened = _OPEN.get()
    with translated(database_url(url)):
        if opened is None:
            with _engine(url).connect() as connection:
                yield connection
            return
        if url not in opened:
            opened[url] = _engine(url).connect()
        try:
            yield opened[url]
        except Exception:
            # PostgreSQL answers nothing more in a transaction in which something failed.
            opened.pop(url).close()
            raise


def artifact(database: Database, sha256: str) -> bytes:
    """A kept file by its hash: the one way to name it. Raises UserError where it is gone or damaged."""
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise UserError("an artifact is named by 64 hexadecimal digits")
    return _content(database.url, sha256)


@st.cache_data(show_spinner=False, max_entries=16)
def _content(url: str, sha256: str) -> bytes:
    return folder_of(database_url(url)).read(sha256)
