"""``repro``: prints a stand-alone script that shows again what an evaluation recorded."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from evaluator import options
from evaluator.errors import UserError
from evaluator.reproduction import script


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "repro",
        "print a stand-alone script that shows again what an evaluation recorded",
        "python -m evaluator repro 17 --output break.py && python break.py",
        "The script needs only torch and the workload's own model library. It prints graphs, graph breaks, recompiles, "
        "errors and accuracy as they come out here, beside what was recorded.",
    )
    parser.add_argument(
        "evaluation",
        metavar="EVALUATION_ID",
        help="the id of an evaluation; `show` and the dashboard print it",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write it to this file instead of printing it"
    )
    options.add_database(parser)


def run(arguments: argparse.Namespace) -> int:
    from db.queries import repro
    from db.session import open_reader

    with open_reader(options.database(arguments)).connect() as reads:
        document = repro.evaluation(reads, arguments.evaluation)
    name = arguments.output.name if arguments.output else "repro.py"
    text = script(document, name)
    if arguments.output is None:
        sys.stdout.write(text)
        return 0
    try:
        arguments.output.write_text(text)
    except OSError as error:
        raise UserError(
            f"{arguments.output} can't be written ({error.strerror}): choose another --output"
        ) from None
    print(f"{arguments.output}: run it with the python of the torch in question")
    return 0
