"""This machine and this user's folders: an id of no meaning, how much memory there is, and what may be written down.

Host names, user names and home folders are never stored: a machine is a random id made once, and paths in
records are written with ``~``.
"""

from __future__ import annotations

import os
import tomllib
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

REPOSITORY: Final = Path(__file__).resolve().parent.parent

# What one probe may take by default: leaves room for the rest of the machine and for the server itself.
DEFAULT_MEMORY_SHARE: Final = 0.7
# Where a container's memory limit stands, version 2 and version 1 of control groups.
_CGROUP_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def _user_folder(variable: str, default: str) -> Path:
    # The XDG rules ignore a relative value.
    value = os.environ.get(variable, "")
    base = Path(value) if value.startswith("/") else Path.home() / default
    return base / "compilewatch"


def cache_folder() -> Path:
    """Where runs keep what may be deleted: ``$XDG_CACHE_HOME/compilewatch`` or ``~/.cache/compilewatch``."""
    return _user_folder("XDG_CACHE_HOME", ".cache")


def data_folder() -> Path:
    """Where the machine id is kept: ``$XDG_DATA_HOME/compilewatch`` or ``~/.local/share/compilewatch``."""
    return _user_folder("XDG_DATA_HOME", ".local/share")


def machine_id() -> str:
    """This machine's random id, made on first use. Raises OSError where it can't be kept."""
    path = data_folder() / "machine-id"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x") as made:
            made.write(f"{uuid.uuid4()}\n")
    except FileExistsError:
        pass
    return path.read_text().strip()


def physical_memory_mb() -> float:
    """Memory this process may use at most, in MB: the machine's, or its container's limit if that is less."""
    amounts = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e6]
    for name in _CGROUP_LIMITS:
        try:
            amounts.append(int(Path(name).read_text()) / 1e6)
        except (OSError, ValueError):
            continue  # not this version of control groups, or "max"
    return min(amounts)


def version() -> str:
    """The evaluator's version, from the project file it is part of."""
    settings: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    return str(settings["project"]["version"])


def shorten(text: str) -> str:
    """`text` with the user's home folder written as ``~``, wherever in it a path stands."""
    home = str(Path.home())
    return text if home == "/" else text.replace(f"{home}/", "~/")


def without_home(value: Any) -> Any:
    """A copy of a JSON value with :func:`shorten` applied to every string in it, keys too."""
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, dict):
        return {shorten(str(key)): without_home(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_home(item) for item in value]
    return value


def portable_path(path: str | Path) -> str:
    """How a path the user gave is written down: relative below the current folder, else with ``~`` for home."""
    absolute, here = Path(path).expanduser().absolute(), Path.cwd()
    # Seen from above the home folder, a relative path would name the user.
    if absolute.is_relative_to(here) and not Path.home().is_relative_to(here):
        return str(absolute.relative_to(here))
    return shorten(str(absolute))


def portable_arguments(arguments: Sequence[str]) -> list[str]:
    """Command-line arguments as they may be stored: paths as :func:`portable_path` writes them, of a URL its scheme."""
    shown = []
    for argument in arguments:
        option, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
        if "://" in value:
            # A database's URL holds a host, a user name and perhaps a password.
            value = value.partition("://")[0] + "://..."
        elif value.startswith("/"):
            value = portable_path(value)
        shown.append(option + equals + shorten(value))
    return shown
