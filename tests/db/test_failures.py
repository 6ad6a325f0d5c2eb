"""What goes wrong with a database is one sentence, and what was there stays."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from db.importer import import_records
from db.migrate import upgrade
from db.session import database_url, open_reader, writer_engine
from db.store import Store
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import ask, row_counts

USES: list[Callable[[str], object]] = [Store, upgrade, open_reader]
USE_NAMES = ["store", "upgrade", "reader"]


def sentence(error: pytest.ExceptionInfo[UserError]) -> str:
    said = str(error.value)
    assert "\n" not in said and "Traceback" not in said and len(said) < 400
    return said


@pytest.mark.parametrize("use", USES, ids=USE_NAMES)
@pytest.mark.parametrize(
    "content", [b"not a database, but a letter\n" * 100, b"x", b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_file_that_is_not_a_database_is_left_as_it_is(
    tmp_path: Path, use: Callable[[str], object], content: bytes
) -> None:
    path = tmp_path / "letter.db"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        use(str(path))
    assert str(path) in sentence(error)
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["letter.db"]


@pytest.mark.parametrize("use", USES, ids=USE_NAMES)
def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path, use: Callable[[str], object]) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE song (title TEXT)")
        connection.execute("INSERT INTO song VALUES ('a')")
        connection.commit()
    content = path.read_bytes()
    with pytest.raises(UserError, match="something else"):
        use(str(path))
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["other.db"]


def test_a_postgresql_database_of_something_else_is_left_as_it_is(postgres_database: str) -> None:
    engine = writer_engine(database_url(postgres_database))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE song (title TEXT)")
    engine.dispose()
    for use in USES:
        with pytest.raises(UserError, match="something else"):
            use(postgres_database)
    assert row_counts(postgres_database) == {"song": 0}


def test_a_reader_of_a_missing_file_names_the_command_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist: `python -m evaluator run"):
        open_reader(str(tmp_path / "none.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_reader_of_an_empty_file_says_that_it_holds_no_runs(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(UserError, match="holds no runs yet"):
        open_reader(str(tmp_path / "empty.db"))
    Store(str(tmp_path / "empty.db")).close()
    open_reader(str(tmp_path / "empty.db")).dispose()


@pytest.mark.parametrize("use", USES, ids=USE_NAMES)
def test_a_folder_is_no_database(tmp_path: Path, use: Callable[[str], object]) -> None:
    with pytest.raises(UserError):
        use(str(tmp_path))


@pytest.mark.parametrize(
    "given", ["mysql://host/runs", "sqlite://", "sqlite:///:memory:", ":memory:", "post gres://x", "://"]
)
def test_a_database_that_is_not_supported_is_refused(given: str) -> None:
    with pytest.raises(UserError) as error:
        database_url(given)
    sentence(error)


def test_a_file_name_and_its_url_are_the_same_database(tmp_path: Path) -> None:
    made.store_two_runs(f"sqlite:///{tmp_path}/runs.db")
    assert ask(str(tmp_path / "runs.db"), "SELECT count(*) FROM run") == [(2,)]


def test_a_server_that_is_not_there_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        Store(f"postgresql://someone:secret@/runs?host={tmp_path}")
    assert "can't be reached" in sentence(error)
    assert "secret" not in sentence(error)


def test_a_place_below_a_file_can_not_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a letter")
    with pytest.raises(UserError) as error:
        Store(str(tmp_path / "file" / "runs.db"))
    sentence(error)
    assert (tmp_path / "file").read_text() == "a letter"


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A file system of its own in memory; the test is skipped where it may not be mounted."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"needs the right to mount a small file system (run as root): {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True, timeout=60)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The mounted folder can't be written, by root neither."""
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True, timeout=60)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True, timeout=60)


