"""How things look: palette, words for statuses, numbers with their units. The one place for it, beside ``metric_words``.

Pure: no Streamlit, so that charts, reports and tests use the same words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from evaluator.verdicts.words import BAD

# Okabe and Ito's set, strongest contrast on both backgrounds first. Their black is a grey here and their
# yellow is darkened, since each would vanish in one of the two themes.
PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C", "#B8A800")
# Colour is never alone: the n-th series also has the n-th shape.
SHAPES: Final = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
# Marks that are no bucket's.
NEUTRAL_COLOR: Final = "#8C8C8C"
# Status words as thin text: on a light background, on a dark one.
STATUS_COLORS: Final = {
    "passed": ("#007A59", "#3FC79A"),
    "failed": ("#B84A00", "#F08A55"),
    "neutral": ("#5B6675", "#95A1AF"),
}

# Words in charts, by the style that their marks name: on a light background, on a dark one. No one colour can be
# read as small text on both, and those of marks on neither.
TEXT_STYLES: Final = {"ink": ("#1B2330", "#DDE3EA"), "quiet": ("#56616F", "#9AA6B4")}

# What is missing is shown as this, never as a number.
MISSING: Final = "–"

# What the one bucket of a workload is called that has no parameters.
NO_BUCKET: Final = "-"

STATUS_WORDS: Final[dict[str, tuple[str, str]]] = {
    "ok": ("✓", "ok"),
    "compile_error": ("✗", "compile error"),
    "runtime_error": ("✗", "runtime error"),
    "accuracy_failed": ("≠", "accuracy failed"),
    "not_comparable": ("?", "not comparable"),
    "timeout": ("✗", "timeout"),
    "out_of_memory": ("✗", "out of memory"),
    "crashed": ("✗", "crashed"),
    "setup_error": ("!", "set-up error"),
    "unsupported": ("○", "unsupported"),
    "skipped": ("○", "skipped"),
    "running": ("…", "not finished"),
    "finished": ("✓", "finished"),
    "interrupted": ("!", "interrupted"),
}
# Neither a pass nor a failure of the compiler: these are no reason for alarm, and no evidence of health.
NEUTRAL_STATUSES: Final = frozenset({"not_comparable", "unsupported", "skipped", "running"})
PASSED_STATUSES: Final = frozenset({"ok", "finished"})

VERDICT_WORDS: Final[dict[str, tuple[str, str]]] = {
    "newly_failing": ("✗", "newly failing"),
    "regressed": ("▲", "regressed"),
    "flaky": ("≈", "flaky"),
    "inconclusive": ("?", "inconclusive"),
    "not_compared": ("○", "not compared"),
    "changed": ("≠", "changed"),
    "improved": ("▼", "improved"),
    "fixed": ("✓", "fixed"),
    "unchanged": ("=", "unchanged"),
}
_VERDICT_TONES: Final = {
    "newly_failing": "failed",
    "regressed": "failed",
    "improved": "passed",
    "fixed": "passed",
}

_BESIDE: Final = " · "

# What is amiss with a kernel that was built: an icon and a word of its own, which no verdict has.
KERNEL_MARKS: Final = {
    "refused": ("⊘", "refused"),
    "not_built": ("?", "not built"),
    "spills": ("⤓", "spills"),
}
# Why a target has neither times nor accuracy.
NOTHING_RAN: Final = (
    "Code generated for a card that is not there: nothing ran on it, so there is no time and no accuracy."
)


def kernel_mark(what: str) -> str:
    """``⊘ refused``, ``⤓ spills``: an icon and a word."""
    return " ".join(KERNEL_MARKS[what])


def status_text(status: str | None) -> str:
    """An icon and a word, such as ``✗ compile error``; an unknown status keeps its own name."""
    if not status:
        return MISSING
    icon, word = STATUS_WORDS.get(status, ("·", status))
    return f"{icon} {word}"


def status_tone(status: str | None) -> str:
    """``passed``, ``failed``, or ``neutral`` for what is neither."""
    if status in PASSED_STATUSES:
        return "passed"
    return "neutral" if not status or status in NEUTRAL_STATUSES else "failed"


def status_color(status: str | None, *, dark: bool) -> str:
    """Hex colour that goes with ``status_text``, readable as text on a light or a dark background."""
    return STATUS_COLORS[status_tone(status)][int(dark)]


def verdict_text(verdict: str, confirmed: bool | None = None) -> str:
    """An icon and a word, such as ``▲ regressed``; one that is worse and not confirmed says so. An unknown verdict
    keeps its own name."""
    icon, word = VERDICT_WORDS.get(verdict, ("·", verdict))
    doubt = ", unconfirmed" if confirmed is False and verdict in BAD else ""
    return f"{icon} {word}{doubt}"


def beside(said: str, verdict: str) -> str:
    """``≠ wrong on both sides · ? inconclusive``: what has to be known beside a verdict's text, before it."""
    return f"{said}{_BESIDE}{verdict}" if said else verdict


