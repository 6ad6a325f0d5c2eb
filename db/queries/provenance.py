"""Which runs a comparison rests on, and how they were made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import or_, select

from db.queries.runs import run_by_id, run_by_prefix
from db.session import Reads
from db.tables import MACHINE, RUN


@dataclass(frozen=True)
class RunOrigin:
    """A run and its origin. ``parent``: uuid of the run it confirms or explains; ``machine``: one line about its
    machine, None where nothing is known of it; ``argv``: the evaluator's command line; ``status``: finished, interrupted or
    running."""

    id: int
    uuid: str
    label: str | None
    purpose: str
    parent: str | None
    argv: tuple[str, ...]
    machine: str | None
    status: str


def runs_and_children(reads: Reads, references: Iterable[int | str]) -> list[RunOrigin]:
    """The runs that are meant (id or uuid) and the runs that confirm or explain them, each once, as they began.

    Raises UserError where a run is not there.
    """
    ids = list(dict.fromkeys(_run_id(reads, reference) for reference in references))
    parents = select(RUN.c.uuid).where(RUN.c.id.in_(ids))
    rows = reads.execute(
        select(RUN, MACHINE.c.cpu_model, MACHINE.c.cpu_count, MACHINE.c.memory_mb, MACHINE.c.os)
        .outerjoin(MACHINE, MACHINE.c.id == RUN.c.machine_id)
        .where(
            or_(
                RUN.c.id.in_(ids),
                RUN.c.parent_uuid.in_(parents) & RUN.c.purpose.in_(("confirm", "explain")),
            )
        )
        .order_by(RUN.c.started_at, RUN.c.id)
    ).mappings()
    return [
        RunOrigin(
            id=row["id"],
            uuid=row["uuid"],
            label=row["label"],
            purpose=row["purpose"],
            parent=row["parent_uuid"],
            argv=tuple(str(word) for word in row["argv"] or ()),
            machine=_machine(row["cpu_model"], row["cpu_count"], row["memory_mb"], row["os"]),
            status=row["status"],
        )
        for row in rows
    ]


def _run_id(reads: Reads, reference: int | str) -> int:
    if isinstance(reference, str):
        return run_by_prefix(reads, reference)
    found = run_by_id(reads, str(reference))
    return run_by_prefix(reads, str(reference)) if found is None else found


def _machine(
    cpu_model: str | None, cpu_count: int | None, memory_mb: float | None, system: str | None
) -> str | None:
    """``Some CPU, 2 CPUs, 8 GB, Linux 6.1``; nobody's name."""
    parts = [
        cpu_model,
        f"{cpu_count} CPU{'' if cpu_count == 1 else 's'}" if cpu_count else None,
        f"{memory_mb / 1000:.0f} GB" if memory_mb else None,
        system,
    ]
    return ", ".join(part for part in parts if part) or None
