"""Which findings fail a gate, and the exit code of a comparison."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from evaluator.errors import UserError
from evaluator.trace.evidence import FACTS
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts
from evaluator.verdicts.words import BAD, VERDICTS, Verdict
from evaluator.worker.protocol import METRICS

EXIT_FINE: Final = 0
EXIT_REGRESSED: Final = 1

DEFAULT_FAIL_ON: Final = "regressed,newly_failing"
# An improvement never fails a gate, so its words are no choice.
CHOICES: Final[tuple[Verdict, ...]] = (
    "regressed",
    "newly_failing",
    "flaky",
    "changed",
    "inconclusive",
    "not_compared",
)
# What a finding can be about: measured metrics, facts of the trace, and what is compared as a whole.
KNOWN_METRICS: Final = frozenset(
    {*METRICS, *FACTS, "ran_eager", "status", "accuracy", "drift", "kernels", "differences", "facts"}
)
UNCONFIRMED: Final = "unconfirmed"
NONE: Final = "none"


@dataclass(frozen=True)
class Failing:
    """A finding that fails the gate. ``cell`` is None for one about the environment itself."""

    cell: CellVerdict | None
    finding: Finding


@dataclass(frozen=True)
class Gate:
    """What fails: findings with one of these verdicts about a metric that matches one of ``metrics`` (empty: any).

    ``unconfirmed``: a regression that no rerun confirmed counts as well.
    """

    verdicts: frozenset[Verdict] = BAD
    metrics: tuple[str, ...] = ()
    unconfirmed: bool = False

    def fails_on(self, finding: Finding) -> bool:
        """Whether this finding fails the gate.

        Findings that only explain count where they are asked for by metric; `changed` says nothing of better or
        worse and never gates by itself, so that the word alone asks for it.
        """
        if finding.verdict not in self.verdicts:
            return False
        if self.metrics and not any(fnmatchcase(finding.metric, pattern) for pattern in self.metrics):
            return False
        if not (finding.gating or self.metrics or finding.verdict == "changed"):
            return False
        return self.unconfirmed or finding.verdict not in BAD or finding.confirmed is not False

    def failing(self, verdicts: Verdicts) -> tuple[Failing, ...]:
        """Every finding that fails, cell by cell in the order of the verdicts, then the environments'."""
        found = [
            Failing(cell, finding)
            for cell in verdicts.cells
            for finding in cell.findings
            if self.fails_on(finding)
        ]
        return (
            *found,
            *(Failing(None, finding) for finding in verdicts.environment if self.fails_on(finding)),
        )


def parse_gate(text: str) -> Gate:
    """The gate that ``--fail-on`` asks for: a comma list of verdicts, metrics or metric globs, ``unconfirmed``, ``none``.

    Verdicts and metrics together: those verdicts about those metrics. Only metrics: the default verdicts about them. Raises UserError for a word that is none of these, since a typing
    error would make a gate that never fails.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UserError(f"--fail-on is empty: name verdicts or metrics, or `{NONE}` to never fail")
    if NONE in words:
        if len(words) > 1:
            raise UserError(f"--fail-on `{NONE}` stands alone: leave out the other words, or leave it out")
        return Gate(verdicts=frozenset())
    verdicts: set[Verdict] = set()
    metrics: list[str] = []
    for word in words:
        chosen = next((verdict for verdict in CHOICES if verdict == word), None)
        if chosen is not None:
            verdicts.add(chosen)
        elif word in VERDICTS:
            raise UserError(f"--fail-on {word}: that is no reason to fail; choose from {', '.join(CHOICES)}")
        elif any(fnmatchcase(metric, word) for metric in KNOWN_METRICS):
            metrics.append(word)
        elif word != UNCONFIRMED:
            raise UserError(
                f"--fail-on {word}: no verdict and no metric is called so; verdicts are {', '.join(CHOICES)}; "
                f"metrics are those of the reports, such as compiled.wall_ms, compile.* or graph_breaks"
            )
    return Gate(frozenset(verdicts) or BAD, tuple(metrics), UNCONFIRMED in words)


def gate_text(gate: Gate) -> str:
    """What ``parse_gate`` makes this gate of."""
    if not gate.verdicts:
        return NONE
    words = [verdict for verdict in CHOICES if verdict in gate.verdicts]
    return ",".join([*words, *gate.metrics, *([UNCONFIRMED] if gate.unconfirmed else [])])


def add_fail_on(parser: argparse._ActionsContainer) -> None:
    """The option ``--fail-on``; its value is a ``Gate``."""
    parser.add_argument(
        "--fail-on",
        type=_gate_argument,
        default=Gate(),
        metavar="LIST",
        help=f"what exit code 1 is for, separated by commas: verdicts ({', '.join(CHOICES)}), metrics or globs of them "
        f"(compiled.wall_ms, compile.*, graph_breaks), `{UNCONFIRMED}` to count regressions that no rerun confirmed, "
        f"`{NONE}` to never fail; verdicts and metrics together: those verdicts about those metrics; only metrics: "
        f"regressions of those; default {DEFAULT_FAIL_ON}",
    )


def _gate_argument(text: str) -> Gate:
    try:
        return parse_gate(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--fail-on ")) from None


def exit_code(verdicts: Verdicts, gate: Gate | None = None) -> int:
    """1 where a finding fails the gate (by default a confirmed regression), else 0."""
    return EXIT_REGRESSED if (gate or Gate()).failing(verdicts) else EXIT_FINE