def test_a_read_only_place_can_be_read_but_not_written(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=8m") as disk:
        database = str(disk / "runs.db")
        made.store_two_runs(database)
        content = Path(database).read_bytes()
        with read_only(disk):
            with pytest.raises(UserError) as error:
                Store(database)
            assert "can't be written" in sentence(error)
            with pytest.raises(UserError) as error:
                Store(str(disk / "new" / "runs.db"))
            sentence(error)
            engine = open_reader(database)
            with engine.connect() as connection:
                assert connection.exec_driver_sql("SELECT count(*) FROM run").scalar() == 2
            engine.dispose()
        assert Path(database).read_bytes() == content


def filled(disk: Path) -> Path:
    """A file that takes all the space there is."""
    filler = disk / "filler"
    # A buffer would still hold what did not fit, and fail once more when it is closed.
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(1 << 14))
    return filler


def test_a_full_disk_is_one_sentence_and_what_is_stored_stays(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=2m") as disk:
        database = str(disk / "runs.db")
        made.store_two_runs(database)
        before = row_counts(database)
        store = Store(database)
        filler = filled(disk)
        with pytest.raises(UserError) as error:
            for number in range(200):
                store.write_many(made.whole_run(f"run-{number}"))
        assert "is full" in sentence(error)
        filler.unlink()
        # The same store goes on once there is room.
        store.write_many(made.whole_run("after"))
        store.close()
        after = row_counts(database)
        assert after["run"] > before["run"]
        ((sound,),) = ask(database, "PRAGMA integrity_check")
        assert sound == "ok"
        # Every run that is there is there whole.
        assert after["probe"] == after["run"] * (before["probe"] // before["run"])


def test_a_full_disk_while_an_artifact_is_written_leaves_no_part_of_it(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=2m") as disk:
        database = str(disk / "runs.db")
        store = Store(database)
        large = made.artifact("log", os.urandom(4 << 20))
        with pytest.raises(UserError, match="is full"):
            store.write_many([*made.head(), large])
        store.close()
        assert row_counts(database)["run"] == 0
        assert not store.artifacts.path(large["sha256"]).exists()
        assert not list(store.artifacts.root.rglob(".new-*"))


def test_a_full_disk_while_migrating_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    from tests.db.test_migrations import VERSIONS, folder_with

    folder = folder_with(tmp_path)
    with mounted(tmp_path / "disk", "size=2m") as disk:
        database = str(disk / "runs.db")
        made.store_two_runs(database)
        before = row_counts(database)
        filler = filled(disk)
        with pytest.raises(UserError, match="is full"):
            upgrade(database, versions=(VERSIONS, folder))
        filler.unlink()
        assert row_counts(database) == before
        assert not upgrade(database).changed
        assert list(disk.glob("*.before-*")) == []


def test_a_database_that_may_grow_no_more_is_a_full_disk(tmp_path: Path) -> None:
    """The same where nothing may be mounted: SQLite's own limit gives the same error."""
    database = str(tmp_path / "runs.db")
    made.store_two_runs(database)
    store = Store(database)
    with store._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    before = row_counts(database)
    with pytest.raises(UserError, match="is full"):
        store.write_many([record for number in range(50) for record in made.whole_run(f"run-{number}")])
    store.close()
    assert row_counts(database) == before


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "can't be read"),
        ("", "is no records file"),
        ("hello\n", "is no records file"),
        ('{"type": "header", "format": "compilewatch-records", "version": 99}\n', "version 99"),
        ('{"type": "header", "format": "compilewatch-records", "version": 1}\n', "holds no run"),
        ('{"type": "header", "format": "compilewatch-records", "version": 1}\nnonsense\n{}\n', "line 2"),
    ],
)
def test_a_file_that_holds_no_records_makes_no_database(
    tmp_path: Path, content: str | None, says: str
) -> None:
    path = tmp_path / "records.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError) as error:
        import_records(str(tmp_path / "runs.db"), path)
    assert says in sentence(error)
    assert not (tmp_path / "runs.db").exists()
