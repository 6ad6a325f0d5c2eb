"""``list``: the workloads there are, and what of them can't be measured here."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from evaluator import cards, options
from evaluator.environments import selectable, start_server
from evaluator.interpreters.planning import Interpreter
from evaluator.selection import select_descriptions, unsupported
from evaluator.table import aligned

Record = dict[str, Any]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "list",
        "show the workloads, their shape buckets and variants, and what is unsupported here",
        "python -m evaluator list --tag smoke",
        "Starts the interpreter under test, since workloads are its code to read.",
    )
    parser.add_argument("workload", nargs="*", metavar="GLOB", help="only workloads whose name matches")
    options.add_workloads(parser)
    options.add_pythons(parser, repeatable=False)
    parser.add_argument(
        "--tag", action="append", default=[], help="only workloads with this tag (may be repeated)"
    )
    options.add_target(parser, "where they would run")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    (python, *_) = options.pythons(arguments.python)
    sources = list(options.sources(arguments.workloads))
    target, _ = cards.resolve(arguments.target)
    with (
        tempfile.TemporaryDirectory(prefix="compilewatch-") as folder,
        start_server(Interpreter(python), Path(folder) / "t", Path(folder) / "server.log") as server,
    ):
        described = server.describe(sources, not arguments.no_packs, target)
    loaded = [one for one in selectable(described) if "problem" not in one]
    workloads = select_descriptions(loaded, arguments.workload, arguments.tag)
    for workload in workloads:
        workload["unsupported"] = unsupported(workload, None, target)
        for variant in workload["variants"]:
            variant["unsupported"] = unsupported(workload, variant, target)
        for bucket in workload["buckets"]:
            bucket["unsupported"] = unsupported(workload, None, target, bucket)
    if arguments.json:
        document = {
            "environment": described.environment,
            "target": target,
            "workloads": workloads,
            "problems": described.problems,
        }
        print(json.dumps(document, indent=2))
    else:
        _show(workloads, described.problems, described.environment, target)
    return 0


def _show(workloads: list[Record], problems: list[Record], environment: Record, target: str) -> None:
    rows = [["workload", "buckets", "variants", "tags", "unsupported here"]]
    for workload in workloads:
        possible = [v["name"] for v in workload["variants"] if not v["unsupported"]]
        # A workload that is unsupported as a whole shows all its shapes.
        buckets = [b["name"] for b in workload["buckets"] if workload["unsupported"] or not b["unsupported"]]
        rows.append(
            [
                workload["name"],
                " ".join(buckets),
                " ".join(possible),
                " ".join(workload.get("tags", ())),
                _unsupported(workload),
            ]
        )
    print("\n".join(aligned(rows, 0, 0)))
    print(f"\n{len(workloads)} workloads, torch {environment.get('torch')}, target {target}")
    for reason, names in _reasons(workloads).items():
        print(f"unsupported here: {', '.join(names)}: {reason}")
    for problem in problems:
        print(f"could not be loaded: {problem['name']}: {problem['problem']}")


def _unsupported(workload: Record) -> str:
    if workload["unsupported"]:
        return "all"
    return " ".join(one["name"] for one in _parts(workload) if one["unsupported"])


def _parts(workload: Record) -> list[Record]:
    return [*workload["buckets"], *workload["variants"]]


def _reasons(workloads: list[Record]) -> dict[str, list[str]]:
    """Each reason with what it keeps from being measured: whole workloads by name, else buckets and variants."""
    reasons: dict[str, list[str]] = {}
    for workload in workloads:
        for one in [workload] if workload["unsupported"] else _parts(workload):
            if one["unsupported"]:
                names = reasons.setdefault(one["unsupported"], [])
                if one["name"] not in names:
                    names.append(one["name"])
    return reasons
