"""Records over a pipe that a workload can reach: framed, so that whatever else is written there is no record.

A workload may write megabytes to any file descriptor it finds open, the record pipe among them. Each record
goes out as a line of its own that begins with a random word only the server and the child know; the reader
takes such lines and drops everything else.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, field
from typing import Any, Final

Record = dict[str, Any]

# A line without a frame is noise; it is not kept beyond this, so that noise without newlines can't fill memory.
_LONGEST_NOISE: Final = 1 << 16


def new_word() -> str:
    """A frame word for one probe."""
    return secrets.token_hex(8)


@dataclass
class RecordWriter:
    """Writes framed records to a file descriptor; each is one line."""

    fd: int
    word: str

    def write(self, record: Record) -> None:
        """Write one JSON-able record. Raises OSError when the reader is gone."""
        line = f"\n{self.word} {json.dumps(record, default=str, allow_nan=False)}\n".encode()
        view = memoryview(line)
        while view:
            view = view[os.write(self.fd, view) :]


@dataclass
class RecordReader:
    """Collects framed records from chunks of bytes as they come."""

    word: str
    noise_bytes: int = 0
    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, chunk: bytes) -> list[Record]:
        """The records that are complete with this chunk, in order."""
        self._buffer += chunk
        records: list[Record] = []
        *lines, rest = self._buffer.split(b"\n")
        for line in lines:
            record = self._parse(bytes(line))
            if record is None:
                self.noise_bytes += len(line)
            else:
                records.append(record)
        prefix = self.word.encode()
        if len(rest) > _LONGEST_NOISE and not rest.startswith(prefix):
            self.noise_bytes += len(rest)
            rest = rest[:0]
        self._buffer = bytearray(rest)
        return records

    def _parse(self, line: bytes) -> Record | None:
        word, _, text = line.partition(b" ")
        if word != self.word.encode():
            return None
        try:
            record = json.loads(text)
        except ValueError:
            return None
        return record if isinstance(record, dict) else None
