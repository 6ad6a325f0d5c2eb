"""Command-line options that several commands share, and what they mean."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evaluator import cards
from evaluator.control.server_client import interpreter
from evaluator.errors import UserError
from evaluator.interpreters.planning import Interpreter

DATABASE_VARIABLE: Final = "COMPILEWATCH_DB"
_TIME: Final = re.compile(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s?)?")
_SECRET: Final = re.compile(r"user|pass|secret|key", re.IGNORECASE)
DEFAULT_DATABASE: Final = "results/compilewatch.db"


def command_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    purpose: str,
    example: str,
    details: str = "",
) -> argparse.ArgumentParser:
    """A command's parser: ``purpose`` is its line in the overview, ``example`` ends its help."""
    return subparsers.add_parser(
        name,
        help=purpose,
        description=f"{purpose[0].upper()}{purpose[1:]}. {details}".strip(),
        epilog=f"example: {example}",
        allow_abbrev=False,
    )


def add_database(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--db",
        metavar="URL",
        help=f"database: a file, or postgresql://...; default {DEFAULT_DATABASE} below the current folder, or "
        f"what {DATABASE_VARIABLE} says",
    )


def database(arguments: argparse.Namespace) -> str:
    """The database that is meant, as a path or a URL."""
    return str(arguments.db or os.environ.get(DATABASE_VARIABLE) or DEFAULT_DATABASE)


def shown_database(database: str) -> str:
    """A database as it may be printed, logged and kept in a report: of a URL no user, no password and no other secret."""
    scheme, url, rest = database.partition("://")
    if not url:
        return database
    # The last at-sign of all: a password may hold another one, a slash or a question mark that nobody escaped.
    place, _, query = rest.rpartition("@")[2].partition("?")
    kept = [one for one in query.split("&") if one and not _SECRET.search(one.partition("=")[0])]
    return f"{scheme}://{place}" + (f"?{'&'.join(kept)}" if kept else "")


def lacks_credentials(database: str) -> bool:
    """Whether ``shown_database`` leaves out what a command needs to open this database."""
    return shown_database(database) != database


# Where what is shown of a database lacks them.
CREDENTIALS: Final = (
    "the database's user and password are left out: give them by PGUSER, and ~/.pgpass or PGPASSWORD"
)


def quoted(path: str) -> str:
    """A word for the shell, in which ``~/`` at its beginning still means the home folder."""
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") and path != "~/" else shlex.quote(path)


def again(arguments: argparse.Namespace) -> str:
    """`` --db ...`` for a command that is printed, so that it finds the same database; empty where none was given."""
    return f" --db {quoted(shown_database(arguments.db))}" if arguments.db else ""


def credentials(arguments: argparse.Namespace) -> str:
    """What is said after a printed command whose ``--db`` lacks user and password; empty for any other."""
    return f" ({CREDENTIALS})" if arguments.db and lacks_credentials(arguments.db) else ""


def reports_folder(database: str) -> Path:
    """Where reports go if the user names no place: beside the database, or beside the default one's for a URL."""
    place = Path(DEFAULT_DATABASE if "://" in database else database)
    return place.parent / "reports"


def add_workloads(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--workloads",
        metavar="SOURCE",
        action="append",
        default=[],
        help="a file, a folder of files or a dotted module with workloads of your own; they are code, and run as "
        "you (may be repeated)",
    )
    parser.add_argument(
        "--no-packs", action="store_true", help="leave out the workloads that come with this project"
    )


def sources(given: Sequence[str]) -> tuple[str, ...]:
    """Workload sources with paths made absolute, since a server may resolve them elsewhere. Raises UserError."""
    found = []
    for source in given:
        path = Path(source).expanduser()
        if path.exists() or not _is_module_name(source):
            if not path.exists():
                raise UserError(f"there is no {source}: give --workloads a file, a folder or a dotted module")
            found.append(str(path.absolute()))
        else:
            found.append(source)
    return tuple(found)


def _is_module_name(source: str) -> bool:
    return not source.endswith(".py") and all(part.isidentifier() for part in source.split("."))


def add_target(parser: argparse._ActionsContainer, what: str) -> None:
    """``--target``, which ``cards.resolve`` reads."""
    parser.add_argument(
        "--target",
        default="cpu",
        metavar="TARGET",
        help=f"{what}: cpu (the default), cuda, or codegen:CARD to see the code generated for a card that is not there "
        f"({', '.join(cards.KNOWN)}, or a .toml file with the figures of another; `doctor` lists them)",
    )


def add_pythons(parser: argparse._ActionsContainer, repeatable: bool = True) -> None:
    parser.add_argument(
        "--python",
        metavar="PATH",
        action="append",
        default=[],
        help="interpreter (or its venv) whose torch is evaluated; default this one"
        + ("; give several to compare environments" if repeatable else ""),
    )


def pythons(given: Sequence[str]) -> tuple[Path, ...]:
    """The interpreters that are meant. Raises UserError where one is none."""
    return tuple(dict.fromkeys(interpreter(path) for path in given)) or (Path(sys.executable),)


def interpreters(given: Sequence[str]) -> tuple[Interpreter, ...]:
    """The same as interpreters under test, with nothing set for one alone."""
    return tuple(Interpreter(python) for python in pythons(given))


def positive(text: str) -> float:
    """An argument that must be a number above zero."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def seconds(text: str) -> float:
    """A time as people write it (``90``, ``45m``, ``2h``, ``1h30m``), in seconds."""
    found = _TIME.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        raise ValueError(text)
    hours, minutes, rest = (float(part or 0) for part in found.groups())
    return positive(str(hours * 3600 + minutes * 60 + rest))


def positive_whole(text: str) -> int:
    """An argument that must be a whole number above zero."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


# argparse names the type in its message: "invalid number above zero value: 'x'" reads as a sentence.
seconds.__name__ = "time (45m, 2h):"
positive.__name__ = "number above zero:"
positive_whole.__name__ = "whole number above zero:"
