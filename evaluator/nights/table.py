"""A table of a TOML file, taken apart key by key, with one sentence for whatever is not as it should be."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from evaluator import cards
from evaluator.errors import UserError
from evaluator.interpreters.variables import problem_with


class Table:
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

    def table(self, key: str) -> Table | None:
        value = self._take(key, None, dict, f"a table, [{key}]")
        return None if value is None else Table(f"{self._where}: {key}", value)

    def tables(self, key: str) -> list[Table]:
        value = self._take(key, [], list, f"a list of tables, [[{key}]]")
        if not all(isinstance(one, dict) for one in value):
            raise self.problem(key, f"a list of tables, [[{key}]]")
        return [Table(f"{self._where}: {key} {place}", one) for place, one in enumerate(value, 1)]

    def end(self) -> None:
        """Raises UserError for a key that nobody asked for: a typing error must not quietly change a night."""
        for key in self._values:
            near = difflib.get_close_matches(key, self._asked, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(self._asked)}"
            raise UserError(f"{self._where}: there is no key {key}; {hint}")
