"""Memory of a GPU, from an allocator that is simulated: what is held, what rises, and whose pool it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from evaluator.worker.protocol import METRICS
from evaluator.worker.targets.cuda.memory import METRIC_NAMES, Rise, Steady, private_pools

MB = 1_000_000


class Simulated:
    """Gives out memory in whole segments and keeps those; refuses to be emptied, since nobody may ask for that."""

    def __init__(self, *, lacks: Sequence[str] = (), process_mb: float | None = None) -> None:
        self.allocated = self.allocated_peak = self.reserved = self.reserved_peak = 0
        self.retries = 0
        self.held: list[Mapping[str, Any]] = []
        self.waits = 0
        self._lacks = lacks
        self._process_mb = process_mb

    def take(self, megabytes: int) -> None:
        self.allocated += megabytes * MB
        self.reserved = max(self.reserved, self.allocated)
        self.allocated_peak = max(self.allocated_peak, self.allocated)
        self.reserved_peak = max(self.reserved_peak, self.reserved)

    def give_back(self, megabytes: int) -> None:
        self.allocated -= megabytes * MB

    def wait(self) -> None:
        self.waits += 1

    def stats(self) -> Mapping[str, int]:
        found = {
            "allocated_bytes.all.current": self.allocated,
            "allocated_bytes.all.peak": self.allocated_peak,
            "reserved_bytes.all.current": self.reserved,
            "reserved_bytes.all.peak": self.reserved_peak,
            "inactive_split_bytes.all.current": 3 * MB,
            "num_alloc_retries": self.retries,
        }
        return {name: value for name, value in found.items() if name not in self._lacks}

    def reset_peak(self) -> None:
        self.allocated_peak, self.reserved_peak = self.allocated, self.reserved

    def segments(self) -> Sequence[Mapping[str, Any]]:
        return self.held

    def process_mb(self) -> float | None:
        return self._process_mb


def segment(pool: tuple[int, int], total: int, allocated: int) -> dict[str, Any]:
    return {"segment_pool_id": pool, "total_size": total * MB, "allocated_size": allocated * MB, "stream": 0}


def values(steady: Steady) -> tuple[dict[str, float | None], dict[str, Any]]:
    samples, facts = steady.finish()
    assert all(sample["metric"] in METRICS for sample in samples)
    return {sample["metric"]: sample["value"] for sample in samples}, facts


def call(device: Simulated, *megabytes: int) -> Callable[[], None]:
    def run() -> None:
        for one in megabytes:
            device.take(one)
        device.give_back(sum(megabytes))

    return run


def test_what_a_mode_holds_and_what_its_calls_need_are_apart() -> None:
    device = Simulated(process_mb=900.0)
    empty = device.stats()
    device.take(8)  # cuBLAS, before the workload
    steady = Steady(device, "compiled", empty, 8.0)
    device.take(100)  # weights
    call(device, 400)()  # the first call, which compiled
    device.take(20)  # its inputs
    steady.measure(call(device, 30, 10))
    steady.measure(call(device, 60))
    device.give_back(20)
    device.retries = 2
    device.held = [segment((0, 0), 108, 108), segment((0, 1), 200, 150), segment((0, 1), 50, 50)]
    found, facts = values(steady)
    assert found == {
        "compiled.device_allocated_peak_mb": 60.0,
        "compiled.device_allocated_mb": 108.0,
        # 508 at most: the allocator keeps what the first call needed, which is no leak.
        "compiled.device_reserved_mb": 508.0,
        "compiled.device_inactive_split_mb": 3.0,
        "compiled.device_private_pools_mb": 250.0,
        "compiled.device_workspace_mb": 8.0,
        "compiled.device_outside_mb": 900.0 - 508.0,
        "compiled.device_alloc_retries": 2.0,
    }
    assert facts["private_pools"] == [
        {"pool": [0, 1], "segments": 2, "reserved_mb": 250.0, "allocated_mb": 200.0}
    ]
    assert {name.partition(".")[2] for name in found} == set(METRIC_NAMES)


def test_workspaces_that_are_given_back_make_nothing_negative() -> None:
    """As when a CUDA graph is recorded, for which torch has cuBLAS begin with none."""
    device = Simulated()
    empty = device.stats()
    device.take(34)
    steady = Steady(device, "compiled", empty, 34.0)
    device.take(2)
    device.give_back(34)
    steady.measure(call(device, 1))
    device.reserved = 5 * MB
    found, _ = values(steady)
    assert found["compiled.device_allocated_mb"] == 2.0
    assert found["compiled.device_reserved_mb"] == 5.0
    assert found["compiled.device_workspace_mb"] == 34.0


def test_what_an_allocator_or_a_driver_does_not_tell_is_null() -> None:
    device = Simulated(
        lacks=("allocated_bytes.all.peak", "inactive_split_bytes.all.current", "num_alloc_retries")
    )
    steady = Steady(device, "eager", device.stats(), None)
    steady.measure(call(device, 5))
    device.held = [{"total_size": MB, "allocated_size": 0}]
    found, facts = values(steady)
    unknown = {name.partition(".")[2] for name, value in found.items() if value is None}
    assert unknown == {
        "device_allocated_peak_mb",
        "device_inactive_split_mb",
        "device_private_pools_mb",
        "device_workspace_mb",
        "device_outside_mb",
        "device_alloc_retries",
    }
    assert facts == {"private_pools": None}


def test_a_rise_is_over_what_was_held_and_waits_for_the_device() -> None:
    device = Simulated()
    device.take(500)
    device.give_back(450)
    rise = Rise(device)
    waited = device.waits
    device.take(70)
    device.give_back(70)
    assert rise.peaks_mb() == (70.0, 0.0)
    device.take(600)
    assert rise.peaks_mb() == (600.0, 150.0)
    assert (waited, device.waits) == (1, 3)


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([], []),
        ([segment((0, 0), 5, 5)], []),
        (
            [segment((0, 2), 1, 0), segment((3, 0), 4, 4), segment((0, 2), 2, 1)],
            [((3, 0), 1, 4.0, 4.0), ((0, 2), 2, 3.0, 1.0)],
        ),
    ],
)
def test_private_pools_are_those_with_an_id_the_largest_first(
    segments: list[dict[str, Any]], expected: list[tuple[tuple[int, int], int, float, float]]
) -> None:
    found = private_pools(segments)
    assert found is not None
    assert [(one.pool, one.segments, one.reserved_mb, one.allocated_mb) for one in found] == expected


def test_pools_of_a_version_that_does_not_name_them_are_unknown() -> None:
    assert private_pools([segment((0, 1), 1, 1), {"total_size": 1, "allocated_size": 1}]) is None
