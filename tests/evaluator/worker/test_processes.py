"""How far a process's memory rises, and where /proc does not tell."""

from __future__ import annotations

import mmap
from collections.abc import Callable

import pytest

from evaluator.worker import processes

PAGE = mmap.PAGESIZE
MB = 1_000_000


def touch(megabytes: int) -> None:
    """Hold that much for a moment, by pages of its own that go back to the system."""
    with mmap.mmap(-1, megabytes * MB) as memory:
        for place in range(0, megabytes * MB, PAGE):
            memory[place] = 1


def test_a_peak_counts_from_where_it_is_asked_for() -> None:
    touch(300)
    growth = processes.Growth()
    touch(100)
    rise = growth.mb()
    assert rise is not None
    # The kernel adds up resident pages lazily, some dozens a thread.
    assert 95 < rise < 150


def refuses(*_: object) -> float:
    raise OSError(1, "Operation not permitted")


@pytest.mark.parametrize(
    ("name", "replaced"),
    [
        ("reset_peak", refuses),
        ("memory_mb", refuses),
        ("memory_mb", lambda field: 100.0 if field == "VmRSS" else refuses()),
    ],
)
def test_where_a_sandbox_does_not_tell_it_is_null(
    name: str, replaced: Callable[..., float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, name, replaced)
    assert processes.Growth().mb() is None
