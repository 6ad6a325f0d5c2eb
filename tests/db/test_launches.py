"""What verdicts are given of the kernels that were seen to run."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from db.queries.evaluated_launches import launches
from db.store import Store
from db.tables import EVALUATION
from evaluator.verdicts.sides import Launched
from tests.db import made
from tests.db.asking import reading


def stored(database: str, change: Any = lambda probe: [probe]) -> list[Launched]:
    """What is known of the one profiled evaluation; ``change`` makes its profile record several, or another."""
    records = []
    for one in made.whole_run()[:-1] + made.profiled_cell() + [made.end()]:
        profiled = one.get("type") == "probe" and one.get("probe") == "profile"
        records += change(copy.deepcopy(one)) if profiled else [one]
    store = Store(database)
    store.write_many(records)
    store.close()
    with reading(database) as connection:
        return list(launches(connection, EVALUATION.c.id > 0).values())


def test_kernels_of_the_compiled_batch_and_nothing_else(database: str) -> None:
    (found,) = stored(database)
    own = [one for one in made.OBSERVED if (one["mode"], one["kind"]) == ("compiled", "kernel")]
    # Eager's kernels, and copies, are there to be left out.
    assert 0 < len(own) < len(made.OBSERVED)
    assert found.calls == 4
    assert [(name, count) for _, name, count in found.kernels] == [
        (one["name"], one["launches"]) for one in own
    ]


@pytest.mark.parametrize("changes", [{"lost": 1}, {"orphans": 2}, {"kernels": None}])
def test_a_trace_that_lacks_something_says_nothing(database: str, changes: dict[str, Any]) -> None:
    def incomplete(probe: dict[str, Any]) -> list[dict[str, Any]]:
        probe["facts"]["compiled"]["batch"] |= changes
        return [probe]

    assert stored(database, incomplete) == []


def test_the_first_replica_s_last_attempt_counts(database: str) -> None:
    def again(probe: dict[str, Any]) -> list[dict[str, Any]]:
        later = copy.deepcopy(probe)
        for mode in later["facts"].values():
            mode["calls"] = 2
        return [probe, later | {"attempt": 2, "artifacts": []}]

    (found,) = stored(database, again)
    assert found.calls == 2
