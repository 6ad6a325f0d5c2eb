"""Keeping rungs out of what is followed over versions: a run that explains evaluates them, and no cell of a workload."""

from __future__ import annotations

from sqlalchemy import ColumnElement, select

from db.models import Evaluation, Run


def of_cells() -> ColumnElement[bool]:
    """A condition on the table evaluation: it is of a cell, not of a rung that explains one."""
    return Evaluation.run_id.not_in(select(Run.id).where(Run.purpose == "explain"))
