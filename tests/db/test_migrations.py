"""Migrations: they make what the models say, and on a filled database they lose nothing."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, insert, inspect, select, text

from db import immutability, migrate
from db.migrate import VERSIONS, MigrationError, upgrade
from db.models import Base
from db.pruning import prune_run
from db.schema import REVISIONS
from db.store import Store
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import ask, changing, reading, row_counts

ROOT = Path(__file__).parents[2]

# A revision as a later version would bring it: every table that others hang on is built anew.
NEXT = """
import sqlalchemy as sa
from alembic import op
from db.migrations.rebuild import altered

revision = "next"
down_revision = "{head}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("run", "evaluation", "probe", "workload", "cell"):
        with altered(table) as batch:
            batch.add_column(sa.Column("note", sa.String()))
{more}
"""


def folder_with(tmp_path: Path, more: str = "") -> Path:
    folder = tmp_path / "revisions"
    folder.mkdir(exist_ok=True)
    body = "\n".join(f"    {line}" for line in more.splitlines())
    (folder / "next.py").write_text(NEXT.format(head=REVISIONS[-1], more=body))
    return folder


def checks(connection: Connection) -> dict[str, list[str]]:
    inspector = inspect(connection)
    return {
        table: sorted(str(check["name"]) for check in inspector.get_check_constraints(table))
        for table in inspector.get_table_names()
    }


def everything(database: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, in order of its key."""
    found = {}
    with reading(database) as connection:
        for table in Base.metadata.sorted_tables:
            names = ", ".join(f'"{column.name}"' for column in table.columns)
            order = ", ".join(column.name for column in table.primary_key)
            rows = connection.execute(text(f'SELECT {names} FROM "{table.name}" ORDER BY {order}'))
            found[table.name] = [tuple(row) for row in rows]
    return found


def test_migrations_make_what_the_models_say(database: str) -> None:
    upgrade(database)
    with reading(database) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        metadata = Base.metadata
        different = compare_metadata(context, metadata)
        if connection.dialect.name == "sqlite":
            # SQLite keeps no comments.
            different = [one for one in different if "comment" not in str(one[0])]
        assert different == []
        # Alembic does not compare CHECK constraints.
        declared = {
            table.name: sorted(
                str(one.name) for one in table.constraints if type(one).__name__ == "CheckConstraint"
            )
            for table in metadata.sorted_tables
        }
        assert {name: listed for name, listed in checks(connection).items() if name in declared} == declared


def test_the_words_of_the_checks_are_those_of_the_models(tmp_path: Path) -> None:
    upgrade(str(tmp_path / "migrated.db"))
    with closing(sqlite3.connect(tmp_path / "migrated.db")) as connection:
        told = " ".join(
            sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
        )
    for table in Base.metadata.sorted_tables:
        for constraint in table.constraints:
            if type(constraint).__name__ == "CheckConstraint":
                assert str(constraint.sqltext) in told  # type: ignore[attr-defined]


def test_columns_have_their_meaning_as_comments_on_postgresql(postgres_database: str) -> None:
    upgrade(postgres_database)
    with reading(postgres_database) as connection:
        columns = {column["name"]: column["comment"] for column in inspect(connection).get_columns("summary")}
    assert "95% interval" in columns["lo"]


def test_every_revision_is_listed(tmp_path: Path) -> None:
    with reading(str(upgraded(tmp_path))) as connection:
        script = ScriptDirectory.from_config(migrate.config(connection))
    assert [one.revision for one in script.walk_revisions()] == list(reversed(REVISIONS))
    assert script.get_current_head() == REVISIONS[-1]


