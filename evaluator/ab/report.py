"""The Markdown report of an A/B: versions, what differs, times of every process, and how to do it again.

The script of `repro --ab` carries the text of this module, so it uses the standard library and what is carried with it.
"""

from __future__ import annotations

import difflib
import os
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evaluator.printable import printable
from evaluator.trace.kernels import Kernel, kernels_of
from evaluator.verdicts.ratio import ratio

SIDES: Final = ("base", "candidate")
_CONFIDENCE: Final = 0.95
# An issue with more lines of a diff than this is not read.
_DIFF_LINES: Final = 120
_COUNTS: Final = ("graphs", "break_events", "recompiles", "recompile_limit_hit")
_FIGURES: Final = {
    "max_abs": "largest difference to eager",
    "max_rel": "largest relative difference to eager",
    "rmse_fp64": "error to float64 (RMSE)",
    "eager_rmse_fp64": "eager's error to float64 (RMSE)",
}
_TIMES: Final = {
    "cold_s": "cold compile (s)",
    "compiled_ms": "warm compiled (ms)",
    "eager_ms": "warm eager (ms)",
}


def report(spec: Mapping[str, Any], found: Mapping[str, Any], command: str) -> str:
    """The report. ``found``: what `driver.measure` returns; ``command``: what ran it."""
    lines = [
        f"# {_versions_of(spec, found)}: {spec['title']}",
        "",
        *_what(spec),
        "",
        *_environment(spec, found),
    ]
    lines += ["", "## What differs", "", *(_differences(spec, found) or ["Nothing that was looked at."])]
    lines += _accuracy(found)
    lines += ["", "## Times", "", *_times(found)]
    lines += ["", "## Recorded", "", *_recorded(spec)]
    lines += ["", "## Again", "", "```", _without_home(command), "```"]
    text = _without_home("\n".join(lines))
    return "\n".join(printable(line) for line in text.split("\n")) + "\n"


def _what(spec: Mapping[str, Any]) -> Iterator[str]:
    graph = spec["graph"]
    if graph is None:
        yield f"The workload itself, since {spec['why']}."
        return
    same = "the same in both" if graph["same"] else "each side its own, since what reaches Inductor differs"
    yield (
        f"Graph {graph['name']} alone, compiled by Inductor from what the trace logged ({same}), since {spec['why']}. "
        "Its inputs have the logged shapes; floats are random, integers 0."
    )


