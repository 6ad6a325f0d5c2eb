"""What a tile of the Matrix and its row say of one finding: its colour's place, its few words, its reasons. Pure."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from app import theme
from evaluator.verdicts.answering import wrong_on_both
from evaluator.verdicts.findings import CellVerdict, Finding
from evaluator.verdicts.wording import size
from evaluator.verdicts.words import BAD, FLAG_MARK, NOISY_MARK, REASONS, marks

# How a tile is drawn: filled by its ratio; filled faintly, since nothing is settled; hatched; or crossed out.
SETTLED: Final = "settled"
OPEN: Final = "open"
NOT_COMPARED: Final = "not compared"
FAILURE: Final = "failed"

# Findings without a ratio, on the scale of ratios: as far from "equal" as its ends are.
_PLACES: Final = {"regressed": 1.1, "newly_failing": 1.1, "improved": 0.9, "fixed": 0.9, "unchanged": 1.0}
_UNSETTLED: Final = frozenset({"inconclusive", "flaky", "changed"})
# A wrong result or an error comes before any time.
_CORRECTNESS: Final = frozenset({"status", "accuracy"})
# The edge of a tile for what is said of correctness.
WRONG: Final = "wrong"
FIXED: Final = "fixed"
# What stands before a number whose rounds are qualified -> what it means, in a row.
_ROUNDS: Final = {NOISY_MARK: "noisy", FLAG_MARK: "flagged"}


class Correctness(NamedTuple):
    """What a reader has to know of a cell's results or failures, whatever is looked at: the sign and few words of a tile,
    the words of a row, the tile's ``edge`` (``WRONG``, ``FIXED``), and the metric of the finding that says it."""

    sign: str
    tile: str
    words: str
    edge: str
    metric: str


_BOTH_WRONG: Final = Correctness("≠", "≠", "wrong on both sides", WRONG, "accuracy")
_WRONG_NOW: Final = Correctness("≠", "≠", "wrong on the candidate", WRONG, "accuracy")
_RIGHT_NOW: Final = Correctness("✓", "✓ fixed · ", "results fixed", FIXED, "accuracy")
_RUNS_NOW: Final = Correctness("✓", "✓ fixed · ", "failure fixed", FIXED, "status")


def correctness(cell: CellVerdict) -> Correctness | None:
    """What the cell's results are, or that it works again; None where both sides' are right or nothing is known. A cell's
    verdict is its worst, so that it says none of it beside an open time."""
    for one in cell.findings:
        if one.metric == "accuracy":
            if one.candidate == "fail":
                return _BOTH_WRONG if wrong_on_both(cell) else _WRONG_NOW
            if one.verdict == "fixed":
                return _RIGHT_NOW
        elif one.metric == "status" and one.verdict == "fixed":
            return _RUNS_NOW
    return None


def said(found: Finding | None, cell: CellVerdict, failed: str, *, whole: bool = False) -> dict[str, Any]:
    """The columns of a row that come from its finding; None: the cell has none about the metric. ``failed``: which
    side failed (``base``, ``candidate``, ``both``), empty for none. ``whole``: the row is about the cell, and has its
    verdict."""
    ending = next((one for one in cell.findings if one.metric == "status"), None)
    silent = found is None or found.verdict == "not_compared"
    # Why a side has no value is said by how the evaluations ended.
    told = ending if silent and ending is not None and (failed or not cell.compared) else found
    verdict = told.verdict if told is not None else "not_compared"
    if whole:
        verdict = cell.verdict
    elif verdict not in ("not_compared", "newly_failing", "fixed") and silent:
        verdict = "not_compared"
    confirmed = told.confirmed if told is not None else None
    ratio = ratio_of(found)
    estimate = found.estimate if found is not None else None
    unconfirmed = verdict in BAD and confirmed is False
    kind = _kind(verdict, failed, unconfirmed)
    known = correctness(cell)
    # Where the verdict is about it, it says it. That both sides are wrong no verdict says.
    tells = told is not None and known is not None and told.metric == known.metric
    beside = None if tells and known is not _BOTH_WRONG else known
    icon = theme.VERDICT_WORDS["newly_failing" if kind == FAILURE and verdict != "fixed" else verdict][0]
    unit = (found.unit or "") if found is not None else ""
    values = (found.base, found.candidate) if found is not None else (None, None)
    around = marks(found.reasons) if found is not None else ""
    return {
        "metric": found.metric if found is not None else "",
        "unit": unit,
        "base": values[0],
        "candidate": values[1],
        "base_text": around + _value(values[0], unit),
        "candidate_text": around + _value(values[1], unit),
        "ratio": ratio,
        "percent": None if ratio is None else (ratio - 1) * 100,
        "low": estimate.low if estimate is not None else None,
        "high": estimate.high if estimate is not None else None,
        "interval": "" if estimate is None else f"{change_of(estimate.low)} to {change_of(estimate.high)}",
        "verdict": verdict,
        "word": theme.beside(
            f"{beside.sign} {beside.words}" if beside else "", theme.verdict_text(verdict, confirmed)
        ),
        "icon": f"{beside.tile if beside else ''}{icon}{'?' if unconfirmed else ''}",
        "bad": verdict in BAD,
        "unconfirmed": unconfirmed,
        "wrong": known is _BOTH_WRONG,
        "edge": known.edge if known else "",
        "rounds": f"{around} {', '.join(_ROUNDS[mark] for mark in around)}" if around else "",
        "kind": kind,
        "shade": None if kind in (NOT_COMPARED, FAILURE) else ratio or _PLACES.get(verdict, 1.0),
        "change": around + _change(found, ratio, kind, verdict),
        "why": "; ".join(filter(None, [beside.words if beside else "", _why(told)])),
    }


