"""The file that says what a night evaluates: TOML, with every key checked, since nobody watches a night fail."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator import cards
from evaluator.errors import UserError
from evaluator.interpreters.planning import Spec
from evaluator.interpreters.variables import problem_with
from evaluator.plan import PROFILES
from evaluator.selection import Selection

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

    def groups(self) -> list[tuple[Suite, tuple[Tested, ...]]]:
        """The interpreters by suite: those of one suite are measured in turns, in one run."""
        found: dict[str, tuple[Suite, list[Tested]]] = {}
        for one in self.tested:
            found.setdefault(_text(one.suite), (one.suite, []))[1].append(one)
        return [(suite, tuple(tested)) for suite, tested in found.values()]

    def told(self, suite: Suite, tested: tuple[Tested, ...]) -> str:
        """A hash of all that decides what such a run measures: 16 hexadecimal digits."""
        what = [_text(suite), self.profile, self.timeout_s, self.memory_mb]
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
    return _config(path.absolute(), _Table(path.name, table))


class _Table:
    """A table of the file that is taken apart key by key; ``end`` refuses what is left."""

    def __init__(self, where: str, values: Mapping[str, Any]) -> None:
        self._where = where
        self._values = dict(values)
        self._asked: list[str] = []

    def problem(self, key: str, need: str) -> UserError:
        return UserError(f"{self._where}: {key} must be {need}")

    def _take(self, key: str, default: Any, kind: type | tuple[type, ...], need: str) -> Any:
        self._asked.append(key)
        if key not in self._values:
            return default
        value = self._values.pop(key)
        # In Python a truth value is a whole number as well.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.problem(key, need)
        return value

    def text(self, key: str) -> str | None:
        value: str | None = self._take(key, None, str, "a text")
        if value is not None and not value.strip():
            raise self.problem(key, "a text that is not empty")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._take(key, [], list, "a list of texts")
        if not all(isinstance(one, str) and one for one in value):
            raise self.problem(key, "a list of texts")
        return tuple(value)

    def word(self, key: str, default: str, words: tuple[str, ...]) -> str:
        value = self._take(key, default, str, f"one of {', '.join(words)}")
        if value not in words:
            raise self.problem(key, f"one of {', '.join(words)}, and is {value!r}")
        return str(value)

    def target(self, key: str) -> tuple[str, cards.Figures | None]:
        """Where it runs, with the figures of a card that is not there."""
        try:
            return cards.resolve(self.text(key) or "cpu")
        except UserError as error:
            raise UserError(f"{self._where}: {key}: {error}") from None

    def flag(self, key: str, default: bool) -> bool:
        return bool(self._take(key, default, bool, "true or false"))

    def number(self, key: str) -> float | None:
        value = self._take(key, None, (int, float), "a number above zero")
        if value is not None and not 0 < value < float("inf"):
            raise self.problem(key, "a number above zero")
        return None if value is None else float(value)

    def whole(self, key: str) -> int | None:
        value: int | None = self._take(key, None, int, "a whole number above zero")
        if value is not None and value < 1:
            raise self.problem(key, "a whole number above zero")
        return value

    def variables(self, key: str) -> tuple[tuple[str, str], ...]:
        value = self._take(key, {}, dict, 'a table of texts, as in { NAME = "value" }')
        if not all(isinstance(one, str) for one in value.values()):
            raise self.problem(key, 'a table of texts, as in { NAME = "value" }')
        for name, text in value.items():
            problem = problem_with(name, text)
            if problem is not None:
                raise UserError(f"{self._where}: {key}: {problem}")
        return tuple(sorted(value.items()))

    def table(self, key: str) -> _Table | None:
        value = self._take(key, None, dict, f"a table, [{key}]")
        return None if value is None else _Table(f"{self._where}: {key}", value)

    def tables(self, key: str) -> list[_Table]:
        value = self._take(key, [], list, f"a list of tables, [[{key}]]")
        if not all(isinstance(one, dict) for one in value):
            raise self.problem(key, f"a list of tables, [[{key}]]")
        return [_Table(f"{self._where}: {key} {place}", one) for place, one in enumerate(value, 1)]

    def end(self) -> None:
        """Raises UserError for a key that nobody asked for: a typing error must not quietly change a night."""
        for key in self._values:
            near = difflib.get_close_matches(key, self._asked, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(self._asked)}"
            raise UserError(f"{self._where}: there is no key {key}; {hint}")


def _config(path: Path, table: _Table) -> NightlyConfig:
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
    )
    table.end()
    if not tested:
        raise UserError(
            f'{path.name}: name an interpreter, as in [[interpreter]] name = "pinned" spec = "2.13.0"'
        )
    names = [one.name for one in tested]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path.name}: two interpreters are called {name!r}: give each a name of its own")
    return config


def _suite(table: _Table) -> Suite:
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


def _tested(table: _Table, suite: Suite, baseline: str | None) -> Tested:
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
