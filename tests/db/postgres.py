"""A PostgreSQL server for tests: the one that a variable names, else one of their own where it is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

VARIABLE = "COMPILEWATCH_TEST_POSTGRES"
_HOW = f"set {VARIABLE} to postgresql://user@host/name of a server where databases may be made, or install postgresql"


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl; Debian keeps it off the search path."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def _user() -> str | None:
    """Who runs the server: it refuses root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server's database; the test is skipped where there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        yield named
        return
    programs = _programs()
    if programs is None:
        pytest.skip(f"no PostgreSQL: {_HOW}")
    # The path of a socket must be short: the test's own folder may be too long.
    folder = Path(tempfile.mkdtemp(prefix="compilewatch-pg-"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    data, log = folder / "data", folder / "log"

    def do(*command: str) -> None:
        done = subprocess.run(
            command, user=user, cwd=folder, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode != 0:
            said = log.read_text() if log.exists() else ""
            raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}{said}")

    control = (str(programs / "pg_ctl"), "-D", str(data), "-l", str(log))
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c max_connections=40"
    try:
        do(
            str(programs / "initdb"),
            "-D",
            str(data),
            "-A",
            "trust",
            "-U",
            "tester",
            "--no-sync",
            "-E",
            "UTF8",
        )
        do(*control, "-w", "-o", options, "start")
        try:
            yield f"postgresql://tester@/postgres?host={folder}"
        finally:
            do(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    """The URL of an empty database on a server, gone afterwards."""
    name = f"compilewatch_test_{uuid.uuid4().hex[:12]}"
    engine = create_engine(server_url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        try:
            yield make_url(server_url).set(database=name).render_as_string(hide_password=False)
        finally:
            with engine.connect() as connection:
                connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    finally:
        engine.dispose()
