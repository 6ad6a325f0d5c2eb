"""What single probes of evaluations say that verdicts need: accuracy, differences in form, the worst exception."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, RowMapping, select

from db.models.evidence import DEFAULT, FALLBACK_RANDOM
from db.session import Reads
from db.tables import ACCURACY, DIFFERENCE, EVALUATION, PROBE, REPLICA
from evaluator.verdicts.sides import AccuracyResult, Failure, LeafDigest
from evaluator.worker.protocol import SEVERITY

Row = RowMapping

# The order in which probes count: by replica, the last attempt first.
_IN_ORDER: Final = (REPLICA.c.number.is_(None), REPLICA.c.number, PROBE.c.attempt.desc(), PROBE.c.id)


@dataclass(frozen=True)
class Failures:
    """Probes that raised, by evaluation, in the order in which probes count."""

    raised: Mapping[int, Sequence[Row]]

    def worst(self, evaluation: int, status: str | None) -> Failure | None:
        """The exception of the probe with the evaluation's own status, else of the worst; None where none raised."""
        raised = self.raised.get(evaluation, ())
        if not raised:
            return None
        error = min(raised, key=lambda one: (one["status"] != status, SEVERITY.index(one["status"])))["error"]
        return Failure(type=_text(error.get("type")), message=_text(error.get("message")))


def failures(reads: Reads, scope: ColumnElement[bool]) -> Failures:
    """The probes of these evaluations that raised."""
    query = select(PROBE.c.evaluation_id, PROBE.c.status, PROBE.c.error).where(PROBE.c.error.is_not(None))
    found: dict[int, list[Row]] = {}
    for row in in_order(reads, query, scope):
        found.setdefault(row["evaluation_id"], []).append(row)
    return Failures(found)


def accuracies(reads: Reads, scope: ColumnElement[bool]) -> dict[int, Row]:
    """The default series of the first accuracy probe that has one, by evaluation."""
    return {of: series[DEFAULT] for of, series in _series(reads, scope).items()}


def deciding_accuracies(reads: Reads, scope: ColumnElement[bool]) -> dict[int, Row]:
    """The series that says whether the outputs are right, by evaluation: the default one, or that with eager's random
    numbers where the default can't be judged and this one was."""
    return {
        of: series[deciding({name: row["verdict"] for name, row in series.items()})]
        for of, series in _series(reads, scope).items()
    }


def deciding(verdicts: Mapping[str, str | None]) -> str:
    """Which series of one accuracy probe says whether the outputs are right; ``verdicts`` by series."""
    judged = verdicts.get(FALLBACK_RANDOM) in ("pass", "fail")
    return FALLBACK_RANDOM if judged and verdicts.get(DEFAULT) == "not_comparable" else DEFAULT


def _series(reads: Reads, scope: ColumnElement[bool]) -> dict[int, dict[str, Row]]:
    """By evaluation, the series of the first accuracy probe that has a default one."""
    query = select(PROBE.c.evaluation_id, ACCURACY).join(ACCURACY, ACCURACY.c.probe_id == PROBE.c.id)
    by_probe: dict[tuple[int, int], dict[str, Row]] = {}
    for row in in_order(reads, query, scope):
        by_probe.setdefault((row["evaluation_id"], row["probe_id"]), {})[row["series"]] = row
    found: dict[int, dict[str, Row]] = {}
    for (of, _), series in by_probe.items():
        if DEFAULT in series:
            found.setdefault(of, series)
    return found


def differences(reads: Reads, scope: ColumnElement[bool]) -> dict[int, list[Row]]:
    """Leaves that differ from eager's in form, as the first accuracy probe found them, by evaluation."""
    query = select(PROBE.c.evaluation_id, DIFFERENCE).join(DIFFERENCE, DIFFERENCE.c.probe_id == PROBE.c.id)
    rows = in_order(reads, query, scope, DIFFERENCE.c.id)
    if not rows:
        # Most have none, and looking for the probes takes the longest.
        return {}
    first: dict[int, int] = {}
    probes = select(PROBE.c.id, PROBE.c.evaluation_id).where(PROBE.c.probe == "accuracy")
    for row in in_order(reads, probes, scope):
        first.setdefault(row["evaluation_id"], row["id"])
    found: dict[int, list[Row]] = {}
    for row in rows:
        if row["probe_id"] == first[row["evaluation_id"]]:
            found.setdefault(row["evaluation_id"], []).append(row)
    return found


def in_order(reads: Reads, query: Any, scope: ColumnElement[bool], *more: Any) -> Sequence[Row]:
    """``query``, which selects from the table probe, restricted to these evaluations, in the order that counts."""
    joined = query.join(EVALUATION, EVALUATION.c.id == PROBE.c.evaluation_id)
    joined = joined.outerjoin(REPLICA, REPLICA.c.id == PROBE.c.replica_id)
    rows: Sequence[Row] = reads.execute(joined.where(scope).order_by(*_IN_ORDER, *more)).mappings().all()
    return rows


def accuracy_result(row: Row | None, tolerance: Mapping[str, Any] | None) -> AccuracyResult | None:
    """A row of accuracy; ``tolerance``: dtype name to [rtol, atol], as the workload sets it."""
    if row is None:
        return None
    listed = (row["details"] or {}).get("digests") or ()
    return AccuracyResult(
        series=row["series"],
        verdict=row["verdict"],
        reason=row["reason"],
        max_abs=row["max_abs"],
        rmse_fp64=row["rmse_fp64"],
        eager_rmse_fp64=row["eager_rmse_fp64"],
        digests=tuple(_digest(one) for one in listed),
        tolerance={dtype: (float(pair[0]), float(pair[1])) for dtype, pair in (tolerance or {}).items()},
    )


def _digest(one: Mapping[str, Any]) -> LeafDigest:
    shape, sample = one.get("shape"), one.get("sample")
    return LeafDigest(
        leaf=str(one.get("leaf")),
        dtype=_text(one.get("dtype")),
        shape=tuple(shape) if shape is not None else None,
        sha256=_text(one.get("sha256")),
        sample=tuple(sample) if sample is not None else None,
    )


def _text(value: Any) -> str | None:
    return value if value is None else str(value)
