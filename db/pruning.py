"""The gate: the one way to delete a run that was recorded."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, delete, insert, select

from db.tables import PRUNING, RUN


def prune_run(connection: Connection, run_uuid: str, reason: str) -> bool:
    """Delete a run and everything that hangs on it, in the caller's transaction; False where there is none.

    Opens the gate for this run; the deletion closes it, and its row stays as the record of what was pruned and
    why. Artifact files and what other runs may share stay.
    """
    if connection.execute(select(RUN.c.id).where(RUN.c.uuid == run_uuid)).scalar() is None:
        return False
    connection.execute(insert(PRUNING).values(run_uuid=run_uuid, reason=reason, opened_at=datetime.now(UTC)))
    connection.execute(delete(RUN).where(RUN.c.uuid == run_uuid))
    return True