def upgraded(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    upgrade(str(path))
    return path


def test_upgrading_twice_changes_nothing(database: str) -> None:
    assert upgrade(database).changed
    again = upgrade(database)
    assert not again.changed and again.backup is None


def test_a_filled_database_keeps_every_row_trigger_and_artifact(database: str, tmp_path: Path) -> None:
    made.store_two_runs(database, builds=True)
    store = Store(database)
    files = {path: path.read_bytes() for path in store.artifacts.root.rglob("*.gz")}
    store.close()
    rows = everything(database)
    with reading(database) as connection:
        triggers, constraints = immutability.trigger_names(connection), checks(connection)
        indexes = {name: len(inspect(connection).get_indexes(name)) for name in Base.metadata.tables}

    done = upgrade(database, versions=(VERSIONS, folder_with(tmp_path)))

    assert (done.before, done.after) == (REVISIONS[-1], "next")
    assert everything(database) == rows
    assert ask(database, "SELECT DISTINCT note FROM probe") == [(None,)]
    with reading(database) as connection:
        assert immutability.trigger_names(connection) == triggers
        assert checks(connection) == constraints
        assert {name: len(inspect(connection).get_indexes(name)) for name in Base.metadata.tables} == indexes
        uniques = inspect(connection).get_unique_constraints("evaluation")
        assert sorted(str(one["name"]) for one in uniques) == [
            "uq_evaluation_run_id_cell_id_environment_id",
            "uq_evaluation_uuid",
        ]
    assert {path: path.read_bytes() for path in store.artifacts.root.rglob("*.gz")} == files
    # And the triggers act.
    with pytest.raises(Exception, match="finished run"), changing(database) as connection:
        connection.execute(text("UPDATE run SET label = 'x' WHERE status = 'finished'"))
    if "://" not in database:
        assert done.backup is not None
        assert everything(str(done.backup)) == rows


def test_a_pruned_id_is_not_given_again_after_a_migration(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    made.store_two_runs(database)
    highest = ask(database, "SELECT max(id) FROM run")[0][0]
    with changing(database) as connection:
        prune_run(connection, made.run_uuid("going-on"), "to try")
    upgrade(database, versions=(VERSIONS, folder_with(tmp_path)))
    with changing(database) as connection:
        connection.execute(
            text(
                "INSERT INTO run (uuid, machine_id, started_at, status, argv, plan) "
                "VALUES ('u', 'machine-1', '2026-01-01 00:00:00', 'running', '[]', '{}')"
            )
        )
    assert ask(database, "SELECT id FROM run WHERE uuid = 'u'") == [(highest + 1,)]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("op.execute('DELETE FROM sample WHERE id = 1')", "sample had"),
        ("op.drop_table('difference')", "difference had"),
        ("op.execute('UPDATE probe SET evaluation_id = 999 WHERE id = 1')", "refer to rows that are gone"),
        ("with op.batch_alter_table('run', recreate='always') as batch: pass", "run would be lost"),
        (
            "with altered('probe') as batch: batch.drop_constraint('ck_probe_status_word')",
            "ck_probe_status_word would be lost",
        ),
        ("op.drop_index('ix_kernel_source_hash')", "ix_kernel_source_hash would be lost"),
        ("raise RuntimeError('half way')", "half way"),
    ],
)
def test_a_migration_that_would_lose_something_is_undone(tmp_path: Path, more: str, says: str) -> None:
    database = str(tmp_path / "runs.db")
    made.store_two_runs(database)
    rows = everything(database)
    with pytest.raises((MigrationError, RuntimeError), match=says):
        upgrade(database, versions=(VERSIONS, folder_with(tmp_path, more)))
    assert everything(database) == rows
    assert not upgrade(database).changed
    with reading(database) as connection:
        assert len(immutability.trigger_names(connection)) > 60


def test_a_migration_may_give_up_what_it_names(database: str, tmp_path: Path) -> None:
    made.store_two_runs(database)
    folder = folder_with(tmp_path, "op.drop_index('ix_kernel_source_hash', 'kernel')")
    with (folder / "next.py").open("a") as file:
        file.write("\ngives_up = ['ix_kernel_source_hash']\n")
    assert upgrade(database, versions=(VERSIONS, folder)).changed
    with reading(database) as connection:
        assert "ix_kernel_source_hash" not in {
            one["name"] for one in inspect(connection).get_indexes("kernel")
        }


