"""Ways from one page to another."""

from __future__ import annotations

from typing import Final

from app import comparing, state, steps
from app.data import Database, read
from db.queries import history
from evaluator.verdicts.sides import CellName

# Why's key for the finding that is picked.
FINDING: Final = "finding"
# What Timeline calls the recorded ones, and how many digits of a hash name one in its URL.
RECORDED: Final = "Recorded traces"
TRACE_DIGITS: Final = 12


def open_why(
    database: Database,
    cell: CellName,
    evaluation: int,
    other: int | None = None,
    machine: str | None = None,
    finding: str | None = None,
) -> None:
    """Go to the evidence of an evaluation, beside that of the ``other`` side of a comparison if there is one.

    ``machine``: where it was measured, if that is not sure to be the one that Why shows at first. ``finding``: the metric of
    what the comparison says, if one of its findings was clicked.
    """
    # The comparison goes along, so that the browser's Back finds it where it was; the whole cell, because a filter that
    # is left to its widget comes into the URL in a step of its own, and Back to the step before is another workload.
    sides = {key: value for key in comparing.KEYS if (value := state.asked(key)) is not None}
    asked = {**sides, **cell_query(database, cell), "e": str(evaluation)}
    if other is not None and other != evaluation:
        asked["vs"] = str(other)
        if finding is not None:
            asked[FINDING] = finding
    if machine is not None and machine != read(database, history.machines)["machine"].iloc[0]:
        asked["machine"] = machine
    steps.leave("views/why.py", asked)


def open_workload(database: Database, cell: CellName) -> None:
    """Go to the history of a cell's workload over torch versions."""
    sides = {key: value for key in comparing.KEYS if (value := state.asked(key)) is not None}
    # All of its buckets are shown.
    asked = {key: value for key, value in cell_query(database, cell).items() if key != "b"}
    steps.leave("views/workload.py", {**sides, **asked})


def open_timeline(trace: str) -> None:
    """Go to the lanes of a recorded trace, by its hash."""
    steps.leave("views/timeline.py", {"lanes": RECORDED, "trace": trace[:TRACE_DIGITS]})


def cell_query(database: Database, cell: CellName) -> dict[str, str]:
    """The URL's values that mean this cell, without those that a page takes anyway.

    A bound widget takes its default value out of the URL in a step of its own, and the browser's Back would come back
    to that step for ever.
    """
    names = read(database, history.workload_names)
    found = read(database, history.choices, cell.workload)
    if found is None:
        return {}
    wanted = {
        "w": (cell.workload, names),
        "b": (cell.bucket, found.buckets),
        "variant": (cell.variant, found.variants),
        "target": (cell.target, found.targets),
    }
    return {key: value for key, (value, known) in wanted.items() if list(known[:1]) != [value]}
