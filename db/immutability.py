"""The triggers that keep what was recorded: built from the models, put on the tables after every migration.

Rules, on both databases:

- Rows that hang on a finished run can't be added, changed or removed. A run's identity never changes.
- Measurements and evidence are append-only from the start: they can't be changed even while their run goes on.
- A row that hangs on any run leaves only with its run, and a run leaves only through the gate: an open row of the
  table ``pruning`` that names it, which the deletion itself closes.
- What runs share (environments, workloads, cells, artifacts) can't be changed, nor removed while something uses it.

SQLite's REPLACE removes rows without firing their triggers, so its insert and update triggers also look at the
rows that it would remove.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Table, UniqueConstraint, text

from db.models import Base

PREFIX: Final = "immutable_"

# The column that leads from a table towards its run. A table that is not here is shared by runs.
OWNER: Final = {
    "replica": "run_id",
    "environment_sample": "run_id",
    "evaluation": "run_id",
    "noise": "run_id",
    "probe": "evaluation_id",
    "facts": "evaluation_id",
    "summary": "evaluation_id",
    "sample": "probe_id",
    "probe_artifact": "probe_id",
    "graph_break": "probe_id",
    "recompile": "probe_id",
    "kernel": "probe_id",
    "kernel_build": "probe_id",
    "observed_kernel": "probe_id",
    "observed_operator": "probe_id",
    "accuracy": "probe_id",
    "difference": "probe_id",
}
# Written again as an evaluation goes on; everything else is append-only.
MUTABLE: Final = frozenset({"evaluation", "facts", "summary", "noise"})
_GATE: Final = "pruning"

_HINT: Final = "db/README.md says how a whole run is pruned"


def run_of(table: str, row: str) -> str:
    """SQL for the id of the run that ``row`` (an alias of ``table``) hangs on; NULL once its parents are gone."""
    if table == "run":
        return f"{row}.id"
    column = OWNER[table]
    if column == "run_id":
        return f"{row}.run_id"
    if column == "evaluation_id":
        return f"(SELECT e.run_id FROM evaluation AS e WHERE e.id = {row}.evaluation_id)"
    return (
        "(SELECT e.run_id FROM probe AS p JOIN evaluation AS e ON e.id = p.evaluation_id "
        f"WHERE p.id = {row}.probe_id)"
    )


def _finished(run: str) -> str:
    return f"EXISTS (SELECT 1 FROM run AS r WHERE r.id = {run} AND r.status = 'finished')"


def _kept(run: str) -> str:
    """The run is there and no open gate names it. A run that is gone is one whose rows a cascade removes."""
    gate = f"SELECT 1 FROM {_GATE} AS g WHERE g.run_uuid = r.uuid AND g.closed_at IS NULL"
    return f"EXISTS (SELECT 1 FROM run AS r WHERE r.id = {run} AND NOT EXISTS ({gate}))"


def _keys(table: Table) -> list[list[str]]:
    unique = [
        [column.name for column in constraint.columns]
        for constraint in table.constraints
        if isinstance(constraint, UniqueConstraint)
    ]
    return [[column.name for column in table.primary_key], *sorted(unique)]


def _same_key(table: Table, row: str) -> str:
    """SQL: the row ``row`` has one of NEW's keys, so that a REPLACE would remove it."""
    keys = (" AND ".join(f"{row}.{name} = NEW.{name}" for name in key) for key in _keys(table))
    return " OR ".join(f"({key})" for key in keys)


def _replaced(table: Table, where: str) -> str:
    return f"EXISTS (SELECT 1 FROM {table.name} AS o WHERE ({_same_key(table, 'o')}) AND {where})"


def _used(table: Table) -> str:
    """SQL: another row refers to OLD."""
    uses = [
        f"EXISTS (SELECT 1 FROM {other.name} AS u WHERE u.{key.parent.name} = OLD.{key.column.name})"
        for other in Base.metadata.sorted_tables
        for key in sorted(other.foreign_keys, key=lambda key: key.parent.name)
        if key.column.table is table
    ]
    return " OR ".join(uses)


def rules(table: Table, *, replace: bool) -> list[tuple[str, str, str]]:
    """(event, condition, message) of each trigger of a table; ``replace``: guard against SQLite's REPLACE too.

    The condition is SQL over NEW and OLD that is true for what must be refused.
    """
    name = table.name
    if name == _GATE:
        return _gate_rules(table, replace=replace)
    if name == "run":
        return _run_rules(table, replace=replace)
    if name not in OWNER:
        return _shared_rules(table, replace=replace)
    frozen = f"rows of a finished run can't be added or changed (table {name})"
    new, old = _finished(run_of(name, "NEW")), _finished(run_of(name, "OLD"))
    replaced = _finished(run_of(name, "o"))
    insert = f"{new} OR {_replaced(table, replaced)}" if replace else new
    if name in MUTABLE:
        update = f"{new} OR {old}"
        if replace:
            update += f" OR {_replaced(table, f'o.id <> OLD.id AND {replaced}')}"
        message = frozen
    else:
        update, message = "1 = 1", f"rows of {name} can't be changed: they are what was measured"
    return [
        ("INSERT", insert, frozen),
        ("UPDATE", update, message),
        ("DELETE", _kept(run_of(name, "OLD")), f"rows of {name} leave only with their run: {_HINT}"),
    ]


