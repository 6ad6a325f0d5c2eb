"""What a run shows while it goes on: one line that is rewritten on a terminal, else a line a finished unit."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from evaluator.estimate import GUESS_S, duration
from evaluator.plan import Unit, UnitKind


def time_left(units: Sequence[Unit], measured: Mapping[UnitKind, tuple[float, int]]) -> float:
    """Seconds that these units take if each bucket takes as long as the mean of its kind so far.

    ``measured``: seconds and number of bucket visits by kind; a kind that has not been run yet has its guess.
    """
    visits: Counter[UnitKind] = Counter()
    for unit in units:
        visits[unit.kind] += len(unit.buckets)
    total = 0.0
    for kind, count in visits.items():
        seconds, seen = measured.get(kind, (0.0, 0))
        total += count * (seconds / seen if seen else GUESS_S[kind])
    return total


class Progress:
    """Follows the units of a run and says where it stands on ``stream``."""

    def __init__(
        self,
        stream: TextIO = sys.stderr,
        terminal: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._terminal = stream.isatty() if terminal is None else terminal
        self._clock = clock
        self._units: Sequence[Unit] = ()
        self._before = 0
        self._done = 0
        self._measured: dict[UnitKind, tuple[float, int]] = {}
        self._begun = clock()
        self._unit_begun = clock()
        self._shown = False

    def plan(self, units: Sequence[Unit], done: int = 0) -> None:
        """Say what is to be done: these units, after ``done`` that were finished before (a resumed run)."""
        self._units, self._before, self._done = units, done, 0
        self._begun = self._clock()

    def begin(self, unit: Unit) -> None:
        self._unit_begun = self._clock()
        self._status(unit.label)

    def stage(self, unit: Unit, stage: str, bucket: str | None) -> None:
        """A probe says what it begins; only a terminal shows it."""
        self._status(f"{unit.label} ({stage}{' ' + bucket if bucket and len(unit.buckets) > 1 else ''})")

    def end(self, unit: Unit, note: str, ran: bool = True) -> None:
        """A unit is finished and recorded. ``ran``: whether it took time that says something of its kind."""
        took = self._clock() - self._unit_begun
        self._done += 1
        if ran:
            seconds, seen = self._measured.get(unit.kind, (0.0, 0))
            self._measured[unit.kind] = (seconds + took, seen + len(unit.buckets))
        if not self._terminal:
            self._line(f"{self._counts()} {unit.label}: {note}, {took:.1f} s; {self._left()}")

    def drop(self, unit: Unit) -> None:
        """A unit turned out not to be needed."""
        self._done += 1

    def note(self, what: str) -> None:
        """What goes on between units; only a terminal shows it."""
        self._status(what)

    def say(self, message: str) -> None:
        """A line that stays."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._shown = False
        self._line(message)

    def close(self) -> None:
        """Take the status line away."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

    def _counts(self) -> str:
        return f"[{self._before + self._done}/{self._before + len(self._units)}]"

    def _left(self) -> str:
        left = time_left(self._units[self._done :], self._measured)
        return f"about {duration(left)} left" if self._done < len(self._units) else "done"

    def _status(self, what: str) -> None:
        if not self._terminal:
            return
        elapsed = duration(self._clock() - self._begun)
        text = f"{self._counts()} {elapsed}, {self._left()} · {what}"
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r\x1b[K" + (text if len(text) <= width else text[: width - 1] + "…"))
        self._stream.flush()
        self._shown = True

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()
