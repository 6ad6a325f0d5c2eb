"""What a walk knows of a bucket, and how compiles are counted while it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from evaluator.worker.session import Ended

if TYPE_CHECKING:
    from workloads.registry import Bucket


@dataclass
class BucketWalk:
    """What the walk saw of one bucket. ``compiles``: starts in the first and the second walk, None for one it never
    came to; ``mutates``: paths of arguments that its first call changed, None if that did not return."""

    bucket: Bucket
    status: str = "ok"
    reason: str | None = None
    stage: str | None = None
    error: Any = None
    first_call_s: float | None = None
    compiles: list[int | None] = field(default_factory=lambda: [None, None])
    mutates: list[str] | None = None
    # Compile ids of what ran and holds a graph.
    regions: list[str] | None = None
    attention: list[dict[str, Any]] = field(default_factory=list)
    # Where code is generated for a card that is not there: what would be otherwise on the card.
    card_notes: list[str] = field(default_factory=list)
    # What became of CUDA graphs in its visits, on such a target.
    cuda_graphs: dict[str, Any] | None = None

    def count(self, walk: int, compiles: int) -> None:
        """Add the compiles that started in one more call of this walk (1 or 2)."""
        self.compiles[walk - 1] = (self.compiles[walk - 1] or 0) + compiles

    def fail(self, ended: Ended, stage: str) -> None:
        self.status, self.reason, self.error, self.stage = ended.status, ended.reason, ended.error, stage


class CompileCount:
    """Counts the compiles that start in this process: forward, lazy backward, and frames that end skipped.

    ``empty``: compile ids (``0/1``) that went through and made no graph. Such a region is Python that Dynamo wrote,
    in which every operator is eager's.
    """

    def __init__(self) -> None:
        self.total = 0
        self.empty: set[str] = set()
        self._before = 0
        torch._dynamo.callback.on_compile_start(self._started)
        torch._dynamo.callback.on_compile_end(self._ended)

    def _started(self, *_: Any) -> None:
        self.total += 1
        self._before = _graphs()

    def _ended(self, *ended: Any) -> None:
        # A lazy backward has its forward's id and adds no graph to this count. An inner compile is not told of, but
        # counts, and so keeps what is around it from being called empty.
        for one in ended:
            if getattr(one.callback_trigger, "name", "") == "DYNAMO" and _graphs() == self._before:
                self.empty.add(str(one.compile_id))


def _graphs() -> int:
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])