def test_a_migration_that_loses_rows_is_undone_on_postgresql(postgres_database: str, tmp_path: Path) -> None:
    made.store_two_runs(postgres_database)
    rows = everything(postgres_database)
    with pytest.raises(MigrationError, match="sample had"):
        upgrade(
            postgres_database,
            versions=(VERSIONS, folder_with(tmp_path, "op.execute('DELETE FROM sample WHERE id = 1')")),
        )
    assert everything(postgres_database) == rows
    assert not upgrade(postgres_database).changed


def typed(database: str) -> dict[str, list[dict[str, object]]]:
    """Every row of every table as Python values, which are the same on both databases."""
    with reading(database) as connection:
        found = {
            table: list(connection.execute(select(table).order_by(*table.primary_key)).mappings())
            for table in Base.metadata.sorted_tables
        }
    return {table.name: [dict(row) for row in rows] for table, rows in found.items()}


def test_runs_of_before_were_plain_evaluations(database: str, tmp_path: Path) -> None:
    """A filled database of the revision before comes to today's with every row, and can be written to again."""
    rows = rows_of([*made.whole_run("first"), *made.whole_run("going-on")[:-1]], tmp_path)
    older_database(database, "0003")
    with changing(database) as connection:
        copied(connection, rows)

    assert upgrade(database).after == REVISIONS[-1]

    assert typed(database) == rows
    assert ask(database, "SELECT DISTINCT purpose, parent_uuid FROM run") == [("evaluate", None)]
    with pytest.raises(Exception, match="finished run"), changing(database) as connection:
        connection.execute(text("UPDATE run SET purpose = 'nightly' WHERE status = 'finished'"))
    store = Store(database)
    store.write_many(
        [*made.whole_run("going-on")[-1:], *made.whole_run("next", replicas=4, purpose="calibrate")]
    )
    store.close()
    assert row_counts(database)["noise"] > 0


def test_kernels_of_before_say_nothing_more_and_a_build_is_a_probe_from_then_on(
    database: str, tmp_path: Path
) -> None:
    """From the revision before, with rows in the two tables that are built anew, and children of theirs."""
    records = made.whole_run("first")
    older_database(database, "0004")
    rows = rows_of(records, tmp_path)
    with changing(database) as connection:
        copied(connection, rows)
        assert not inspect(connection).has_table("kernel_build")

    done = upgrade(database)

    assert (done.before, done.after) == ("0004", REVISIONS[-1])
    if "://" not in database:
        assert done.backup is not None and "kernel_build" not in tables(done.backup)
    assert typed(database) == rows
    assert ask(database, "SELECT DISTINCT form, launch_hash, calls, loads, bytes_moved FROM kernel") == [
        (None,) * 5
    ]
    store = Store(database)
    store.write_many([*made.whole_run("next")[:-1], *made.codegen_cell("next")])
    store.close()
    assert ask(database, "SELECT name, registers, error IS NULL FROM kernel_build ORDER BY id") == [
        (made.BUILD["name"], 22, True),
        (made.REFUSED["name"], None, False),
    ]
    with pytest.raises(Exception, match="can't be changed"), changing(database) as connection:
        connection.execute(text("UPDATE kernel_build SET registers = 255"))
    with pytest.raises(Exception, match=r"(?i)probe_word"), changing(database) as connection:
        connection.execute(
            text(
                "INSERT INTO probe (evaluation_id, probe, attempt, slot, status) "
                "SELECT id, 'guess', 1, 'x', 'ok' FROM evaluation WHERE run_id IN "
                "(SELECT id FROM run WHERE status <> 'finished')"
            )
        )


