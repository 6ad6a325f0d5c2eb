"""The context of a comparison of recorded runs, as the database tells it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from evaluator.options import CREDENTIALS, shown_database
from evaluator.report.context import Context, RunMention, Sources

if TYPE_CHECKING:
    from db.queries.provenance import RunOrigin


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

    ``database_option``: what ``--db`` was given, so that the report's commands find the same database; user and
    password of a URL are left out, and its commands say so. Runs that have not ended in order are noted. ``machine``: by
    default that of the first run. ``commands``: what made the comparison, beside the command lines that made the
    runs. Raises UserError where the database or a run is not there.
    """
    from db.queries.provenance import runs_and_children
    from db.session import reading

    with reading(database) as reads:
        found = runs_and_children(reads, runs)
    shown = None if database_option is None else shown_database(database_option)
    made_by = [
        shlex.join(["python", "-m", "evaluator", *_with_database(one.argv, shown)])
        for one in found
        if one.parent is None
    ]
    hint = [] if shown == database_option else [f"# {CREDENTIALS}"]
    return Context(
        made_at=made_at,
        machine=machine or next((one.machine for one in found), None),
        runs=tuple(RunMention(one.id, one.uuid, one.purpose, one.label) for one in found),
        commands=tuple(dict.fromkeys((*hint, *made_by, *commands))),
        database=shown,
        wall_s=wall_s,
        notes=(*notes, *(note for one in found if (note := _unfinished(one)))),
        sources=_sources(database),
    )


def _with_database(argv: Sequence[str], shown: str | None) -> list[str]:
    """A recorded command line, of whose database URL only the scheme was kept, with the database as it may be shown."""
    if shown is None or "://" not in shown:
        return list(argv)
    kept = f"{shown.partition('://')[0]}://..."
    return [f"{word.removesuffix(kept)}{shown}" if word.endswith(kept) else word for word in argv]


def _unfinished(run: RunOrigin) -> str | None:
    """What a reader has to know of a run that has not ended in order; None of one that has."""
    if run.status == "finished":
        return None
    why = (
        "was interrupted"
        if run.status == "interrupted"
        else "has not ended: it goes on, or a crash left it open"
    )
    return (
        f"Run {run.id} ({run.purpose}) {why}. What it has not measured is not compared, and times may rest on fewer "
        "replicas than were meant."
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
