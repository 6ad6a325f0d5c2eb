"""Which evaluations a cell has over torch versions: of each version the newest that is finished, on one machine."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, func, select

from db.queries.run_sides import WHOLE_PURPOSES
from db.session import Reads
from db.tables import ENVIRONMENT, EVALUATION, RUN


def whole_runs(machine: str) -> ColumnElement[bool]:
    """Runs of a machine that hold whole evaluations: none that confirms, explains or calibrates."""
    return RUN.c.purpose.in_(WHOLE_PURPOSES) & (RUN.c.machine_id == machine)


def newest(machine: str) -> Any:
    """The statement of evaluation, cell, torch: the newest evaluation of each cell under each torch version. One that is
    not finished, or whose torch is unknown, is none. May be restricted further by columns of EVALUATION."""
    newest_one = func.max(EVALUATION.c.id).label("evaluation")
    return _finished(machine, newest_one).group_by(EVALUATION.c.cell_id, ENVIRONMENT.c.torch_version)


def all_finished(machine: str) -> Any:
    """The statement of evaluation, run, cell, torch: every evaluation of which ``newest`` takes one."""
    return _finished(machine, EVALUATION.c.id.label("evaluation"), EVALUATION.c.run_id.label("run"))


def _finished(machine: str, *columns: Any) -> Any:
    return (
        select(*columns, EVALUATION.c.cell_id.label("cell"), ENVIRONMENT.c.torch_version.label("torch"))
        .join(ENVIRONMENT, ENVIRONMENT.c.id == EVALUATION.c.environment_id)
        .join(RUN, RUN.c.id == EVALUATION.c.run_id)
        .where(
            whole_runs(machine), EVALUATION.c.status.is_not(None), ENVIRONMENT.c.torch_version.is_not(None)
        )
    )


def rests_on(reads: Reads, machine: str, *, unfinished: bool = False) -> tuple[Any, ...]:
    """What the evaluations of a machine's whole runs rest on: equal values mean that ``newest`` gives the same, and what
    hangs on them is the same. Runs of another machine, and one that goes on until an evaluation of it is finished, change
    none of it. ``unfinished``: evaluations that go on count as well."""
    mine = whole_runs(machine)
    # What hangs on a finished run is never changed, and ids are never used again: that these runs are the same says as
    # much as all of their evaluations, and takes a tenth of the time. The uuid tells another database in this one's place.
    finished = select(func.count(), func.max(RUN.c.id), func.max(RUN.c.uuid))
    runs = reads.execute(finished.where(mine, RUN.c.status == "finished")).one()
    settled = EVALUATION.c.status.is_not(None)
    counted: list[Any] = [
        func.count().filter(settled),
        func.max(EVALUATION.c.id).filter(settled),
        func.max(RUN.c.uuid).filter(settled),
    ]
    if unfinished:
        counted.append(func.count())
    query: Any = select(*counted).join_from(EVALUATION, RUN, RUN.c.id == EVALUATION.c.run_id)
    return *runs, *reads.execute(query.where(mine, RUN.c.status != "finished")).one()
