"""Which schema a database has, compared with the one this code knows. Looks only, never migrates."""

from __future__ import annotations

from typing import Final, Literal

from sqlalchemy import URL, Connection, inspect, text

from db.failures import place
from evaluator.errors import UserError

# Every migration, oldest first; a test holds this list to the scripts in db/migrations/versions.
REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007")
VERSION_TABLE: Final = "alembic_version"

State = Literal["empty", "current", "older", "newer", "foreign"]


def migrate_command(url: URL) -> str:
    """What to type to bring a database to this code's schema."""
    return f"python -m db.migrate {place(url)}"


def revision(connection: Connection) -> str | None:
    """The revision a database is at; None where it has none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return str(found) if found is not None else None


def state(connection: Connection) -> State:
    """How a database stands to this code: empty, current, older, newer, or holding something else's tables."""
    found = revision(connection)
    if found is None:
        return "foreign" if inspect(connection).get_table_names() else "empty"
    if found == REVISIONS[-1]:
        return "current"
    return "older" if found in REVISIONS else "newer"


def require_current(connection: Connection, url: URL) -> None:
    """Raises UserError unless the database has exactly this code's schema."""
    found = state(connection)
    if found == "empty":
        raise UserError(
            f"{place(url)} holds no runs yet: `python -m evaluator run --db {place(url)}` makes the first"
        )
    require_not_foreign_or_newer(found, connection, url)
    if found == "older":
        raise UserError(
            f"{place(url)} was written by an older version: bring it up to date with `{migrate_command(url)}`, "
            "which keeps a backup"
        )


def require_not_foreign_or_newer(found: State, connection: Connection, url: URL) -> None:
    """Raises UserError where nothing of ours may touch the database."""
    if found == "foreign":
        raise UserError(
            f"{place(url)} holds tables of something else: it was left as it is, give --db another one"
        )
    if found == "newer":
        raise UserError(
            f"{place(url)} was written by a newer version (schema {revision(connection)}, this code knows "
            f"{REVISIONS[-1]}): update the code; the database was left as it is"
        )
