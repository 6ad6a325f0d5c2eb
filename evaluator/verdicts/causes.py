"""What likely made a regression, with the ids of the evidence; "cause unknown" where nothing recorded says so.

A cause is likely, not proved: it is what changed beside the number. Nothing is guessed from a workload's name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from evaluator.verdicts import ladder
from evaluator.verdicts.diffs import error_text, has_evidence, other_kernels, other_layers
from evaluator.verdicts.findings import Cause, Differences, Evidence, Finding, PhaseChange
from evaluator.verdicts.kernel_causes import KERNEL_CAUSES, KERNEL_CODES, kernels_cause, layers_cause
from evaluator.verdicts.pairs import both, failure_of
from evaluator.verdicts.sides import Pair, Side
from evaluator.verdicts.wording import listed, one_line
from evaluator.verdicts.words import REASONS

UNKNOWN: Final = Cause(None, "cause unknown")

_OPERATORS: Final = "eager of the same cell moved as well: operators or libraries, not the compiler"

# What is seen in the evidence itself, and so is there even between equal environments.
_SEEN: Final = KERNEL_CODES | {
    "new_break",
    "new_recompile",
    "limit_hit",
    "cache_missed",
    "cache_hit",
    "new_error",
}

# Of a cold compile's extra time one phase explains most of it if it holds this part.
_PHASE_SHARE: Final = 0.5
_PHASES: Final = {
    "compile.dynamo_s": ("dynamo", "Dynamo"),
    "compile.aot_autograd_s": ("aot_autograd", "AOTAutograd"),
    "compile.inductor_s": ("inductor", "Inductor"),
    "compile.toolchain_s": ("inductor", "the C++ or Triton compiler"),
}
# What raised says in which layer it did, where no ladder was climbed. Whatever a backend raises is wrapped alike.
_RAISED_IN: Final = (
    ("torch._inductor.", "inductor"),
    ("torch._dynamo.exc.Unsupported", "dynamo"),
    ("torch._dynamo.exc.TorchRuntimeError", "dynamo"),
)


@dataclass(frozen=True)
class Case:
    """All that a cause is found from: both sides, what differs, and how many dependencies moved.

    ``same_environment``: nothing at all of the environments differs, so that no dependency can be to blame.
    """

    pair: Pair
    base: Side
    candidate: Side
    differences: Differences
    dependencies: int
    same_environment: bool = False


def cause_of(finding: Finding, case: Case) -> Cause:
    """The likely cause of a bad finding."""
    if finding.kind == "status":
        found = _raised(case)
    elif finding.kind == "accuracy":
        found = _code(case) or UNKNOWN
    elif finding.kind == "time":
        found = _compile(finding, case) if finding.metric.startswith("compile.") else _warm(finding, case)
    else:
        found = _fact(finding, case)
    return _with_dependencies(_with_ladder(found, finding, case), case)


def _with_ladder(cause: Cause, finding: Finding, case: Case) -> Cause:
    climbed = ladder.climb(finding, case.pair)
    if climbed is None or cause.layer == "operators":
        return cause
    if climbed.layer == "operators":
        return Cause("operators_moved", f"{_OPERATORS}; {climbed.text}", climbed.evidence, climbed.layer)
    text = f"{climbed.named}: {climbed.text}"
    if cause.code is None:
        return Cause("layer_moved", text, climbed.evidence, climbed.layer)
    return replace(
        cause,
        text=f"{cause.text}; {text}",
        evidence=(*cause.evidence, *climbed.evidence),
        layer=climbed.layer,
    )


def _with_dependencies(cause: Cause, case: Case) -> Cause:
    if case.same_environment:
        text = REASONS["same_environment"]
        if cause.code in _SEEN:
            return replace(cause, text=f"{cause.text}; {text}")
        # Whatever layer or operator took longer, it is the same on both sides.
        return Cause("same_environment", text, cause.evidence)
    if case.dependencies < 2:
        return cause
    more = "more than one dependency moved, so which of them is not known"
    return replace(cause, code=cause.code or "several_dependencies_moved", text=f"{cause.text}; {more}")


def _raised(case: Case) -> Cause:
    failure = case.candidate.failure
    layer = None
    if failure is not None and failure.type:
        layer = next((layer for sign, layer in _RAISED_IN if failure.type.startswith(sign)), None)
    text = f"{case.candidate.status}: {failure_of(case.candidate)}"
    if error_text(failure) and case.candidate.reason and failure is not None:
        text += f" ({one_line(case.candidate.reason)})"
    return Cause("new_error", text, (Evidence("evaluation", case.candidate.evaluation, "candidate"),), layer)


def _warm(finding: Finding, case: Case) -> Cause:
    sides = case.pair.rerun if finding.rerun is not None and case.pair.rerun else (case.base, case.candidate)
    if ladder.operators_moved(finding, *sides):
        return Cause("operators_moved", _OPERATORS, both(*sides), "operators")
    return _new_break(case) or _code(case) or UNKNOWN


def _compile(finding: Finding, case: Case) -> Cause:
    flags = [
        side.series[finding.metric].flags if finding.metric in side.series else frozenset()
        for side in (case.base, case.candidate)
    ]
    unusable = {"cache_missed", "cache_bypassed"}
    if finding.metric == "compile.warm_cache_s" and flags[1] & unusable and not flags[0] & unusable:
        evidence = (Evidence("evaluation", case.candidate.evaluation, "candidate"),)
        said = "missed" if "cache_missed" in flags[1] else "were bypassed"
        return Cause("cache_missed", f"the caches that a cold compile left {said} on the candidate", evidence)
    if "cache_hit" in flags[0] and "cache_hit" not in flags[1]:
        evidence = (Evidence("evaluation", case.base.evaluation, "base"),)
        return Cause("cache_hit", "the base's cold compile found something in its caches", evidence)
    phase = _phase(finding, case)
    found = _new_break(case)
    if found is not None:
        return found if phase is None else replace(found, text=f"{found.text}; {phase.text}")
    other = other_kernels(case.differences.kernels)
    if phase is not None:
        # More code to compile and a slower compiler look alike in the phases; other kernels tell them apart.
        if other and phase.text.startswith(_PHASES["compile.toolchain_s"][1]):
            return replace(
                kernels_cause(other), text=f"{kernels_cause(other).text}; {phase.text}", layer=phase.layer
            )
        return replace(phase, text=f"{phase.text}; {kernels_cause(other).text}") if other else phase
    return kernels_cause(other) if other else UNKNOWN


def _phase(finding: Finding, case: Case) -> Cause | None:
    """The phase that holds most of what a cold compile takes longer."""
    extra = ladder.change_of(finding).absolute
    if not finding.metric.startswith("compile.cold") or extra <= 0 or not case.differences.phases:
        return None

    def grown(one: PhaseChange) -> float:
        return one.candidate - one.base

    most = max(case.differences.phases, key=grown)
    if grown(most) < _PHASE_SHARE * extra:
        return None
    layer, name = _PHASES[most.metric]
    text = f"{name} took {most.base:.2f} s -> {most.candidate:.2f} s, {grown(most) / extra:.0%} of the difference"
    return Cause("phase_moved", text, both(case.base, case.candidate), layer)


def _fact(finding: Finding, case: Case) -> Cause:
    if finding.metric == "graph_breaks":
        return _new_break(case) or UNKNOWN
    if finding.metric in KERNEL_CAUSES:
        return KERNEL_CAUSES[finding.metric](case.base, case.candidate, case.differences) or UNKNOWN
    if finding.metric in ("recompiles", "recompile_limit_hit"):
        return _new_recompile(case) or UNKNOWN
    if finding.metric == "second_walk_compiles":
        return _second_walk(case) or _new_recompile(case) or UNKNOWN
    if finding.metric == "ran_eager" and _newly(case, "recompile_limit_hit"):
        found = _new_recompile(case)
        text = "the recompile limit is hit on the candidate only"
        evidence = found.evidence if found else both(case.base, case.candidate)
        return Cause("limit_hit", f"{text}; {found.text}" if found else text, evidence, "dynamo")
    return _new_break(case) or UNKNOWN


def _newly(case: Case, fact: str) -> bool:
    return bool((case.candidate.facts or {}).get(fact)) and not (case.base.facts or {}).get(fact)


def _new_break(case: Case) -> Cause | None:
    added = [one for one in case.differences.breaks if one.change == "added"]
    if not added:
        return None
    said = [
        f"{one_line(one.reason, 120)} in {one.function or 'unknown function'} ({one.candidate})"
        for one in added
    ]
    evidence = tuple(item for one in added for item in one.evidence)
    return Cause("new_break", f"a graph break was added: {_some(said)}", evidence, "dynamo")


def _new_recompile(case: Case) -> Cause | None:
    added = [one for one in case.differences.guards if one.change == "added"]
    if not added:
        return None
    said = [f"{one_line(one.guard, 120)} in {one.function or 'unknown function'}" for one in added]
    evidence = tuple(item for one in added for item in one.evidence)
    return Cause("new_recompile", f"compiled again because a guard failed: {_some(said)}", evidence, "dynamo")


def _second_walk(case: Case) -> Cause | None:
    """Why the second walk compiled: it has no rows of its own, and says so in the facts."""
    reasons = (case.candidate.facts or {}).get("evidence_second_walk")
    if not isinstance(reasons, list) or not reasons:
        return None
    said = [
        f"{one_line(str(one.get('reason')), 120)} in {one.get('function') or 'unknown function'}"
        for one in reasons
        if isinstance(one, dict)
    ]
    evidence = (Evidence("evaluation", case.candidate.evaluation, "candidate"),)
    text = f"the second walk compiled again because a guard failed: {_some(list(dict.fromkeys(said)))}"
    return Cause("new_recompile", text, evidence, "dynamo")


def _code(case: Case) -> Cause | None:
    """What the generated code says: other kernels, or the same ones. None where there is none to compare."""
    other = other_kernels(case.differences.kernels)
    if other:
        return kernels_cause(other)
    layers = other_layers(case.differences.kernels)
    if layers:
        return layers_cause(layers)
    if not case.base.kernels or not case.candidate.kernels:
        return None
    if not (has_evidence(case.base) and has_evidence(case.candidate)):
        return None
    text = "cause unknown, but not code generation: both sides generated the same kernels"
    return Cause("same_kernels", text, both(case.base, case.candidate))


def _some(said: list[str]) -> str:
    return listed(said, 3)
