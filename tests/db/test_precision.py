"""The float32 precision of a variant: stored with it, told in every document, and never an argument of torch.compile."""

from __future__ import annotations

from typing import Any

import pytest

from db.queries import why
from db.queries.repro import evaluation as repro_evaluation
from db.queries.show import run_document
from db.store import Store
from evaluator.describe_run import describe_run
from evaluator.reproduction import script
from tests.db import made
from tests.db.asking import ask, reading


@pytest.fixture
def stored(database: str) -> str:
    """The workload, which asks for IEEE, under a variant that says nothing and one that says TF32."""
    records = made.whole_run()
    (workload,) = (one for one in records if one["type"] == "workload")
    tf32 = {"name": "tf32", "options": {"dynamic": False}, "precision": "tf32"}
    workload["variants"].append({**tf32, "evidence_only": False, "requires": None})
    workload["rungs"] = [{"name": "tf32+eager", "options": {"backend": "eager"}, "precision": "tf32"}]
    for one in records:
        if one["type"] == "evaluation" and one["bucket"] == "n=8":
            one["variant"] = "tf32"
    store = Store(database)
    store.write_many(records)
    store.close()
    return database


def documents(database: str) -> dict[str, Any]:
    with reading(database) as connection:
        return {one["variant"]: one for one in run_document(connection, "latest")["evaluations"]}


def test_the_documents_say_what_was_set_and_who_asked(stored: str) -> None:
    found = documents(stored)
    assert [one["options"] for one in found.values()] == [{"dynamic": False}] * 2
    assert {name: one["precision"] for name, one in found.items()} == {
        "default": {"set": "ieee", "variant": None, "workload": "ieee"},
        "tf32": {"set": "tf32", "variant": "tf32", "workload": "ieee"},
    }
    assert {name: one["benchmark"]["precision"] for name, one in found.items()} == {
        "default": "ieee",
        "tf32": "tf32",
    }


def test_text_says_in_one_line_that_the_variant_and_the_workload_differ(stored: str) -> None:
    with reading(stored) as connection:
        told = describe_run(run_document(connection, "latest"))
    assert [line.strip() for line in told.splitlines() if "precision" in line] == [
        "float32 precision tf32, as the variant says, where the workload itself asks for ieee"
    ]


def test_a_script_sets_what_the_cell_was_measured_under(stored: str) -> None:
    scripts = {}
    for name, one in documents(stored).items():
        with reading(stored) as connection:
            scripts[name] = script(repro_evaluation(connection, str(one["id"])))
    assert '"precision": "ieee"' in scripts["default"] and '"precision": "tf32"' not in scripts["default"]
    assert '"precision": "tf32"' in scripts["tf32"] and '"precision": "ieee"' not in scripts["tf32"]
    assert not any('fp32_precision":' in text for text in scripts.values())


def test_why_knows_it(stored: str) -> None:
    with reading(stored) as connection:
        (one,) = (why.record(connection, found["id"]) for found in [documents(stored)["tf32"]])
    assert one is not None
    assert (one.options, one.precision, one.workload_precision) == ({"dynamic": False}, "tf32", "ieee")


def test_a_rung_has_the_precision_of_its_variant(stored: str) -> None:
    rows = ask(stored, "SELECT name, options FROM variant WHERE name LIKE 'tf32%' ORDER BY name")
    assert ["tf32" in str(options) for _, options in rows] == [True, True]
