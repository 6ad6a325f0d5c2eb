"""What a reproduction script reads out of torch's structured trace. It stands in the script above `evaluator.worker.repro`,
by the same rules."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any


def repro_trace_size(folder: str) -> int:
    """Bytes of torch's structured trace so far."""
    return sum(log.stat().st_size for log in pathlib.Path(folder).glob("*.log"))


def repro_trace_facts(folder: str, start: int) -> dict[str, Any]:
    """Graphs, graph breaks and recompiles that the trace holds from byte ``start`` on, with their reasons."""
    facts: dict[str, Any] = {
        "graphs": 0,
        "break_events": 0,
        "recompiles": 0,
        "recompile_limit_hit": False,
        "breaks": {},
        "recompile_reasons": [],
    }
    for log in pathlib.Path(folder).glob("*.log"):
        graphs: set[str] = set()
        raw = log.read_bytes()
        # Once hit, the limit holds for every later call.
        facts["recompile_limit_hit"] |= re.search(rb'"fail_reason": "[^"]*recompile.limit', raw) is not None
        for event, payload in repro_events(raw[start:].decode(errors="replace")):
            compile_id = f"{event.get('frame_id')}/{event.get('frame_compile_id')}"
            metrics = event.get("compilation_metrics") or {}
            if "dynamo_output_graph" in event:
                graphs.add(compile_id)
            elif (event.get("artifact") or {}).get("name") == "dynamo_graph_break_reason":
                # A restarted attempt logs its break again.
                facts["breaks"][compile_id] = repro_break(payload)
            elif metrics.get("has_guarded_code") and metrics.get("is_forward") is not False:
                facts["graphs"] += compile_id in graphs
                if event.get("frame_compile_id"):
                    facts["recompiles"] += 1
                    facts["recompile_reasons"].append(" ".join(str(metrics.get("recompile_reason")).split()))
    facts["break_events"] = len(facts["breaks"])
    return facts


def repro_events(text: str) -> list[tuple[dict[str, Any], str]]:
    """(event, payload) of a trace log: a line with a JSON object, and the tab-indented lines that follow it."""
    events: list[tuple[dict[str, Any], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("\t") and events:
            events[-1][1].append(line[1:])
        elif line.startswith("V") and "{" in line:
            try:
                events.append((json.loads(line[line.index("{") :]), []))
            except ValueError:
                continue
    return [(event, "\n".join(payload)) for event, payload in events]


def repro_break(payload: str) -> str:
    """One line of a break: what was met, the innermost line of the user's code, and torch's id of its kind."""
    # What torch's own frames were doing follows the user's; it places nothing.
    payload = payload.partition("Traceback (most recent call last):")[0]
    site = re.findall(r"gb\d{4}", payload)
    places = re.findall(r'^  File "(.+)", line (\d+), in (\S+)', payload, re.MULTILINE)
    said = payload.partition("Reason:")[2].splitlines() or payload.splitlines()
    lines = [line.strip() for line in said if line.strip()]
    if len(lines) > 1 and lines[0].startswith(("Encountered graph break", "Failed to handle")):
        lines = lines[1:]
    where = f" at {pathlib.Path(places[-1][0]).name}:{places[-1][1]} in {places[-1][2]}" if places else ""
    # The headline alone often names no construct; the first line of the explanation does.
    lines = [line.removeprefix("Explanation: ") for line in lines[:2]]
    return f"{': '.join(lines) or 'no reason given'}{where}{f' ({site[0]})' if site else ''}"
