"""``repro``: prints a stand-alone script that shows again what an evaluation recorded, or what two differ in."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from evaluator import options
from evaluator.ab.changed_graph import ChangedGraph, NoGraph, changed_graph, named_graph
from evaluator.ab.reproduction import ab_script, check_cell
from evaluator.errors import UserError
from evaluator.reproduction import script
from evaluator.trace.log import TraceLog, read_log


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "repro",
        "print a stand-alone script that shows again what an evaluation recorded",
        "python -m evaluator repro 17 --output break.py && python break.py",
        "The script needs only torch and the workload's own model library. It prints graphs, graph breaks, recompiles, "
        "errors and accuracy as they come out here, beside what was recorded. With --ab it is given two evaluations of "
        "one cell, and the script runs the graph that changed, or the workload where no one graph did, under both "
        "interpreters in turns; it prints a report for an issue: what differs, times of every process and their ratio.",
    )
    parser.add_argument(
        "evaluation",
        metavar="EVALUATION_ID",
        nargs="?",
        help="the id of an evaluation; `show` and the dashboard print it",
    )
    parser.add_argument(
        "--ab",
        nargs=2,
        metavar=("BASE", "CANDIDATE"),
        help="the ids of two evaluations of one cell, in two environments",
    )
    parser.add_argument(
        "--graph",
        metavar="GRAPH",
        help="with --ab: run this graph (0/0, 0/0:backward), or `none` for the workload itself",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write it to this file instead of printing it"
    )
    options.add_database(parser)


def run(arguments: argparse.Namespace) -> int:
    if (arguments.evaluation is None) == (arguments.ab is None):
        raise UserError("give the id of an evaluation, or --ab with the ids of two")
    if arguments.graph and not arguments.ab:
        raise UserError("--graph chooses what --ab runs: give --ab with the ids of two evaluations")
    text = _ab(arguments) if arguments.ab else _one(arguments)
    if arguments.output is None:
        sys.stdout.write(text)
        return 0
    try:
        arguments.output.write_text(text)
    except OSError as error:
        raise UserError(
            f"{arguments.output} can't be written ({error.strerror}): choose another --output"
        ) from None
    with_what = (
        "any python: it starts both interpreters" if arguments.ab else "the python of the torch in question"
    )
    print(f"{arguments.output}: run it with {with_what}")
    return 0


def _one(arguments: argparse.Namespace) -> str:
    (document,) = _documents(arguments, [arguments.evaluation])
    return script(document, arguments.output.name if arguments.output else "repro.py")


def _ab(arguments: argparse.Namespace) -> str:
    base, candidate = _documents(arguments, arguments.ab)
    check_cell(base, candidate)
    logs = _trace(base), _trace(candidate)
    graph: ChangedGraph | NoGraph
    if arguments.graph is None:
        graph = changed_graph(base, candidate, *logs)
    elif arguments.graph == "none":
        graph = NoGraph("no graph was asked for")
    else:
        graph = named_graph(*logs, arguments.graph)
    return ab_script(base, candidate, graph, arguments.output.name if arguments.output else "ab.py")


def _documents(arguments: argparse.Namespace, references: list[str]) -> list[dict[str, Any]]:
    from db.queries import repro
    from db.session import reading

    with reading(options.database(arguments)) as reads:
        return [repro.evaluation(reads, reference) for reference in references]


def _trace(document: dict[str, Any]) -> TraceLog | None:
    """The trace of an evaluation's first walk; None where it kept none or the file is gone."""
    for one in document["artifacts"]:
        if one["kind"] == "trace" and one["probe"] == "walk" and Path(one["path"]).is_file():
            return read_log(Path(one["path"]))
    return None
