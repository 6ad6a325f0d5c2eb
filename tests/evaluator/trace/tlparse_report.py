"""Reads what tlparse makes of a log, from its own output alone: the index, its artifacts by compile, its failures.

Each field of ``Report`` has the name of our fact, and its count says what of tlparse it is.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_STATUS = re.compile(r"class='status-(\w+)'>\[([^\]]+)\]</a>")
_ATTEMPT = re.compile(r"^\[(.+?)(?:_(\d+))?\]$")
_NUMBER = re.compile(r"_\d+\.\w+$")
_ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r"<td>(.*?)</td>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")

# How the index colours a compile that went through: with no restart, after one, and with nothing to compile.
_SUCCESS = ("ok", "break", "empty")


@dataclass(frozen=True)
class Report:
    """tlparse's account of a log, in our words."""

    graphs: int
    break_events: int
    compiles: int
    recompiles: int
    refused_compiles: int
    backward_graphs: int
    cache_hits: int
    cache_misses: int
    aot_cache_hits: int
    aot_cache_misses: int


def report(tlparse: str, log: Path, folder: Path) -> Report:
    """Run tlparse on the log, and count in its output."""
    subprocess.run([tlparse, str(log), "-o", str(folder), "--no-browser"], check=True, capture_output=True)
    status = {compile_id: name for name, compile_id in _STATUS.findall((folder / "index.html").read_text())}
    artifacts = _artifacts(folder)
    failures = _failures(folder)
    succeeded = {compile_id for compile_id, name in status.items() if name in _SUCCESS}
    saving = _saving_sizes(folder) & succeeded
    everything = [name for attempts in artifacts.values() for names in attempts.values() for name in names]
    return Report(
        graphs=sum(
            _kept(attempts).count("dynamo_output_graph")
            for key, attempts in artifacts.items()
            if key in succeeded
        ),
        break_events=sum(_has(attempts, "dynamo_graph_break_reason") for attempts in artifacts.values()),
        compiles=len(succeeded),
        recompiles=sum(1 for compile_id in succeeded if not compile_id.endswith("/0")),
        refused_compiles=sum(1 for text in failures.values() if "recompile limit exceeded" in text),
        backward_graphs=sum(_backward(attempts) or key in saving for key, attempts in artifacts.items()),
        cache_hits=everything.count("fx_graph_cache_hit"),
        cache_misses=everything.count("fx_graph_cache_miss"),
        aot_cache_hits=everything.count("aotautograd_cache_hit"),
        aot_cache_misses=everything.count("aotautograd_cache_miss"),
    )


def _artifacts(folder: Path) -> dict[str, dict[int, list[str]]]:
    """compile id -> attempt -> names of its artifacts, without their running numbers."""
    found: dict[str, dict[int, list[str]]] = defaultdict(dict)
    for key, entry in json.loads((folder / "compile_directory.json").read_text()).items():
        match = _ATTEMPT.match(key)
        assert match, key
        names = [_NUMBER.sub("", artifact["name"]) for artifact in entry["artifacts"]]
        found[match[1]][int(match[2] or 0)] = names
    return found


def _failures(folder: Path) -> dict[str, str]:
    """compile id with attempt -> the text of its row on the page of failures and restarts."""
    rows: dict[str, str] = {}
    for row in _ROW.findall((folder / "failures_and_restarts.html").read_text()):
        cells = [html.unescape(_TAG.sub("", cell)).strip() for cell in _CELL.findall(row)]
        if cells:
            rows[cells[0]] = " ".join(cells[1:])
    return rows


def _saving_sizes(folder: Path) -> set[str]:
    """Compiles whose forward keeps symbolic sizes for its backward, which is compiled with it."""
    saving = set()
    for key, entry in json.loads((folder / "compile_directory.json").read_text()).items():
        for artifact in entry["artifacts"]:
            if artifact["name"].startswith("aot_forward_graph_fw_metadata"):
                text = (folder / artifact["url"]).read_text()
                match = _ATTEMPT.match(key)
                if match and re.search(r"num_symints_saved_for_bw=[1-9]", text):
                    saving.add(match[1])
    return saving


def _kept(attempts: dict[int, list[str]]) -> list[str]:
    """The attempt whose compile came to an end, which has the metrics page."""
    return next((names for names in attempts.values() if "compilation_metrics" in names), [])


def _has(attempts: dict[int, list[str]], name: str) -> bool:
    return any(name in names for names in attempts.values())


def _backward(attempts: dict[int, list[str]]) -> bool:
    cached = _has(attempts, "aotautograd_cache_hit") and _has(attempts, "aot_backward_graph")
    return cached or _has(attempts, "bwd_compilation_metrics")
