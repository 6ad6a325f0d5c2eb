"""What compiled calls of evaluations were seen to launch, by evaluation, as verdicts need it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, select

from db.queries.evaluated_probes import in_order
from db.session import Reads
from db.tables import OBSERVED_KERNEL, PROBE
from evaluator.verdicts.sides import Launched


def launches(reads: Reads, scope: ColumnElement[bool]) -> dict[int, Launched]:
    """The kernels of the profiled compiled batch, of the first replica's last attempt; none where nothing is known."""
    probes = select(PROBE.c.id, PROBE.c.evaluation_id, PROBE.c.facts).where(PROBE.c.probe == "profile")
    batches: dict[int, tuple[int, int]] = {}
    seen: set[int] = set()
    for row in in_order(reads, probes, scope):
        of = row["evaluation_id"]
        if of not in seen and (calls := _calls((row["facts"] or {}).get("compiled"))) is not None:
            batches[of] = (row["id"], calls)
        seen.add(of)
    if not batches:
        return {}
    query = (
        select(PROBE.c.evaluation_id, OBSERVED_KERNEL)
        .join(OBSERVED_KERNEL, OBSERVED_KERNEL.c.probe_id == PROBE.c.id)
        .where(OBSERVED_KERNEL.c.mode == "compiled", OBSERVED_KERNEL.c.kind == "kernel")
    )
    kernels: dict[int, list[tuple[int, str, int]]] = {of: [] for of in batches}
    for row in in_order(reads, query, scope, OBSERVED_KERNEL.c.id):
        of = row["evaluation_id"]
        if of in batches and row["probe_id"] == batches[of][0]:
            kernels[of].append((row["id"], row["name"], row["launches"]))
    return {of: Launched(calls, tuple(kernels[of])) for of, (_, calls) in batches.items()}


def _calls(mode: Any) -> int | None:
    """How many calls the batch has; None where the trace is not known to have all that they launched."""
    batch = mode.get("batch") if isinstance(mode, dict) else None
    if not batch or batch.get("kernels") is None or batch.get("lost") != 0 or batch.get("orphans") != 0:
        return None
    calls = mode.get("calls")
    return calls if isinstance(calls, int) and calls > 0 else None
