"""From what a probe process said and left behind to the record that is kept of each probe of each bucket."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evaluator import machine
from evaluator.control.attempts import Attempt, Settled
from evaluator.control.profile_records import Profile, add_profile, read_profiles
from evaluator.control.walk_records import (
    add_bytes_moved,
    evidence_fields,
    ran_eager,
    read_evidence,
    trace_file,
    what_is_known,
    whole_graph,
)
from evaluator.plan import ProbeKey
from evaluator.sink import artifact
from evaluator.trace.evidence import Evidence
from evaluator.worker.protocol import worst

Record = dict[str, Any]

# What `show` prints of a log, and what is kept of one at most: both ends, since a log that floods is worth
# reading where it begins and where it stops.
LOG_TAIL_BYTES: Final = 4096
LOG_KEPT_BYTES: Final = 10_000_000


# What a profile gives of each mode.
_OBSERVED: Final = ("observed_kernels", "observed_operators")
# Fields of a result that say whose it is, and those it may leave out.
_ENVELOPE: Final = frozenset({"kind", "id", "probe", "bucket"})
_NOTHING_SAID: Final[Record] = {
    "reason": None,
    "stage": None,
    "error": None,
    "samples": [],
    "accuracy": None,
    "differences": [],
    "timing_protocol": None,
}


@dataclass
class Files:
    """What the processes of a step left: artifacts to keep, and the evidence of traced walks, by process."""

    artifacts: dict[str, Record] = field(default_factory=dict)
    logs: dict[int, tuple[str, str]] = field(default_factory=dict)
    traces: dict[int, str] = field(default_factory=dict)
    evidence: dict[int, dict[str, Evidence]] = field(default_factory=dict)
    profiles: dict[int, dict[str, Profile]] = field(default_factory=dict)
    fullgraph: bool = False

    def keep(self, kind: str, content: bytes) -> str:
        """Keep an artifact; its sha256."""
        made = artifact(kind, content)
        self.artifacts.setdefault(made["sha256"], made)
        return str(made["sha256"])


def collect(
    attempts: Sequence[Attempt], sources: Sequence[str], fullgraph: bool, on_device: bool = False
) -> Files:
    """Read logs and traces of these processes while their files are there.

    ``sources``: the workload sources, for short file names; ``fullgraph``: whether a break is an error here; ``on_device``:
    whether the target has a device that the profiler looks at.
    """
    files = Files(fullgraph=fullgraph)
    for attempt in attempts:
        log = read_ends(attempt.log, LOG_KEPT_BYTES)
        if log:
            text = machine.shorten(log.decode("utf-8", "replace")).encode()
            tail = text[-LOG_TAIL_BYTES:].decode("utf-8", "ignore")
            files.logs[id(attempt)] = (tail, files.keep("log", text))
        if attempt.trace_folder is not None:
            files.evidence[id(attempt)] = read_evidence(attempt, sources, fullgraph)
            trace = trace_file(attempt.trace_folder)
            if trace is not None:
                text = machine.shorten(trace.read_text(errors="replace")).encode()
                files.traces[id(attempt)] = files.keep("trace", text)
        if attempt.profile_folder is not None:
            files.profiles[id(attempt)] = read_profiles(attempt, on_device, files.keep)
    return files


def read_ends(path: Path, limit: int) -> bytes:
    """A file's content; of one larger than `limit` bytes its two ends, with how much was left out between them."""
    try:
        size = path.stat().st_size
        if size <= limit:
            return path.read_bytes()
        with path.open("rb") as file:
            head = file.read(limit // 2)
            file.seek(-(limit // 2), os.SEEK_END)
            tail = file.read(limit // 2)
    except FileNotFoundError:
        return b""
    return head + f"\n... {size - len(head) - len(tail)} bytes left out ...\n".encode() + tail


def probe_record(run: str, evaluation: str, key: ProbeKey, settled: Settled, files: Files) -> Record:
    """The record of one probe. ``key``: its replica, probe and cache state."""
    replica, probe, cache = key
    result, attempt = settled.result, settled.attempt
    said = {name: value for name, value in result.items() if name not in _ENVELOPE and value is not None}
    record: Record = {
        "type": "probe",
        "run": run,
        "evaluation": evaluation,
        "replica": replica,
        "probe": probe,
        "cache": cache,
        "attempt": 1,
        **_NOTHING_SAID,
        # What a worker says beyond the known fields (another accuracy series) is kept as it says it.
        **said,
        "facts": dict(said.get("facts") or {}),
        "breaks": [],
        "recompile_reasons": [],
        "kernels": [],
        "observed_kernels": [],
        "observed_operators": [],
        "artifacts": [],
        "log_tail": None,
        "started_at": None,
        "duration_s": None,
        "conditions": None,
        "limits": None,
    }
    if attempt is not None:
        _add_process(record, attempt, (probe, result["bucket"]), files)
        if probe == "walk":
            _add_evidence(record, attempt, result["bucket"], files)
        profile = files.profiles.get(id(attempt), {}).get(result["bucket"])
        if probe == "profile" and profile is not None:
            add_profile(record, profile)
    kept: Record = machine.without_home(record)
    return kept


def _add_process(record: Record, attempt: Attempt, place: tuple[Any, str], files: Files) -> None:
    record["started_at"] = attempt.started_at
    # One process may serve several buckets: each has the seconds that were spent on it.
    record["duration_s"] = round(attempt.spent.get(place, 0.0), 4)
    record["limits"] = attempt.limits
    done = attempt.done
    record["conditions"] = {
        **(done.get("conditions") or {}),
        "startup_s": done.get("startup_s"),
        "peak_rss_mb": done.get("peak_rss_mb"),
    }
    # These say something of the workload only where they are not as they should be.
    if done.get("leftovers"):
        record["facts"]["leftover_processes"] = done["leftovers"]
    if attempt.continued:
        record["facts"]["continued_after_crash"] = True
    if id(attempt) in files.logs:
        tail, sha256 = files.logs[id(attempt)]
        record["log_tail"] = tail
        record["artifacts"].append({"kind": "log", "sha256": sha256})


def _add_evidence(record: Record, attempt: Attempt, bucket: str, files: Files) -> None:
    if attempt.trace_folder is None:
        return
    if id(attempt) in files.traces:
        record["artifacts"].append({"kind": "trace", "sha256": files.traces[id(attempt)]})
    evidence = files.evidence[id(attempt)]
    regions = record["facts"].get("regions")
    if bucket not in evidence:
        # It was never called: of nothing that a call does is it known that there was none.
        return
    found = evidence_fields(evidence[bucket], files.keep)
    if "card" in record["facts"]:
        add_bytes_moved(found["kernels"], attempt.generated)
        # What a phase takes here says nothing of a machine that has the card.
        found["facts"].pop("traced_phases", None)
    record["facts"] |= found["facts"]
    record["facts"]["ran_eager"] = ran_eager(bucket, regions, evidence)
    record["facts"] = what_is_known(record["facts"], record["status"])
    record["facts"]["whole_graph"] = whole_graph(record["facts"], files.fullgraph, record["status"])
    record["artifacts"] += found["artifacts"]
    for name in ("breaks", "recompile_reasons", "kernels"):
        record[name] = found[name]


def merged(first: Record, second: Record) -> Record:
    """Two processes of one probe (memory, profile: one a mode) as one record: all they measured, the worse ending's story."""
    status = worst([first["status"], second["status"]])
    story, other = (second, first) if second["status"] == status != first["status"] else (first, second)
    artifacts = [*first["artifacts"], *(a for a in second["artifacts"] if a not in first["artifacts"])]
    durations = [one["duration_s"] for one in (first, second) if one["duration_s"] is not None]
    return {
        **story,
        "samples": [*first["samples"], *second["samples"]],
        "facts": {**other["facts"], **story["facts"]},
        **{name: [*(first.get(name) or ()), *(second.get(name) or ())] for name in _OBSERVED},
        "artifacts": artifacts,
        "started_at": first["started_at"] or second["started_at"],
        "duration_s": round(sum(durations), 4) if durations else None,
    }
