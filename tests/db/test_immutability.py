"""A finished run can't be changed by any statement, on either database; it leaves whole, through the gate."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from db import immutability
from db.migrate import upgrade
from db.models import Base
from db.pruning import prune_run
from db.store import Store
from tests.db import made
from tests.db.asking import ask, changing, reading, row_counts

# Every table that hangs on a run, and a column of it that an update could set.
COLUMNS = {
    "run": "label",
    "replica": "server",
    "environment_sample": "value",
    "evaluation": "reason",
    "probe": "reason",
    "sample": "value",
    "probe_artifact": "kind",
    "facts": "graphs",
    "graph_break": "reason",
    "recompile": "reason",
    "kernel": "name",
    "kernel_build": "registers",
    "observed_kernel": "launches",
    "observed_operator": "calls",
    "accuracy": "max_abs",
    "difference": "eager",
    "summary": "median",
    "noise": "between_sd",
}
SHARED = {
    "machine": "os",
    "environment": "driver",
    "artifact": "size",
    "workload": "origin",
    "bucket": "name",
    "variant": "name",
    "cell": "target",
}
MUTABLE_WHILE_RUNNING = {"run", "evaluation", "facts", "summary", "noise"}


@pytest.fixture
def filled(database: str) -> str:
    """A database of the test's own with a finished run and one that goes on."""
    made.store_two_runs(database, replicas=4, builds=True)
    return database


@pytest.fixture(scope="module")
def two_runs(module_database: str) -> str:
    """The shared database with runs of enough replicas that noise has rows as well."""
    made.store_two_runs(module_database, replicas=4, builds=True)
    return module_database


