"""Which one graph of a cell two evaluations compiled differently, as code that runs alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evaluator.errors import UserError
from evaluator.trace.kernels import Origin, read_module
from evaluator.trace.log import Event, TraceLog

# Facts that differ before a graph is handed to Inductor, or say that other graphs were: no one graph then shows it.
_WHOLE_FACTS: Final = ("graphs", "break_events", "recompiles", "recompile_limit_hit")
# Operators that torch itself registers; others come with the workload, whose source a graph does not carry.
_TORCH_OPERATORS: Final = frozenset(
    {"aten", "prims", "inductor", "higher_order", "quantized", "quantized_decomposed", "mkldnn", "mkl"}
    | {"onednn", "rngprims", "debugprims", "_c10d_functional", "c10d_functional", "symm_mem"}
)
_OPERATOR: Final = re.compile(r"\btorch\.ops\.(\w+)\.")
# What load_args can't make anew: it then gives None.
_UNLOADABLE: Final = re.compile(r"\breader\.(const|unsupported|opaque)\(")
# Paths and caches of the process that logged it, and the call that would run it.
_LEFT_OUT: Final = re.compile(r"os\.environ(\[|\.pop\()|mod = Repro\(\)$|isolate_fails_code_str = ")
_SETTING: Final = re.compile(r"torch(?:\._\w+|\.fx\.experimental\._)[\w.]*config[\w.]* = ")
_FINDS_ITSELF: Final = 'if "__compile_source__" in globals()'
# Written at the top of a graph's module.
_SETTINGS: Final = """IGNORED = []


def set_if_known(setting):
    try:
        exec(setting, globals())
    except (AttributeError, NameError):
        IGNORED.append(setting)

"""
_ARGUMENTS: Final = re.compile(r"def forward\(self, ([^)]*)\)")
_ASSIGNED: Final = re.compile(r"^\s+(\w+) = ", re.MULTILINE)
# A whole name that is no attribute of something.
_NAME: Final = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_SYMBOLIC: Final = re.compile(r"tracing_mode='symbolic'")


@dataclass(frozen=True)
class Runnable:
    """A graph as torch logged it (``fx_graph_runnable``). ``origin``: its pass; None where it failed to compile."""

    compile_id: str
    origin: Origin | None
    text: str

    @property
    def name(self) -> str:
        """How it is asked for: ``0/0``, and which pass where it is one of a training call."""
        return self.compile_id if self.origin in ("inference", None) else f"{self.compile_id}:{self.origin}"

    @property
    def symbolic(self) -> bool:
        """Whether some of its sizes are symbols."""
        return _SYMBOLIC.search(self.text) is not None

    @property
    def source(self) -> str:
        """A module with ``Repro`` and ``load_args``. A setting that a torch lacks goes to ``IGNORED`` there."""
        lines = [_SETTINGS]
        skipping = False
        for line in self.text.partition("\nif __name__ == ")[0].splitlines():
            # The block that finds its own source again, which a file does not need.
            skipping = line.startswith(_FINDS_ITSELF) or (skipping and line.startswith(" "))
            if skipping or _LEFT_OUT.match(line):
                continue
            lines.append(f"set_if_known({line!r})" if _SETTING.match(line) else line)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"

    @property
    def body(self) -> str:
        """What it computes: the text from its class on, without remarks."""
        body = self.text[self.text.find("class Repro") :].partition("\nmod = Repro()")[0]
        lines = (line.partition("  #")[0].rstrip() for line in body.splitlines())
        return "\n".join(line for line in lines if line)

    def computes_as(self, other: Runnable) -> bool:
        """Whether both are the same graph, whatever its values are called."""
        return _renamed(self.body) == _renamed(other.body)


def _renamed(body: str) -> str:
    """A body with its values numbered in the order in which they come."""
    given = [name for names in _ARGUMENTS.findall(body) for name in names.split(", ")]
    names = {
        name: f"value{place}" for place, name in enumerate(dict.fromkeys([*given, *_ASSIGNED.findall(body)]))
    }
    return _NAME.sub(lambda found: names.get(found[0], found[0]), body)


@dataclass(frozen=True)
class ChangedGraph:
    """The graph on both sides. Where one side never came to it, it has the other's."""

    base: Runnable
    candidate: Runnable
    why: str


@dataclass(frozen=True)
class NoGraph:
    """Why no graph was singled out, one clause."""

    why: str


