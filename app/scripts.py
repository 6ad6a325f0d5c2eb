"""The stand-alone scripts that Why offers, and why it offers none. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from db.queries.why import EvaluationRecord
from evaluator.verdicts.reproducible import SHOWN_ON_CPU, why_not
from evaluator.verdicts.words import is_codegen

NO_SOURCE = "No script shows it again: the workload's source was not kept."


@dataclass(frozen=True)
class Script:
    """The command that makes a script, None where there is none, and a sentence: what it shows, or why there is none."""

    command: str | None
    said: str


def of_one(record: EvaluationRecord, option: str) -> Script:
    """The script of one evaluation; ``option`` names the database to the command."""
    if record.source_sha256 is None:
        return Script(None, NO_SOURCE)
    why = why_not(record.target, record.status, _raised(record))
    if why is not None:
        return Script(None, f"No script shows it again: {why}.")
    what = f"Reproduce its {SHOWN_ON_CPU} on the CPU" if is_codegen(record.target) else "Reproduce it"
    return Script(f"python -m evaluator repro {record.id}{option}", f"{what} with only torch:")


def of_two(base: EvaluationRecord, candidate: EvaluationRecord, option: str) -> Script:
    """The script that shows what two evaluations of a cell differ in."""
    if base.source_sha256 is None or candidate.source_sha256 is None:
        return Script(None, NO_SOURCE)
    if is_codegen(candidate.target):
        return Script(
            None, "No script shows the difference: it would run both sides' code, and a card's can't run."
        )
    command = f"python -m evaluator repro --ab {base.id} {candidate.id}{option}"
    return Script(command, "Show the difference with only torch:")


def _raised(record: EvaluationRecord) -> str | None:
    """The type of what was raised by a probe of the cell's own status."""
    probes: list[dict[Any, Any]] = record.probes.to_dict("records")
    errors = (one["error"] for one in probes if one["status"] == record.status)
    return next((str(error.get("type")) for error in errors if isinstance(error, dict)), None)