@pytest.fixture(scope="module")
def sqlite_runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same in a SQLite file: change nothing."""
    database = str(tmp_path_factory.mktemp("sqlite") / "runs.db")
    made.store_two_runs(database, replicas=4, builds=True)
    return database


def of_run(table: str, name: str) -> str:
    """SQL for the rows of a table that hang on a run."""
    run = f"(SELECT id FROM run WHERE uuid = '{made.run_uuid(name)}')"
    return f"{immutability.run_of(table, table)} = {run}"


def refuse(database: str, statement: str) -> str:
    """What the database says against a statement; the statement must be refused."""
    with pytest.raises(DBAPIError) as refused, changing(database) as connection:
        connection.execute(text(statement))
    return str(refused.value.orig)


def test_every_table_is_ruled() -> None:
    assert set(COLUMNS) | set(SHARED) | {"pruning"} == set(Base.metadata.tables)
    assert set(immutability.OWNER) | {"run"} == set(COLUMNS)


@pytest.mark.parametrize("table", COLUMNS)
def test_rows_of_a_finished_run_can_not_be_changed_or_removed(two_runs: str, table: str) -> None:
    before = row_counts(two_runs)
    column = COLUMNS[table]
    assert ask(two_runs, f"SELECT count(*) FROM {table} WHERE {of_run(table, 'first')}")[0][0] > 0
    said = refuse(two_runs, f'UPDATE "{table}" SET {column} = {column} WHERE {of_run(table, "first")}')
    assert "can't be changed" in said or "can't be added or changed" in said
    said = refuse(two_runs, f'DELETE FROM "{table}" WHERE {of_run(table, "first")}')
    assert "README" in said
    assert row_counts(two_runs) == before


@pytest.mark.parametrize("table", sorted(set(COLUMNS) - {"run"}))
def test_rows_can_not_be_added_to_a_finished_run(two_runs: str, table: str) -> None:
    columns = [column.name for column in Base.metadata.tables[table].columns if column.name != "id"]
    listed = ", ".join(f'"{name}"' for name in columns)
    copied = f'INSERT INTO "{table}" ({listed}) SELECT {listed} FROM "{table}" WHERE {of_run(table, "first")}'
    assert "finished run" in refuse(two_runs, copied)


@pytest.mark.parametrize("table", COLUMNS)
def test_while_a_run_goes_on_only_what_is_not_measured_can_be_changed(two_runs: str, table: str) -> None:
    column = COLUMNS[table]
    update = f'UPDATE "{table}" SET {column} = {column} WHERE {of_run(table, "going-on")}'
    if table in MUTABLE_WHILE_RUNNING:
        with changing(two_runs) as connection:
            assert connection.execute(text(update)).rowcount > 0
    else:
        assert "what was measured" in refuse(two_runs, update)
    assert "README" in refuse(two_runs, f'DELETE FROM "{table}" WHERE {of_run(table, "going-on")}')


@pytest.mark.parametrize("table", SHARED)
def test_what_runs_share_can_not_be_changed_or_removed(two_runs: str, table: str) -> None:
    column = SHARED[table]
    assert "runs share them" in refuse(two_runs, f"UPDATE {table} SET {column} = {column}")
    assert "still used" in refuse(two_runs, f"DELETE FROM {table}")


@pytest.mark.parametrize(
    "change",
    [
        "uuid = 'x'",
        "started_at = '2020-01-01 00:00:00'",
        "id = id + 100",
        "purpose = 'evaluate'",
        "parent_uuid = 'x'",
    ],
)
def test_who_a_run_is_never_changes(two_runs: str, change: str) -> None:
    assert "who a run is" in refuse(two_runs, f"UPDATE run SET {change} WHERE {of_run('run', 'going-on')}")


def test_a_run_leaves_whole_through_the_gate(filled: str) -> None:
    before = row_counts(filled)
    with changing(filled) as connection:
        assert prune_run(connection, made.run_uuid("first"), "made by mistake")
    after = row_counts(filled)
    for table in COLUMNS:
        assert after[table] * 2 == before[table], table
    assert {table: after[table] for table in SHARED} == {table: before[table] for table in SHARED}
    ((uuid, reason, closed),) = ask(filled, "SELECT run_uuid, reason, closed_at FROM pruning")
    assert (uuid, reason) == (made.run_uuid("first"), "made by mistake")
    moment = closed if isinstance(closed, datetime) else datetime.fromisoformat(closed).replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - moment) < timedelta(hours=1)


def test_the_gate_is_for_one_run_and_closes_behind_it(filled: str) -> None:
    with changing(filled) as connection:
        assert prune_run(connection, made.run_uuid("first"), "made by mistake")
    assert "through the gate" in refuse(filled, "DELETE FROM run")
    store = Store(filled)
    store.write_many(made.whole_run("first"))
    store.close()
    assert "through the gate" in refuse(filled, f"DELETE FROM run WHERE {of_run('run', 'first')}")


def test_an_open_gate_lets_nothing_be_changed(filled: str) -> None:
    opened = (
        "INSERT INTO pruning (run_uuid, reason, opened_at) "
        f"VALUES ('{made.run_uuid('first')}', 'to try', '2026-03-01 00:00:00')"
    )
    with changing(filled) as connection:
        connection.execute(text(opened))
    for table in ("sample", "summary", "run"):
        refuse(filled, f"UPDATE {table} SET {COLUMNS[table]} = NULL WHERE {of_run(table, 'first')}")


def test_the_record_of_a_pruning_stays(filled: str) -> None:
    with changing(filled) as connection:
        prune_run(connection, made.run_uuid("first"), "made by mistake")
    assert "stays" in refuse(filled, "DELETE FROM pruning")
    assert "only be closed" in refuse(filled, "UPDATE pruning SET reason = 'none'")
    assert "only be closed" in refuse(filled, "UPDATE pruning SET closed_at = NULL")


def test_pruning_a_run_that_is_not_there_leaves_no_trace(filled: str) -> None:
    with changing(filled) as connection:
        assert not prune_run(connection, "nobody", "made by mistake")
    assert row_counts(filled)["pruning"] == 0


def test_a_pruned_runs_id_is_not_given_again(filled: str) -> None:
    (highest,) = ask(filled, "SELECT max(id) FROM run")[0]
    with changing(filled) as connection:
        prune_run(connection, made.run_uuid("going-on"), "never ended")
    store = Store(filled)
    store.write_many(made.whole_run("third"))
    store.close()
    assert ask(filled, f"SELECT id FROM run WHERE uuid = '{made.run_uuid('third')}'")[0][0] > highest


@pytest.mark.parametrize("table", sorted(set(COLUMNS) | set(SHARED)))
def test_replace_can_not_remove_what_it_takes_the_place_of(sqlite_runs: str, table: str) -> None:
    refuse(sqlite_runs, f'INSERT OR REPLACE INTO "{table}" SELECT * FROM "{table}" WHERE true')
    with closing(sqlite3.connect(sqlite_runs)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(f'REPLACE INTO "{table}" SELECT * FROM "{table}"')


def test_a_row_of_a_run_that_goes_on_can_not_replace_one_of_a_finished_run(sqlite_runs: str) -> None:
    taken = f"(SELECT id FROM sample WHERE {of_run('sample', 'first')} LIMIT 1)"
    place = f"(SELECT id FROM probe WHERE {of_run('probe', 'going-on')} LIMIT 1)"
    refuse(
        sqlite_runs, f"INSERT OR REPLACE INTO sample (id, probe_id, metric) VALUES ({taken}, {place}, 'x')"
    )
    uuid = f"(SELECT uuid FROM evaluation WHERE {of_run('evaluation', 'first')} LIMIT 1)"
    refuse(
        sqlite_runs,
        f"UPDATE OR REPLACE evaluation SET uuid = {uuid} WHERE id = "
        f"(SELECT id FROM evaluation WHERE {of_run('evaluation', 'going-on')} LIMIT 1)",
    )


def test_a_connection_without_foreign_keys_is_held_to_the_same(sqlite_runs: str) -> None:
    # As the sqlite3 command opens it.
    with closing(sqlite3.connect(sqlite_runs)) as connection:
        for table in COLUMNS:
            with pytest.raises(sqlite3.IntegrityError, match="README"):
                connection.execute(f"DELETE FROM {table}")
        for table in SHARED:
            with pytest.raises(sqlite3.IntegrityError, match="still used"):
                connection.execute(f"DELETE FROM {table}")


def test_postgresql_refuses_truncate(postgres_database: str) -> None:
    store = Store(postgres_database)
    store.write_many(made.whole_run("first"))
    store.close()
    assert "not emptied" in refuse(postgres_database, "TRUNCATE run CASCADE")
    assert "not emptied" in refuse(postgres_database, "TRUNCATE sample")


def test_the_triggers_are_those_of_the_models(database: str) -> None:
    upgrade(database)
    with reading(database) as connection:
        names = [name for name, _ in immutability.trigger_names(connection)]
    sqlite = "://" not in database
    expected = {f"immutable_{table}_{event}" for table in COLUMNS for event in ("insert", "update", "delete")}
    expected |= {
        f"immutable_{table}_{event}" for table in (*SHARED, "pruning") for event in ("update", "delete")
    }
    if sqlite:
        expected |= {f"immutable_{table}_insert" for table in (*SHARED, "pruning")}
    else:
        # PostgreSQL has no REPLACE, so a new run needs no rule there; it has TRUNCATE.
        expected -= {"immutable_run_insert"}
        expected |= {f"immutable_{table}_truncate" for table in Base.metadata.tables}
    assert set(names) == expected | {"immutable_run_gate"}
