"""Altering a table from a revision: on SQLite by building it anew, on PostgreSQL by plain ALTER TABLE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations


@contextmanager
def altered(table: str) -> Iterator[BatchOperations]:
    """Batch operations on a table. Its columns, keys, constraints and indexes are kept, and on SQLite also that its
    row ids are never given twice, which Alembic's own batch mode would drop."""
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        with op.batch_alter_table(table) as batch:
            yield batch
        return
    declared = connection.execute(
        sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name"), {"name": table}
    ).scalar_one()
    options: dict[str, Any] = {"sqlite_autoincrement": True} if "AUTOINCREMENT" in declared else {}
    with op.batch_alter_table(table, recreate="always", table_kwargs=options) as batch:
        yield batch