def _versions_of(spec: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    named = []
    for role in SIDES:
        versions = found["facts"][role].get("versions") or {}
        named.append(str(versions.get("torch") or spec["sides"][role]["torch"]))
    return f"torch {named[0]} against {named[1]}"


def _environment(spec: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    rows: dict[str, list[Any]] = {}
    for place, role in enumerate(SIDES):
        side = spec["sides"][role]
        known = {**(found["facts"][role].get("versions") or {"torch": f"{side['torch']} as recorded"})}
        known |= {} if spec["graph"] else side["libraries"]
        known |= {f"`{name}`": value for name, value in side["variables"].items()}
        for name, value in known.items():
            rows.setdefault(name, [None, None])[place] = value
    yield from _table(["", *SIDES], [[name, *values] for name, values in rows.items()])


def _differences(spec: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """What the sides' traced processes found apart: a list, then diffs to open."""
    base, candidate = (found["facts"][role] for role in SIDES)
    lines: list[str] = []
    for role, one in zip(SIDES, (base, candidate), strict=True):
        if "died" in one:
            lines.append(f"- {role} {_one_line(one['died'])}")
            continue
        for mode, error in one["error"].items():
            if error:
                lines.append(f"- {role}, {mode}: `{_code(error)}`")
        if one.get("ignored"):
            lines.append(f"- {role} lacks settings that were in force: `{_code('; '.join(one['ignored']))}`")
    if any("died" in one for one in (base, candidate)):
        return lines
    lines += _facts(base.get("facts"), candidate.get("facts"))
    kernels = [[kernel for code in one["code"] for kernel in kernels_of(code)] for one in (base, candidate)]
    gone, new = _apart(*kernels), _apart(*reversed(kernels))
    lines += _kernels(gone, new) if gone or new else _same_kernels(kernels[0])
    for ours, theirs in _changed(gone, new):
        lines += _details(f"<code>{ours.name}</code>", ours.source or "", theirs.source or "")
    graph = spec["graph"]
    if graph and not graph["same"]:
        bodies = graph["bodies"]
        lines += _details("the graph that reaches Inductor", bodies["base"], bodies["candidate"])
    return lines


def _facts(base: Mapping[str, Any] | None, candidate: Mapping[str, Any] | None) -> Iterator[str]:
    if base is None or candidate is None:
        return
    for name in _COUNTS:
        if base[name] != candidate[name]:
            yield f"- {name.replace('_', ' ')}: {base[name]} in base, {candidate[name]} in candidate"
    for what, ours, theirs in (
        ("graph break", base["breaks"].values(), candidate["breaks"].values()),
        ("recompile", base["recompile_reasons"], candidate["recompile_reasons"]),
    ):
        for role, texts in (
            ("base", Counter(ours) - Counter(theirs)),
            ("candidate", Counter(theirs) - Counter(ours)),
        ):
            for text, count in texts.items():
                yield f"- {what} only in {role}{f', {count} times' if count > 1 else ''}: `{_code(text)}`"


def _apart(kernels: Sequence[Kernel], others: Sequence[Kernel]) -> list[Kernel]:
    """Kernels of one side of which the other has fewer or none, by what they are and not by their names."""
    counts = Counter(map(_identity, kernels)) - Counter(map(_identity, others))
    return list({_identity(kernel): kernel for kernel in kernels if _identity(kernel) in counts}.values())


def _identity(kernel: Kernel) -> str:
    return kernel.source_hash or kernel.name


def _changed(gone: Sequence[Kernel], new: Sequence[Kernel]) -> list[tuple[Kernel, Kernel]]:
    """Those of one name on both sides, with two sources."""
    by_name = {kernel.name: kernel for kernel in new if kernel.source}
    return [(kernel, by_name[kernel.name]) for kernel in gone if kernel.source and kernel.name in by_name]


def _kernels(gone: Sequence[Kernel], new: Sequence[Kernel]) -> Iterator[str]:
    changed = {kernel.name for kernel, _ in _changed(gone, new)}
    for kernel in gone:
        if kernel.name in changed:
            yield f"- kernel of another source: `{kernel.name}` ({kernel.kind})"
    for role, kernels in (("base", gone), ("candidate", new)):
        for kernel in kernels:
            if kernel.name not in changed:
                yield f"- kernel only in {role}: `{kernel.name}` ({kernel.kind})"


def _same_kernels(kernels: Sequence[Kernel]) -> list[str]:
    return [f"- kernels: the same {len(kernels)} in both"] if kernels else []


def _accuracy(found: Mapping[str, Any]) -> list[str]:
    """How close each side is to its own eager and, where it was computed, to float64."""
    base, candidate = (found["facts"][role].get("accuracy") for role in SIDES)
    if base is None or candidate is None:
        return []
    rows = [
        [words, *(_number(one.get(name)) for one in (base, candidate))]
        for name, words in _FIGURES.items()
        if base.get(name) is not None or candidate.get(name) is not None
    ]
    return ["", "## Accuracy", "", *_table(["", *SIDES], rows)]


def _times(found: Mapping[str, Any]) -> Iterator[str]:
    if found["untimed"]:
        yield f"Not timed: {found['untimed']}."
        return
    if not found["turns"]:
        yield "Not timed."
        return
    shown = [name for name in _TIMES if any(name in turn for turn in found["turns"])]
    yield from _table(
        ["process", "side", *(_TIMES[name] for name in shown)],
        [
            [number + 1, turn["side"], *(_number(turn.get(name)) for name in shown)]
            for number, turn in enumerate(found["turns"])
        ],
    )
    yield ""
    for number, turn in enumerate(found["turns"]):
        if "died" in turn:
            yield f"- process {number + 1} {_one_line(turn['died'])}"
    for name in shown:
        ours, theirs = (
            [turn[name] for turn in found["turns"] if turn["side"] == role and name in turn] for role in SIDES
        )
        yield f"- {_TIMES[name]}: {_compared(ours, theirs)}"
    yield ""
    yield (
        "Each process has empty caches and the sides take turns, A B B A. A warm time is the median of 7 rounds of one "
        "process. Ratios are candidate / base: Hodges-Lehmann, with the exact Mann-Whitney interval over processes."
    )


def _compared(base: Sequence[float], candidate: Sequence[float]) -> str:
    if not base or not candidate:
        return "a side has no number"
    medians = (
        f"{_number(statistics.median(base))} in base, {_number(statistics.median(candidate))} in candidate"
    )
    try:
        found = ratio(base, candidate, _CONFIDENCE)
    except ValueError:
        return f"{medians}; too few processes for an interval"
    said = "no difference shown" if found.low <= 1 <= found.high else "a difference"
    return (
        f"{medians}; ratio {found.ratio:.3f} [{found.low:.3f}, {found.high:.3f}] at {_CONFIDENCE:.0%}, {said}"
    )


def _recorded(spec: Mapping[str, Any]) -> Iterator[str]:
    for role in SIDES:
        side = spec["sides"][role]
        medians = "".join(f", {metric} {_number(value)}" for metric, value in side["medians"].items())
        error = f", `{_code(side['error'])}`" if side["error"] else ""
        yield f"- {role}: evaluation {side['evaluation']}, torch {side['torch']}, {side['status']}{medians}{error}"


def _details(title: str, base: str, candidate: str) -> Iterator[str]:
    diff = list(difflib.unified_diff(base.splitlines(), candidate.splitlines(), *SIDES, lineterm=""))
    left_out = [f"... and {len(diff) - _DIFF_LINES} more lines"] if len(diff) > _DIFF_LINES else []
    yield from ["", f"<details><summary>{title}</summary>", "", "````diff"]
    yield from [*diff[:_DIFF_LINES], *left_out, "````", "", "</details>"]


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join("-" if cell is None else _cell(cell) for cell in row) + " |"


def _cell(value: Any) -> str:
    return _one_line(str(value)).replace("|", "\\|")


def _code(text: str) -> str:
    """A text as it may stand between single backquotes."""
    return _one_line(text).replace("`", "'")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _without_home(text: str) -> str:
    """The text without the name of the user's folder: a report is for others to read."""
    home = str(Path.home())
    return text if home == os.sep else text.replace(home, "~")
