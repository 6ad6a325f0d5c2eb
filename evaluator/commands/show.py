"""``show``: everything a run recorded."""

from __future__ import annotations

import argparse
import json
from typing import Any

from evaluator import options
from evaluator.describe_run import describe_run


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "show",
        "show everything a run recorded",
        "python -m evaluator show latest --json",
        "The object that --json prints is documented in db/README.md.",
    )
    parser.add_argument(
        "reference", metavar="RUN", help="`latest`, a run's id, its label, or the beginning of its uuid"
    )
    options.add_database(parser)
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    document = run_document(options.database(arguments), arguments.reference)
    print(json.dumps(document, indent=2) if arguments.json else describe_run(document))
    if document["run"]["purpose"] == "calibrate" and not arguments.json:
        command = (
            f"python -m evaluator calibrate --show {document['run']['uuid'][:8]}{options.again(arguments)}"
        )
        print(f"\nthe noise it found: {command}{options.credentials(arguments)}")
    return 0


def run_document(database: str, reference: str) -> dict[str, Any]:
    """The document of a recorded run. Raises UserError where the database or the run is not there."""
    from db.queries.show import run_document as read
    from db.session import reading

    with reading(database) as reads:
        document: dict[str, Any] = read(reads, reference)
        return document
