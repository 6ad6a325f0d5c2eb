"""One script that shows what two evaluations of a cell differ in: it runs the changed graph, or the workload itself,
under both interpreters in turns, and prints a report for an issue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from evaluator.ab.changed_graph import ChangedGraph, NoGraph
from evaluator.carried import LEAVES, carried, entries, registry
from evaluator.errors import UserError
from evaluator.printable import printable
from evaluator.reproduction import PLAIN_VARIANT
from evaluator.verdicts.words import is_codegen

# What the script carries, as it stands here. They need the standard library, and those in `worker` torch.
_CARRIED: Final = (
    "evaluator/ab/driver.py",
    "evaluator/ab/report.py",
    "evaluator/printable.py",
    "evaluator/trace/cpp_wrapper.py",
    "evaluator/trace/decorators.py",
    "evaluator/trace/kernels.py",
    "evaluator/trace/normalise.py",
    "evaluator/verdicts/ratio.py",
    *LEAVES,
    "evaluator/worker/repro_backward.py",
    "evaluator/worker/repro_float64.py",
    "evaluator/worker/repro_leaves.py",
    "evaluator/worker/repro_trace.py",
    "evaluator/worker/repro.py",
    "evaluator/worker/ab_measure.py",
)
_NEVER_RAN: Final = "nothing was run for a card that is not there, so there is nothing to time: `compare` and Why show its code"
_SAME_CELL: Final = ("workload", "bucket", "variant", "target")

_SCRIPT: Final = '''"""{title}

{what}
Recorded: {recorded}
{needs}
    python {name}{arguments}

