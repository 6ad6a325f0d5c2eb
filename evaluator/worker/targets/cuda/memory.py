"""Memory of a GPU: what torch's allocator holds and gives out, whose pools it is in, and what lies outside it.

``reserved`` is what the allocator took from the device and keeps: more than is allocated is its cache, and no leak.
Nothing here empties it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import torch

from evaluator.worker.protocol import Sample
from evaluator.worker.targets.cuda import nvml, presence

_MB: Final = 1e6
# Where everything is that asked for no pool of its own.
_COMMON_POOL: Final = (0, 0)
_ALLOCATED: Final = "allocated_bytes.all.current"
_ALLOCATED_PEAK: Final = "allocated_bytes.all.peak"
_RESERVED: Final = "reserved_bytes.all.current"
_RESERVED_PEAK: Final = "reserved_bytes.all.peak"
_INACTIVE: Final = "inactive_split_bytes.all.current"
_RETRIES: Final = "num_alloc_retries"

Stats = Mapping[str, int]


class Allocator(Protocol):
    """What is asked of a device's allocator."""

    def wait(self) -> None:
        """Until the device is done."""

    def stats(self) -> Stats:
        """``torch.cuda.memory_stats``: bytes and counts by name; an allocator may lack some."""

    def reset_peak(self) -> None:
        """Let the peaks begin at what is held now."""

    def segments(self) -> Sequence[Mapping[str, Any]]:
        """``torch.cuda.memory_snapshot``: every piece taken from the device, with its pool."""

    def process_mb(self) -> float | None:
        """All that this process holds on the device, by the driver; None where it does not say."""


class TorchAllocator:
    """The allocator of the current CUDA device."""

    def wait(self) -> None:
        torch.cuda.synchronize()

    def stats(self) -> Stats:
        return torch.cuda.memory_stats()

    def reset_peak(self) -> None:
        torch.cuda.reset_peak_memory_stats()

    def segments(self) -> Sequence[Mapping[str, Any]]:
        device = torch.cuda.current_device()
        return [one for one in torch.cuda.memory_snapshot() if one.get("device", device) == device]

    def process_mb(self) -> float | None:
        try:
            return presence.reader().memory_of(os.getpid())
        except nvml.NoNvml:
            return None


@dataclass(frozen=True)
class Pool:
    """A private pool, as CUDA graphs have: its id as torch names it, its segments, and what of them is given out."""

    pool: tuple[int, int]
    segments: int
    reserved_mb: float
    allocated_mb: float

    def as_fact(self) -> dict[str, Any]:
        return {
            "pool": list(self.pool),
            "segments": self.segments,
            "reserved_mb": self.reserved_mb,
            "allocated_mb": self.allocated_mb,
        }


def private_pools(segments: Iterable[Mapping[str, Any]]) -> list[Pool] | None:
    """The private pools of a snapshot, the largest first; None where its segments do not say whose they are."""
    found: dict[tuple[int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for segment in segments:
        if "segment_pool_id" not in segment:
            return None
        found[tuple(segment["segment_pool_id"])].append(segment)
    pools = [
        Pool(
            pool,
            len(held),
            sum(one["total_size"] for one in held) / _MB,
            sum(one["allocated_size"] for one in held) / _MB,
        )
        for pool, held in found.items()
        if pool != _COMMON_POOL
    ]
    return sorted(pools, key=lambda one: (-one.reserved_mb, one.pool))


class Rise:
    """How far what is held rises over what is held when this is made, whose peaks then begin anew."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator
        allocator.wait()
        allocator.reset_peak()
        self._before = allocator.stats()

    def peaks_mb(self) -> tuple[float | None, float | None]:
        """Of what was allocated, and of what was reserved for it, at most so far."""
        self._allocator.wait()
        after = self._allocator.stats()
        return (
            _growth(self._before.get(_ALLOCATED), after.get(_ALLOCATED_PEAK)),
            _growth(self._before.get(_RESERVED), after.get(_RESERVED_PEAK)),
        )


@dataclass
class Steady:
    """Memory of one mode's steady calls. Made before the workload is built, with the libraries' handles there.

    ``empty``: what the allocator said before those were made; what is held is over that, since recording a CUDA graph gives
    their workspaces back. ``workspace_mb``: what making them left allocated, the workspaces that cuBLAS keeps.
    """

    allocator: Allocator
    mode: str
    empty: Stats
    workspace_mb: float | None
    _rises: list[float | None] = field(default_factory=list)

    def measure(self, call: Callable[[], None]) -> None:
        """One steady call; its inputs are there already, and its outputs are gone when it returns."""
        rise = Rise(self.allocator)
        call()
        self._rises.append(rise.peaks_mb()[0])

    def finish(self) -> tuple[list[Sample], dict[str, Any]]:
        """Samples and facts, once inputs and outputs of the calls are gone."""
        self.allocator.wait()
        now = self.allocator.stats()
        pools = private_pools(self.allocator.segments())
        reserved, process = now.get(_RESERVED), self.allocator.process_mb()
        rises = [one for one in self._rises if one is not None]
        inactive = now.get(_INACTIVE)
        values: dict[str, float | None] = {
            "device_allocated_peak_mb": max(rises, default=None),
            "device_allocated_mb": _growth(self.empty.get(_ALLOCATED), now.get(_ALLOCATED)),
            "device_reserved_mb": _growth(self.empty.get(_RESERVED), reserved),
            "device_inactive_split_mb": None if inactive is None else inactive / _MB,
            "device_private_pools_mb": None if pools is None else sum(one.reserved_mb for one in pools),
            "device_workspace_mb": self.workspace_mb,
            "device_outside_mb": None if process is None or reserved is None else process - reserved / _MB,
            "device_alloc_retries": _difference(self.empty.get(_RETRIES), now.get(_RETRIES)),
        }
        samples: list[Sample] = [
            {"metric": f"{self.mode}.{name}", "round": None, "value": value, "flags": []}
            for name, value in values.items()
        ]
        return samples, {"private_pools": None if pools is None else [one.as_fact() for one in pools]}


METRIC_NAMES: Final = (
    "device_allocated_peak_mb",
    "device_allocated_mb",
    "device_reserved_mb",
    "device_inactive_split_mb",
    "device_private_pools_mb",
    "device_workspace_mb",
    "device_outside_mb",
    "device_alloc_retries",
)


def _difference(before: int | None, after: int | None) -> float | None:
    return None if before is None or after is None else float(after - before)


def _growth(before: int | None, after: int | None) -> float | None:
    grown = _difference(before, after)
    return None if grown is None else grown / _MB
