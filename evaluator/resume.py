"""Going on with an interrupted run: what it was told to do, and what it has done, from the database."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from db.queries.resume import UnfinishedRun, unfinished_run
from db.queries.runs import LATEST, list_runs
from db.queries.show import run_document
from db.session import Reads, reading
from evaluator import machine, options
from evaluator.control.controller import Earlier
from evaluator.control.outcomes import Outcome
from evaluator.control.run_records import Settings
from evaluator.control.scratch import is_alive
from evaluator.errors import UserError
from evaluator.interpreters.planning import Interpreter
from evaluator.plan import ProbeKey
from evaluator.selection import Selection

# What may stand beside --resume: everything else is part of what the run was told when it began.
_ALLOWED: Final = frozenset({"command", "db", "resume"})


def refuse_other_options(arguments: argparse.Namespace, default: Callable[[str], Any]) -> None:
    """Raises UserError where ``--resume`` stands beside an option that the run already has from its start."""
    changed = [
        name
        for name, value in vars(arguments).items()
        if name not in _ALLOWED and not callable(value) and _said(value) != _said(default(name))
    ]
    if changed:
        raise UserError(
            f"--resume goes on as the run was told when it began: leave out {', '.join(sorted(changed))}, or start "
            "a new run"
        )


def _said(value: Any) -> Any:
    """What an option says; one that is said to be empty says nothing, one that is said to be off does."""
    return None if value in ([], "") else value


def resumable(database: str, reference: str) -> tuple[Settings, Earlier]:
    """The settings of an interrupted run, and what it recorded. Raises UserError where it can't be resumed."""
    with reading(database) as reads:
        wanted = _latest_unfinished(list_runs(reads)) if reference == LATEST else reference
        run = unfinished_run(reads, wanted)
        evaluations = run_document(reads, run.uuid)["evaluations"]
        of = next(row.machine for row in list_runs(reads) if row.id == run.id)
    name = run.uuid[:8]
    if run.status == "finished":
        raise UserError(f"run {name} is finished: nothing is left to resume, start a new run")
    if is_alive(run.uuid):
        raise UserError(f"run {name} is still going on: wait for it, or end it before resuming it")
    if of != machine.machine_id():
        raise UserError(f"run {name} was begun on another machine: resume it there")
    return _settings(run), _earlier(run, evaluations)


def settings_of(reads: Reads, reference: str) -> Settings:
    """What a run was told to do, whether or not it is finished. Raises UserError where that can't be had any more."""
    return _settings(unfinished_run(reads, reference))


def _latest_unfinished(runs: Sequence[Any]) -> str:
    for row in runs:
        if row.status != "finished":
            return str(row.uuid)
    raise UserError("every recorded run is finished: nothing is left to resume")


def _settings(run: UnfinishedRun) -> Settings:
    plan = run.plan
    try:
        return Settings(
            run=run.uuid,
            label=run.label,
            selection=Selection.from_json(plan["selection"]),
            profile=plan["profile"],
            sources=options.sources(plan["sources"]),
            packs=plan["packs"],
            interpreters=tuple(_interpreter(one) for one in plan["interpreters"]),
            time_s=plan["limits"]["time_s"],
            memory_mb=plan["limits"]["memory_mb"],
            argv=tuple(sys.argv[1:]),
            count=plan["replicas"],
            purpose=run.purpose,
            parent=run.parent,
            # A run of before there was such a probe has none.
            chrome_traces=plan.get("chrome_traces", False),
        )
    except KeyError as error:
        raise UserError(f"run {run.uuid[:8]} does not say its {error}: start a new run") from None
    except UserError as error:
        raise UserError(f"{error} (resume in the folder in which the run was begun)") from None


def _interpreter(stored: Mapping[str, Any]) -> Interpreter:
    (python,) = options.pythons([stored["python"]])
    # A value that began with the home folder was written down with "~".
    variables = tuple(
        (name, str(Path(value).expanduser()) if value.startswith("~/") else value)
        for name, value in stored["variables"].items()
    )
    return Interpreter(python, variables, stored["copy"])


def _earlier(run: UnfinishedRun, evaluations: Sequence[dict[str, Any]]) -> Earlier:
    outcomes: dict[str, dict[ProbeKey, Outcome]] = {}
    for (evaluation, replica, probe, cache), (status, reason) in run.outcomes.items():
        key: Any = (replica, probe, cache)
        outcomes.setdefault(evaluation, {})[key] = Outcome(status, reason)  # type: ignore[arg-type]
    repeats: dict[tuple[str, str], dict[str, int]] = {}
    for one in evaluations:
        fixed = (one["timing"]["protocol"] or {}).get("repeats")
        if fixed:
            repeats.setdefault((one["workload"], one["variant"]), {}).setdefault(one["bucket"], fixed)
    return Earlier(
        outcomes=outcomes,
        finished=frozenset(uuid for uuid, status in run.evaluations.items() if status is not None),
        environments=frozenset(run.plan.get("environments", ())),
        definitions=run.plan.get("definitions", {}),
        repeats=repeats,
    )
