"""A workload from each torch version to the next, as verdicts are given it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import select

from db.queries.calibration import noise_of_cells
from db.queries.comparison import standing
from db.queries.evaluated import Evaluated, Place, of_ids
from db.queries.newest import all_finished
from db.queries.versions import in_order
from db.session import Reads
from db.tables import BUCKET, CELL, EVALUATION, RUN, VARIANT
from evaluator.verdicts.sides import Noise, Pair, Side


@dataclass(frozen=True)
class Step:
    """One cell under two torch versions that follow each other, of those that evaluated it: a version without an
    evaluation is no step. ``pair``: the newest evaluations of both; ``in_turns``: those of the newest run that has both, which
    alone settle a time, None where no run has."""

    base: str
    candidate: str
    pair: Pair
    in_turns: Pair | None = None


def steps(reads: Reads, definition: int, *, target: str, variant: str, machine: str) -> tuple[Step, ...]:
    """Every step of the cells of a definition, a target and a variant on one machine: by the version that it leads to, then
    in the order in which buckets were evaluated."""
    cells = (
        select(CELL.c.id)
        .join(BUCKET, BUCKET.c.id == CELL.c.bucket_id)
        .join(VARIANT, VARIANT.c.id == CELL.c.variant_id)
        .where(BUCKET.c.workload_id == definition, CELL.c.target == target, VARIANT.c.name == variant)
    )
    rows = reads.execute(
        all_finished(machine).where(EVALUATION.c.cell_id.in_(cells)).order_by(EVALUATION.c.id)
    ).all()
    rank = {torch: place for place, torch in enumerate(in_order({row.torch for row in rows}))}
    # (cell, torch) -> run -> evaluation, the later ones last.
    of: dict[tuple[int, str], dict[int, int]] = {}
    for row in rows:
        runs = of.setdefault((row.cell, row.torch), {})
        runs.pop(row.run, None)
        runs[row.run] = row.evaluation
    found: list[tuple[str, str, tuple[int, int], tuple[int, int] | None]] = []
    for cell in dict.fromkeys(row.cell for row in rows):
        versions = sorted((torch for one, torch in of if one == cell), key=rank.__getitem__)
        for base, then in pairwise(versions):
            before, after = of[cell, base], of[cell, then]
            newest = (next(reversed(before.values())), next(reversed(after.values())))
            both = next((run for run in reversed(after) if run in before), None)
            found.append((base, then, newest, None if both is None else (before[both], after[both])))
    wanted = {one for *_, newest, both in found for pair in (newest, both) if pair for one in pair}
    made = _Pairs(reads, machine, of_ids(reads, wanted), [both for *_, both in found if both])
    return tuple(
        Step(base, then, made.pair(newest), made.pair(both) if both else None)
        for base, then, newest, both in sorted(found, key=lambda one: rank[one[1]])
    )


class _Pairs:
    """Pairs of evaluations, with what later runs found of those that one run has."""

    def __init__(
        self,
        reads: Reads,
        machine: str,
        sides: Mapping[int, tuple[Place, Evaluated]],
        in_turns: Sequence[tuple[int, int]],
    ) -> None:
        self._reads, self._machine, self._sides = reads, machine, sides
        self._in_turns = frozenset(in_turns)
        # The buckets of a run share it.
        self._noise: dict[tuple[Place, Place], Mapping[int, Mapping[str, Noise]]] = {}
        self._reruns = _reruns(reads, [(sides[base], sides[then]) for base, then in in_turns])

    def pair(self, evaluations: tuple[int, int]) -> Pair:
        (place, base), (other_place, candidate) = (self._sides[one] for one in evaluations)
        interleaved = evaluations in self._in_turns
        noise: Mapping[int, Mapping[str, Noise]] = {}
        if interleaved:
            torches = {one.side.torch for one in (base, candidate) if one.side.torch}
            places = (place, other_place)
            if places not in self._noise:
                self._noise[places] = noise_of_cells(self._reads, self._machine, torches, places)
            noise = self._noise[places]
        return Pair(
            cell=candidate.cell,
            base=base.side,
            candidate=candidate.side,
            base_definition=base.definition,
            candidate_definition=candidate.definition,
            interleaved=interleaved,
            rerun=self._reruns.get(evaluations),
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
