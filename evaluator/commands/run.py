"""``run``: evaluates workloads and records everything."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import types
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evaluator import machine, options
from evaluator.commands.show import run_document
from evaluator.controller import Controller, Earlier, Summary, planned_units
from evaluator.environments import Environment, close_all, open_environments
from evaluator.errors import UserError
from evaluator.estimate import History, duration, estimate
from evaluator.plan import PROFILES
from evaluator.progress import Progress
from evaluator.run_records import Settings
from evaluator.scratch import Scratch, sweep
from evaluator.selection import Selection
from evaluator.sink import FileSink, Sink, read_records
from evaluator.table import table
from evaluator.tally import tally

if TYPE_CHECKING:
    from db.store import Store

DEFAULT_TIMEOUT_S: Final = 300.0
EXIT_FINE, EXIT_BROKEN, EXIT_INTERRUPTED = 0, 2, 130


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "run",
        "evaluate workloads and record what the compiler did, how fast and how right it was",
        "python -m evaluator run 'mlp*' --variants 'd*' --profile standard",
        "A failure of a workload is a result: it is recorded and the run goes on. With --workloads and no GLOB only "
        "those sources are evaluated. Exit code 0 when it ran, 2 where nothing could be, 130 after Ctrl-C.",
    )
    _add_selection(parser)
    _add_how(parser)
    _add_where(parser)
    parser.set_defaults(default_of=parser.get_default)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is evaluated")
    group.add_argument("workload", nargs="*", metavar="GLOB", help="workloads by name; default all")
    group.add_argument(
        "--buckets", action="append", default=[], metavar="GLOB", help="shape buckets; default all"
    )
    group.add_argument(
        "--variants",
        action="append",
        default=[],
        metavar="GLOB",
        help="variants; default only the one named default",
    )
    group.add_argument("--tag", action="append", default=[], help="workloads with this tag (may be repeated)")
    group.add_argument(
        "--max-buckets", type=options.positive_whole, metavar="N", help="the first N buckets of each workload"
    )
    group.add_argument("--target", default="cpu", choices=("cpu", "cuda"), help="where it runs; default cpu")
    options.add_workloads(group)


def _add_how(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how")
    options.add_pythons(group)
    counts = ", ".join(f"{name} {count}" for name, count in PROFILES.items())
    group.add_argument(
        "--profile",
        default="quick",
        choices=tuple(PROFILES),
        help=f"how many replicas (starts of the process server): {counts}; default quick",
    )
    group.add_argument(
        "--timeout",
        type=options.positive,
        default=DEFAULT_TIMEOUT_S,
        metavar="S",
        help=f"seconds a probe may take for one bucket; default {DEFAULT_TIMEOUT_S:g}",
    )
    group.add_argument(
        "--memory-limit",
        type=options.positive,
        metavar="MB",
        help=f"memory one probe process may take; default {machine.DEFAULT_MEMORY_SHARE:.0%} of this machine's".replace(
            "%", "%%"
        ),
    )
    group.add_argument(
        "--dry-run", action="store_true", help="say what would run, the time and the disk it takes"
    )


def _add_where(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where the results go")
    options.add_database(group)
    group.add_argument(
        "--records",
        metavar="FILE",
        type=Path,
        help="write records to this new file instead of a database; needs nothing but torch; `import` reads it",
    )
    group.add_argument("--label", help="a name for this run")
    group.add_argument(
        "--resume",
        nargs="?",
        const="latest",
        metavar="RUN",
        help="go on with an interrupted run of the database (default the latest), as it was told to",
    )


def run(arguments: argparse.Namespace) -> int:
    # A run that is ended by its terminal or by a supervisor closes as one ended by Ctrl-C does; what the starter
    # had ignored (nohup) stays ignored.
    for name in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) is not signal.SIG_IGN:
            signal.signal(name, _interrupt)
    sweep()
    if arguments.resume is not None:
        return _resume(arguments)
    settings = _settings(arguments)
    if arguments.dry_run:
        return _dry_run(settings, options.database(arguments))
    _warn_of_load()
    sink = FileSink(arguments.records) if arguments.records else _open_store(options.database(arguments))
    try:
        summary = _evaluate(settings, sink, None)
    finally:
        sink.close()
    return _report(arguments, settings.run, summary)


def _warn_of_load() -> None:
    """Say once that this machine is busy: times taken beside other work are noisy, and are marked so."""
    load, cpus = os.getloadavg()[0], os.cpu_count() or 1
    if load > cpus:
        print(
            f"this machine is busy (load {load:.1f} on {cpus} CPUs): times will be noisy, and be marked with ~",
            file=sys.stderr,
        )


def _interrupt(signum: int, frame: types.FrameType | None) -> None:
    raise KeyboardInterrupt


def _settings(arguments: argparse.Namespace) -> Settings:
    if arguments.records and arguments.db:
        raise UserError("--records and --db exclude each other: give one of them")
    sources = options.sources(arguments.workloads)
    alone = bool(sources) and not arguments.workload and not arguments.tag
    return Settings(
        run=str(uuid.uuid4()),
        label=arguments.label,
        selection=Selection(
            workloads=tuple(arguments.workload),
            buckets=tuple(arguments.buckets),
            variants=tuple(arguments.variants),
            tags=tuple(arguments.tag),
            max_buckets=arguments.max_buckets,
            target=arguments.target,
        ),
        profile=arguments.profile,
        sources=sources,
        packs=not (arguments.no_packs or alone),
        pythons=options.pythons(arguments.python),
        time_s=arguments.timeout,
        memory_mb=arguments.memory_limit or machine.physical_memory_mb() * machine.DEFAULT_MEMORY_SHARE,
        argv=tuple(sys.argv[1:]),
    )


def _open_store(database: str) -> Store:
    from db.store import Store

    return Store(database)


def _evaluate(
    settings: Settings, sink: Sink, earlier: Earlier | None, begin: Callable[[], None] = lambda: None
) -> Summary:
    """Run it. ``begin`` is called when everything is known to be as it should be, before the first record."""
    progress = Progress()
    with Scratch(settings.run) as scratch:
        progress.note(f"starting {len(settings.pythons)} process server(s)")
        environments = open_environments(settings, scratch)
        if earlier is not None:
            _require_same(environments, earlier)
        begin()
        return Controller(settings, environments, scratch, sink, progress, earlier).run()


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


def _resume(arguments: argparse.Namespace) -> int:
    from evaluator.resume import refuse_other_options, resumable

    refuse_other_options(arguments, arguments.default_of)
    database = options.database(arguments)
    settings, earlier = resumable(database, arguments.resume)
    store = _open_store(database)
    try:
        summary = _evaluate(settings, store, earlier, lambda: store.reopen(settings.run))
    finally:
        store.close()
    return _report(arguments, settings.run, summary)


def _dry_run(settings: Settings, database: str) -> int:
    history = _history(database)
    with Scratch(settings.run) as scratch:
        environments = open_environments(settings, scratch)
        close_all(environments)
        units = planned_units(environments, settings)
    for environment in environments:
        print(f"torch {environment.described.environment.get('torch')} ({environment.name}):")
        for cell in environment.cells:
            note = cell.problem or cell.unsupported or ""
            name = f"  {cell.workload}  {cell.bucket}  {cell.variant}"
            print(f"{name}: not measured, {note}" if note else name)
    found = estimate(units, len(environments), history)
    cells = sum(len(environment.supported) for environment in environments)
    print(f"{cells} cells, {settings.replicas} replica(s), {len(units)} units of work")
    print(f"time: about {duration(found.seconds)} ({found.basis})")
    print(
        f"disk: about {found.scratch_mb:.0f} MB while it runs, {found.results_mb:.1f} MB of results that stay (a guess)"
    )
    return EXIT_FINE


def _history(database: str) -> History:
    """How long units took before on this machine; nothing where there is no database yet, or no library to read it.

    Raises UserError for one that a run could not write to either.
    """
    try:
        from db.queries.durations import unit_durations
        from db.session import database_url, open_reader, sqlite_path
    except ImportError:
        return {}
    path = sqlite_path(database_url(database))
    if path is not None and not path.exists():
        return {}
    engine = open_reader(database)
    try:
        with engine.connect() as connection:
            return unit_durations(connection, machine.machine_id())
    finally:
        engine.dispose()


def _report(arguments: argparse.Namespace, run_id: str, summary: Summary) -> int:
    """The table of what was found, then the commands that show or resume it; the run's exit code."""
    where = f" --db {arguments.db}" if arguments.db else ""
    if arguments.records:
        print(table(tally(record for _, record in read_records(arguments.records))))
        print(f"\nto keep and see it, where the database is: python -m evaluator import {arguments.records}")
    else:
        print(table(run_document(options.database(arguments), run_id)["evaluations"]))
        print(f"\nto see it: streamlit run app, or python -m evaluator show {run_id[:8]}{where}")
    if summary.interrupted:
        if not arguments.records:
            print(
                f"interrupted; to go on: python -m evaluator run --resume {run_id[:8]}{where}",
                file=sys.stderr,
            )
        return EXIT_INTERRUPTED
    # What is broken was said when it was found.
    return EXIT_BROKEN if summary.broken else EXIT_FINE
