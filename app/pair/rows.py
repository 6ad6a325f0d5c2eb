"""From a cell's verdict and both sides' evidence to the rows that Why lists. Pure: no Streamlit, no database.

What is equal on both sides stands beside what differs, so that a short list never looks like a whole one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

import pandas as pd

from app import metric_words, theme
from app.kernels import between
from app.matrix.words import left_open
from db.queries.why import EvaluationRecord
from evaluator.report import phrases
from evaluator.verdicts.findings import CellVerdict, Differences, Evidence, Finding
from evaluator.verdicts.sides import BreakSite, GuardFailure, KernelUse, Pair, Side
from evaluator.verdicts.wording import size
from evaluator.verdicts.words import BAD

# A change in the evidence as an icon and a word; what is listed first.
CHANGES: Final[dict[str, str]] = {
    "added": "+ added",
    "removed": "− removed",
    "changed": "≠ changed",
    "relaunched": "≠ relaunched",
    "rebuilt": "≠ rebuilt",
    "moved": "→ moved",
    "renamed": "~ renamed",
    "same": "= the same",
}
# Statuses after which everything that could be seen was seen.
_WHOLE: Final = frozenset({"ok", "accuracy_failed", "not_comparable"})

Row = dict[str, Any]
T = TypeVar("T", BreakSite, GuardFailure, KernelUse)


def value(what: float | int | str | None, unit: str | None) -> str:
    """A side's value as findings have it: a number with its unit, a count, a word."""
    if what is None:
        return theme.MISSING
    if isinstance(what, str):
        return what
    if unit == "B" and isinstance(what, int):
        return size(what)
    return f"{what:,}" if isinstance(what, int) else theme.quantity(what, unit or "")


def headline(cell: CellVerdict) -> str:
    """What decides the cell's verdict, as plain text, with the likely cause or what would settle it."""
    deciding = [one for one in cell.findings if one.gating and one.verdict == cell.verdict]
    if cell.verdict == "unchanged":
        unjudged = sum(one.gating and one.verdict == "not_compared" for one in cell.findings)
        also = f"; {unjudged} could not be compared" if unjudged else ""
        if len(deciding) == 1:
            return f"1 thing that counts was compared and is equal within its margin{also}."
        return f"{len(deciding)} things that count were compared and are equal within their margins{also}."
    if not deciding:
        missing = left_open(cell)
        text = missing.text if missing is not None else ""
        return f"Open: {text}." if text else "Nothing of what counts could be compared."
    first, *others = deciding
    title, text = metric_words.title(first.metric), phrases.said(first)
    text = f"{title}: {metric_words.without_title(first.metric, text)}"
    if first.verdict in BAD:
        text += f". Likely cause: {phrases.cause(first.cause)}"
    elif first.verdict == "inconclusive":
        settles = (phrases.reasons(first.reasons), phrases.more_replicas(first))
        # What the finding's own text says already is not said again.
        text += f" ({'; '.join(one for one in settles if one and one not in text)})"
    if others:
        titles = [metric_words.title(one.metric) for one in others]
        text += f". Also {theme.VERDICT_WORDS[cell.verdict][1]}: {theme.listed(titles)}"
    return f"{text}."


def findings(cell: CellVerdict) -> pd.DataFrame:
    """One row a finding, in the verdict's order: verdict, metric, base, candidate, change, counts, sure, why, cause."""
    rows = [
        {
            "verdict": theme.verdict_text(one.verdict, one.confirmed),
            "metric": metric_words.title(one.metric),
            "base": value(one.base, one.unit),
            "candidate": value(one.candidate, one.unit),
            "change": phrases.interval(one.estimate) if one.estimate else None,
            "counts": "counts" if one.gating else "explains",
            "sure": phrases.confirmation(one) or None,
            "why": "; ".join(_why(one)),
            "cause": None if one.cause is None else phrases.cause(one.cause),
        }
        for one in cell.findings
    ]
    names = ("verdict", "metric", "base", "candidate", "change", "counts", "sure", "why", "cause")
    return pd.DataFrame(rows, columns=list(names), dtype="object")


def _why(finding: Finding) -> Iterable[str]:
    said = [phrases.more_replicas(finding), *(phrases.reasons((code,)) for code in finding.reasons)]
    if finding.estimate is None and finding.kind != "time":
        said.insert(0, finding.text)
    return (one for one in dict.fromkeys(said) if one)


def names(cell: CellVerdict) -> list[str]:
    """What each finding is called in a URL: its metric, of several with one metric the second with ``.2`` behind it, and so on."""
    seen: Counter[str] = Counter()
    made = []
    for finding in cell.findings:
        seen[finding.metric] += 1
        again = seen[finding.metric]
        made.append(finding.metric if again == 1 else f"{finding.metric}.{again}")
    return made


def detail(finding: Finding) -> str:
    """All that is known of one finding, as plain text."""
    lines = [("metric", finding.metric), ("said", finding.text)]
    if finding.estimate is not None:
        lines += [
            ("measured", phrases.interval(finding.estimate)),
            ("from", phrases.samples(finding.estimate)),
        ]
    if finding.rerun is not None:
        lines += [("rerun", phrases.interval(finding.rerun)), ("from", phrases.samples(finding.rerun))]
    lines += [("sure", phrases.confirmation(finding)), ("settles it", phrases.more_replicas(finding))]
    lines += [("because", phrases.reasons((code,))) for code in finding.reasons]
    if finding.cause is not None:
        lines.append(("likely cause", phrases.cause(finding.cause)))
    lines.append(("evidence", phrases.evidence(phrases.finding_evidence(finding))))
    return "\n".join(f"{name + ':':<14}{text}" for name, text in lines if text)


