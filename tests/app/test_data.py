"""How pages read: one state of the database each, and a failed read spoils no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, text

from app import data
from db.tables import RUN
from evaluator.errors import UserError
from tests.app import seed
from tests.app.records import MadeRun


def runs(reads: Connection) -> int:
    return reads.execute(select(func.count()).select_from(RUN)).scalar() or 0


def recorded(path: Path, number: int) -> None:
    seed.write(path, [(MadeRun("2.13.0+cpu", number, replicas=1), [seed.POINTWISE])])


def opened(path: Path) -> data.Database:
    found = data.opened(str(path))
    assert isinstance(found, data.Database)
    return found


def count(database: data.Database) -> int:
    with data.connected(database) as reads:
        return runs(reads)


def test_a_page_is_of_one_state_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    recorded(path, 1)
    with data.one_connection():
        database = opened(path)
        assert count(database) == 1
        recorded(path, 2)
        assert count(database) == 1
        assert opened(path).stamp == database.stamp
    assert count(database) == 2
    assert opened(path).stamp != database.stamp


def test_a_read_that_failed_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    recorded(path, 1)
    with data.one_connection():
        database = opened(path)
        with data.connected(database) as first:
            pass
        with pytest.raises(UserError), data.connected(database):
            raise UserError("asked for what is not there")
        with data.connected(database) as second:
            assert runs(second) == 1
        assert second is not first
        assert first.closed
    assert second.closed


def test_nothing_can_be_written_over_it(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    recorded(path, 1)
    with data.one_connection(), pytest.raises(UserError), data.connected(opened(path)) as reads:
        reads.execute(text("DELETE FROM run"))
