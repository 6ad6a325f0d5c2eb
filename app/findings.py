"""What the facts of an evaluation say, as sentences: honest about what was not compiled, not reached or not known.

Pure: a record in, sentences out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app import theme
from db.queries.why import EvaluationRecord

Tone = Literal["bad", "note", "good"]


@dataclass(frozen=True)
class Finding:
    """One sentence, and whether it is bad news, something to know, or good news. No text from records in it."""

    tone: Tone
    sentence: str


def findings(record: EvaluationRecord) -> list[Finding]:
    """Bad news first, in the order in which one would ask."""
    found = [*_of_status(record), *_of_compilation(record), *_of_breaks(record), *_of_accuracy(record)]
    order = {"bad": 0, "note": 1, "good": 2}
    return sorted(found, key=lambda finding: order[finding.tone])


def _of_status(record: EvaluationRecord) -> list[Finding]:
    if record.status is None:
        return [Finding("note", "This evaluation is not finished: what is shown is what is recorded so far.")]
    if record.evidence_only:
        return [
            Finding("note", "This variant only shows what was captured: no kernels and no claim of speed.")
        ]
    if record.status in theme.PASSED_STATUSES:
        return []
    tone: Tone = "note" if record.status in theme.NEUTRAL_STATUSES else "bad"
    return [Finding(tone, f"The cell ended as {theme.STATUS_WORDS[record.status][1]}.")]


def _of_compilation(record: EvaluationRecord) -> list[Finding]:
    facts = record.facts
    if facts is None or facts.get("graphs") is None:
        return [Finding("note", "No trace of the walk is kept, so what was compiled is not known.")]
    found = []
    if facts.get("nothing_compiled"):
        found.append(Finding("bad", "Nothing was compiled: not one graph was captured in the whole walk."))
    elif facts.get("recompile_limit_hit"):
        part = {"all": "All compiled regions", "some": "Some compiled regions"}.get(
            facts.get("ran_eager") or ""
        )
        ran = f"{part} ran eager" if part else "Some code may have run eager"
        found.append(
            Finding(
                "bad", f"{ran} after the recompile limit: its time here is not the time of compiled code."
            )
        )
    elif facts.get("compiles") == 0 and record.status == "ok":
        found.append(Finding("note", "This bucket compiled nothing: it reused code of earlier buckets."))
    if facts.get("second_walk_compiles"):
        n = theme.counted(facts["second_walk_compiles"], "compile")
        found.append(Finding("bad", f"Unstable: the second walk over the same buckets needed {n} more."))
    if facts.get("recompiles"):
        found.append(
            Finding("note", f"{theme.counted(facts['recompiles'], 'recompile')} in this bucket's calls.")
        )
    if facts.get("dynamic_symbols"):
        n = theme.counted(facts["dynamic_symbols"], "size")
        found.append(Finding("note", f"Dynamic shapes took over: {n} became symbolic."))
    return found


def _of_breaks(record: EvaluationRecord) -> list[Finding]:
    facts = record.facts or {}
    sites, events = facts.get("graph_breaks"), facts.get("break_events")
    if sites is None or record.facts is None or facts.get("nothing_compiled"):
        return []
    if sites == 0:
        clean = record.status == "ok" and bool(facts.get("graphs") or facts.get("compiles") == 0)
        return [Finding("good", "No graph breaks.")] if clean else []
    inherited = int(record.breaks["inherited"].fillna(False).astype(bool).sum())
    text = f"{theme.counted(sites, 'graph break site')}"
    if inherited:
        text += f", {inherited} of them in reused code"
    if events:
        text += f"; {theme.counted(events, 'break')} happened"
    return [Finding("note", f"{text}.")]


def _of_accuracy(record: EvaluationRecord) -> list[Finding]:
    verdicts = set(record.accuracy["verdict"].dropna())
    if "fail" in verdicts:
        return [Finding("bad", "The compiled outputs are further from float64 than the tolerance allows.")]
    if "not_comparable" in verdicts:
        return [Finding("note", "The outputs can't be compared, so their accuracy was not judged.")]
    if "pass" in verdicts:
        return [Finding("good", "The compiled outputs are within tolerance.")]
    if record.evidence_only:
        return []
    return [Finding("note", "Accuracy was not measured.")]
