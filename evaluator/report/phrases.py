"""How findings are put into words: numbers, ratios, causes and commands, the same in every report."""

from __future__ import annotations

from datetime import UTC
from typing import Final

from evaluator.estimate import duration
from evaluator.report.context import Context
from evaluator.table import number
from evaluator.verdicts.findings import (
    Cause,
    CellVerdict,
    Estimate,
    Evidence,
    Finding,
    Moved,
    Verdicts,
)
from evaluator.verdicts.wording import size, too_few
from evaluator.verdicts.words import REASONS, VERDICTS, Verdict, marks

TITLES: Final[dict[Verdict, str]] = {
    "newly_failing": "newly failing",
    "regressed": "regressed",
    "flaky": "flaky",
    "inconclusive": "inconclusive",
    "not_compared": "not compared",
    "changed": "changed",
    "improved": "improved",
    "fixed": "fixed",
    "unchanged": "unchanged",
}
# What each verdict means, for the reader of a report who has not read the documentation.
MEANINGS: Final[dict[Verdict, str]] = {
    "newly_failing": "the base side works and the candidate fails",
    "regressed": "worse by at least the margin that counts, and the interval does not reach back to no change",
    "flaky": "a difference that a fresh rerun did not show again",
    "inconclusive": "the measurements allow both no change and a change that counts, or a part of the evidence is missing",
    "not_compared": "there is nothing to compare, for the reason given; this is not `unchanged`",
    "changed": "different, with no better or worse side",
    "improved": "better by at least the margin that counts",
    "fixed": "the base side fails and the candidate works",
    "unchanged": "shown to be equal within the margin, not merely not shown to differ",
}
MISSING: Final = "-"
UNKNOWN: Final = "unknown"
ARROW: Final = "→"

_LAYERS: Final = {
    "operators": "operators (eager moved too)",
    "dynamo": "Dynamo",
    "aot_autograd": "AOTAutograd",
    "inductor": "Inductor",
    "cuda_graphs": "CUDA graphs",
}


def answer_line(verdicts: Verdicts) -> str:
    """The answer and its sentence; the sentence alone where it begins with the answer."""
    sentence = verdicts.answer_text.strip()
    return sentence if sentence.startswith(verdicts.answer) else f"{verdicts.answer}: {sentence}"


def cell_words(cell: CellVerdict) -> tuple[str, str, str, str]:
    """Workload, bucket, variant and target."""
    name = cell.cell
    return name.workload, name.bucket, name.variant, name.target


def value(what: float | int | str | None, unit: str | None) -> str:
    """A side's value with its unit; counts whole, measured numbers and sizes (of bytes, ``B``) with three digits."""
    if what is None:
        return MISSING
    if isinstance(what, bool):
        return "yes" if what else "no"
    if unit == "B" and isinstance(what, int):
        return size(what)
    text = number(what) if isinstance(what, float) else str(what)
    return f"{text} {unit}" if unit and unit != "1" else text


def change(finding: Finding) -> str:
    """``12.3 ms → 14.1 ms``, ``~12.3 ms → ~14.1 ms`` of rounds that a flag qualifies; empty where neither side has a value."""
    if finding.base is None and finding.candidate is None:
        return ""
    base, candidate = both_values(finding)
    return f"{base} {ARROW} {candidate}"


def both_values(finding: Finding) -> tuple[str, str]:
    """The sides' values as shown; of a time whose rounds are qualified with the mark of that."""
    around = marks(finding.reasons)
    shown = [value(one, finding.unit) for one in (finding.base, finding.candidate)]
    base, candidate = (one if one == MISSING else f"{around}{one}" for one in shown)
    return base, candidate


def percent(ratio: float) -> str:
    """A ratio as a signed percentage, ``+14.6%``; a factor from a doubling on, where percentages mislead."""
    if ratio >= 2:
        return f"x{ratio:.2f}"
    return f"{(ratio - 1) * 100:+.1f}%"


def interval(estimate: Estimate) -> str:
    """``+14.6% (+13.1% to +16.0%, 95%)``."""
    return (
        f"{percent(estimate.ratio)} ({percent(estimate.low)} to {percent(estimate.high)}, "
        f"{estimate.confidence * 100:.4g}%)"
    )


def said(finding: Finding) -> str:
    """What is known of a finding in one line: the values and their ratio, or its own text, which names them."""
    if finding.estimate is not None:
        return ", ".join(
            word for word in (change(finding), interval(finding.estimate), samples(finding.estimate)) if word
        )
    return finding.text or change(finding) or reasons(finding.reasons)


