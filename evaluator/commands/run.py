"""``run``: evaluates workloads and records everything."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from evaluator import options, run_options, running
from evaluator.commands.show import run_document
from evaluator.control.controller import Summary
from evaluator.control.run_records import Settings
from evaluator.control.scratch import sweep
from evaluator.control.tally import tally
from evaluator.errors import UserError
from evaluator.estimate import duration
from evaluator.sink import FileSink, Sink, read_records
from evaluator.table import table

EXIT_FINE, EXIT_BROKEN, EXIT_INTERRUPTED = 0, 2, 130


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "run",
        "evaluate workloads and record what the compiler did, how fast and how right it was",
        "python -m evaluator run 'mlp*' --variants 'd*' --profile standard",
        "A failure of a workload is a result: it is recorded and the run goes on. With --workloads and neither GLOB nor --tag only "
        "those sources are evaluated. Exit code 0 when it ran, 2 where nothing could be, 130 after Ctrl-C.",
    )
    run_options.add_selection(parser)
    how = run_options.add_how(parser, "quick")
    options.add_pythons(how)
    run_options.add_chrome_traces(how)
    run_options.add_dry_run(how)
    _add_where(parser)
    parser.set_defaults(default_of=parser.get_default)


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
    running.close_on_signals()
    sweep()
    if arguments.resume is not None:
        return _resume(arguments)
    settings = _settings(arguments)
    if arguments.dry_run:
        return _dry_run(settings, options.database(arguments))
    warning = running.load_warning(settings.selection.target)
    if warning:
        print(warning, file=sys.stderr)
    sink: Sink = (
        FileSink(arguments.records) if arguments.records else running.open_store(options.database(arguments))
    )
    try:
        summary = running.evaluate(settings, sink)
    finally:
        sink.close()
    return _report(arguments, settings.run, summary)


def _settings(arguments: argparse.Namespace) -> Settings:
    if arguments.records and arguments.db:
        raise UserError("--records and --db exclude each other: give one of them")
    return run_options.settings(
        arguments, options.interpreters(arguments.python), "evaluate", label=arguments.label
    )


def _resume(arguments: argparse.Namespace) -> int:
    from evaluator.resume import refuse_other_options, resumable

    refuse_other_options(arguments, arguments.default_of)
    database = options.database(arguments)
    settings, earlier = resumable(database, arguments.resume)
    summary = running.resume(settings, earlier, database)
    code = _report(arguments, settings.run, summary)
    if settings.purpose == "calibrate" and not summary.interrupted:
        from evaluator.commands.calibrate import recorded_noise

        print(f"\n{recorded_noise(database, settings.run)}")
    return code


def _dry_run(settings: Settings, database: str) -> int:
    environments, units, found = running.foresee(settings, database)
    for environment in environments:
        print(f"torch {environment.described.environment.get('torch')} ({environment.name}):")
        for cell in environment.cells:
            note = cell.problem or cell.unsupported or ""
            name = f"  {cell.workload}  {cell.bucket}  {cell.variant}"
            print(f"{name}: not measured, {note}" if note else name)
    cells = sum(len(environment.supported) for environment in environments)
    print(f"{cells} cells, {settings.replicas} replica(s), {len(units)} units of work")
    print(f"time: about {duration(found.seconds)} ({found.basis})")
    print(
        f"disk: about {found.scratch_mb:.0f} MB while it runs, {found.results_mb:.1f} MB of results that stay (a guess)"
    )
    return EXIT_FINE


def _report(arguments: argparse.Namespace, run_id: str, summary: Summary) -> int:
    """The table of what was found, then the commands that show or resume it; the run's exit code."""
    where = options.again(arguments)
    if arguments.records:
        print(table(tally(record for _, record in read_records(arguments.records))))
        print(f"\nto keep and see it, where the database is: python -m evaluator import {arguments.records}")
    else:
        print(table(run_document(options.database(arguments), run_id)["evaluations"]))
        print(
            f"\nto see it: streamlit run app, or python -m evaluator show {run_id[:8]}{where}{options.credentials(arguments)}"
        )
    if summary.interrupted:
        if not arguments.records:
            print(
                f"interrupted; to go on: python -m evaluator run --resume {run_id[:8]}{where}"
                f"{options.credentials(arguments)}",
                file=sys.stderr,
            )
        return EXIT_INTERRUPTED
    # What is broken was said when it was found.
    return EXIT_BROKEN if summary.broken else EXIT_FINE