def deciding(cell: CellVerdict) -> Finding | None:
    """The finding that gives the cell its verdict. Of several: correctness before speed, then the largest change; of an
    unchanged cell how it ended, since no number stands for all that is equal."""
    if cell.verdict == "unchanged":
        return next((one for one in cell.findings if one.metric == "status"), None)
    gating = [one for one in cell.findings if one.gating and one.verdict == cell.verdict]
    # Where nothing has the cell's verdict, it is what could not be compared that leaves it open.
    return max(gating, key=weight, default=None) or left_open(cell)


def left_open(cell: CellVerdict) -> Finding | None:
    """Of a cell that is open for what is missing: that, else what says that nothing compiled ran; None of others."""
    if cell.verdict != "inconclusive":
        return None
    idle = (one for one in cell.findings if one.metric in ("nothing_compiled", "ran_eager"))
    missing = [one for one in cell.findings if one.gating and one.verdict == "not_compared"]
    return next(iter(missing), None) or next(idle, None)


def weight(found: Finding | None) -> tuple[bool, float]:
    """Which of two findings of one verdict comes first; what has no number comes after what has."""
    ratio = ratio_of(found)
    correctness = found is not None and found.metric in _CORRECTNESS and found.verdict in BAD
    return correctness, -1.0 if ratio is None else abs(ratio - 1)


def ratio_of(found: Finding | None) -> float | None:
    """Candidate / base of a measured finding: the estimate's, else that of the two medians."""
    if found is None or found.kind not in ("time", "memory") or found.verdict == "not_compared":
        return None
    if found.estimate is not None:
        return found.estimate.ratio
    if isinstance(found.base, float) and isinstance(found.candidate, float) and found.base > 0:
        return found.candidate / found.base
    return None


def change_of(ratio: float) -> str:
    """A ratio as a signed percentage; a factor from a doubling on, where percentages mislead."""
    if ratio >= 2:
        return f"×{ratio:.2f}"
    text = f"{(ratio - 1) * 100:+.1f}%"
    # A zero has no sign.
    return text[1:] if text[1:] == "0.0%" else text


def _kind(verdict: str, failed: str, unconfirmed: bool) -> str:
    if failed and verdict in ("not_compared", "newly_failing", "fixed"):
        return FAILURE
    if verdict == "not_compared":
        return NOT_COMPARED
    return OPEN if unconfirmed or verdict in _UNSETTLED else SETTLED


def _change(found: Finding | None, ratio: float | None, kind: str, verdict: str) -> str:
    """The few characters that stand in a tile beside its icon."""
    if kind == FAILURE:
        return "fixed" if verdict == "fixed" else "failed"
    if kind == NOT_COMPARED or found is None:
        return "not compared"
    if ratio is not None:
        return change_of(ratio)
    if found.metric in theme.KERNEL_MARKS and found.candidate:
        icon, _ = theme.KERNEL_MARKS[found.metric]
        return f"{icon} {_moved(found, verdict)}"
    return _moved(found, verdict)


def _moved(found: Finding, verdict: str) -> str:
    """What is said of a finding without a ratio."""
    if found.base is None or found.candidate is None or found.kind == "status":
        return theme.VERDICT_WORDS[verdict][1]
    if found.unit == "B" and isinstance(found.base, int) and isinstance(found.candidate, int):
        # The difference alone: two sizes have no place in a tile.
        more = found.candidate - found.base
        return f"{'+' if more > 0 else ''}{size(more)}" if more else size(found.base)
    if found.base == found.candidate:
        return _value(found.base)
    return f"{_value(found.base)} → {_value(found.candidate)}"


def _value(value: float | int | str | None, unit: str = "") -> str:
    if isinstance(value, str):
        return value
    if unit == "B" and isinstance(value, int):
        return size(value)
    if not isinstance(value, float):
        return theme.count(value)
    text = theme.number(value, 4)
    return text if unit in ("", "1") else f"{text} {unit}"


def _why(found: Finding | None) -> str:
    """The likely cause, then the reasons; first the finding's own text where no number says it."""
    if found is None:
        return REASONS["not_measured"]
    cause = found.cause if found.cause is not None and found.cause.code is not None else None
    parts = [found.text] if found.estimate is None and found.kind not in ("time", "memory") else []
    parts += [cause.text] if cause is not None else []
    parts += [REASONS.get(code, code) for code in found.reasons if cause is None or code != cause.code]
    return "; ".join(dict.fromkeys(part for part in parts if part))
