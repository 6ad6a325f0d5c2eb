"""The sink that writes records into a database, and its artifacts beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import URL, select

from db.artifacts import ArtifactFolder, folder_of
from db.failures import translated
from db.ingest import in_order, ingest
from db.ingest.rows import Record
from db.ingest.runs import run_id
from db.migrate import upgrade
from db.schema import require_current, state
from db.session import database_url, reader_engine, require_usable, sqlite_path, writer_engine
from db.tables import RUN
from evaluator.errors import UserError


@dataclass
class Counts:
    """Records that brought something new, and records that were stored already."""

    new: int = 0
    known: int = 0


class Store:
    """Writes records; a database that is not there is made. One transaction a call, so a kill loses whole calls.

    ``counts`` holds what all calls so far brought. Raises UserError where the database can't be used, is older or
    newer than this code, can't be written or its disk is full; what was stored before stays.
    """

    def __init__(self, database: str | URL) -> None:
        self.url = database_url(database)
        self.artifacts: ArtifactFolder = folder_of(self.url)
        self.counts = Counts()
        with translated(self.url):
            _make_or_check(self.url)
            self._engine = writer_engine(self.url)
            with self._engine.begin():
                pass  # a database that can't be written says so now, not after the first measurement

    def write(self, record: Record) -> None:
        """Store one record in a transaction of its own."""
        self.write_many([record])

    def write_many(self, records: Iterable[Record]) -> None:
        """Store all of these records or, if anything goes wrong, none. Nothing is written twice.

        The same records may come again, from another process too. Artifact files are written before the
        transaction's end; a file that no row names is harmless.
        """
        ordered = in_order(records)
        new = 0
        with translated(self.url), self._engine.begin() as connection:
            for record in ordered:
                new += ingest(connection, record, self.artifacts)
        self.counts.new += new
        self.counts.known += len(ordered) - new

    def reopen(self, run_uuid: str) -> None:
        """Say that an interrupted run goes on. Raises UserError where it is finished or unknown."""
        with translated(self.url), self._engine.begin() as connection:
            row = run_id(connection, run_uuid)
            if connection.execute(select(RUN.c.status).where(RUN.c.id == row)).scalar_one() == "finished":
                raise UserError(f"run {run_uuid} is finished: nothing is left to resume, start a new run")
            going_on: dict[str, Any] = {"status": "running", "finished_at": None}
            connection.execute(RUN.update().where(RUN.c.id == row).values(going_on))

    def close(self) -> None:
        """Let go of the database; the write-ahead log is folded into the file."""
        self._engine.dispose()


def _make_or_check(url: URL) -> None:
    """Leave a database with this code's schema, made if there was none; UserError for any other."""
    path = sqlite_path(url)
    require_usable(url)
    if path is not None and not path.exists():
        upgrade(url)
        return
    engine = reader_engine(url)
    try:
        with engine.connect() as connection:
            empty = state(connection) == "empty"
            if not empty:
                require_current(connection, url)
    finally:
        engine.dispose()
    if empty:
        upgrade(url)
