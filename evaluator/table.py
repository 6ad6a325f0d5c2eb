"""The table of a run's evaluations as plain text, from their documents (as ``show --json`` has them)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from evaluator.verdicts.words import FLAG_MARK, NOISY_MARK, ROUND_FLAGS, accuracy_text, marks, round_flags

Document = dict[str, Any]

_HEADINGS: Final = (
    "workload",
    "bucket",
    "variant",
    "status",
    "graphs",
    "breaks",
    "recompiles",
    "cold s",
    "warm-cache s",
    "eager ms",
    "compiled ms",
    "speed-up",
    "accuracy",
)
_NUMBERS_FROM: Final = 4
MISSING: Final = "-"
_SIDES: Final = ("eager", "compiled")
_WARM_METRICS: Final = ("wall_ms", "stream_ms", "host_ms")


def number(value: float | None, digits: int = 3) -> str:
    """A measured number with that many significant digits, never in exponents; ``-`` where there is none."""
    if value is None:
        return MISSING
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:.{max(0, digits - 1 - exponent)}f}" if value else "0"


def median_of(evaluation: Document, metric: str) -> float | None:
    """A metric's median in an evaluation's document; None where it was not measured."""
    found = (evaluation.get("metrics") or {}).get(metric) or {}
    value = found.get("median")
    return None if value is None else float(value)


def speed_up(evaluation: Document) -> float | None:
    """Eager's time over the compiled time, of the medians of batch means; None where one is missing."""
    eager, compiled = (median_of(evaluation, f"{side}.wall_ms") for side in ("eager", "compiled"))
    return eager / compiled if eager is not None and compiled else None


def flags_of(evaluation: Document, metric: str) -> frozenset[str]:
    """Words that qualify a metric's numbers (``noisy``, ``nothing_compiled``)."""
    found = (evaluation.get("metrics") or {}).get(metric) or {}
    return frozenset(found.get("flags") or ())


def warm_flags(evaluation: Document, *sides: str) -> frozenset[str]:
    """Words that qualify the rounds of these sides' warm timings, whichever of their clocks they are of."""
    return frozenset[str]().union(
        *(flags_of(evaluation, f"{side}.{name}") for side in sides for name in _WARM_METRICS)
    )


def _compile_time(evaluation: Document, metric: str) -> str:
    """A compile's time, in brackets where nothing was compiled."""
    text = number(median_of(evaluation, metric))
    return f"({text})" if text != MISSING and "nothing_compiled" in flags_of(evaluation, metric) else text


def _warm_time(evaluation: Document, side: str) -> str:
    """A warm time with the marks of what qualifies its rounds."""
    text = number(median_of(evaluation, f"{side}.wall_ms"))
    return text if text == MISSING else marks(warm_flags(evaluation, side)) + text


def row(evaluation: Document) -> list[str]:
    """The cells of one evaluation, in the order of the headings."""
    facts = evaluation.get("facts") or {}
    ratio = speed_up(evaluation)
    return [
        evaluation["workload"],
        evaluation["bucket"],
        evaluation["variant"],
        evaluation.get("status") or "unfinished",
        _fact(facts, "graphs"),
        _fact(facts, "graph_breaks"),
        _fact(facts, "recompiles") + ("!" if facts.get("recompile_limit_hit") else ""),
        _compile_time(evaluation, "compile.cold_s"),
        _compile_time(evaluation, "compile.warm_cache_s"),
        _warm_time(evaluation, "eager"),
        _warm_time(evaluation, "compiled"),
        MISSING if ratio is None else f"{marks(warm_flags(evaluation, *_SIDES))}{number(ratio)}x",
        _accuracy(evaluation.get("accuracy") or {}),
    ]


def _accuracy(accuracy: Document) -> str:
    verdict = accuracy.get("verdict")
    return accuracy_text(verdict, accuracy.get("reason")) if verdict == "pass" else verdict or MISSING


def _fact(facts: Document, name: str) -> str:
    value = facts.get(name)
    return MISSING if value is None else str(value)


def table(evaluations: Sequence[Document]) -> str:
    """The evaluations as an aligned table, with a torch column where there is more than one environment."""
    versions = _environments(evaluations)
    rows = [row(evaluation) for evaluation in evaluations]
    headings = list(_HEADINGS)
    numbers_from = _NUMBERS_FROM
    if len(set(versions)) > 1:
        headings.insert(0, "torch")
        rows = [[version, *cells] for version, cells in zip(versions, rows, strict=True)]
        numbers_from += 1
    lines = aligned([headings, *rows], numbers_from, len(headings) - 1)
    if any((e.get("facts") or {}).get("recompile_limit_hit") for e in evaluations):
        lines.append("! the recompile limit was hit: what came after it ran eager")
    seen = round_flags(flag for e in evaluations for flag in warm_flags(e, *_SIDES))
    if "noisy" in seen:
        lines.append(
            f"{NOISY_MARK} noisy: the middle half of a process's rounds spread over more than 20% of their median; "
            "measure again on a quiet machine"
        )
    lines += [f"{FLAG_MARK} {flag}: {ROUND_FLAGS[flag]}" for flag in seen if flag != "noisy"]
    if any("nothing_compiled" in flags_of(e, "compile.cold_s") for e in evaluations):
        lines.append("( ) nothing was compiled: the first call, and no compile time")
    return "\n".join(lines)


def _environments(evaluations: Sequence[Document]) -> list[str]:
    """The torch version of each evaluation, with the environment's hash where one version stands for several."""
    found = [evaluation.get("environment") or {} for evaluation in evaluations]
    hashes: dict[str, set[str]] = {}
    for one in found:
        hashes.setdefault(one.get("torch") or MISSING, set()).add(one.get("hash") or MISSING)
    return [
        (one.get("torch") or MISSING)
        + (f" {one['hash'][:8]}" if len(hashes[one.get("torch") or MISSING]) > 1 else "")
        for one in found
    ]


def aligned(rows: Sequence[Sequence[str]], numbers_from: int, numbers_to: int) -> list[str]:
    """Rows as lines; the columns in ``numbers_from..numbers_to`` flush right, the others flush left."""
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            text.rjust(width) if numbers_from <= column < numbers_to else text.ljust(width)
            for column, (text, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in rows
    ]