def _run_rules(table: Table, *, replace: bool) -> list[tuple[str, str, str]]:
    changed = " OR ".join(
        f"OLD.{column} <> NEW.{column}" for column in ("id", "uuid", "machine_id", "started_at", "purpose")
    )
    # NULL is unequal to nothing, so a parent that comes or goes has to be looked for.
    changed += " OR coalesce(OLD.parent_uuid, '') <> coalesce(NEW.parent_uuid, '')"
    found = [
        (
            "UPDATE",
            f"OLD.status = 'finished' OR {changed}",
            "a finished run, or who a run is, can't be changed",
        )
    ]
    if replace:
        found.append(("INSERT", _replaced(table, "1 = 1"), "a run can't be replaced"))
    return [*found, ("DELETE", _kept("OLD.id"), f"a run can't be deleted but through the gate: {_HINT}")]


def _gate_rules(table: Table, *, replace: bool) -> list[tuple[str, str, str]]:
    kept = " AND ".join(
        f"OLD.{column} = NEW.{column}" for column in ("id", "run_uuid", "reason", "opened_at")
    )
    closing = f"OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL AND {kept}"
    found = [
        ("UPDATE", f"NOT ({closing})", "a pruning can only be closed"),
        ("DELETE", "1 = 1", "the record of what was pruned stays"),
    ]
    return (
        [*found, ("INSERT", _replaced(table, "1 = 1"), "a pruning can't be replaced")] if replace else found
    )


def _shared_rules(table: Table, *, replace: bool) -> list[tuple[str, str, str]]:
    name = table.name
    found = [
        ("UPDATE", "1 = 1", f"rows of {name} can't be changed: runs share them"),
        ("DELETE", _used(table), f"this row of {name} is still used"),
    ]
    return (
        [*found, ("INSERT", _replaced(table, "1 = 1"), f"a row of {name} can't be replaced")]
        if replace
        else found
    )


def create_triggers(connection: Connection) -> None:
    """Put every trigger on its table; none of ours may be there."""
    sqlite = connection.dialect.name == "sqlite"
    for table in Base.metadata.sorted_tables:
        for event, condition, message in rules(table, replace=sqlite):
            name = f"{PREFIX}{table.name}_{event.lower()}"
            said = message.replace("'", "''")
            statements = (
                _sqlite_trigger(name, table.name, event, condition, said)
                if sqlite
                else _postgres_trigger(name, table.name, event, condition, said)
            )
            for statement in statements:
                connection.exec_driver_sql(statement)
    for statement in _closing(sqlite=sqlite):
        connection.exec_driver_sql(statement)
    if not sqlite:
        _refuse_truncate(connection)


def drop_triggers(connection: Connection) -> None:
    """Remove every trigger of ours, as a migration needs."""
    sqlite = connection.dialect.name == "sqlite"
    for name, table in trigger_names(connection):
        connection.exec_driver_sql(f"DROP TRIGGER {name}" if sqlite else f"DROP TRIGGER {name} ON {table}")


def trigger_names(connection: Connection) -> list[tuple[str, str]]:
    """(trigger, table) of every trigger of ours that is there, in order of name."""
    if connection.dialect.name == "sqlite":
        query = "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'"
    else:
        query = (
            "SELECT t.tgname, c.relname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid "
            "JOIN pg_namespace AS n ON n.oid = c.relnamespace "
            "WHERE NOT t.tgisinternal AND n.nspname = current_schema()"
        )
    found = connection.execute(text(query)).all()
    return sorted((str(name), str(table)) for name, table in found if str(name).startswith(PREFIX))


def _sqlite_trigger(name: str, table: str, event: str, condition: str, message: str) -> list[str]:
    body = f"SELECT RAISE(ABORT, '{message}');"
    return [f"CREATE TRIGGER {name} BEFORE {event} ON {table} WHEN {condition} BEGIN {body} END"]


def _postgres_trigger(name: str, table: str, event: str, condition: str, message: str) -> list[str]:
    row = "OLD" if event == "DELETE" else "NEW"
    body = f"BEGIN IF {condition} THEN RAISE EXCEPTION '{message}'; END IF; RETURN {row}; END"
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $body$ {body} $body$",
        f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()",
    ]


def _closing(*, sqlite: bool) -> list[str]:
    """The deletion of a run closes its gate."""
    name = f"{PREFIX}run_gate"
    now = "strftime('%Y-%m-%d %H:%M:%f000', 'now')" if sqlite else "now()"
    close = f"UPDATE {_GATE} SET closed_at = {now} WHERE run_uuid = OLD.uuid AND closed_at IS NULL;"
    if sqlite:
        return [f"CREATE TRIGGER {name} AFTER DELETE ON run BEGIN {close} END"]
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN {close} RETURN OLD; END $body$",
        f"CREATE TRIGGER {name} AFTER DELETE ON run FOR EACH ROW EXECUTE FUNCTION {name}()",
    ]


def _refuse_truncate(connection: Connection) -> None:
    """TRUNCATE fires no row triggers."""
    connection.exec_driver_sql(
        f"CREATE OR REPLACE FUNCTION {PREFIX}truncate() RETURNS trigger LANGUAGE plpgsql AS $body$ "
        f"BEGIN RAISE EXCEPTION 'tables are not emptied: {_HINT}'; END $body$"
    )
    for table in Base.metadata.sorted_tables:
        connection.exec_driver_sql(
            f"CREATE TRIGGER {PREFIX}{table.name}_truncate BEFORE TRUNCATE ON {table.name} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {PREFIX}truncate()"
        )
