"""The context of a comparison of recorded runs, as the database tells it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime

from evaluator.report.context import Context, RunMention, Sources


def context_of(
    database: str,
    database_option: str | None,
    *runs: int | str,
    made_at: datetime,
    machine: str | None = None,
    wall_s: float | None = None,
    notes: Sequence[str] = (),
    commands: Sequence[str] = (),
) -> Context:
    """The context of a report about these runs (ids or uuids) and the runs that confirm and explain them.

    ``database_option``: what ``--db`` was given, so that the report's commands find the same database. ``machine``: by
    default that of the first run. ``commands``: what made the comparison, beside the command lines that made the
    runs. Raises UserError where the database or a run is not there.
    """
    from db.queries.provenance import runs_and_children
    from db.session import open_reader

    engine = open_reader(database)
    try:
        with engine.connect() as reads:
            found = runs_and_children(reads, runs)
    finally:
        engine.dispose()
    made_by = [shlex.join(["python", "-m", "evaluator", *one.argv]) for one in found if one.parent is None]
    return Context(
        made_at=made_at,
        machine=machine or next((one.machine for one in found), None),
        runs=tuple(RunMention(one.id, one.uuid, one.purpose, one.label) for one in found),
        commands=tuple(dict.fromkeys((*made_by, *commands))),
        database=database_option,
        wall_s=wall_s,
        notes=tuple(notes),
        sources=_sources(database),
    )


def _sources(database: str) -> Sources:
    """Kernel sources from the artifacts beside the database; None for one that is not there, or damaged."""
    from db.artifacts import folder_of
    from db.session import database_url
    from evaluator.errors import UserError

    folder = folder_of(database_url(database))

    def read(sha256: str) -> str | None:
        try:
            return folder.read(sha256).decode(errors="replace")
        except (UserError, OSError):
            # A report without one source is still a report.
            return None

    return read
