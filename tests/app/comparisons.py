"""A comparison of two references in a database of a test, as the pages make it."""

from __future__ import annotations

from pathlib import Path

from app.comparing import Compared
from db.queries.comparison import load, resolve
from db.session import open_reader
from evaluator.verdicts.whole import compare


def compared(path: Path, base: str = "2.13.0", candidate: str = "2.14.1") -> Compared:
    with open_reader(str(path)).connect() as connection:
        refs = resolve(connection, base, candidate)
        loaded = load(connection, *refs)
    return Compared(compare(loaded.base, loaded.candidate, loaded.pairs), loaded.pairs, *refs)
