"""``import``: takes a records file into the database."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from evaluator import options
from evaluator.errors import UserError
from evaluator.sink import ends_cut, read_records

# Records a transaction takes: large enough that a commit costs nothing beside it.
BATCH: Final = 200


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
    from db.store import Store

    checked = [(path, _check(path)) for path in arguments.file]
    store = Store(options.database(arguments))
    try:
        for path, count in checked:
            _take_in(store, path, count)
    finally:
        store.close()
    return 0


def _check(path: Path) -> int:
    """Read the whole file before any of it is stored; how many records it has. Raises UserError."""
    kinds = [record["type"] for _, record in read_records(path)]
    if "run" not in kinds:
        raise UserError(f"{path} ends before its run begins: nothing of it can be imported")
    return len(kinds)


def _take_in(store: Any, path: Path, count: int) -> None:
    new, known = store.counts.new, store.counts.known
    taken = 0
    for batch in _batches(path):
        store.write_many(batch)
        taken += len(batch)
        _progress(path, taken, count)
    added, there = store.counts.new - new, store.counts.known - known
    print(f"{path}: {added} records imported, {there} were there already")
    if ends_cut(path):
        print(f"{path}: its last line was cut short and left out; what is whole before it was imported")
    if not _finished(path):
        print(f"{path}: its run was not finished when the file ended")


def _batches(path: Path) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for _, record in read_records(path):
        batch.append(record)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _finished(path: Path) -> bool:
    return any(
        record["type"] == "run_finished" and record["status"] == "finished"
        for _, record in read_records(path)
    )


def _progress(path: Path, taken: int, count: int) -> None:
    if sys.stderr.isatty() and count > BATCH:
        end = "\n" if taken == count else ""
        print(f"\r{path}: {taken} of {count} records", end=end, file=sys.stderr, flush=True)
