"""What was seen to run, on both databases, against the records it was made from."""

from __future__ import annotations

from typing import Any

import pytest

from db.queries import observed, profiles
from db.queries.observed import ObservedRecord
from db.store import Store
from evaluator.sink import artifact
from tests.db import made
from tests.db.asking import ask, reading


@pytest.fixture(scope="module")
def stored(module_database: str) -> str:
    store = Store(module_database)
    store.write_many([*made.head("seen"), made.replica("seen", 0), made.replica("seen", 1)])
    for bucket in made.BUCKETS:
        store.write_many(made.profiled_cell("seen", bucket))
    # A later replica's profile is not the one that counts.
    of = made.named("evaluation", "seen", "n=4", "cuda")
    later = made.probe("profile", "seen", "n=4", 1, evaluation=of, status="crashed", reason="signal 11")
    store.write_many([later, *made.cell("seen"), made.end("seen")])
    store.close()
    return module_database


def of(database: str, bucket: str, target: str = "cuda") -> ObservedRecord | None:
    uuid = made.named("evaluation", "seen", bucket, target)
    if target == "cpu":
        uuid = made.evaluation_uuid("seen", bucket)
    ((number,),) = ask(database, f"SELECT id FROM evaluation WHERE uuid = '{uuid}'")
    with reading(database) as connection:
        return observed.observed(connection, number)


def rows(frame: Any) -> list[dict[str, Any]]:
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def test_rows_are_those_of_the_first_replicas_profile(stored: str) -> None:
    found = of(stored, "n=4")
    assert found is not None
    assert (found.status, found.reason) == ("ok", None)
    assert rows(found.kernels) == made.OBSERVED
    assert rows(found.operators) == made.OPERATORS
    assert found.modes["compiled"]["batch"]["kernels"] == 4
    assert set(found.modes) == {"eager", "compiled"}


def test_kernels_elsewhere_are_those_of_the_walks_other_buckets(stored: str) -> None:
    found = of(stored, "n=4")
    assert found is not None
    # One kernel of n=8 on cuda; the cpu's cell of the same workload is another walk.
    assert rows(found.elsewhere) == [
        {"name": made.TRITON_KERNEL["name"], "kind": "triton", "form": "pointwise"}
    ]


def test_an_evaluation_that_was_not_profiled_has_none(stored: str) -> None:
    assert of(stored, "n=4", "cpu") is None


def test_traces_are_listed_with_their_mode(stored: str) -> None:
    with reading(stored) as connection:
        listed = profiles.chrome_traces(connection)
    sha256 = artifact("chrome_trace", b'{"traceEvents": []}')["sha256"]
    assert set(listed["sha256"]) == {sha256}
    assert sorted(listed["bucket"]) == list(made.BUCKETS)
    # Both modes name it here, and the first is taken.
    assert set(listed["mode"]) == {"eager"}
