"""The file that says what a night evaluates: TOML, with every key checked, since nobody watches a night fail."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from evaluator.errors import UserError
from evaluator.interpreters.planning import Spec
from evaluator.nights.table import Table
from evaluator.plan import PROFILES
from evaluator.selection import Selection
from evaluator.verdicts.words import is_codegen

DEFAULT_PROFILE: Final = "standard"
DEFAULT_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True)
class Suite:
    """Which cells. ``sources``: files, folders or modules with workloads of one's own; ``packs``: those that come along."""

    selection: Selection = field(default_factory=Selection)
    sources: tuple[str, ...] = ()
    packs: bool = True


@dataclass(frozen=True)
class Tested:
    """An interpreter of the file. ``name`` is what it is called from night to night, whatever torch it has by then.

    Either ``python``, a path, or ``spec``, what ``upgrade`` takes. ``baseline``: what each night is compared with
    besides the night before; None for nothing.
    """

    name: str
    python: str | None
    spec: Spec | None
    variables: tuple[tuple[str, str], ...]
    suite: Suite
    baseline: str | None


@dataclass(frozen=True)
class NightlyConfig:
    """A whole file. ``path`` is absolute, and relative paths in it begin at its folder."""

    path: Path
    tested: tuple[Tested, ...]
    database: str | None = None
    reports: str | None = None
    profile: str = DEFAULT_PROFILE
    timeout_s: float = DEFAULT_TIMEOUT_S
    memory_mb: float | None = None
    fail_on: str | None = None
    confirm: bool = True
    chrome_traces: bool = False

    def groups(self) -> list[tuple[Suite, tuple[Tested, ...]]]:
        """The interpreters by suite: those of one suite are measured in turns, in one run."""
        found: dict[str, tuple[Suite, list[Tested]]] = {}
        for one in self.tested:
            found.setdefault(_text(one.suite), (one.suite, []))[1].append(one)
        return [(suite, tuple(tested)) for suite, tested in found.values()]

    def told(self, suite: Suite, tested: tuple[Tested, ...]) -> str:
        """A hash of all that decides what such a run measures: 16 hexadecimal digits."""
        what = [_text(suite), self.profile, self.timeout_s, self.memory_mb]
        what += ["chrome traces"] if self.chrome_traces else []
        what += [[one.name, one.python, one.spec and one.spec.text, one.variables] for one in tested]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


def read_config(path: Path) -> NightlyConfig:
    """The file's content, checked. Raises UserError with what to change for anything that is not as it should be."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} can't be read ({error.strerror}): give the path of a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no TOML: {error}") from None
    return _config(path.absolute(), Table(path.name, table))


def _config(path: Path, table: Table) -> NightlyConfig:
    suite_table = table.table("suite")
    suite = Suite() if suite_table is None else _suite(suite_table)
    baseline = table.text("baseline")
    tested = tuple(_tested(one, suite, baseline) for one in table.tables("interpreter"))
    config = NightlyConfig(
        path=path,
        tested=tested,
        database=table.text("database"),
        reports=table.text("reports"),
        profile=table.word("profile", DEFAULT_PROFILE, tuple(PROFILES)),
        timeout_s=table.number("timeout_s") or DEFAULT_TIMEOUT_S,
        memory_mb=table.number("memory_mb"),
        fail_on=table.text("fail_on"),
        confirm=table.flag("confirm", True),
        chrome_traces=table.flag("chrome_traces", False),
    )
    table.end()
    if not tested:
        raise UserError(
            f'{path.name}: name an interpreter, as in [[interpreter]] name = "pinned" spec = "2.13.0"'
        )
    if config.chrome_traces and all(is_codegen(one.suite.selection.target) for one in tested):
        raise table.problem("chrome_traces", "left out: on a codegen target nothing runs")
    names = [one.name for one in tested]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path.name}: two interpreters are called {name!r}: give each a name of its own")
    return config


def _suite(table: Table) -> Suite:
    target, card = table.target("target")
    suite = Suite(
        selection=Selection(
            workloads=table.texts("workloads"),
            buckets=table.texts("buckets"),
            variants=table.texts("variants"),
            tags=table.texts("tags"),
            max_buckets=table.whole("max_buckets"),
            target=target,
            card=tuple((card or {}).items()),
        ),
        sources=table.texts("sources"),
        packs=table.flag("packs", True),
    )
    table.end()
    return suite


def _tested(table: Table, suite: Suite, baseline: str | None) -> Tested:
    name, python, spec = table.text("name"), table.text("python"), table.text("spec")
    own = table.table("suite")
    tested = Tested(
        name=name or "",
        python=python,
        spec=None if spec is None else Spec.parse(spec),
        variables=table.variables("variables"),
        suite=suite if own is None else _suite(own),
        baseline=table.text("baseline") or baseline,
    )
    table.end()
    if not name:
        raise table.problem("name", "there: what this interpreter is called from night to night")
    if (python is None) == (spec is None):
        raise table.problem(
            "python or spec", "there, and only one of them: a path, or a version such as 2.13.0"
        )
    if spec is not None and tested.variables:
        # One way to say it where both could.
        raise table.problem("variables", f"part of spec there, as in {spec},NAME=value")
    return tested


def _text(suite: Suite) -> str:
    return json.dumps(asdict(suite), sort_keys=True)
