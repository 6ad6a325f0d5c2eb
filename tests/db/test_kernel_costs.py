"""What is known of kernels without running them, on both databases, against the records they were made from."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from db.queries import history, why
from db.store import Store
from evaluator.sink import artifact
from tests.db import made
from tests.db.asking import ask, reading

SOURCES = [artifact("kernel_source", text) for text in (b"one", b"two", b"three")]
NAMES = ("triton_poi_fused_add_0", "triton_red_fused_sum_1", "triton_tem_fused_mm_2")


def kernels(*tensors: int | None) -> list[made.Record]:
    """Kernels that move so many bytes, with a library call beside them, which moves nobody knows what."""
    found = [
        {**made.TRITON_KERNEL, "name": name, "source_sha256": source["sha256"], "bytes_moved": moved}
        for name, source, moved in zip(NAMES, SOURCES, tensors, strict=False)
    ]
    return [*found, {"name": "extern_kernels.mm", "kind": "extern"}]


def builds(*changes: made.Record) -> list[made.Record]:
    return [
        {**made.BUILD, "name": name, "source_sha256": source["sha256"], **change}
        for name, source, change in zip(NAMES, SOURCES, changes, strict=False)
    ]


REFUSED = {**dict.fromkeys(("registers", "spill_stores", "spill_loads")), "error": "ptxas: too much"}
CELLS = {
    "codegen:h100": (
        kernels(100, 250, 7),
        builds({"registers": 40, "spill_stores": 8, "spill_loads": 4}, {"registers": 64}, REFUSED),
    ),
    # Of one kernel the estimate is not known, and none was built.
    "codegen:a100": (kernels(100, None), []),
}


@pytest.fixture(scope="module")
def stored(module_database: str) -> str:
    store = Store(module_database)
    store.write_many([*made.head("costs"), *SOURCES, made.replica("costs")])
    for target, (of_walk, of_build) in CELLS.items():
        for record in made.codegen_cell("costs", target=target):
            more: dict[str, Any] = {}
            if record.get("probe") == "walk":
                more = {"kernels": of_walk}
            elif record.get("probe") == "build":
                more = {"builds": of_build}
            store.write_many([record | more])
    store.write_many([*made.cell("costs"), made.end("costs")])
    store.close()
    return module_database


def evaluations(database: str) -> dict[str, int]:
    found = ask(
        database,
        "SELECT c.target, max(e.id) FROM evaluation e JOIN cell c ON c.id = e.cell_id "
        "JOIN run r ON r.id = e.run_id WHERE r.label = 'label-costs' GROUP BY c.target",
    )
    return {str(target): int(of) for target, of in found}


def test_costs_are_sums_of_what_is_known(stored: str) -> None:
    ids = evaluations(stored)
    with reading(stored) as connection:
        found = history.kernel_costs(connection, list(ids.values())).set_index("evaluation")
    # A cell of a machine, whose kernels nobody built and Inductor says nothing of, has no row.
    assert set(found.index) == {ids["codegen:h100"]}
    assert found.loc[ids["codegen:h100"]].to_dict() == {
        "bytes_moved": 357.0,
        "registers": 64.0,
        "spilled": 12.0,
        "refused": 1.0,
    }


def test_the_record_of_an_evaluation_joins_kernels_and_builds(stored: str) -> None:
    ids = evaluations(stored)
    with reading(stored) as connection:
        record = why.record(connection, ids["codegen:h100"])
        unbuilt = why.record(connection, ids["codegen:a100"])
    assert record is not None and unbuilt is not None
    found = record.kernels.set_index("name")
    assert found["registers"].tolist()[:2] == [40, 64] and found["spilled"].tolist()[:2] == [12, 0]
    assert found.loc[NAMES[2], "error"] == "ptxas: too much"
    assert pd.isna(found.loc[NAMES[2], "registers"]) and pd.isna(found.loc["extern_kernels.mm", "build"])
    assert len(record.builds) == 3 and unbuilt.builds.empty
    assert unbuilt.kernels["registers"].isna().all()