def changed_graph(
    base: Mapping[str, Any],
    candidate: Mapping[str, Any],
    base_log: TraceLog | None,
    candidate_log: TraceLog | None,
) -> ChangedGraph | NoGraph:
    """The graph that two evaluations of a cell compiled differently, if it is one and runs alone.

    ``base``, ``candidate``: what `db.queries.repro.evaluation` returns; the logs: their walks' traces.
    """
    if base_log is None or candidate_log is None:
        return NoGraph("a side kept no trace")
    before, after = runnables(base_log), runnables(candidate_log)
    if base["error"] or candidate["error"]:
        return _failing(before, after)
    for fact in _WHOLE_FACTS:
        ours, theirs = base["facts"].get(fact), candidate["facts"].get(fact)
        if ours != theirs:
            return NoGraph(f"{fact.replace('_', ' ')} differ, {ours} and {theirs}")
    changed = _other_kernels(base["kernels"], candidate["kernels"])
    if changed is None:
        return NoGraph("the graphs of the sides do not match up")
    if len(changed) != 1:
        return NoGraph(
            f"{len(changed)} graphs have other kernels" if changed else "all graphs have the same kernels"
        )
    ((ours, theirs),) = changed
    return _pair(before.get(ours), after.get(theirs), "its kernels differ")


def named_graph(base_log: TraceLog | None, candidate_log: TraceLog | None, name: str) -> ChangedGraph:
    """The graph that a user names (`0/0`, `0/0:backward`). Raises UserError where neither side has it, or it can't
    run alone."""
    sides = [
        {r.name: r for r in (runnables(log) if log else {}).values()} for log in (base_log, candidate_log)
    ]
    if not any(name in side for side in sides):
        known = sorted({*sides[0], *sides[1]})
        listed = f"there is {', '.join(known)}" if known else "their traces hold none"
        raise UserError(f"no graph {name!r} was compiled in these evaluations: {listed}")
    found = _pair(sides[0].get(name), sides[1].get(name), "it was asked for")
    if isinstance(found, NoGraph):
        raise UserError(f"graph {name} can't be run alone, since {found.why}: leave --graph out")
    return found


Key = tuple[str, Origin | None]


def runnables(log: TraceLog) -> dict[Key, Runnable]:
    """The graphs that were handed to Inductor, by compile id and pass; of several attempts the last."""
    found: dict[Key, Runnable] = {}
    waiting: dict[str, Event] = {}
    for event in log.named("fx_graph_runnable", "inductor_output_code"):
        if event.compile_id is None:
            continue
        compile_id = event.compile_id.text
        if event.name == "fx_graph_runnable":
            waiting[compile_id] = event
        elif compile_id in waiting:
            # Older torch does not say the pass in its code; a graph of a call without backward is the likelier.
            origin = read_module(log.payload(event) or "").origin or "inference"
            text = log.payload(waiting.pop(compile_id)) or ""
            found[compile_id, origin] = Runnable(compile_id, origin, text)
    for compile_id, event in waiting.items():
        found[compile_id, None] = Runnable(compile_id, None, log.payload(event) or "")
    return found


def _failing(before: Mapping[Key, Runnable], after: Mapping[Key, Runnable]) -> ChangedGraph | NoGraph:
    failed = {compile_id for compile_id, origin in (*before, *after) if origin is None}
    if len(failed) != 1:
        return NoGraph("a side failed before Inductor had a graph" if not failed else "several graphs failed")
    (compile_id,) = failed
    ours, theirs = (
        # Where a side got through it, the pass that it stands for is the first that was handed over.
        side.get((compile_id, None)) or next((r for (one, _), r in side.items() if one == compile_id), None)
        for side in (before, after)
    )
    return _pair(ours, theirs, "it fails to compile")


def _pair(base: Runnable | None, candidate: Runnable | None, why: str) -> ChangedGraph | NoGraph:
    base, candidate = base or candidate, candidate or base
    if base is None or candidate is None:
        return NoGraph("the trace does not hold the graph whose kernels differ")
    for one in (base, candidate):
        foreign = sorted(set(_OPERATOR.findall(one.body)) - _TORCH_OPERATORS)
        if foreign:
            return NoGraph(f"graph {one.name} calls torch.ops.{foreign[0]}, which the workload registers")
        if "def load_args" not in one.body or _UNLOADABLE.search(one.body):
            return NoGraph(f"graph {one.name} has inputs that its log can't make anew")
    return ChangedGraph(base, candidate, why)


def _other_kernels(
    base: Sequence[Mapping[str, Any]], candidate: Sequence[Mapping[str, Any]]
) -> list[tuple[Key, Key]] | None:
    """Graphs with other kernels, matched by their order, since ids count frames; None where they don't match up."""
    before, after = _by_graph(base), _by_graph(candidate)
    if [origin for _, origin in before] != [origin for _, origin in after]:
        return None
    return [
        (ours, theirs) for ours, theirs in zip(before, after, strict=True) if before[ours] != after[theirs]
    ]


def _by_graph(kernels: Sequence[Mapping[str, Any]]) -> dict[Key, Counter[str]]:
    found: dict[Key, Counter[str]] = {}
    for kernel in kernels:
        key = (str(kernel["graph"]), kernel["origin"])
        # A library call has no source of its own: its name is what it is.
        found.setdefault(key, Counter())[kernel["source_hash"] or kernel["name"]] += 1
    return found
