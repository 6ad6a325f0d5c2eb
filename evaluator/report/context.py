"""What a report says beside its verdicts: where, when and from what they came, and how to get them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from evaluator.options import quoted

# The text of a kernel by the SHA-256 of its source; None where it is not kept.
Sources = Callable[[str], str | None]


def no_sources(sha256: str) -> str | None:
    """No text is at hand, so that a report names kernels without showing how they differ."""
    return None


@dataclass(frozen=True)
class RunMention:
    """A run that the verdicts rest on. ``purpose``: ``run.purpose`` (``upgrade``, ``confirm``, ``evaluate``, ...)."""

    id: int
    uuid: str
    purpose: str
    label: str | None = None


@dataclass(frozen=True)
class Context:
    """Where a comparison comes from.

    ``machine``: one line about it; ``commands``: what makes the comparison again, a shell line each; ``database``:
    what ``--db`` was given, None for the default; ``wall_s``: what measuring and comparing took, None where nothing was
    measured; ``notes``: sentences that belong in the report (cells that a budget left out).
    """

    made_at: datetime
    machine: str | None = None
    runs: tuple[RunMention, ...] = ()
    commands: tuple[str, ...] = ()
    database: str | None = None
    wall_s: float | None = None
    notes: tuple[str, ...] = ()
    sources: Sources = field(default=no_sources, compare=False, repr=False)

    @property
    def database_option(self) -> str:
        """`` --db ...`` as the commands of a report need it; empty for the default database."""
        return f" --db {quoted(self.database)}" if self.database else ""
