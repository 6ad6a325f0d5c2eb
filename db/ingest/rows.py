"""The one statement that ingest is made of: find a row by its key, or insert it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

Record = dict[str, Any]


class Row(NamedTuple):
    """A row's primary key, and whether it is new."""

    id: Any
    new: bool


def find(connection: Connection, table: Table, key: Mapping[str, Any]) -> Any:
    """The primary key of the row with this key (NULL equals NULL here); None where there is none."""
    (primary,) = table.primary_key
    matches = [
        table.c[name].is_(None) if value is None else table.c[name] == value for name, value in key.items()
    ]
    return connection.execute(select(primary).where(*matches).limit(1)).scalar()


def intern(connection: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> Row:
    """The row with this key; inserted with ``values`` if it is not there. ``key``: columns of a unique constraint."""
    (primary,) = table.primary_key
    found = find(connection, table, key)
    if found is not None:
        return Row(found, False)
    # Another writer can insert it between the two statements only on PostgreSQL, where writers run side by side.
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table).on_conflict_do_nothing().returning(primary)
    made = connection.execute(statement, {**key, **values}).scalar()
    if made is not None:
        return Row(made, True)
    return Row(find(connection, table, key), False)


def add(connection: Connection, table: Table, values: Mapping[str, Any]) -> Any:
    """Insert a row; its primary key."""
    (primary,) = table.primary_key
    return connection.execute(insert(table).returning(primary), dict(values)).scalar_one()


def add_many(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that have the same columns."""
    if rows:
        connection.execute(insert(table), [dict(row) for row in rows])


def put(connection: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Set ``values`` in the row with this key, which is made if it is not there."""
    found = find(connection, table, key)
    (primary,) = table.primary_key
    if found is None:
        connection.execute(insert(table), {**key, **values})
    else:
        connection.execute(table.update().where(primary == found).values(dict(values)))
