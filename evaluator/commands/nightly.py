"""``nightly``: evaluates what a configuration names and compares it with the night before and with a baseline."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator import machine, options, running
from evaluator.control.progress import Progress
from evaluator.control.scratch import sweep
from evaluator.errors import UserError
from evaluator.estimate import duration
from evaluator.interpreters.planning import Interpreter, plan_interpreters
from evaluator.nights.config import NightlyConfig, read_config
from evaluator.report import Gate, parse_gate
from evaluator.report.outcome import DEFAULT_FAIL_ON

if TYPE_CHECKING:
    from evaluator.nights.report import NightDone

EXIT_FINE, EXIT_BROKEN, EXIT_INTERRUPTED = 0, 2, 130


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "nightly",
        "evaluate what a file names, compare it with the night before and a baseline, and report; for cron",
        "python -m evaluator nightly nightly.toml",
        "One night at a time; what a crash left is closed, or goes on in the same night. Exit code 0 where nothing "
        "fails the gate, also where the answer is `Not enough evidence`, 1 where something does, 2 where something "
        "could not be measured or compared, 130 after Ctrl-C. --db wins over the file.",
    )
    parser.add_argument("config", type=Path, metavar="FILE", help="a TOML file; README.md shows one")
    options.add_database(parser)
    parser.add_argument("--dry-run", action="store_true", help="check the file and say what a night would do")


def run(arguments: argparse.Namespace) -> int:
    from evaluator.nights import night as nightly
    from evaluator.nights import report as night_report
    from evaluator.upgrading import Interrupted

    running.close_on_signals()
    config = read_config(arguments.config)
    gate = _gate(config)
    database = nightly.database_of(config, arguments.db)
    if arguments.dry_run:
        return _dry_run(config, database)
    folder = nightly.reports_of(config, database)
    began_at = datetime.now(UTC)
    try:
        with nightly.only_one():
            sweep()
            night = _night(config, database, began_at)
    except UserError as error:
        night_report.append_to_log(folder, night_report.failure_line(began_at, EXIT_BROKEN, str(error)))
        raise
    except (KeyboardInterrupt, Interrupted):
        said = "interrupted; the same command goes on with it tonight"
        night_report.append_to_log(folder, night_report.failure_line(began_at, EXIT_INTERRUPTED, said))
        print(said, file=sys.stderr)
        return EXIT_INTERRUPTED
    page = night_report.write_night(night, gate, folder, database, _option(database))
    code = night_report.night_exit_code(night, gate)
    line = night_report.summary_line(night, code, page)
    night_report.append_to_log(folder, line)
    print(line)
    return code


def _option(database: str) -> str:
    """What a command is given as ``--db`` to find the night's database."""
    return database if "://" in database else machine.portable_path(database)


def _gate(config: NightlyConfig) -> Gate:
    try:
        return parse_gate(config.fail_on or DEFAULT_FAIL_ON)
    except UserError as error:
        raise UserError(f"{config.path.name}: {str(error).replace('--fail-on', 'fail_on')}") from None


def _night(config: NightlyConfig, database: str, began_at: datetime) -> NightDone:
    """Measure and compare every suite. One that can't be measured does not keep the others from it."""
    from evaluator.nights import baselines as night_baselines
    from evaluator.nights import night as nightly
    from evaluator.nights.comparisons import Comparison, cells_of, compare_night
    from evaluator.nights.report import NightDone

    begun, progress = time.monotonic(), Progress()
    for missing in night_baselines.require_baselines(config, database):
        progress.say(missing)
    runs: list[str] = []
    comparisons: list[Comparison] = []
    sides, problems = nightly.sides_of(config, progress)
    for problem in problems:
        progress.say(problem)
    for suite, named in config.groups():
        tested = tuple(one for one in named if one.name in sides)
        if not tested:
            continue
        try:
            group = nightly.group_of(config, suite, tested, [sides[one.name] for one in tested])
            measured = nightly.measure(group, database, nightly.reports_of(config, database), progress)
            runs.append(measured.settings.run)
            for one in compare_night(measured, database, config.confirm, progress):
                comparisons.append(one)
        except UserError as error:
            problems.append(f"{', '.join(one.name for one in tested)}: {error}")
            progress.say(problems[-1])
    cells = sum(cells_of(database, run) for run in runs)
    return NightDone(
        began_at, time.monotonic() - begun, tuple(runs), cells, tuple(comparisons), tuple(problems)
    )


def _dry_run(config: NightlyConfig, database: str) -> int:
    """Say what a night would do, with the time and disk it takes where its interpreters are there."""
    from evaluator.nights import baselines as night_baselines
    from evaluator.nights import night as nightly

    planned = {}
    specs = [one for one in config.tested if one.spec is not None]
    for one, found in zip(specs, plan_interpreters([one.spec for one in specs if one.spec], []), strict=True):
        print(f"{one.name}: {found.sentence}")
        planned[one.name] = found
    for missing in night_baselines.require_baselines(config, database):
        print(missing)
    for suite, tested in config.groups():
        names = ", ".join(one.name for one in tested)
        there = [one for one in tested if one.name not in planned or planned[one.name].recipe is None]
        if not there:
            print(f"{names}: cells and time are known once one of these interpreters is there")
            continue
        sides = [
            Interpreter(planned[one.name].python, planned[one.name].spec.variables)
            if one.name in planned
            else night_baselines.given(config, one)
            for one in there
        ]
        group = nightly.group_of(config, suite, tuple(there), sides[:1])
        environments, _, found_time = running.foresee(group.settings, database)
        print(
            f"{names}: {len(environments[0].supported)} cell(s) each, {group.settings.replicas} replica(s), about "
            f"{duration(found_time.seconds * len(tested))} ({found_time.basis}), and what reruns take"
        )
    print(f"database: {options.shown_database(_option(database))}")
    print(f"reports and log: {machine.portable_path(nightly.reports_of(config, database))}")
    return EXIT_FINE
