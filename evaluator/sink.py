"""Where records go: the protocol every sink keeps, the file sink, and the reader of its files.

A records file is JSON lines: a header, then one record a line, in the order in which they were made. It is
what a machine without a database writes and what ``import`` reads.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from evaluator.errors import UserError

Record = dict[str, Any]

FORMAT: Final = "compilewatch-records"
FORMAT_VERSION: Final = 1

RECORD_TYPES: Final = frozenset(
    {
        "run",
        "environment",
        "workload",
        "replica",
        "artifact",
        "evaluation",
        "probe",
        "evaluation_finished",
        "run_finished",
    }
)


class Sink(Protocol):
    """Takes records. ``write_many`` keeps all of its records or, if the process dies meanwhile, none."""

    def write(self, record: Record) -> None: ...

    def write_many(self, records: Iterable[Record]) -> None: ...

    def close(self) -> None: ...


def artifact(kind: str, content: bytes) -> Record:
    """An artifact record: named by the sha256 of its plain bytes, carried compressed."""
    return {
        "type": "artifact",
        "sha256": hashlib.sha256(content).hexdigest(),
        "kind": kind,
        "size": len(content),
        "data": base64.b64encode(zlib.compress(content)).decode("ascii"),
    }


class FileSink:
    """Writes a records file; an existing one is never written over.

    Raises UserError where the file exists or can't be made, and OSError (a full disk) while writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
            self._file = path.open("xb")
        except FileExistsError as error:
            if not path.exists():
                raise UserError(f"{error.filename} is no folder: give --records another place") from None
            raise UserError(
                f"{path} exists already: give --records a new file name, or move that one away"
            ) from None
        except OSError as error:
            raise UserError(
                f"{path} can't be written ({error.strerror}): give --records another place"
            ) from None
        self._put([{"type": "header", "format": FORMAT, "version": FORMAT_VERSION}])

    def write(self, record: Record) -> None:
        self._put([record])

    def write_many(self, records: Iterable[Record]) -> None:
        self._put(records)

    def close(self) -> None:
        self._file.close()

    def _put(self, records: Iterable[Record]) -> None:
        # One write for all: what a kill in the middle can leave is a prefix, and readers drop a broken last line.
        text = "".join(json.dumps(record, allow_nan=False) + "\n" for record in records).encode()
        # Each write is a gzip member of its own: a file that is cut short still holds every earlier one whole.
        self._file.write(gzip.compress(text) if self.path.suffix == ".gz" else text)
        self._file.flush()
        os.fsync(self._file.fileno())


class BrokenRecords(UserError):
    """A records file with a line that is no record."""


def read_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Line number and record of each whole line of a records file (``.gz`` too), the header left out.

    A last line that was cut short is dropped: :func:`ends_cut` says whether there is one. Raises BrokenRecords
    with the line's number for a line that is no record, UserError where the file can't be read or is no
    records file of this version.
    """
    lines = _lines(path)
    header = _header(path, lines)
    if header.get("version") != FORMAT_VERSION:
        raise UserError(
            f"{path} holds records of version {header.get('version')} and this evaluator reads version "
            f"{FORMAT_VERSION}: import it with the evaluator that wrote it or a newer one"
        )
    for number, line in lines:
        if line.endswith(b"\n"):
            yield number, _parse(path, number, line)


def ends_cut(path: Path) -> bool:
    """Whether a records file's last line was cut short, as a writer that was killed leaves it."""
    last = b"\n"
    for _, line in _lines(path):
        last = line
    return not last.endswith(b"\n")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with gzip.open(path) if _is_gzip(path) else path.open("rb") as file:
            number = 0
            while True:
                number += 1
                try:
                    line = file.readline()
                except EOFError:
                    # A compressed file without its end: what could be read of the last line is not whole.
                    yield number, b"?"
                    return
                if not line:
                    return
                yield number, line
    except (OSError, zlib.error) as error:
        raise UserError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}") from None


def _is_gzip(path: Path) -> bool:
    """By its first bytes: a file may have been renamed, compressed or unpacked on its way."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _header(path: Path, lines: Iterator[tuple[int, bytes]]) -> Record:
    _, first = next(lines, (1, b""))
    try:
        header = json.loads(first)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UserError(f"{path} is no records file: `python -m evaluator run --records FILE` writes one")
    return header


def _parse(path: Path, number: int, line: bytes) -> Record:
    try:
        record = json.loads(line)
    except ValueError:
        raise BrokenRecords(
            f"{path} line {number} is not JSON: the file was damaged, copy it again; nothing of it was imported"
        ) from None
    if not isinstance(record, dict) or record.get("type") not in RECORD_TYPES:
        raise BrokenRecords(
            f"{path} line {number} is not a record this evaluator knows; nothing was imported"
        )
    return record
