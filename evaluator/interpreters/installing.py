"""Asking an interpreter what is installed, and its pip to install more, with what pip says shown and kept."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from evaluator import machine
from evaluator.errors import UserError
from evaluator.interpreters.versions import canonical

# Distribution -> its version, None where it is not there.
Versions = Mapping[str, str | None]
Say = Callable[[str], None]

_ASK: Final = """
import importlib.metadata, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = None
print(json.dumps(found))
"""
# What distributions need, from their own metadata: names are followed where they are installed, whatever the marker of
# a requirement says, except an extra's, which nobody asked for here.
_ASK_CLOSURE: Final = """
import importlib.metadata, json, re, sys
stop, left, found = set(sys.argv[1].split(",")), sys.argv[2:], {}
while left:
    name = re.sub("[-_.]+", "-", left.pop()).lower()
    if name in found or name in stop:
        continue
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        continue
    for line in importlib.metadata.requires(name) or ():
        requirement, _, marker = line.partition(";")
        if not re.search(r"\\bextra\\b", marker):
            left.append(re.match("[A-Za-z0-9._-]+", requirement.strip())[0])
print(json.dumps(found))
"""
_ASK_S: Final = 120.0
# These send what pip installs elsewhere, or let another environment's packages be seen.
_MISLEADING: Final = re.compile(
    r"PIP_(USER|TARGET|PREFIX|ROOT|PYTHON|REQUIRE_VIRTUALENV|NO_DEPS|DRY_RUN|REPORT)|PYTHON(PATH|HOME|USERBASE)"
)
# Lines of what a failing pip says that are kept to tell the reason.
_KEPT_LINES: Final = 40


def installed(python: Path, names: Iterable[str]) -> Versions:
    """The versions of these distributions under an interpreter, and its own as ``python``; nothing is imported.

    Raises UserError where it can't be asked.
    """
    return _asked(python, _ASK, sorted(names))


def closure(python: Path, names: Iterable[str], stop: Iterable[str]) -> dict[str, str]:
    """The versions of these distributions, and of all that they need, as far as they are installed under an interpreter.

    By canonical name. ``stop``: canonical names that are left out, with what only they need. Raises UserError where it
    can't be asked.
    """
    found = _asked(python, _ASK_CLOSURE, [",".join(stop), *sorted(names)])
    return {name: version for name, version in sorted(found.items()) if version is not None}


def _asked(python: Path, question: str, arguments: Sequence[str]) -> Versions:
    try:
        # Not the current folder, which would be searched first and may hold another project's metadata.
        said = subprocess.run(
            [str(python), "-c", question, *arguments],
            capture_output=True,
            text=True,
            timeout=_ASK_S,
            check=True,
            cwd="/",
        )
        versions: dict[str, str | None] = json.loads(said.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise UserError(
            f"{machine.shorten(str(python))} does not run ({type(error).__name__}): give --python another one"
        ) from None
    return versions


def _environment() -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if not _MISLEADING.fullmatch(name)}
    return {**variables, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def would_install(python: Path, requirements: Sequence[str]) -> dict[str, dict[str, Any]] | None:
    """The metadata of each distribution that pip would install, by canonical name; None without a pip to ask.

    Of these requirements alone, not of what they need. Raises UserError where there is none for one of them.
    """
    command = [str(python), "-m", "pip"]
    done = subprocess.run(
        [*command, "--version"], capture_output=True, check=False, env=_environment(), cwd="/"
    )
    if done.returncode != 0:
        return None
    asked = ["install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", "-"]
    said = subprocess.run(
        [*command, *asked, *requirements],
        capture_output=True,
        text=True,
        check=False,
        env=_environment(),
        cwd="/",
    )
    if said.returncode != 0:
        raise pip_failed(" ".join(requirements), _last_word(said.stderr.splitlines()))
    found = [one["metadata"] for one in json.loads(said.stdout)["install"]]
    return {canonical(metadata["name"]): metadata for metadata in found}


def requirements(pins: Mapping[str, str]) -> list[str]:
    """Pins as pip takes them."""
    return [f"{name}=={version}" for name, version in pins.items()]


def refused(requires: Iterable[str], versions: Mapping[str, str]) -> set[str]:
    """Names among ``versions`` whose version these requirements, as metadata has them, do not take."""
    from packaging.requirements import Requirement

    wanted = [Requirement(line) for line in requires if not re.search(r";.*\bextra\b", line)]
    return {
        name
        for one in wanted
        if (name := canonical(one.name)) in versions
        and not one.specifier.contains(versions[name], prereleases=True)
    }


def run_shown(command: Sequence[str], lock: IO[str], say: Say, failed: Callable[[str], UserError]) -> None:
    """Run it with its progress shown, holding the lock. Where it fails, raises what ``failed`` makes of its last word."""
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            # Its progress bars need the terminal itself; our own standard output is left to results.
            stdout=_terminal(),
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
            cwd="/",
            # Should this process be killed, the lock is held until pip has ended as well.
            pass_fds=(lock.fileno(),),
        )
    except OSError as error:
        raise failed(str(error.strerror)) from None
    try:
        for line in process.stderr or ():
            kept.append(line.rstrip())
            say(machine.shorten(line.rstrip()))
        code = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if code != 0:
        raise failed(_last_word(kept))


def pip_failed(what: str, said: str) -> UserError:
    """What a user is told where pip could not install something."""
    return UserError(
        f"pip could not install {machine.shorten(what)} ({machine.shorten(said)}): give versions that your package index "
        "has; PIP_EXTRA_INDEX_URL names another index"
    )


def _terminal() -> int:
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError):
        return subprocess.DEVNULL


def _last_word(said: Iterable[str]) -> str:
    """The line that says why: the last error, where pip does not only say where help is."""
    lines = [line.strip() for line in said if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:") and "for help visit" not in line]
    return (errors or lines or ["it did not say why"])[-1].removeprefix("ERROR: ").rstrip(".")
