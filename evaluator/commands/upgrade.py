"""``upgrade``: evaluates torch versions side by side and says whether to move, with the evidence."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator import machine, options, run_options, running
from evaluator.control.progress import Progress
from evaluator.control.run_records import Settings
from evaluator.control.scratch import sweep
from evaluator.control.server_client import interpreter
from evaluator.errors import UserError
from evaluator.estimate import duration
from evaluator.fitting import Fit, fit
from evaluator.interpreters.planning import (
    Interpreter,
    Planned,
    Spec,
    make,
    plan_interpreters,
    planned_as_given,
)
from evaluator.plan import Unit
from evaluator.printable import flat, printable
from evaluator.report.outcome import DEFAULT_FAIL_ON, add_fail_on, gate_text, parse_gate
from evaluator.verdicts.words import is_codegen

if TYPE_CHECKING:
    from evaluator.verdicts.findings import Verdicts

EXIT_FINE, EXIT_REGRESSED, EXIT_NOTHING, EXIT_INTERRUPTED = 0, 1, 2, 130


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "upgrade",
        "evaluate torch versions side by side and say whether to move, with the evidence",
        "python -m evaluator upgrade 2.13.0 2.14.1 --tag standard --max-buckets 1",
        "Each version is evaluated under an interpreter that has it: one given with --python, this one, or one that is "
        "made with pip and kept. What looks worse is measured again before it is said, and explained. Exit code 0 where "
        "nothing is confirmed to be worse, also where the answer is `Not enough evidence`, 1 where something is, 2 "
        "where nothing could be compared or measured, 130 after Ctrl-C.",
    )
    parser.add_argument(
        "spec",
        nargs="*",
        metavar="SPEC",
        help="a torch version, oldest first; after commas what else differs on that side: 2.14.1,transformers==5.20.0 "
        "or 2.13.0,NAME=value; without any, the interpreters of --python in their order",
    )
    run_options.add_selection(parser, positional=False)
    how = run_options.add_how(parser, "standard")
    options.add_pythons(how)
    how.add_argument(
        "--confirm",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure again what looks worse, in fresh processes; without, nothing is confirmed",
    )
    how.add_argument(
        "--explain",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="find the layer of what got worse, by the same cells under other backends",
    )
    how.add_argument(
        "--budget",
        type=options.seconds,
        metavar="TIME",
        help="take the most telling cells that fit into this time (45m, 2h)",
    )
    run_options.add_chrome_traces(how)
    run_options.add_dry_run(how)
    where = parser.add_argument_group("where the results go")
    options.add_database(where)
    where.add_argument("--label", help="a name for this upgrade")
    where.add_argument(
        "--report",
        type=Path,
        metavar="FOLDER",
        help="folder of the reports; default reports beside the database",
    )
    where.add_argument(
        "--resume",
        nargs="?",
        const="latest",
        metavar="RUN",
        help="go on with an interrupted upgrade (default the latest), as it was told to",
    )
    add_fail_on(parser)
    parser.set_defaults(default_of=parser.get_default)


def run(arguments: argparse.Namespace) -> int:
    running.close_on_signals()
    sweep()
    if arguments.resume is not None:
        return _resume(arguments)
    if len(arguments.spec or arguments.python) < 2:
        raise UserError(
            "say what to compare: `python -m evaluator upgrade 2.13.0 2.14.1`, or two interpreters with --python"
        )
    planned = _planned(arguments)
    if arguments.dry_run:
        return _dry_run(arguments, planned)
    warning = running.load_warning(arguments.target)
    if warning:
        print(warning, file=sys.stderr)
    progress = Progress()
    for one in planned:
        if one.recipe is not None:
            progress.say(one.sentence)
    settings, notes = _within_budget(arguments, _settings(arguments, tuple(make(planned, progress))))
    for note in notes:
        progress.say(note)
    return _stages(arguments, settings, notes)


def _planned(arguments: argparse.Namespace) -> tuple[Planned, ...]:
    """The interpreter of each side: those the versions mean, or the ones given in their order."""
    pythons = [interpreter(path) for path in arguments.python]
    if not arguments.spec:
        return planned_as_given(pythons)
    return plan_interpreters([Spec.parse(text) for text in arguments.spec], pythons)


def _settings(arguments: argparse.Namespace, interpreters: tuple[Interpreter, ...]) -> Settings:
    told = {
        "confirm": arguments.confirm,
        "explain": arguments.explain,
        "fail_on": gate_text(arguments.fail_on),
        "report": arguments.report and machine.portable_path(arguments.report),
        "notes": [],
    }
    extra = {"upgrade": told}
    return run_options.settings(arguments, interpreters, "upgrade", label=arguments.label, extra=extra)


def _within_budget(arguments: argparse.Namespace, settings: Settings) -> tuple[Settings, list[str]]:
    """The settings cut down to what the budget leaves, and what to say of it."""
    if arguments.budget is None:
        return settings, []
    from evaluator.upgrading import within_choice

    environments, units, whole = running.foresee(settings, options.database(arguments))
    torches = [environment.described.environment.get("torch") for environment in environments]
    found = _fit(arguments, units, whole.seconds, torches)
    if found.whole:
        return settings, []
    return within_choice(settings, found.choice, found.note), [found.note]


def _fit(
    arguments: argparse.Namespace,
    units: Sequence[Unit],
    seconds: float,
    torches: Sequence[str | None],
    sides: int = 1,
) -> Fit:
    from evaluator.upgrading import told_before

    database = options.database(arguments)
    told = told_before(database, torches)
    return fit(units, seconds, running.history(database), arguments.budget, told, sides)


def _dry_run(arguments: argparse.Namespace, planned: Sequence[Planned]) -> int:
    """Say what would be made and run. Cells are those of an interpreter that is there; the others have the same."""
    for one in planned:
        print(one.sentence)
    known = [Interpreter(one.python, one.spec.variables) for one in planned if one.recipe is None]
    if not known:
        print("cells and time are known once one of these interpreters is there")
        return 0
    settings = _settings(arguments, (known[0],))
    environments, units, found = running.foresee(settings, options.database(arguments))
    sides = len(planned)
    cells = len(environments[0].supported)
    print(
        f"{cells} cells on each of {sides} sides, {settings.replicas} replica(s), {len(units) * sides} units of work"
    )
    print(
        f"time: about {duration(found.seconds * sides)} ({found.basis}), and what reruns and explanations take"
    )
    if arguments.confirm and cells and not is_codegen(settings.selection.target):
        again = found.seconds * sides / cells / settings.replicas * 8
        print(f"a rerun: about {duration(again)} for each cell whose times look worse")
    print(
        f"disk: about {found.scratch_mb * sides:.0f} MB while it runs, {found.results_mb * sides:.1f} MB of results "
        "that stay (a guess)"
    )
    if arguments.budget is not None:
        taken = _fit(arguments, units, found.seconds, [one.torch for one in planned], sides)
        print("\n".join([taken.note, *taken.lines]))
    return 0


def _resume(arguments: argparse.Namespace) -> int:
    from db.queries import lineage
    from db.session import reading
    from evaluator.resume import refuse_other_options, settings_of

    refuse_other_options(arguments, arguments.default_of)
    reference = None if arguments.resume == "latest" else arguments.resume
    with reading(options.database(arguments)) as reads:
        uuid, plan = lineage.root(reads, reference, "upgrade")
        settings = settings_of(reads, uuid)
    told: dict[str, Any] = plan.get("upgrade", {})
    arguments.confirm, arguments.explain = told.get("confirm", True), told.get("explain", True)
    arguments.fail_on = parse_gate(told.get("fail_on", DEFAULT_FAIL_ON))
    arguments.report = Path(told["report"]).expanduser() if told.get("report") else None
    return _stages(arguments, settings, told.get("notes", []), again=True)


def _stages(
    arguments: argparse.Namespace, settings: Settings, notes: Sequence[str], again: bool = False
) -> int:
    from evaluator.upgrading import Interrupted, Stages

    begun = time.monotonic()
    progress = Progress()
    database = options.database(arguments)
    stages = Stages(database, arguments.confirm, arguments.explain, say=progress.say)
    try:
        verdicts = stages.go_on(settings) if again else stages.begin(settings)
    except Interrupted as stopped:
        print(
            f"interrupted; to go on: python -m evaluator upgrade --resume {str(stopped)[:8]}{options.again(arguments)}"
            f"{options.credentials(arguments)}",
            file=sys.stderr,
        )
        return EXIT_INTERRUPTED
    # A resumed upgrade took longer than its last part.
    wall_s = None if again else time.monotonic() - begun
    return _report(arguments, settings, verdicts, notes, wall_s)


def _report(
    arguments: argparse.Namespace,
    settings: Settings,
    verdicts: Sequence[Verdicts],
    notes: Sequence[str],
    wall_s: float | None,
) -> int:
    """Print the verdict of each step, write its reports, and name the first bad one; the exit code."""
    from evaluator.report import context_of, exit_code, render, write_reports
    from evaluator.report.files import report_name
    from evaluator.upgrading import last_line

    database = options.database(arguments)
    folder = arguments.report or options.reports_folder(database) / settings.run[:8]
    codes = []
    for step, one in enumerate(verdicts):
        context = context_of(
            database, arguments.db, settings.run, made_at=datetime.now(UTC), wall_s=wall_s, notes=tuple(notes)
        )
        if step:
            print()
        sys.stdout.write(render("text", one, context))
        # Two steps may be called the same, such as from a version to another and back.
        name = f"{step + 1}-{report_name(one)}" if len(verdicts) > 1 else None
        for path in write_reports(one, context, folder, name):
            print(f"report: {machine.portable_path(path)}")
        codes.append(exit_code(one, arguments.fail_on) if one.compared else EXIT_NOTHING)
    if len(verdicts) > 1:
        print(printable(flat(last_line(verdicts))))
    return max(codes, key=(EXIT_FINE, EXIT_NOTHING, EXIT_REGRESSED).index)
