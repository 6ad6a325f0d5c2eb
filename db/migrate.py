"""Making a database and bringing it to this code's schema, with nothing lost: ``python -m db.migrate DATABASE``.

One transaction spans the whole upgrade, on both databases. On SQLite it runs with foreign keys off (a table that is
built anew with them on takes its children with it) and after a copy of the file. Triggers come off before and go on
again after; foreign keys, row counts, constraints and indexes are compared; anything amiss undoes it all. A revision
that removes one of them on purpose names it in a module variable ``gives_up``.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, inspect, text
from sqlalchemy.schema import SetColumnComment, SetTableComment

from db import immutability
from db.failures import translated
from db.models import Base
from db.schema import VERSION_TABLE, require_not_foreign_or_newer, revision, state
from db.session import database_url, reader_engine, require_exists, require_usable, sqlite_path, writer_engine
from evaluator.errors import UserError

SCRIPTS: Final = Path(__file__).parent / "migrations"
VERSIONS: Final = SCRIPTS / "versions"

# Any constant: two upgrades of one PostgreSQL database wait for each other.
_LOCK: Final = 0x636F6D70696C65


@dataclass(frozen=True)
class Upgrade:
    """What an upgrade did: the revisions before (None: there was no database) and after, and the backup it left."""

    before: str | None
    after: str
    backup: Path | None

    @property
    def changed(self) -> bool:
        return self.before != self.after


class MigrationError(Exception):
    """An upgrade that would have lost something; it was undone."""


def config(connection: Connection, versions: Sequence[Path] = (VERSIONS,)) -> Config:
    """Alembic's settings for a connection; ``versions``: the folders that hold revisions."""
    settings = Config()
    settings.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    settings.set_main_option("path_separator", "newline")
    settings.set_main_option(
        "version_locations", "\n".join(str(path) for path in versions).replace("%", "%%")
    )
    settings.attributes["connection"] = connection
    return settings


def upgrade(database: str | URL, *, versions: Sequence[Path] = (VERSIONS,)) -> Upgrade:
    """Make the database, or bring it to the newest revision.

    Raises UserError where it can't be used or holds something else, MigrationError where the upgrade would have
    lost a row, a constraint or a trigger. In either case it is as it was before.
    """
    url = database_url(database)
    path = sqlite_path(url)
    with translated(url):
        require_usable(url)
        if path is not None and path.exists():
            _look_first(url)
        elif path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        engine = writer_engine(url, foreign_keys=False)
        try:
            return _upgrade(engine, path, versions)
        finally:
            engine.dispose()


def _look_first(url: URL) -> None:
    """Refuse what is not ours before a writer's pragmas change the file."""
    engine = reader_engine(url)
    with engine.connect() as connection:
        found = state(connection)
        if found == "foreign":
            require_not_foreign_or_newer(found, connection, url)


def _upgrade(engine: Engine, path: Path | None, versions: Sequence[Path]) -> Upgrade:
    with engine.begin() as connection:
        if path is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        before = revision(connection)
        if before is None:
            require_not_foreign_or_newer(state(connection), connection, engine.url)
        settings = config(connection, versions)
        script = ScriptDirectory.from_config(settings)
        head = script.get_current_head()
        if head is None:
            raise MigrationError(f"no revision in {', '.join(map(str, versions))}")
        if before is not None and before not in {one.revision for one in script.walk_revisions()}:
            require_not_foreign_or_newer("newer", connection, engine.url)
        if before == head:
            return Upgrade(before, head, None)
        counts = row_counts(connection)
        backup = back_up(path, before) if path is not None and any(counts.values()) else None
        with _kept(connection, counts, _given_up(script, before, head)):
            immutability.drop_triggers(connection)
            command.upgrade(settings, "head")
        immutability.create_triggers(connection)
        if path is None:
            _comment(connection)
        return Upgrade(before, head, backup)


