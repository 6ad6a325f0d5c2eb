"""What qualifies an evaluation's rounds is read beside its times, on every database."""

from __future__ import annotations

import copy

from db.queries import run_details, why
from db.store import Store
from tests.db import made
from tests.db.asking import ask, reading

# Flags of some rounds, by bucket and metric: the words of both clocks count, and no compile's.
FLAGGED: dict[str, dict[str, list[str]]] = {
    "n=4": {"compiled.wall_ms": ["throttled", "noisy"], "eager.wall_ms": ["shared_gpu"], "compile.cold_s": ["host_bound"]},
    "n=8": {"eager.wall_ms": ["other_process"]},
}  # fmt: skip


def test_a_cell_has_the_flags_of_its_warm_rounds(database: str) -> None:
    records = copy.deepcopy(made.whole_run("first", buckets=tuple(FLAGGED)))
    bucket_of = {one["uuid"]: one["bucket"] for one in records if one["type"] == "evaluation"}
    for record in records:
        for sample in record.get("samples") or () if record["type"] == "probe" else ():
            given = FLAGGED[bucket_of[record["evaluation"]]].get(sample["metric"], [])
            # One round is enough.
            if sample["value"] is not None and sample["round"] in (0, None):
                sample["flags"] = given
    store = Store(database)
    store.write_many(records)
    store.close()
    with reading(database) as connection:
        found = run_details.cells(connection, 1).set_index("bucket")["round_flags"]
        (one,) = ask(database, "SELECT e.id FROM evaluation e WHERE e.uuid = :u", u=made.evaluation_uuid())
        record = why.record(connection, one[0])
    assert found["n=4"] == ["noisy", "throttled", "shared_gpu"]
    # What says something else of a sample is none of them.
    assert found["n=8"] == []
    assert record is not None
    by_metric = record.summaries.set_index("metric")["round_flags"]
    assert by_metric["compiled.wall_ms"] == ["noisy", "throttled"]
    assert by_metric["compile.warm_cache_s"] == []
