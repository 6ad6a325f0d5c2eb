"""Which runs a comparison rests on."""

from __future__ import annotations

import pytest

from db.queries.provenance import runs_and_children
from evaluator.errors import UserError
from tests.db import made
from tests.db.asking import reading
from tests.evaluator.report import recorded


def test_a_run_brings_the_runs_that_confirm_it(database: str) -> None:
    recorded.store_upgrade(database, {})
    with reading(database) as connection:
        first, again = runs_and_children(connection, [made.run_uuid("upgrade")])
        assert runs_and_children(connection, [first.id, first.uuid]) == [first, again]
        (alone,) = runs_and_children(connection, [again.id])
        with pytest.raises(UserError, match="no run has"):
            runs_and_children(connection, [99])
    assert (first.purpose, first.parent, first.label) == ("upgrade", None, "label-upgrade")
    assert (again.purpose, again.parent) == ("confirm", first.uuid)
    assert first.argv == ("run", "--profile", "quick")
    assert first.machine == "Some CPU, 2 CPUs, 8 GB, Linux 6.1"
    assert alone == again
