"""A run's document as text a person reads: what ran where, the table, then what each evaluation has to say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from evaluator.describe_kernels import kernel_lines
from evaluator.describe_observed import observed_lines
from evaluator.estimate import duration
from evaluator.table import MISSING, number, table
from evaluator.verdicts.words import precision_said

Document = dict[str, Any]


def describe_run(document: Document) -> str:
    """The whole run."""
    lines = [*_run(document["run"]), ""]
    evaluations = document["evaluations"]
    if not evaluations:
        return "\n".join([*lines, "nothing was evaluated"])
    lines.append(table(evaluations))
    for evaluation in evaluations:
        said = list(_evaluation(evaluation))
        if said:
            name = f"{evaluation['workload']} {evaluation['bucket']} {evaluation['variant']}"
            lines += ["", f"{name} (evaluation {evaluation['id']})", *(f"  {line}" for line in said)]
    return "\n".join(lines)


def _run(run: Document) -> Iterator[str]:
    label = f" {run['label']!r}" if run.get("label") else ""
    yield f"run {run['id']}{label} ({run['uuid']}), {run['profile']}, {run['status']}"
    took = ""
    if run.get("finished_at") and run.get("started_at"):
        seconds = datetime.fromisoformat(run["finished_at"]) - datetime.fromisoformat(run["started_at"])
        took = f", took {duration(seconds.total_seconds())}"
    yield f"started {run['started_at']}{took}"
    machine = run.get("machine") or {}
    yield (
        f"machine {str(machine.get('id'))[:8]}: {machine.get('cpu_model')}, {machine.get('cpu_count')} CPUs, "
        f"{number(machine.get('memory_mb'), 6)} MB, {machine.get('os')}"
    )
    for environment in run.get("environments", ()):
        parts = [f"torch {environment.get('torch')}", f"triton {environment.get('triton')}"]
        parts.append(f"Python {environment.get('python')}")
        if environment.get("gpu"):
            parts.append(str(environment["gpu"]))
        for metric, found in environment.get("metrics", {}).items():
            known = [value for value in found["samples"] if value is not None]
            parts.append(f"{metric} {number(known[0]) if known else MISSING}")
        yield f"environment {environment['hash'][:8]}: {', '.join(parts)}"


def _evaluation(evaluation: Document) -> Iterator[str]:
    """What is worth a line beside the table: why it is not ok, breaks, recompiles, findings, differences."""
    if evaluation.get("status") not in ("ok", None):
        yield f"{evaluation['status']}: {evaluation.get('reason') or 'no reason was recorded'}"
    for name, probe in evaluation.get("probes", {}).items():
        if probe["status"] not in ("ok", "skipped", evaluation.get("status")):
            yield f"{name} probe {probe['status']}: {probe.get('reason')}"
    precision = evaluation.get("precision") or {}
    if said := precision_said(precision.get("variant"), precision.get("workload")):
        yield said
    error = evaluation.get("error")
    if error:
        message = str(error.get("message", "")).strip().splitlines() or [""]
        yield f"{error.get('type')}: {message[0]}" + (" ..." if len(message) > 1 else "")
    yield from _facts(evaluation.get("facts") or {})
    for one in evaluation.get("breaks", ()):
        kind = "inherited break" if one.get("inherited") else "graph break"
        yield f"{kind} {one.get('id') or ''} at {one.get('file')}:{one.get('line')}: {_first_line(one.get('reason'))}"
    for one in evaluation.get("recompile_reasons", ()):
        frame, function = one.get("frame"), one.get("function")
        guarded = f", by a guard in {function}" if function not in (None, frame) else ""
        place = f"{frame or function}{guarded} at {one.get('file')}:{one.get('line')}"
        yield f"recompile of {place}: {_first_line(one.get('reason'))}"
    yield from kernel_lines(evaluation)
    yield from observed_lines(evaluation)
    yield from _accuracy(evaluation.get("accuracy_series") or {})
    for one in evaluation.get("differences", ()):
        yield f"{one.get('kind')} of {one.get('leaf')}: eager {one.get('eager')}, compiled {one.get('compiled')}"


def _accuracy(by_series: Document) -> Iterator[str]:
    for name, accuracy in by_series.items():
        series = "" if name == "default" else " with eager's random numbers"
        if accuracy.get("verdict") == "pass":
            if series or accuracy.get("reason"):
                yield ", ".join(filter(None, [f"accuracy{series} pass", accuracy.get("reason")]))
        else:
            yield (
                f"accuracy{series} {accuracy.get('verdict') or 'unknown'}: {accuracy.get('reason')} (largest difference "
                f"{_scientific(accuracy.get('max_abs'))}, error to float64 {_scientific(accuracy.get('rmse_fp64'))}, "
                f"eager's {_scientific(accuracy.get('eager_rmse_fp64'))})"
            )


def _facts(facts: Document) -> Iterator[str]:
    if facts.get("nothing_compiled"):
        yield "nothing was compiled"
    elif facts.get("reused_code"):
        yield "compiled nothing: it reused the code of earlier buckets"
    if facts.get("recompile_limit_hit"):
        yield f"the recompile limit was hit; frames that then ran eager here: {facts.get('ran_eager')}"
    card = facts.get("card")
    if isinstance(card, dict):
        figures = ", ".join(f"{name} {value}" for name, value in card.items())
        yield f"generated for a card that is not there, so nothing ran on it: {figures}"
    for one in facts.get("attention") or ():
        if isinstance(one, dict):
            yield f"attention: {one.get('backend')} ({one.get('why')})"
    for one in facts.get("card_notes") or ():
        yield f"not as on the card: {one}"
    if facts.get("second_walk_compiles"):
        yield f"unstable: the second walk compiled {facts['second_walk_compiles']} more time(s)"


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _scientific(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3g}"