The report, in Markdown, goes to stdout, progress to stderr. --help says what can be chosen.
"""

import json
import pathlib
import shutil
import sys
import tempfile

# ---- what is compared ------------------------------------------------------------------------------------

{subject}
SPEC = json.loads(r"""{spec}""")

# ---- what runs it: files that are unpacked into a folder of this run's own -------------------------------

CARRIED = {{
{carried}
}}


def unpack(folder):
    for name, text in {{**SUBJECT, **CARRIED}}.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    sys.path.insert(0, folder)


if __name__ == "__main__":
    FOLDER = tempfile.mkdtemp(prefix="ab-")
    try:
        unpack(FOLDER)
        from evaluator.ab.driver import main

        STATUS = main(SPEC, FOLDER, sys.argv)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    sys.exit(STATUS)
'''


def ab_script(
    base: Mapping[str, Any],
    candidate: Mapping[str, Any],
    graph: ChangedGraph | NoGraph,
    name: str = "ab.py",
) -> str:
    """The script's text. ``base``, ``candidate``: what `db.queries.repro.evaluation` returns of two evaluations.

    Raises UserError where they are not of one cell in one definition, or the workload itself is to run and its source
    was not kept.
    """
    check_cell(base, candidate)
    subject = _graphs(graph) if isinstance(graph, ChangedGraph) else _workload(candidate)
    child = "ab_graph" if isinstance(graph, ChangedGraph) else "ab_workload"
    title = f"{_name(base)}, bucket {base['bucket']}, variant {base['variant']}, target {base['target']}"
    sides = {"base": _side(base), "candidate": _side(candidate)}
    spec = {
        "title": title,
        "child": f"evaluator.worker.{child}",
        "graph": _graph_spec(graph) if isinstance(graph, ChangedGraph) else None,
        "why": graph.why,
        "sides": sides,
        "seed": candidate["seed"],
        "target": candidate["target"],
        "precision": candidate["precision"]["set"],
        **({} if isinstance(graph, ChangedGraph) else _workload_spec(candidate)),
    }
    return _SCRIPT.format(
        title=_documentation(f"A/B of {title}."),
        what=_documentation(_what(graph)),
        recorded=_documentation("; ".join(f"{role} {_recorded(side)}" for role, side in sides.items())),
        needs=_documentation(_needs(candidate, graph)),
        name=_documentation(name),
        arguments="".join(f" --{role} PYTHON" for role, side in sides.items() if side["interpreter"] is None),
        subject=_literals("SUBJECT", subject),
        spec=json.dumps(spec, indent=1, sort_keys=True),
        carried=entries(carried((*_CARRIED, f"evaluator/worker/{child}.py"))),
    )


def check_cell(base: Mapping[str, Any], candidate: Mapping[str, Any]) -> None:
    """Raises UserError where two evaluations are not of one cell in one definition, are the same, or never ran."""
    if base["id"] == candidate["id"]:
        raise UserError(f"evaluation {base['id']} is given twice: name the one of each side")
    for part in _SAME_CELL:
        ours, theirs = (_name(one) if part == "workload" else one[part] for one in (base, candidate))
        if ours != theirs:
            raise UserError(
                f"evaluations {base['id']} and {candidate['id']} are of different cells ({part} {ours} and {theirs}): "
                "give two of one cell"
            )
    if base["definition_hash"] != candidate["definition_hash"]:
        raise UserError(
            f"evaluations {base['id']} and {candidate['id']} are of two definitions of {_name(base)}: evaluate both "
            "sides anew with one of them"
        )
    if is_codegen(base["target"]):
        raise UserError(_NEVER_RAN)


def _graphs(graph: ChangedGraph) -> dict[str, str]:
    """The graph as modules, one for each side."""
    return {"graph_base.py": graph.base.source, "graph_candidate.py": graph.candidate.source}


def _graph_spec(graph: ChangedGraph) -> dict[str, Any]:
    return {
        "name": graph.candidate.name,
        "same": graph.base.computes_as(graph.candidate),
        "bodies": {"base": graph.base.body, "candidate": graph.candidate.body},
        # A graph that failed says no pass; the side that got through it does.
        "origin": graph.base.origin or graph.candidate.origin,
        "symbolic": {"base": graph.base.symbolic, "candidate": graph.candidate.symbolic},
    }


def _workload(document: Mapping[str, Any]) -> dict[str, str]:
    source = document["workload"]["source"]
    if not source:
        raise UserError(
            f"evaluation {document['id']} kept no source of {_name(document)}, so there is nothing to run"
        )
    return {**registry(source), "workload.py": source}


def _workload_spec(document: Mapping[str, Any]) -> dict[str, Any]:
    workload = document["workload"]
    return {
        "workload": workload["name"],
        "buckets": document["buckets"],
        "options": document["options"],
        "own_options": document["variant"] == PLAIN_VARIANT,
        "mutates": bool((document["facts"] or {}).get("mutates")),
        **{name: workload[name] for name in ("training", "grad", "calls")},
    }


def _side(document: Mapping[str, Any]) -> dict[str, Any]:
    environment = document["environment"]
    error = document["error"] or {}
    medians = {
        metric: document["metrics"][metric]["median"]
        for metric in ("compile.cold_s", "compiled.wall_ms")
        if metric in document["metrics"]
    }
    return {
        "evaluation": document["id"],
        "torch": environment["torch"],
        "status": document["status"],
        "error": f"{error.get('type')}: {_first_line(error.get('message'))}" if error else None,
        "medians": medians,
        "interpreter": document["interpreter"],
        "variables": environment.get("variables") or {},
        "libraries": document["libraries"],
    }


def _what(graph: ChangedGraph | NoGraph) -> str:
    if isinstance(graph, ChangedGraph):
        return f"It runs graph {graph.candidate.name} alone, with made-up inputs, since {graph.why}."
    return f"It runs the workload itself, since {graph.why}."


def _recorded(side: Mapping[str, Any]) -> str:
    return f"torch {side['torch']} {side['status']} (evaluation {side['evaluation']})"


def _needs(document: Mapping[str, Any], graph: ChangedGraph | NoGraph) -> str:
    also = ""
    if isinstance(graph, NoGraph):
        also = "".join(f" and {name}" for name in document["libraries"])
    return f"Needs two interpreters with torch{also}, and any Python from 3.10 on to run it:\n"


def _name(document: Mapping[str, Any]) -> str:
    return str(document["workload"]["name"])


def _first_line(text: Any) -> str:
    return next((line.strip() for line in str(text or "").splitlines() if line.strip()), "")


def _literals(name: str, files: Mapping[str, str]) -> str:
    return f"{name} = {{\n{entries(files)}\n}}"


def _documentation(text: str) -> str:
    """The text as it may stand in the script's docstring, which a terminal shows."""
    text = "\n".join(printable(line) for line in text.split("\n"))
    return text.replace("\\", "\\\\").replace('"""', "'''")
