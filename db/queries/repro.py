"""What a stand-alone script needs to show a recorded fact again."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import RowMapping, select

from db.artifacts import folder_of
from db.queries.documents import engine_of
from db.queries.runs import find_evaluation
from db.queries.show import evaluation_document
from db.session import Reads
from db.tables import BUCKET, CELL, EVALUATION, RUN, WORKLOAD

# What the evaluator uses where a run's plan names no other.
_SEED: Final = 0
_WORKLOAD: Final = (
    "name",
    "definition_hash",
    "origin",
    "form",
    "training",
    "grad",
    "calls",
    "precision",
    "tolerance",
    "problem",
)


def evaluation(reads: Reads, reference: str) -> dict[str, Any]:
    """An evaluation's document by its id or uuid, with what made it in place of the workload's name.

    ``workload``: its row, ``variables`` it declares, and ``source``: its self-contained text, None where it was
    not kept; ``libraries``: those it uses with their recorded versions; ``seed``; ``buckets``: those its run walked
    before it and itself, in walk order, each with ``name`` and ``params``, since what a bucket compiles depends on
    those before it; ``interpreter``: path of the python it ran under, None where the run's plan names none. Raises UserError where there is no such evaluation or its source file is gone.
    """
    row = find_evaluation(reads, reference)
    document = evaluation_document(reads, reference)
    place = (
        reads.execute(
            select(
                EVALUATION,
                CELL.c.target,
                CELL.c.variant_id,
                BUCKET.c.workload_id,
                BUCKET.c.position,
                RUN.c.plan,
            )
            .join(RUN, RUN.c.id == EVALUATION.c.run_id)
            .join(CELL, CELL.c.id == EVALUATION.c.cell_id)
            .join(BUCKET, BUCKET.c.id == CELL.c.bucket_id)
            .where(EVALUATION.c.id == row)
        )
        .mappings()
        .one()
    )
    workload = reads.execute(select(WORKLOAD).where(WORKLOAD.c.id == place["workload_id"])).mappings().one()
    installed = document["environment"].get("libraries") or {}
    return {
        **document,
        "workload": {
            **{name: workload[name] for name in _WORKLOAD},
            "variables": workload["variables"] or [],
            "source": _source(reads, workload["source_sha256"]),
        },
        "libraries": {name: installed.get(name) for name in workload["libraries"] or []},
        "seed": place["plan"].get("seed", _SEED),
        "interpreter": _interpreter(place["plan"], document["environment"]["hash"]),
        "buckets": _walked(reads, place),
    }


def _source(reads: Reads, sha256: str | None) -> str | None:
    if sha256 is None:
        return None
    return folder_of(engine_of(reads).url).read(sha256).decode()


def _interpreter(plan: dict[str, Any], environment: str) -> str | None:
    """The python of one of a plan's environments, which it lists in the order of its interpreters."""
    hashes, listed = plan.get("environments") or [], plan.get("interpreters") or plan.get("pythons") or []
    if environment not in hashes or len(hashes) != len(listed):
        return None
    found = listed[hashes.index(environment)]
    return str(found["python"] if isinstance(found, dict) else found)


def _walked(reads: Reads, place: RowMapping) -> list[dict[str, Any]]:
    rows = reads.execute(
        select(BUCKET.c.name, BUCKET.c.params)
        .join(CELL, CELL.c.bucket_id == BUCKET.c.id)
        .join(EVALUATION, EVALUATION.c.cell_id == CELL.c.id)
        .where(
            EVALUATION.c.run_id == place["run_id"],
            EVALUATION.c.environment_id == place["environment_id"],
            CELL.c.variant_id == place["variant_id"],
            CELL.c.target == place["target"],
            BUCKET.c.position <= place["position"],
        )
        .order_by(BUCKET.c.position)
    )
    return [{"name": name, "params": params} for name, params in rows]
