"""``compare``: says what two recorded sides have to do with each other, and fails a gate."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from evaluator import options
from evaluator.errors import UserError
from evaluator.printable import flat, printable
from evaluator.report import Context, context_of, exit_code, render
from evaluator.report.files import FORMATS, write_file
from evaluator.report.outcome import add_fail_on
from evaluator.report.phrases import answer_line, reasons
from evaluator.verdicts.findings import Verdicts
from evaluator.verdicts.policy import (
    DIAGNOSTIC_MEMORY,
    DIAGNOSTIC_TIMES,
    ENVIRONMENT_TIMES,
    GATING_TIMES,
    Policy,
)
from evaluator.verdicts.whole import compare

# Metrics that have a margin: the others are exact, or not judged.
_WITH_MARGIN: Final = (*GATING_TIMES, *DIAGNOSTIC_TIMES, *DIAGNOSTIC_MEMORY, *ENVIRONMENT_TIMES)
# Reasons named where nothing is comparable.
_MOST_REASONS: Final = 3


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "compare",
        "compare two recorded runs, environments or torch versions and say what regressed",
        "python -m evaluator compare 2.13.0 2.14.1 --fail-on regressed,newly_failing,flaky --format junit --output "
        "compare.xml",
        "Nothing is measured: what no rerun confirmed is shown as such and fails only with --fail-on unconfirmed. An "
        "improvement never fails. Exit code 0 fine, 1 where something fails the gate, 2 where nothing can be compared.",
    )
    what = "a run's id, label or beginning of its uuid, `latest`, `previous`, a torch version, or RUN@VERSION or RUN@2"
    parser.add_argument("base", metavar="BASE", help=f"what you have: {what}")
    parser.add_argument("candidate", metavar="CANDIDATE", help="what you may move to: the same")
    options.add_database(parser)
    parser.add_argument("--format", default="text", choices=FORMATS, help="default text")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the report to this file instead of printing it"
    )
    add_fail_on(parser)
    parser.add_argument(
        "--margin",
        action="append",
        default=[],
        type=_margin,
        metavar="METRIC=PERCENT",
        help="the difference from which this time or memory counts, such as compiled.wall_ms=5 (may be repeated)",
    )


def _margin(text: str) -> tuple[str, float]:
    """A metric and its margin as a relative difference."""
    metric, equals, percent = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text} is no METRIC=PERCENT, such as compiled.wall_ms=5")
    if metric not in _WITH_MARGIN:
        raise argparse.ArgumentTypeError(
            f"{metric} has no margin; those that have: {', '.join(_WITH_MARGIN)}"
        )
    try:
        return metric, options.positive(percent.removesuffix("%")) / 100
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{percent} is no percentage above zero, such as {metric}=5"
        ) from None


def run(arguments: argparse.Namespace) -> int:
    policy = Policy(margins=dict(arguments.margin))
    verdicts, context = compared(arguments, policy)
    if not verdicts.compared:
        raise UserError(nothing_comparable(verdicts))
    text = render(arguments.format, verdicts, context, arguments.fail_on)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write_file(arguments.output, text)
        print(f"{printable(flat(answer_line(verdicts)))}\nreport: {arguments.output}")
    return exit_code(verdicts, arguments.fail_on)


def compared(arguments: argparse.Namespace, policy: Policy) -> tuple[Verdicts, Context]:
    """The verdicts about the two sides, and where they come from. Raises UserError where a side can't be found."""
    from db.queries.comparison import load, resolve
    from db.session import reading

    database = options.database(arguments)
    with reading(database) as reads:
        base, candidate = resolve(reads, arguments.base, arguments.candidate)
        loaded = load(reads, base, candidate)
    verdicts = compare(loaded.base, loaded.candidate, loaded.pairs, policy)
    sides = [f"{side.run}@{side.position}" for side in (base, candidate)]
    context = context_of(
        database,
        arguments.db,
        *dict.fromkeys((base.run, candidate.run)),
        made_at=datetime.now(UTC),
        commands=[shlex.join(["python", "-m", "evaluator", "compare", *sides]) + options.again(arguments)],
    )
    return verdicts, context


def nothing_comparable(verdicts: Verdicts) -> str:
    """Why none of the cells could be compared, in one sentence."""
    codes: dict[str, int] = {}
    for cell in verdicts.cells:
        for code in dict.fromkeys(code for finding in cell.findings for code in finding.reasons):
            codes[code] = codes.get(code, 0) + 1
    if not verdicts.cells:
        why: Iterable[str] = ["no cell was evaluated on either side"]
    else:
        worst: Sequence[str] = sorted(codes, key=lambda code: -codes[code])[:_MOST_REASONS]
        why = [f"{reasons((code,))} ({codes[code]} of {len(verdicts.cells)} cells)" for code in worst]
    return (
        f"nothing of {verdicts.base} and {verdicts.candidate} can be compared: {'; '.join(why)}; name two runs that "
        "evaluated the same workloads"
    )
