"""What the profile probe left: its Chrome traces, as they may be kept, and what they say of each mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.chrome_trace.events import ChromeTraceError
from evaluator.chrome_trace.observed import Observed, observe
from evaluator.chrome_trace.portable import portable
from evaluator.chrome_trace.recording import read_recording
from evaluator.control.attempts import Attempt
from evaluator.worker.protocol import MODES, PROFILED_REGION

Record = dict[str, Any]

# A larger one is not kept: the probe makes fewer calls of what takes much, so this is a single call.
MOST_KEPT_BYTES: Final = 64 << 20
_MB: Final = 1_000_000
# Fields between the probe and this module.
_INTERNAL: Final = ("file", "problem", "launchers")


@dataclass(frozen=True)
class Profile:
    """One mode of one bucket: the trace that is kept, and what it says; ``reason``: why there is none, or nothing of a device."""

    mode: str
    trace: str | None
    size: int | None
    observed: Observed | None
    reason: str | None


def read_profiles(attempt: Attempt, on_device: bool, keep: Callable[[str, bytes], str]) -> dict[str, Profile]:
    """What a process of the profile probe recorded, by bucket. ``keep`` keeps an artifact and gives its sha256."""
    assert attempt.profile_folder is not None
    found = {}
    for (probe, bucket), result in attempt.results.items():
        if probe != "profile":
            continue
        for mode in MODES:
            said = (result.get("facts") or {}).get(mode)
            if isinstance(said, Mapping):
                found[bucket] = _profile(attempt.profile_folder, mode, said, on_device, keep)
    return found


def _profile(
    folder: Path, mode: str, said: Mapping[str, Any], on_device: bool, keep: Callable[[str, bytes], str]
) -> Profile:
    name = said.get("file")
    if not isinstance(name, str):
        return Profile(mode, None, None, None, said.get("problem") or "no trace was left")
    path = folder / Path(name).name
    try:
        size = path.stat().st_size
        if size > MOST_KEPT_BYTES:
            most = f"{MOST_KEPT_BYTES / _MB:.0f} MB"
            return Profile(
                mode, None, size, None, f"the trace has {size / _MB:.0f} MB, and none over {most} is kept"
            )
        trace = portable(path.read_bytes(), f"{mode}.json")
        observed = observe(read_recording(trace), PROFILED_REGION, on_device)
    except OSError as error:
        return Profile(mode, None, None, None, f"the trace can't be read: {error.strerror}")
    except ChromeTraceError as error:
        return Profile(mode, None, None, None, f"the trace can't be read: {error}")
    return Profile(mode, keep("chrome_trace", trace), len(trace), observed, observed.reason)


def add_profile(record: Record, profile: Profile) -> None:
    """Put what a trace says into the record of the probe that left it."""
    loaded = record["facts"][profile.mode].get("launchers") or {}
    said = {name: value for name, value in record["facts"][profile.mode].items() if name not in _INTERNAL}
    facts = {
        **said,
        "trace": profile.trace,
        "trace_bytes": profile.size,
        "reason": profile.reason,
        "batch": {},
    }
    record["facts"][profile.mode] = facts
    if profile.trace is not None:
        record["artifacts"].append({"kind": "chrome_trace", "sha256": profile.trace})
    observed = profile.observed
    if observed is None:
        return
    facts |= {"regions": list(observed.regions), "devices": observed.devices, "batch": observed.batch}
    record["observed_kernels"] = [
        {
            "mode": profile.mode,
            "kind": one.kind,
            "name": one.name,
            "launches": one.launches,
            "device_ms": one.time / 1000,
            "registers": one.registers,
            "spills": (loaded.get(one.name) or {}).get("spills"),
            "occupancy": one.occupancy,
        }
        for one in observed.work or ()
    ]
    record["observed_operators"] = [
        {
            "mode": profile.mode,
            "name": one.name,
            "calls": one.calls,
            "host_ms": one.host_ms,
            "kernels": one.kernels,
        }
        for one in observed.operators
    ]
