"""``calibrate``: measures one environment against itself, so that verdicts know this machine's noise."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from evaluator import options, run_options, running
from evaluator.control.scratch import sweep
from evaluator.errors import UserError
from evaluator.estimate import duration
from evaluator.plan import PROFILES
from evaluator.table import aligned
from evaluator.verdicts.policy import LEAST_REPLICAS
from evaluator.verdicts.words import is_codegen

if TYPE_CHECKING:
    from db.queries.calibration import CellNoise

# Enough for splits of 8 against 8, the second stage of an upgrade.
DEFAULT_REPLICAS: Final = 16
PURPOSE: Final = "calibrate"
LATEST: Final = "latest"
EXIT_FINE, EXIT_BROKEN, EXIT_INTERRUPTED = 0, 2, 130

_HEADINGS: Final = (
    "workload",
    "bucket",
    "variant",
    "metric",
    "between",
    "within",
    "counts from",
    "5 v 5 finds",
    "8 v 8 finds",
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "calibrate",
        "measure an environment against itself, so that verdicts know the noise of this machine",
        "python -m evaluator calibrate --tag smoke --max-buckets 1",
        "Every replica is a start of the process server, as in a comparison. Verdicts on this machine then count a "
        "difference of a cell only above what equal sides showed. Exit code 0, 2 where nothing could be measured, 130 "
        "after Ctrl-C. `run --resume` goes on with one that was interrupted.",
    )
    run_options.add_selection(parser)
    how = run_options.add_how(parser, "standard")
    options.add_pythons(how, repeatable=False)
    how.add_argument(
        "--replicas",
        type=options.positive_whole,
        default=DEFAULT_REPLICAS,
        metavar="N",
        help=f"starts of the process server, {LEAST_REPLICAS} at least; default {DEFAULT_REPLICAS}",
    )
    run_options.add_chrome_traces(how, usual=False)
    run_options.add_dry_run(how)
    where = parser.add_argument_group("where the results go")
    options.add_database(where)
    where.add_argument("--label", help="a name for this run")
    where.add_argument(
        "--show",
        nargs="?",
        const=LATEST,
        metavar="RUN",
        help="measure nothing, and print what this calibration found (default the latest)",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.show is not None:
        print(recorded_noise(options.database(arguments), arguments.show))
        return EXIT_FINE
    running.close_on_signals()
    sweep()
    if arguments.replicas < LEAST_REPLICAS:
        raise UserError(f"--replicas {arguments.replicas} show no noise: give {LEAST_REPLICAS} or more")
    if is_codegen(arguments.target):
        raise UserError(f"nothing is timed on {arguments.target}, so there is no noise to measure")
    interpreters = options.interpreters(arguments.python)
    if len(interpreters) > 1:
        raise UserError("a calibration has one environment: give one --python")
    settings = run_options.settings(
        arguments, interpreters, PURPOSE, label=arguments.label, count=arguments.replicas
    )
    database = options.database(arguments)
    if arguments.dry_run:
        environments, units, found = running.foresee(settings, database)
        print(
            f"{len(environments[0].supported)} cells, {settings.replicas} replicas, {len(units)} units of work"
        )
        print(f"time: about {duration(found.seconds)} ({found.basis})")
        return EXIT_FINE
    warning = running.load_warning(arguments.target)
    if warning:
        print(f"{warning}; calibrate when it is as quiet as when you compare", file=sys.stderr)
    summary = running.record(settings, database)
    if summary.interrupted:
        print(
            f"interrupted; to go on: python -m evaluator run --resume {settings.run[:8]}{options.again(arguments)}"
            f"{options.credentials(arguments)}",
            file=sys.stderr,
        )
        return EXIT_INTERRUPTED
    print(recorded_noise(database, settings.run))
    return EXIT_BROKEN if summary.broken else EXIT_FINE


def recorded_noise(database: str, reference: str) -> str:
    """The table of a recorded calibration; ``latest`` means the latest one. UserError where nothing is known of it."""
    from db.queries import lineage
    from db.queries.calibration import noise_of_run
    from db.session import reading

    with reading(database) as reads:
        run, _ = lineage.root(reads, None if reference == LATEST else reference, PURPOSE)
        found = noise_of_run(reads, run)
    if not found:
        raise UserError(
            f"run {run[:8]} has measured nothing twice, or was not finished, so no noise is known: `python -m evaluator "
            f"show {run[:8]}` says what it recorded"
        )
    return noise_table(found)


def noise_table(found: Sequence[CellNoise]) -> str:
    """The noise of each gating metric, and what it lets a comparison find, as aligned text."""
    from evaluator.verdicts.noise import detectable, floor
    from evaluator.verdicts.policy import GATING_TIMES

    rows = [
        [
            one.workload,
            one.bucket,
            one.variant,
            one.noise.metric,
            _percent(one.noise.between_sd),
            _percent(one.noise.within_sd),
            _percent(max(GATING_TIMES[one.noise.metric], floor(one.noise, PROFILES["standard"]))),
            *(
                _percent(detectable(one.noise.between_sd, replicas))
                for replicas in (PROFILES["standard"], PROFILES["thorough"])
            ),
        ]
        for one in found
        if one.noise.metric in GATING_TIMES
    ]
    lines = aligned([list(_HEADINGS), *rows], 4, len(_HEADINGS))
    lines.append("between, within: standard deviation between and within processes")
    lines.append("counts from: a difference below it is not called one, with 5 replicas a side")
    lines.append("finds: the difference found four times in five with so many replicas a side")
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
