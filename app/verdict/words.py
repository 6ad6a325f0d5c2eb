"""What the first screen says of a comparison, as Markdown in which every recorded name is a literal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from app import metric_words, theme
from db.queries.sides import Measured
from evaluator.report import phrases
from evaluator.report.sections import Reason, Sections, size
from evaluator.verdicts.environments import build_of
from evaluator.verdicts.findings import CellVerdict, Estimate, Finding, Moved, Verdicts
from evaluator.verdicts.wording import listed

# answer -> its sign, its tone (a colour and an edge), and Streamlit's word for the colour.
ANSWERS: Final = {
    "Upgrade": ("✓", "passed", "green"),
    "Upgrade except": ("!", "careful", "orange"),
    "Hold": ("✗", "failed", "red"),
    "Not enough evidence": ("?", "neutral", "gray"),
}
# Exceptions named in the headline, and buckets named for one of them.
MOST_EXCEPTED: Final = 3
MOST_BUCKETS: Final = 3
MOST_MOVED: Final = 5
# An error can be pages long; the table and Why have all of it.
MOST_SAID: Final = 240
# A run's status where not all of it was measured -> what is said of it.
_UNDONE: Final = {"running": "is not finished", "interrupted": "was interrupted before its end"}
# A commit moves with its version, and says nothing to a reader.
_SILENT: Final = frozenset({"torch_git"})
# The fields that say what torch was built for.
_BUILDS: Final = ("built_cuda", "built_hip")


def headline(verdicts: Verdicts) -> str:
    """The answer in one line: ``✓ Upgrade``, ``! Upgrade, except w at seq=64``."""
    sign, _, color = ANSWERS[verdicts.answer]
    if verdicts.answer != "Upgrade except":
        return f":{color}[{sign}] {verdicts.answer}"
    named = [_where_excepted(verdicts, workload) for workload in verdicts.excepted]
    return f":{color}[{sign}] Upgrade, except {theme.listed(named, MOST_EXCEPTED)}"


def _where_excepted(verdicts: Verdicts, workload: str) -> str:
    """A workload with confirmed regressions, and where they are if not everywhere."""
    cells = [cell for cell in verdicts.cells if cell.cell.workload == workload]
    bad = {cell.cell.bucket for cell in cells if any(_is_bad(one) and one.confirmed for one in cell.findings)}
    buckets = list(dict.fromkeys(cell.cell.bucket for cell in cells))
    if len(bad) == len(buckets):
        return theme.literal(workload)
    named = [theme.literal(one) for one in buckets if one in bad]
    return f"{theme.literal(workload)} at {theme.listed(named, MOST_BUCKETS)}"


def because(verdicts: Verdicts) -> str:
    """The clause that says why, without the answer before it and the coverage after it; recorded names as they are."""
    answer = verdicts.answer
    named = f"{answer} {listed(verdicts.excepted)}" if answer == "Upgrade except" else answer
    text = verdicts.answer_text.removeprefix(f"{named}: ")
    text = text.removesuffix(f"; {verdicts.compared} of {verdicts.total} cells compared.")
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def offender(verdicts: Verdicts, parts: Sections) -> str | None:
    """The worst that was found, with its interval and its likely cause; where nothing is worse, the largest slowdown.
    None where no time was compared."""
    if parts.alarms:
        alarm = parts.alarms[0]
        finding = alarm.bad[0]
        sure = phrases.confirmation(finding)
        sentence = f"{_about(finding)} {_where(alarm.cell)}{f', {sure}' if sure else ''}.{_cause(finding)}"
        rest = len(parts.alarms) - 1
        more = f" Something is worse in {theme.counted(rest, 'more cell')}." if rest else ""
        return f"**Worst:** {sentence}{more}"
    slowest = _slowest(verdicts)
    if slowest is None:
        return None
    cell, finding = slowest
    return f"**Largest slowdown:** {_about(finding)} {_where(cell)}: {theme.verdict_text(finding.verdict)}."


def _slowest(verdicts: Verdicts) -> tuple[CellVerdict, Finding] | None:
    times = [
        (cell, one)
        for cell in verdicts.cells
        for one in cell.findings
        if one.gating and one.estimate is not None and one.estimate.ratio > 1
    ]
    return max(times, key=lambda found: size(found[1]), default=None)


def _about(finding: Finding) -> str:
    """What moved, by how much: title, change, interval, values."""
    title = metric_words.title(finding.metric)
    if finding.estimate is None:
        text = metric_words.without_title(finding.metric, finding.text)
        return f"{title}: {theme.literal(_short(text))}"
    values = phrases.change(finding)
    again = ""
    if finding.rerun is not None:
        again = f", in a fresh rerun **{phrases.percent(finding.rerun.ratio)}** ({interval(finding.rerun)})"
    return f"{title} **{phrases.percent(finding.estimate.ratio)}** ({interval(finding.estimate)}; {values}){again}"


def interval(estimate: Estimate) -> str:
    """``95% interval +9.8% to +15.1%``."""
    ends = f"{phrases.percent(estimate.low)} to {phrases.percent(estimate.high)}"
    return f"{estimate.confidence * 100:.4g}% interval {ends}"


def _where(cell: CellVerdict) -> str:
    name = cell.cell
    variant = f" as {theme.literal(name.variant)}" if name.variant != "default" else ""
    return f"in {theme.literal(name.workload)}{theme.at_bucket(name.bucket)}{variant}"


def _cause(finding: Finding) -> str:
    """The likely cause; nothing where it is the error that was just named."""
    if finding.kind == "status":
        return ""
    text = phrases.cause(finding.cause)
    if text == phrases.UNKNOWN:
        return " Cause unknown."
    if text.startswith("cause unknown"):
        return f" {theme.literal(_short(text[:1].upper() + text[1:]))}."
    return f" Likely cause: {theme.literal(_short(text))}."


def _short(text: str) -> str:
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]} …"


def coverage(verdicts: Verdicts, reasons: Sequence[Reason]) -> str:
    """``36 of 38 cells compared; 2 not compared: one side did not evaluate this cell (2)``."""
    text = f"**{verdicts.compared:,} of {verdicts.total:,} cells compared**"
    missing = verdicts.total - verdicts.compared
    if not missing:
        return text
    why = []
    for reason in reasons:
        cells = [cell for cell in reason.cells if not cell.compared]
        if cells:
            why.append(f"{reason.text} ({len(cells):,})")
    # A reason without a code is a recorded text.
    named = theme.listed([theme.literal(one) for one in why], 2)
    return f"{text}; ○ {missing:,} not compared" + (f": {named}" if why else "")


def moved(verdicts: Verdicts) -> str:
    """What differs between the two environments."""
    words = [theme.literal(one) for one in _changes(verdicts.moved)]
    if not words:
        return "nothing moved between the environments"
    only = "only " if len(phrases.dependencies(verdicts)) == 1 and len(words) <= 2 else ""
    return f"{only}{theme.listed(words, MOST_MOVED)} moved"


def _changes(moved: Sequence[Moved]) -> list[str]:
    """What differs, each thing once and in words."""
    fields = {one.field: one for one in moved}
    said = []
    for one in moved:
        # What is recorded of a package and again of the library that a workload uses is one thing.
        again = fields.get(one.field.partition(".")[2])
        if one.field in _SILENT or (again and (again.base, again.candidate) == (one.base, one.candidate)):
            continue
        if one.field in _BUILDS:
            said.append(f"built for {_built(fields, 'base')} {phrases.ARROW} {_built(fields, 'candidate')}")
        else:
            said.append(phrases.moved(one))
    return list(dict.fromkeys(said))


def _built(moved: Mapping[str, Moved], side: str) -> str:
    """What a side's torch was built for, ``CUDA 13.0``, where that moved: a build has one of the two fields or neither."""
    known = {field: getattr(moved[field], side) for field in _BUILDS if field in moved}
    build = build_of(known)
    return " ".join([build, *(version for version in known.values() if version)])


def measured(runs: Iterable[Measured], now: datetime) -> str:
    """When, and whether in turns: ``measured 6 h ago, both sides in turns in run 7``."""
    found = list(runs)
    if not found:
        return "the run is gone"
    said = [f"run {one.run} ({theme.ago(one.finished_at or one.started_at, now)})" for one in found]
    going_on = "".join(f"; run {one.run} {_UNDONE[one.status]}" for one in found if one.status in _UNDONE)
    if len(found) == 1:
        return f"measured in turns in {said[0]}{going_on}"
    return f"measured at different times in {' and '.join(said)}{going_on}"


def _is_bad(finding: Finding) -> bool:
    return finding.gating and finding.verdict in ("regressed", "newly_failing")