def last_said(text: str) -> str:
    """The verdict's text in one that ``beside`` made."""
    return text.rpartition(_BESIDE)[2]


def verdict_tone(verdict: str) -> str:
    """``passed``, ``failed``, or ``neutral`` for all that is neither worse nor better."""
    return _VERDICT_TONES.get(verdict, "neutral")


def verdict_color(verdict: str, *, dark: bool) -> str:
    """Hex colour that goes with ``verdict_text``, readable as text on a light or a dark background."""
    return STATUS_COLORS[verdict_tone(verdict)][int(dark)]


def number(value: float | None, digits: int = 3) -> str:
    """``value`` with ``digits`` significant digits, grouped thousands, no exponent between 1e-4 and 1e7."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value) or value == 0:
        return f"{value:g}"
    magnitude = math.floor(math.log10(abs(value)))
    if not -4 <= magnitude < 7:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - magnitude)}f}"


def quantity(value: float | None, unit: str) -> str:
    """``number`` with its unit after a narrow space; the unit ``1`` is a plain number."""
    text = number(value)
    return text if text == MISSING or unit in ("", "1") else f"{text} {unit}"


def count(value: float | None) -> str:
    """A whole number, or the sign for missing."""
    return MISSING if value is None or math.isnan(value) else f"{int(value):,}"


def yes_no(value: bool | None) -> str:
    """``yes``, ``no``, or the sign for missing."""
    return MISSING if value is None else ("yes" if value else "no")


def size(n_bytes: float | None) -> str:
    """A file size in the largest unit that keeps it above one."""
    if n_bytes is None or math.isnan(n_bytes):
        return MISSING
    value, units = float(n_bytes), ("B", "KB", "MB", "GB", "TB")
    step = min(len(units) - 1, int(math.log(value, 1024)) if value >= 1 else 0)
    return f"{number(value / 1024**step) if step else int(value)} {units[step]}"


def duration(seconds: float | None) -> str:
    """Seconds as ``12 s``, ``3 min 20 s`` or ``2 h 5 min``."""
    if seconds is None or math.isnan(seconds):
        return MISSING
    if seconds < 60:
        return f"{number(seconds, 2)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def ago(then: datetime | None, now: datetime) -> str:
    """How long before ``now`` something was: ``just now``, ``5 min ago``, ``6 h ago``, ``3 days ago``."""
    if then is None:
        return MISSING
    seconds = (now - then).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 48 * 3600:
        return f"{int(seconds // 3600)} h ago"
    return f"{int(seconds // 86400)} days ago"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """``1 run``, ``2 runs``, ``1,000 samples``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listed(items: Sequence[str], most: int = 4) -> str:
    """The first ``most`` items joined by commas, and how many were left out."""
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest} more" if rest > 0 else "")


def literal(text: str) -> str:
    """Text from a record as a Markdown code span, the only form in which Markdown, HTML, links, emoji codes and
    formulas in a name stay what they are: characters. Line breaks and control characters become spaces."""
    flat = "".join(c if c.isprintable() else " " for c in text).strip()
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat or ' '}{pad}{fence}"


def at_bucket(bucket: str) -> str:
    """The end of a clause about a cell, `` at `seq=64` `` as Markdown; empty for a workload without buckets."""
    return "" if bucket == NO_BUCKET else f" at {literal(bucket)}"


def cell_text(workload: str, bucket: str, *more: str) -> str:
    """A cell as plain text, ``models.bert · seq=64``, with what else tells it apart; without the bucket where its workload
    has none."""
    return " · ".join(one for one in (workload, "" if bucket == NO_BUCKET else bucket, *more) if one)
