"""What goes wrong with a database, each as one sentence that says what to do."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from evaluator.errors import UserError


class RecordError(UserError):
    """A record that can't be stored: it contradicts or lacks what it builds on."""


def place(url: URL) -> str:
    """How a database is named in a message: its file, or its URL without user, password and any other secret."""
    if url.get_backend_name() == "sqlite":
        return url.database or "the database in memory"
    # What libpq takes as a parameter: user, password, passfile, sslpassword, sslkey.
    secret = [name for name in url.query if re.search("user|pass|secret|key", name.lower())]
    bare = URL.create(url.drivername, host=url.host, port=url.port, database=url.database, query=url.query)
    return bare.difference_update_query(secret).render_as_string()


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Let the body's database errors leave as UserError; what is a fault of the code leaves as it is."""
    try:
        yield
    except DBAPIError as error:
        message = explain(url, error.orig)
        if message is None:
            raise
        raise UserError(message) from error
    except sqlite3.Error as error:
        message = explain(url, error)
        if message is None:
            raise
        raise UserError(message) from error
    except OSError as error:
        raise UserError(_explain_system(url, error)) from error


def explain(url: URL, error: BaseException | None) -> str | None:
    """The sentence for a driver's error; None where the code, not the user, is at fault."""
    if isinstance(error, sqlite3.Error):
        return _explain_sqlite(url, error)
    return _explain_postgres(url, error) if error is not None else None


def _explain_sqlite(url: URL, error: sqlite3.Error) -> str | None:
    where = place(url)
    name = getattr(error, "sqlite_errorname", "")
    said = str(error)
    if name == "SQLITE_CONSTRAINT_TRIGGER":
        return f"{where}: {said}"
    if name == "SQLITE_CONSTRAINT_CHECK":
        return _unknown_word(where, said)
    if name == "SQLITE_NOTADB":
        return not_a_database(url)
    if name == "SQLITE_FULL" or (name.startswith("SQLITE_IOERR") and _disk_is_full(url)):
        return _full(url)
    if name.startswith("SQLITE_CORRUPT"):
        return f"{where} is damaged ({said}): put a backup in its place, or try `sqlite3 FILE .recover`"
    if name.startswith("SQLITE_READONLY") or (name.startswith("SQLITE_CANTOPEN") and _is_read_only(url)):
        return f"{where} can't be written: make the file and its folder writable, or give --db another file"
    if name.startswith("SQLITE_CANTOPEN"):
        return f"{where} can't be opened: check that its folder exists and may be used, or give --db another file"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{where} is being written by another process for too long: wait for it, then try again"
    if name.startswith("SQLITE_IOERR"):
        return f"{where} could not be read or written ({said}): check the disk"
    return None


def _explain_postgres(url: URL, error: BaseException) -> str | None:
    where = place(url)
    said = str(error).strip().split("\n", 1)[0]
    state = getattr(error, "sqlstate", None)
    if state is None:
        # No state: the server was never reached, or the connection broke.
        if type(error).__name__ == "OperationalError":
            return f"{where} can't be reached ({said}): check that the server runs and the URL is right"
        return None
    if state == "53100":
        return _full(url)
    if state in ("25006", "42501"):
        return f"{where} can't be written ({said}): give the user the right to, or give --db another database"
    if state == "23514":
        return _unknown_word(where, said)
    if state == "P0001":
        return f"{where}: {said}"
    if state[:2] in ("08", "28", "3D", "53", "57"):
        return f"{where} can't be used ({said}): check the server and the URL"
    return None


def _explain_system(url: URL, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(url)
    what = error.filename or place(url)
    return (
        f"{what} can't be used ({error.strerror or error}): make its folder usable, or give --db another file"
    )


def not_a_database(url: URL) -> str:
    """The sentence for a file that is something else."""
    return f"{place(url)} is not a database: it was left as it is, give --db another file"


def _unknown_word(where: str, said: str) -> str:
    return f"{where} was not changed: a record holds a value this version does not know ({said}): update the code"


def _full(url: URL) -> str:
    return f"the disk of {place(url)} is full: free some space, then continue with --resume; what is stored is intact"


def _is_read_only(url: URL) -> bool:
    """A file that is there and can be read, but not written, or its folder not."""
    if not url.database or not os.access(url.database, os.R_OK):
        return False
    return not (os.access(url.database, os.W_OK) and os.access(Path(url.database).parent, os.W_OK))


def _disk_is_full(url: URL) -> bool:
    if not url.database:
        return False
    try:
        # SQLite reports a shared-memory file that can't grow as an I/O error; a few pages are not enough to work.
        free = os.statvfs(Path(url.database).parent)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize < 1 << 16
