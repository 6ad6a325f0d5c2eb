"""Bringing a records file into a database: ``import``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from sqlalchemy import URL

from db.store import Store
from evaluator.errors import UserError
from evaluator.sink import ends_cut, read_records

# Small enough that other writers wait well under a second for a transaction, large enough to be fast.
CHUNK: Final = 200


@dataclass(frozen=True)
class Imported:
    """What an import brought. ``cut``: the file's last line was not whole, as a killed writer leaves it; ``finished``:
    every run of the file is."""

    runs: tuple[str, ...]
    read: int
    new: int
    known: int
    cut: bool
    finished: bool


def import_records(
    database: str | URL, path: Path, *, chunk: int = CHUNK, progress: Callable[[int, int], None] | None = None
) -> Imported:
    """Store a records file; what is there already stays and is counted as known.

    The whole file is read before anything is stored, so that a damaged one brings nothing. Each ``chunk`` of
    records is a transaction: an import that was ended in the middle goes on when started again. ``progress`` gets
    (records done, records in the file). Raises UserError for a file or a database that can't be used.
    """
    total, runs, ended = 0, [], set()
    for _, record in read_records(path):
        total += 1
        if record["type"] == "run":
            runs.append(str(record.get("uuid")))
        elif record["type"] == "run_finished" and record.get("status") == "finished":
            ended.add(str(record.get("run")))
    if not runs:
        raise UserError(f"{path} holds no run: `python -m evaluator run --records FILE` writes one")
    store = Store(database)
    try:
        records = (record for _, record in read_records(path))
        done = 0
        while part := list(islice(records, chunk)):
            store.write_many(part)
            done += len(part)
            if progress is not None:
                progress(done, total)
        new, known = store.counts.new, store.counts.known
        return Imported(tuple(runs), done, new, known, ends_cut(path), ended.issuperset(runs))
    finally:
        store.close()
