"""``import``: takes a records file into the database."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Final

from evaluator import options

# A file of fewer records is in before a progress line is read.
LEAST_SHOWN: Final = 200


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "import",
        "take records files (`run --records`) into the database",
        "python -m evaluator import gpu-box.jsonl.gz",
        "What is stored already is left as it is, so importing twice changes nothing.",
    )
    parser.add_argument("file", nargs="+", type=Path, metavar="FILE", help="records file, plain or .gz")
    options.add_database(parser)


def run(arguments: argparse.Namespace) -> int:
    from db.importer import import_records

    database = options.database(arguments)
    for path in arguments.file:
        done = import_records(database, path, progress=partial(_progress, path))
        print(f"{path}: {done.new} records imported, {done.known} were there already")
        if done.cut:
            print(f"{path}: its last line was cut short and left out; what is whole before it was imported")
        if not done.finished:
            print(f"{path}: its run was not finished when the file ended")
    return 0


def _progress(path: Path, taken: int, count: int) -> None:
    if sys.stderr.isatty() and count > LEAST_SHOWN:
        end = "\n" if taken == count else ""
        print(f"\r{path}: {taken} of {count} records", end=end, file=sys.stderr, flush=True)
