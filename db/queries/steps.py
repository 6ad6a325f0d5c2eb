"""A workload from each torch version to the next, as verdicts are given it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import select

from db.queries.calibration import noise_of_cells
from db.queries.comparison import standing
from db.queries.evaluated import Evaluated, Place, of_ids
from db.queries.newest import newest
from db.queries.versions import in_order
from db.session import Reads
from db.tables import BUCKET, CELL, EVALUATION, RUN, VARIANT
from evaluator.verdicts.sides import Noise, Pair, Side


@dataclass(frozen=True)
class Step:
    """One cell under two torch versions that follow each other, of those that evaluated it: a version without an
    evaluation is no step. ``pair``: the newest evaluations of both; ``interleaved`` where one run has both."""

    base: str
    candidate: str
    pair: Pair


def steps(reads: Reads, definition: int, *, target: str, variant: str, machine: str) -> tuple[Step, ...]:
    """Every step of the cells of a definition, a target and a variant on one machine: by the version that it leads to, then
    in the order in which buckets were evaluated."""
    cells = (
        select(CELL.c.id)
        .join(BUCKET, BUCKET.c.id == CELL.c.bucket_id)
        .join(VARIANT, VARIANT.c.id == CELL.c.variant_id)
        .where(BUCKET.c.workload_id == definition, CELL.c.target == target, VARIANT.c.name == variant)
    )
    rows = reads.execute(newest(machine).where(EVALUATION.c.cell_id.in_(cells))).all()
    torches = {evaluation: torch for evaluation, _, torch in rows}
    rank = {torch: place for place, torch in enumerate(in_order(torches.values()))}
    found = of_ids(reads, torches)
    by_cell: dict[int, list[int]] = {}
    for evaluation, (_, one) in found.items():
        by_cell.setdefault(one.cell_row, []).append(evaluation)
    both = [
        pair
        for of_cell in by_cell.values()
        for pair in pairwise(sorted(of_cell, key=lambda one: rank[torches[one]]))
    ]
    together = [(base, then) for base, then in both if found[base][0][0] == found[then][0][0]]
    reruns = _reruns(reads, [(found[base], found[then]) for base, then in together])
    made = []
    for base, then in sorted(both, key=lambda pair: rank[torches[pair[1]]]):
        (place, one), (other_place, other) = found[base], found[then]
        in_turns = place[0] == other_place[0]
        known = (
            noise_of_cells(reads, machine, {torches[base], torches[then]}, (place, other_place))
            if in_turns
            else {}
        )
        made.append(Step(torches[base], torches[then], _pair(one, other, in_turns, reruns, known)))
    return tuple(made)


def _pair(
    base: Evaluated,
    candidate: Evaluated,
    interleaved: bool,
    reruns: Mapping[tuple[int, int], tuple[Side, Side]],
    noise: Mapping[int, Mapping[str, Noise]],
) -> Pair:
    return Pair(
        cell=candidate.cell,
        base=base.side,
        candidate=candidate.side,
        base_definition=base.definition,
        candidate_definition=candidate.definition,
        interleaved=interleaved,
        rerun=reruns.get((base.side.evaluation, candidate.side.evaluation)),
        noise=noise.get(candidate.cell_row, {}),
        training=base.training or candidate.training,
    )


def _reruns(
    reads: Reads, pairs: list[tuple[tuple[Place, Evaluated], tuple[Place, Evaluated]]]
) -> dict[tuple[int, int], tuple[Side, Side]]:
    """The rerun that stands of each pair of evaluations of one run, of those that a run confirmed."""
    first = RUN.alias()
    rows = reads.execute(
        select(RUN.c.id, first.c.id, EVALUATION.c.id, EVALUATION.c.cell_id, EVALUATION.c.environment_id)
        .join_from(RUN, first, first.c.uuid == RUN.c.parent_uuid)
        .join(EVALUATION, EVALUATION.c.run_id == RUN.c.id)
        .where(
            first.c.id.in_({place[0] for (place, _), _ in pairs}),
            RUN.c.purpose == "confirm",
            EVALUATION.c.status.is_not(None),
            EVALUATION.c.cell_id.in_({one.cell_row for (_, one), _ in pairs}),
        )
        .order_by(RUN.c.started_at, RUN.c.id)
    ).all()
    if not rows:
        return {}
    again = {(child, cell, place): evaluation for child, _, evaluation, cell, place in rows}
    children: dict[int, list[int]] = {}
    for child, run, *_ in rows:
        if child not in children.setdefault(run, []):
            children[run].append(child)
    sides = {key: one.side for key, (_, one) in of_ids(reads, list(again.values())).items()}
    found: dict[tuple[int, int], tuple[Side, Side]] = {}
    for (place, base), (other, candidate) in pairs:
        key = base.side.evaluation, candidate.side.evaluation
        for child in children.get(place[0], ()):
            both = [again.get((child, base.cell_row, one[1])) for one in (place, other)]
            if both[0] is not None and both[1] is not None:
                found[key] = standing(found.get(key), (sides[both[0]], sides[both[1]]))
    return found