def known(finding: Finding) -> tuple[str, ...]:
    """What is known of a finding beside its values: the ratio or its own text, what would settle it, and why it is so."""
    if finding.estimate is not None:
        first = [interval(finding.estimate), samples(finding.estimate)]
        first += [f"in a fresh rerun {interval(finding.rerun)}"] if finding.rerun is not None else []
    else:
        # The text of a time without an interval only repeats its values.
        first = [] if finding.kind == "time" and change(finding) else [finding.text]
    listed = [*first, more_replicas(finding), *(reasons((code,)) for code in finding.reasons)]
    return tuple(dict.fromkeys(one for one in listed if one))


def samples(estimate: Estimate) -> str:
    """What the estimate stands on: ``5 v 5 replicas, margin 3%``."""
    return f"{estimate.base_replicas} v {estimate.candidate_replicas} replicas, margin {estimate.margin * 100:.3g}%"


def confirmation(finding: Finding) -> str:
    """``confirmed``, or why not; empty where no rerun is needed."""
    if finding.confirmed is None:
        return ""
    if finding.confirmed:
        return "confirmed"
    return "rerun disagreed" if "rerun_disagreed" in finding.reasons else "unconfirmed"


def verdict_word(finding: Finding | CellVerdict) -> str:
    """The verdict's word, with whether a bad one is confirmed."""
    word = TITLES[finding.verdict]
    if finding.verdict in ("regressed", "newly_failing") and finding.confirmed is False:
        return f"{word}, unconfirmed"
    return word


def more_replicas(finding: Finding) -> str:
    """How many more replicas would settle it, or are the least to say anything; empty where that is not known."""
    if not finding.more_replicas:
        return ""
    if "too_few_replicas" in finding.reasons:
        return too_few(finding.more_replicas)
    return f"{finding.more_replicas} more {'replica' if finding.more_replicas == 1 else 'replicas'} a side would likely settle it"


def reasons(codes: tuple[str, ...]) -> str:
    """Reason codes as their sentences."""
    return "; ".join(REASONS.get(code, code) for code in codes)


def cause(found: Cause | None) -> str:
    """The likely cause, after the words "cause:", and the layer that moved; ``unknown`` where it is not known."""
    if found is None or (found.code is None and not found.layer):
        return UNKNOWN
    text = found.text if found.code is not None else UNKNOWN
    return f"{text}; layer that moved: {_LAYERS.get(found.layer, found.layer)}" if found.layer else text


def evidence(found: tuple[Evidence, ...]) -> str:
    """Rows a claim rests on, by kind and side: ``kernels 3344 (base), 4555 (candidate)``."""
    by_kind: dict[str, list[str]] = {}
    for one in dict.fromkeys(found):
        by_kind.setdefault(one.kind, []).append(f"{one.id} ({one.side})")
    return "; ".join(f"{kind.replace('_', ' ')} {', '.join(ids)}" for kind, ids in by_kind.items())


def finding_evidence(finding: Finding) -> tuple[Evidence, ...]:
    """A finding's own evidence, then its cause's."""
    return (*finding.evidence, *(finding.cause.evidence if finding.cause else ()))


def repro(cell: CellVerdict, context: Context) -> str | None:
    """The command that shows a cell's difference on its own; None where a side has no evaluation, or where nothing can be
    run: its script measures code that runs."""
    if cell.base_evaluation is None or cell.candidate_evaluation is None or cell.cell.codegen:
        return None
    return (
        f"python -m evaluator repro --ab {cell.base_evaluation} {cell.candidate_evaluation}"
        f"{context.database_option}"
    )


def moved(one: Moved) -> str:
    """``torch 2.13.0+cpu → 2.14.1+cpu``."""
    return f"{one.field} {one.base or MISSING} {ARROW} {one.candidate or MISSING}"


def dependencies(verdicts: Verdicts) -> tuple[str, ...]:
    """The dependencies that moved, each once, in the order of the verdicts."""
    return tuple(dict.fromkeys(one.dependency for one in verdicts.moved if one.dependency))


def counts(verdicts: Verdicts) -> tuple[tuple[Verdict, int], ...]:
    """Cells by verdict, worst first, without those that no cell has."""
    found: dict[str, int] = {}
    for cell in verdicts.cells:
        found[cell.verdict] = found.get(cell.verdict, 0) + 1
    return tuple((verdict, found[verdict]) for verdict in VERDICTS if verdict in found)


def provenance(context: Context) -> tuple[str, ...]:
    """Where, when and from which runs, a line each."""
    when = context.made_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    lines = [f"made {when}" + (f", took {duration(context.wall_s)}" if context.wall_s is not None else "")]
    if context.machine:
        lines.append(f"machine: {context.machine}")
    if context.runs:
        listed = ", ".join(
            f"{one.id} ({one.purpose}{f', {one.label}' if one.label else ''}, {one.uuid[:8]})"
            for one in context.runs
        )
        lines.append(f"runs: {listed}")
    return tuple(lines)
