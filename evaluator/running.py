"""One run from start to end, as every command that evaluates something makes it."""

from __future__ import annotations

import os
import signal
import types
from collections.abc import Callable
from typing import TYPE_CHECKING

from evaluator import machine
from evaluator.control.controller import Controller, Earlier, Summary, planned_units
from evaluator.control.progress import Progress
from evaluator.control.run_records import Settings
from evaluator.control.scratch import Scratch
from evaluator.environments import Environment, close_all, open_environments
from evaluator.errors import UserError
from evaluator.estimate import Estimate, History, estimate
from evaluator.plan import Unit
from evaluator.sink import Sink
from evaluator.verdicts.words import is_codegen

if TYPE_CHECKING:
    from db.store import Store


def close_on_signals() -> None:
    """Let a run that is ended by its terminal or by a supervisor close as one ended by Ctrl-C does.

    What the starter had ignored (nohup) stays ignored.
    """
    for name in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) is not signal.SIG_IGN:
            signal.signal(name, _interrupt)


def _interrupt(signum: int, frame: types.FrameType | None) -> None:
    raise KeyboardInterrupt


def load_warning(target: str) -> str | None:
    """What to say of a busy machine: times taken beside other work are noisy, and are marked so. None of a quiet one,
    and where nothing is timed."""
    load, cpus = os.getloadavg()[0], os.cpu_count() or 1
    if load <= cpus or is_codegen(target):
        return None
    return f"this machine is busy (load {load:.1f} on {cpus} CPUs): times will be noisy, and be marked with ~"


def open_store(database: str) -> Store:
    """The database to write to, made if absent. Raises UserError where it can't be used."""
    from db.store import Store

    return Store(database)


def evaluate(
    settings: Settings, sink: Sink, earlier: Earlier | None = None, begin: Callable[[], None] = lambda: None
) -> Summary:
    """Run it. ``begin`` is called when everything is known to be as it should be, before the first record."""
    progress = Progress()
    with Scratch(settings.run) as scratch:
        progress.note(f"starting {len(settings.interpreters)} process server(s)")
        environments = open_environments(settings, scratch)
        if earlier is not None:
            _require_same(environments, earlier)
        begin()
        return Controller(settings, environments, scratch, sink, progress, earlier).run()


def record(settings: Settings, database: str) -> Summary:
    """Make a new run, from its first record to its last, in a database that is opened for it alone."""
    store = open_store(database)
    try:
        return evaluate(settings, store)
    finally:
        store.close()


def resume(settings: Settings, earlier: Earlier, database: str) -> Summary:
    """Go on with an interrupted run."""
    store = open_store(database)
    try:
        return evaluate(settings, store, earlier, lambda: store.reopen(settings.run))
    finally:
        store.close()


def _require_same(environments: list[Environment], earlier: Earlier) -> None:
    """Refuse to go on with another torch or other workloads under one run's name."""
    try:
        for environment in environments:
            if environment.hash not in earlier.environments:
                raise UserError(
                    f"{environment.name} is another environment than when the run began (something was installed, "
                    "or a variable is set differently): start a new run"
                )
            for cell in environment.cells:
                if earlier.definitions.get(cell.workload) != cell.definition_hash:
                    raise UserError(
                        f"workload {cell.workload} changed since the run began: start a new run, or put it back"
                    )
    except UserError:
        close_all(environments)
        raise


def foresee(settings: Settings, database: str) -> tuple[list[Environment], list[Unit], Estimate]:
    """What a run would do and what it takes, without running it; its environments are closed again."""
    known = history(database)
    with Scratch(settings.run) as scratch:
        environments = open_environments(settings, scratch)
        close_all(environments)
        units = planned_units(environments, settings)
    return environments, units, estimate(units, len(environments), known)


def history(database: str) -> History:
    """How long units took before on this machine; nothing where there is no database yet, or no library to read it.

    Raises UserError for one that a run could not write to either.
    """
    try:
        from db.queries.durations import unit_durations
        from db.session import reading_if_there
    except ImportError:
        return {}
    with reading_if_there(database) as reads:
        return {} if reads is None else unit_durations(reads, machine.machine_id())
