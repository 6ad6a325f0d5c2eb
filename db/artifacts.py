"""Files kept beside the database: traces, logs, sources, each named by the SHA-256 of its plain content.

``<folder>/ab/abcdef….gz`` holds the content in gzip form, so that ``zcat`` shows it. A file is complete as soon as
it has its name, and is never changed.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL

from db.failures import RecordError
from db.session import sqlite_path
from evaluator.errors import UserError

# PostgreSQL has no folder of its own to keep files beside.
FOLDER_VARIABLE: Final = "COMPILEWATCH_ARTIFACTS"
# Traces shrink twentyfold already here; higher levels cost time for little.
_LEVEL: Final = 6


@dataclass(frozen=True)
class ArtifactFolder:
    """The folder that holds a database's artifacts."""

    root: Path

    def path(self, sha256: str) -> Path:
        """Where the file of this name is, or would be."""
        return self.root / sha256[:2] / f"{sha256}.gz"

    def write(self, content: bytes) -> str:
        """Keep the content unless it is kept already; its name. On disk before this returns.

        Raises OSError where the folder can't be written or the disk is full, leaving no part of a file.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        target = self.path(sha256)
        if target.exists():
            return sha256
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                # Without a time, equal contents make equal files.
                file.write(gzip.compress(content, _LEVEL, mtime=0))
                file.flush()
                os.fsync(file.fileno())
            # What mkstemp makes only its owner may read; the dashboard may run as another user.
            part.chmod(0o644)
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
        return sha256

    def read(self, sha256: str) -> bytes:
        """The plain content. Raises UserError where the file is gone or does not hold what its name says."""
        path = self.path(sha256)
        try:
            content = gzip.decompress(path.read_bytes())
        except FileNotFoundError:
            raise UserError(
                f"{path} is missing: copy the artifact folder together with the database"
            ) from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise UserError(f"{path} is damaged: put it back from a backup") from None
        if hashlib.sha256(content).hexdigest() != sha256:
            raise UserError(f"{path} does not hold what its name says: put it back from a backup")
        return content


def folder_of(url: URL) -> ArtifactFolder:
    """Where a database's artifacts are: ``runs.artifacts`` beside ``runs.db``; for PostgreSQL the folder that
    COMPILEWATCH_ARTIFACTS names, else ``results/<name>.artifacts`` below the current folder."""
    path = sqlite_path(url)
    if path is not None:
        return ArtifactFolder(path.with_name(f"{path.stem}.artifacts"))
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else Path("results") / f"{url.database or 'compilewatch'}.artifacts"
    return ArtifactFolder(folder.absolute())


def content_of(record: dict[str, Any]) -> bytes:
    """The plain content that an artifact record carries. Raises RecordError where it is not what its name says."""
    try:
        content = zlib.decompress(base64.b64decode(record["data"], validate=True))
    except (KeyError, TypeError, binascii.Error, zlib.error, ValueError):
        raise RecordError(
            f"artifact {record.get('sha256')} carries no readable content: copy the file again"
        ) from None
    if hashlib.sha256(content).hexdigest() != record.get("sha256"):
        raise RecordError(
            f"artifact {record.get('sha256')} does not hold what its name says: copy the file again"
        )
    return content


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
