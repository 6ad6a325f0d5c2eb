"""What the facts of an evaluation say, as sentences: honest about what was not compiled, not reached or not known.

Pure: a record in, sentences out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from app import theme
from db.queries.why import EvaluationRecord
from evaluator.verdicts.words import (
    ROUND_FLAGS,
    WRONG,
    accuracy_text,
    is_codegen,
    is_refusal,
    precision_said,
    round_flags,
)

NOTHING: Final = "nothing was compiled"

Tone = Literal["bad", "note", "good"]


@dataclass(frozen=True)
class Finding:
    """One sentence, and whether it is bad news, something to know, or good news. No text from records in it."""

    tone: Tone
    sentence: str


def exact(record: EvaluationRecord) -> dict[str, str]:
    """The cards of an evaluation: title -> what it says."""
    facts = record.facts or {}
    verdict, reason, _ = record.outputs
    return {
        "Status": theme.status_text(record.status or "running"),
        "Graphs": theme.count(facts.get("graphs")),
        "Operators": theme.count(facts.get("ops")),
        "Break sites": theme.count(facts.get("graph_breaks")),
        "Compiles": theme.count(facts.get("compiles")),
        "Recompiles": theme.count(facts.get("recompiles")),
        "Kernels": theme.count(len(record.kernels) if facts.get("graphs") is not None else None),
        "Accuracy": accuracy_text(verdict, reason) or theme.MISSING,
    }


def findings(record: EvaluationRecord) -> list[Finding]:
    """Bad news first, in the order in which one would ask."""
    found = [
        *_of_status(record),
        *_of_precision(record),
        *_of_compilation(record),
        *_of_breaks(record),
        *_of_builds(record),
    ]
    found += [*_of_graphs(record), *_of_rounds(record)]
    found += [Finding("note", theme.NOTHING_RAN)] if is_codegen(record.target) else _of_accuracy(record)
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
    lead = "Failed" if tone == "bad" else "No result to judge"
    return [Finding(tone, f"{lead}: {theme.STATUS_WORDS[record.status][1]}.")]


def _of_precision(record: EvaluationRecord) -> list[Finding]:
    asked = [
        None if one is None else theme.literal(one) for one in (record.precision, record.workload_precision)
    ]
    said = precision_said(*asked)
    return [] if said is None else [Finding("note", f"{said[0].upper()}{said[1:]}.")]


def note(row: Mapping[Any, Any]) -> str | None:
    """The one thing to know about an evaluation beside its times, from its status and facts; None if there is none."""
    if row["nothing_compiled"] is True:
        return NOTHING
    if row["recompile_limit_hit"] is True and row["ran_eager"] != "none":
        return f"{'partly ' if row['ran_eager'] == 'some' else ''}ran eager after the recompile limit"
    if row["status"] == WRONG:
        return "accuracy failed"
    return "; ".join(ROUND_FLAGS[flag] for flag in row.get("round_flags") or ()) or None


def _of_compilation(record: EvaluationRecord) -> list[Finding]:
    facts = record.facts
    if record.status == "unsupported" and (facts or {}).get("graphs") is None:
        return [Finding("note", "It is unsupported here, so what would be compiled is not known.")]
    if facts is None or facts.get("graphs") is None:
        return [Finding("note", "No trace of the walk is kept, so what was compiled is not known.")]
    found = []
    if facts.get("nothing_compiled"):
        found.append(Finding("bad", "Nothing was compiled: not one graph was captured in the whole walk."))
    elif facts.get("recompile_limit_hit"):
        found.append(_of_the_limit(facts.get("ran_eager")))
    elif facts.get("reused_code") or (facts.get("compiles") == 0 and record.status == "ok"):
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


def _of_the_limit(ran_eager: str | None) -> Finding:
    """``ran_eager``: how many compiled regions did; None if that is not known."""
    if ran_eager == "none":
        return Finding("note", "The recompile limit refused an attempt, and no region ran eager for it here.")
    who = {"all": "All compiled regions ran", "some": "Some compiled regions ran"}.get(ran_eager or "")
    sentence = f"{who or 'Some code may have run'} eager after the recompile limit"
    return Finding("bad", f"{sentence}: its time here is not the time of compiled code.")


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


def _of_builds(record: EvaluationRecord) -> list[Finding]:
    """What Triton or ptxas refused, what came to no end, and what spills, of the kernels that were to be built."""
    if record.builds.empty:
        return []
    errors = [one for one in record.builds["error"] if isinstance(one, str)]
    refused = sum(map(is_refusal, errors))
    unknown = len(errors) - refused
    spilling = int((record.builds[["spill_stores", "spill_loads"]].sum(axis=1) > 0).sum())
    found = []
    if refused:
        n = theme.counted(refused, "kernel")
        found.append(Finding("bad", f"Triton or ptxas refused {n}: see Kernels for why."))
    if unknown:
        n = theme.counted(unknown, "kernel")
        found.append(
            Finding(
                "note", f"The build of {n} crashed or came to no end, which says nothing of it: see Kernels."
            )
        )
    if spilling:
        n = f"{theme.counted(spilling, 'kernel')} {'spills' if spilling == 1 else 'spill'}"
        found.append(Finding("note", f"{n} registers to memory."))
    if not errors and not spilling:
        found.append(Finding("good", "Every kernel was built, and none spills."))
    return found


def _of_graphs(record: EvaluationRecord) -> list[Finding]:
    """Whether the calls of a variant that asks for CUDA graphs are in them."""
    extra = (record.facts or {}).get("extra")
    told = extra.get("cuda_graphs") if isinstance(extra, dict) else None
    # A variant that does not ask for graphs counts none.
    if not isinstance(told, dict) or "skipped" not in told:
        return []
    found = []
    if told["captured"]:
        found.append(Finding("good", "Its calls are in CUDA graphs."))
    elif told["captured"] is not None:
        n = theme.counted(told["skipped"], "graph")
        found.append(
            Finding("note", f"Not all of its calls are in CUDA graphs: {n} skipped; Environment has why.")
        )
    if told["rerecorded"]:
        n = theme.counted(told["rerecorded"], "CUDA graph")
        found.append(Finding("note", f"{n} recorded again, in the place of one that no longer held."))
    return found


def _of_rounds(record: EvaluationRecord) -> list[Finding]:
    """What qualifies its times; a flag of any of them."""
    if record.summaries.empty:
        return []
    seen = round_flags(flag for flags in record.summaries["round_flags"] for flag in flags)
    return [Finding("note", f"Of its times: {ROUND_FLAGS[flag]}.") for flag in seen]


def _of_accuracy(record: EvaluationRecord) -> list[Finding]:
    verdict, reason, series = record.outputs
    drawn = "" if series == "default" else ", compiled so that it draws eager's random numbers"
    if verdict == "fail":
        return [Finding("bad", f"The compiled outputs are not eager's within the tolerance{drawn}.")]
    if verdict == "not_comparable":
        return [Finding("note", "The outputs can't be compared, so their accuracy was not judged.")]
    if verdict == "pass" and reason:
        # Which leaves is text from the record; how many is not.
        left_out = reason.partition(":")[0]
        return [
            Finding(
                "note", f"The compiled outputs are within tolerance{drawn}, but {left_out}; see Accuracy."
            )
        ]
    if verdict == "pass":
        return [Finding("good", f"The compiled outputs are within tolerance{drawn}.")]
    if record.evidence_only:
        return []
    return [Finding("note", "Accuracy was not measured.")]
