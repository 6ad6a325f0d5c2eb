"""What every command that evaluates something can be told: which cells, how, and the settings that make of it."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Mapping
from typing import Any, Final

from evaluator import cards, machine, options
from evaluator.control.run_records import Settings
from evaluator.errors import UserError
from evaluator.interpreters.planning import Interpreter
from evaluator.plan import PROFILES
from evaluator.selection import Selection
from evaluator.verdicts.words import is_codegen

DEFAULT_TIMEOUT_S: Final = 300.0


def add_selection(parser: argparse.ArgumentParser, positional: bool = True) -> None:
    """Which cells. ``positional``: the workloads' globs are the command's own arguments, not ``--workload``."""
    group = parser.add_argument_group("what is evaluated")
    if positional:
        group.add_argument("workload", nargs="*", metavar="GLOB", help="workloads by name; default all")
    else:
        group.add_argument(
            "--workload",
            action="append",
            default=[],
            metavar="GLOB",
            help="workloads by name; default all (may be repeated)",
        )
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
    options.add_target(group, "where it runs")
    options.add_workloads(group)


def add_how(parser: argparse.ArgumentParser, profile: str) -> argparse._ArgumentGroup:
    """How it is measured; ``profile`` is the default one. Returns the group, for what a command adds to it."""
    group = parser.add_argument_group("how")
    counts = ", ".join(f"{name} {count}" for name, count in PROFILES.items())
    group.add_argument(
        "--profile",
        default=profile,
        choices=tuple(PROFILES),
        help=f"how many replicas (starts of the process server): {counts}; default {profile}",
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
    return group


def add_chrome_traces(group: argparse._ActionsContainer, usual: bool = True) -> None:
    """Whether what runs is recorded; undecided is as the target has it, or not at all where it is not ``usual``."""
    default = "with --target cuda alone" if usual else "no"
    group.add_argument(
        "--chrome-traces",
        action=argparse.BooleanOptionalAction,
        default=None if usual else False,
        help="record what runs, eager and compiled, as Chrome traces, in processes of their own in the first replica; default "
        f"{default} (on a CPU a trace has operators and no kernels)",
    )


def add_dry_run(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--dry-run", action="store_true", help="say what would run, the time and the disk it takes"
    )


def settings(
    arguments: argparse.Namespace,
    interpreters: tuple[Interpreter, ...],
    purpose: str,
    label: str | None = None,
    count: int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of a new run. With ``--workloads`` and no glob or tag only those sources are evaluated."""
    sources = options.sources(arguments.workloads)
    alone = bool(sources) and not arguments.workload and not arguments.tag
    target, card = cards.resolve(arguments.target)
    chrome_traces = _chrome_traces(getattr(arguments, "chrome_traces", False), target)
    return Settings(
        run=str(uuid.uuid4()),
        label=label,
        selection=Selection(
            workloads=tuple(arguments.workload),
            buckets=tuple(arguments.buckets),
            variants=tuple(arguments.variants),
            tags=tuple(arguments.tag),
            max_buckets=arguments.max_buckets,
            target=target,
            card=tuple((card or {}).items()),
        ),
        profile=arguments.profile,
        sources=sources,
        packs=not (arguments.no_packs or alone),
        interpreters=interpreters,
        time_s=arguments.timeout,
        memory_mb=arguments.memory_limit or machine.physical_memory_mb() * machine.DEFAULT_MEMORY_SHARE,
        argv=tuple(sys.argv[1:]),
        count=count,
        purpose=purpose,
        chrome_traces=chrome_traces,
        extra=extra or {},
    )


def _chrome_traces(asked: bool | None, target: str) -> bool:
    """Whether traces are recorded. Raises UserError where they are asked for and nothing runs."""
    if asked and is_codegen(target):
        raise UserError(
            "--chrome-traces records what runs, and on a codegen target nothing does: leave it out"
        )
    return target == "cuda" if asked is None else asked