@contextmanager
def _kept(connection: Connection, rows: dict[str, int], given_up: set[str]) -> Iterator[None]:
    """Raise MigrationError where the body lost rows, constraints, indexes or what a row refers to.

    ``given_up``: names of tables and constraints that the revisions say they remove.
    """
    structure, counters = _structure(connection), _counters(connection)
    yield
    after = row_counts(connection)
    for table, count in rows.items():
        if count and table not in given_up and after.get(table) != count:
            raise MigrationError(
                f"{table} had {count} rows and has {after.get(table, 'gone')}; the upgrade was undone"
            )
    lost = structure - _structure(connection) - given_up
    if lost:
        raise MigrationError(f"{', '.join(sorted(lost))} would be lost; the upgrade was undone")
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        if broken:
            raise MigrationError(f"{len(broken)} rows refer to rows that are gone; the upgrade was undone")
        for table, number in counters.items():
            connection.execute(
                text("UPDATE sqlite_sequence SET seq = :number WHERE name = :table AND seq < :number"),
                {"number": number, "table": table},
            )


def _given_up(script: ScriptDirectory, before: str | None, head: str) -> set[str]:
    """What the revisions to run declare in ``gives_up``: names of tables, constraints and indexes they remove."""
    revisions = script.iterate_revisions(head, before or "base")
    return {name for one in revisions for name in getattr(one.module, "gives_up", ())}


def row_counts(connection: Connection) -> dict[str, int]:
    """Rows of every table but Alembic's."""
    names = [name for name in inspect(connection).get_table_names() if name != VERSION_TABLE]
    return {
        name: int(connection.exec_driver_sql(f'SELECT count(*) FROM "{name}"').scalar_one()) for name in names
    }


def _structure(connection: Connection) -> set[str]:
    """Names of every constraint and index, and of every table that never gives a row id twice."""
    inspector = inspect(connection)
    found: set[str] = set(_counters(connection))
    for table in inspector.get_table_names():
        for named in (
            *inspector.get_check_constraints(table),
            *inspector.get_unique_constraints(table),
            *inspector.get_foreign_keys(table),
            *inspector.get_indexes(table),
        ):
            if named["name"]:
                found.add(str(named["name"]))
    return found


def _counters(connection: Connection) -> dict[str, int]:
    """SQLite's tables that never give a row id twice, with the highest they gave."""
    if connection.dialect.name != "sqlite":
        return {}
    tables = (
        connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'")
        .scalars()
        .all()
    )
    if not tables:
        return {}
    given = {
        str(name): int(number)
        for name, number in connection.exec_driver_sql("SELECT name, seq FROM sqlite_sequence")
    }
    return {str(table): given.get(table, 0) for table in tables}


def back_up(path: Path, name: str | None) -> Path:
    """A copy of a SQLite file beside it, the log's content included; raises OSError or sqlite3.Error, leaving none."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    copy = path.with_name(f"{path.name}.before-{name or 'first'}-{moment}")
    try:
        with (
            closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except BaseException:
        copy.unlink(missing_ok=True)
        raise
    return copy


def _comment(connection: Connection) -> None:
    """PostgreSQL keeps the columns' meanings with them; they come from the models, so no revision repeats them."""
    for table in Base.metadata.sorted_tables:
        connection.execute(SetTableComment(table))
        for column in table.columns:
            connection.execute(SetColumnComment(column))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 when the database is at this code's schema, 2 when it can't be."""
    parser = argparse.ArgumentParser(
        prog="python -m db.migrate",
        description="Bring a database of runs to this code's schema, keeping a backup.",
    )
    parser.add_argument("database", help="a SQLite file, or postgresql://host/name")
    given = parser.parse_args(arguments).database
    try:
        url = database_url(given)
        with translated(url):
            require_exists(url)
        done = upgrade(url)
    except (UserError, MigrationError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if not done.changed:
        sys.stdout.write(f"{given} is at revision {done.after} already\n")
    else:
        kept = f"; the file as it was: {done.backup}" if done.backup else ""
        sys.stdout.write(f"{given} is at revision {done.after} now{kept}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
