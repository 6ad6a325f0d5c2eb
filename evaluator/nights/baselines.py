"""What a night is compared with besides the night before: baselines, looked at before anything is measured."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from db.queries.nights import missing_baseline, require_baseline
from db.queries.run_sides import version_of
from db.session import reading_if_there
from evaluator import machine, options
from evaluator.control.server_client import interpreter
from evaluator.errors import UserError
from evaluator.interpreters.installing import installed
from evaluator.interpreters.planning import Interpreter, require_torch
from evaluator.nights.config import NightlyConfig, Tested


def require_baselines(config: NightlyConfig, database: str) -> list[str]:
    """What to say of baselines whose label no run has yet, a sentence each.

    Raises UserError where a baseline can mean nothing: said before hours of measuring, not after.
    """
    wanted = sorted({one.baseline for one in config.tested if one.baseline is not None})
    tonight = _versions(config) if any(version_of(reference) for reference in wanted) else []
    missing = []
    with reading_if_there(database) as reads:
        for reference in wanted:
            require_baseline(reads, reference, tonight)
            label = missing_baseline(reads, reference)
            if label is not None:
                missing.append(no_baseline(label, database))
    return missing


def no_baseline(label: str, database: str) -> str:
    """What is said of a baseline whose label no run has yet."""
    where = options.shown_database(database if "://" in database else machine.portable_path(database))
    return (
        f"no baseline named {label} yet: `python -m evaluator run ... --label {shlex.quote(label)} --db "
        f"{options.quoted(where)}` makes one"
    )


def _versions(config: NightlyConfig) -> list[str | None]:
    """The torch versions of tonight's interpreters, as far as they are known before any is made."""
    found: list[str | None] = []
    for one in config.tested:
        if one.spec is not None and one.spec.torch is not None:
            found.append(one.spec.torch)
            continue
        try:
            python = Path(sys.executable) if one.spec is not None else given(config, one).python
            found.append(installed(python, {"torch"})["torch"])
        except UserError:
            found.append(None)  # said when the night comes to it
    return found


def given(config: NightlyConfig, tested: Tested) -> Interpreter:
    """The interpreter that the file gives by its path. Raises UserError where it is none, or has no torch."""
    python = interpreter(str(path_of(config, tested.python or "")))
    require_torch(python)
    return Interpreter(python, tested.variables)


def path_of(config: NightlyConfig, path: str) -> Path:
    """A path of the file, which is relative to its folder."""
    return config.path.parent / Path(path).expanduser()