def gap(record: EvaluationRecord) -> str | None:
    """Why this side's evidence is not all that there could be, as the end of a sentence; None where it is."""
    facts = record.facts
    if record.status is None:
        return "not finished, so what is recorded is a part"
    if record.status not in _WHOLE:
        return f"{theme.STATUS_WORDS[record.status][1]}: what it shows is what came before that"
    if facts is None or facts.get("graphs") is None:
        return "no trace of its walk is kept, so what was compiled is not known"
    return "nothing was compiled" if facts.get("nothing_compiled") else None


def none(what: str, base: EvaluationRecord, candidate: EvaluationRecord) -> str:
    """What it means that neither side has any of these: clean, or not compiled in this bucket."""
    reused = all((record.facts or {}).get("compiles") == 0 for record in (base, candidate))
    rest = ": this bucket compiled nothing, and ran code of earlier buckets" if reused else ""
    return f"No {what} on either side{rest}."


def breaks(pair: Pair, found: Differences) -> pd.DataFrame:
    """Sites of graph breaks: change, function, reason, base, candidate (file:line), base_id and candidate_id (rows)."""
    rows: list[Row] = [
        {
            "change": CHANGES[one.change],
            "function": one.function,
            "reason": one.reason,
            "base": one.base,
            "candidate": one.candidate,
            **_ids(one.evidence),
        }
        for one in found.breaks
    ]
    for one in _same(_side(pair.candidate).breaks, found.breaks, "candidate"):
        where = f"{one.file}:{one.line}" if one.file and one.line else one.file
        same = {"function": one.function, "reason": one.reason, "base": where, "candidate": where}
        rows.append({"change": CHANGES["same"], **same, "base_id": None, "candidate_id": one.id})
    names = ("change", "function", "reason", "base", "candidate", "base_id", "candidate_id")
    return _ordered(rows, names)


def guards(pair: Pair, found: Differences) -> pd.DataFrame:
    """Guards that failed: change, guard, function, where (file:line), id (row of the side that has it)."""
    known = {one.id: one for side in (pair.base, pair.candidate) for one in _side(side).guards}
    rows: list[Row] = [
        {
            "change": CHANGES[one.change],
            "guard": one.guard,
            "function": one.function,
            "id": one.evidence[0].id,
        }
        for one in found.guards
    ]
    for one in _same(_side(pair.candidate).guards, found.guards, "candidate"):
        rows.append({"change": CHANGES["same"], "guard": one.reason, "function": one.function, "id": one.id})
    for row in rows:
        one = known[row["id"]]
        row["where"] = f"{one.file}:{one.line}" if one.file and one.line else one.file
    return _ordered(rows, ("change", "guard", "function", "where", "id"))


def kernels(pair: Pair, found: Differences) -> pd.DataFrame:
    """Kernels: change, name, kind, body (whether equal), base_source, candidate_source (SHA-256 of the texts); and as text of
    one side or both, missing where neither has it: the columns of ``kernels.between``.
    """
    known = [{one.id: one for one in _side(side).kernels} for side in (pair.base, pair.candidate)]
    rows: list[Row] = []
    for change in found.kernels:
        ids = _ids(change.evidence)
        both = (known[0].get(ids["base_id"]), known[1].get(ids["candidate_id"]))
        row = {"change": CHANGES[change.change], "name": change.name, "kind": change.kind}
        row["body"] = "differs" if change.change == "changed" else "equal" if all(both) else None
        rows.append({**row, **_sources(*both), **between(*both)})
    left = list(_same(_side(pair.base).kernels, found.kernels, "base"))
    for one in _same(_side(pair.candidate).kernels, found.kernels, "candidate"):
        match = next((o for o in left if (o.source_hash, o.name) == (one.source_hash, one.name)), None)
        if match is not None:
            left.remove(match)
        row = {"change": CHANGES["same"], "name": one.name, "kind": one.kind}
        row["body"] = "equal" if one.source_hash else None
        rows.append({**row, **_sources(match, one), **between(match, one)})
    names = ("change", "name", "kind", "body", "base_source", "candidate_source", *between(None, None))
    return _ordered(rows, names)


def _sources(base: KernelUse | None, candidate: KernelUse | None) -> Row:
    return {
        "base_source": base and base.source_sha256,
        "candidate_source": candidate and candidate.source_sha256,
    }


def _ordered(rows: Iterable[Row], names: Sequence[str]) -> pd.DataFrame:
    """The rows in the order of ``CHANGES``: what is new first, what is the same last."""
    order = list(CHANGES.values())
    kept = sorted(rows, key=lambda row: order.index(row["change"]))
    return pd.DataFrame(kept, columns=list(names), dtype="object")


def _side(side: Side | None) -> Side:
    assert side is not None, "a pair that was compared has both sides"
    return side


def _ids(evidence: Sequence[Evidence]) -> Row:
    by_side = {one.side: one.id for one in evidence}
    return {"base_id": by_side.get("base"), "candidate_id": by_side.get("candidate")}


def _same(items: Iterable[T], changes: Iterable[Any], side: str) -> Iterable[T]:
    """The items of a side that no change is about: those are on both sides, one to one."""
    changed = {one.id for change in changes for one in change.evidence if one.side == side}
    return (one for one in items if one.id not in changed)


def counted(frame: pd.DataFrame, noun: str) -> str:
    """``1 added, 2 the same`` as a sentence of our own words; none on either side is said as that."""
    if frame.empty:
        return f"No {noun} on either side."
    counts = frame["change"].value_counts()
    parts = [f"{counts[text]} {text.partition(' ')[2]}" for text in CHANGES.values() if text in counts]
    return f"{noun[:1].upper()}{noun[1:]}: {', '.join(parts)}."