def test_a_build_of_before_has_no_note_and_the_next_one_keeps_its_own(database: str, tmp_path: Path) -> None:
    records = [*made.whole_run("first")[:-1], *made.codegen_cell("first"), made.end("first")]
    older_database(database, "0006")
    rows = rows_of(records, tmp_path)
    with changing(database) as connection:
        copied(connection, rows)
        assert "note" not in {one["name"] for one in inspect(connection).get_columns("kernel_build")}

    done = upgrade(database)

    assert (done.before, done.after) == ("0006", REVISIONS[-1])
    kept = [{**row, "note": None} for row in rows["kernel_build"]]
    assert len(kept) == 2 and typed(database) == {**rows, "kernel_build": kept}
    store = Store(database)
    store.write_many([*made.whole_run("next")[:-1], *made.codegen_cell("next")])
    store.close()
    assert ask(database, "SELECT note FROM kernel_build ORDER BY id") == [
        *((None,) for _ in kept),
        (made.BUILD["note"],),
        (None,),
    ]
    with pytest.raises(Exception, match="can't be changed"), changing(database) as connection:
        connection.execute(text("UPDATE kernel_build SET note = 'another'"))


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def rows_of(records: list[made.Record], folder: Path) -> dict[str, list[dict[str, object]]]:
    """What these records are in the tables of today."""
    filled = str(folder / "filled.db")
    store = Store(filled)
    store.write_many(records)
    store.close()
    return typed(filled)


def copied(connection: Connection, rows: dict[str, list[dict[str, object]]]) -> None:
    """Rows of today's tables, what an older database has of them, put into it with their ids."""
    for table in Base.metadata.sorted_tables:
        if not inspect(connection).has_table(table.name):
            continue
        known = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for row in rows[table.name]:
            given = {name: value for name, value in row.items() if name in known}
            connection.execute(insert(table).values(given).inline())
        if "id" in known and connection.dialect.name == "postgresql" and table.name != "machine":
            counter = f"pg_get_serial_sequence('{table.name}', 'id')"
            connection.execute(text(f"SELECT setval({counter}, max(id)) FROM {table.name}"))


def test_an_empty_database_needs_no_backup(tmp_path: Path) -> None:
    database = str(upgraded(tmp_path))
    assert upgrade(database, versions=(VERSIONS, folder_with(tmp_path))).backup is None


def test_an_older_database_says_which_command_migrates_and_the_command_does(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    older_database(database)
    before = Path(database).read_bytes()
    for use in (Store, _open):
        with pytest.raises(UserError, match=f"python -m db.migrate {database}"):
            use(database)
    assert Path(database).read_bytes() == before
    done = subprocess.run(
        [sys.executable, "-m", "db.migrate", database], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"revision {REVISIONS[-1]} now" in done.stdout
    Store(database).close()


def older_database(database: str, to: str = REVISIONS[0]) -> None:
    """A database as an older version of the code left it, without its triggers; by default the first revision."""
    from alembic import command

    from db.session import database_url, writer_engine

    engine = writer_engine(database_url(database), foreign_keys=False)
    with engine.begin() as connection:
        command.upgrade(migrate.config(connection), to)
    engine.dispose()


def _open(database: str) -> None:
    from db.session import open_reader

    open_reader(database)


@pytest.mark.parametrize("given", ["nothing-there.db", "README.md"])
def test_the_command_refuses_what_it_can_not_migrate(given: str, tmp_path: Path) -> None:
    if given == "README.md":
        shutil.copy(ROOT / "db" / "README.md", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "db.migrate", str(tmp_path / given)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("*.before-*"))


def test_a_database_of_a_newer_version_is_left_alone(database: str, tmp_path: Path) -> None:
    made.store_two_runs(database)
    upgrade(database, versions=(VERSIONS, folder_with(tmp_path)))
    rows = everything(database)
    for use in (Store, _open, upgrade):
        with pytest.raises(UserError, match="newer version"):
            use(database)
    assert everything(database) == rows


def test_row_counts_of_a_new_database_are_zero(database: str) -> None:
    upgrade(database)
    assert set(row_counts(database)) == set(Base.metadata.tables)
    assert not any(row_counts(database).values())
