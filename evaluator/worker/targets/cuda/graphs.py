"""CUDA graphs of a walk: how many were recorded, recorded again or skipped for each bucket, and why.

What a compile skips stands in its trace as well; what a call skips (an input that is changed in place, too many recordings)
is only logged.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

# Modes of torch.compile that ask for graphs, and the option that does.
_MODES: Final = frozenset({"reduce-overhead", "max-autotune"})
_OPTION: Final = "triton.cudagraphs"
_MOST_REASONS: Final = 20


def asks_for_graphs(options: Mapping[str, Any]) -> bool:
    """Whether a variant's options of torch.compile have Inductor make CUDA graphs."""
    if options.get("backend", "inductor") == "cudagraphs":
        return True
    asked = (options.get("options") or {}).get(_OPTION)
    return options.get("mode") in _MODES if asked is None else bool(asked)


@dataclass(frozen=True)
class Counts:
    """So far in this process; None where this torch does not count it. ``rerecorded``: recordings in the place of one
    that no longer held."""

    recorded: int | None
    rerecorded: int | None
    skipped: int

    def since(self, before: Counts) -> dict[str, int | None]:
        """What came after ``before``."""
        return {
            "recorded": _less(self.recorded, before.recorded),
            "rerecorded": _less(self.rerecorded, before.rerecorded),
            "skipped": self.skipped - before.skipped,
        }


def counted(manager: Any, skipped: int) -> Counts:
    """From Inductor's tree of recordings; ``manager`` None: nothing was recorded yet."""
    if manager is None:
        return Counts(0, 0, skipped)
    again = getattr(manager, "num_rerecord", None)
    roots = getattr(manager, "roots", None)
    return Counts(
        None if roots is None else sum(1 for _ in _nodes(roots)),
        None if again is None else sum(sum(of.values()) for of in again.values()),
        skipped,
    )


def _nodes(below: Mapping[Any, Any]) -> Iterator[Any]:
    waiting = [node for nodes in below.values() for node in nodes]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for nodes in getattr(node, "children", {}).values() for child in nodes]


class Watch(logging.Handler):
    """What happens to the graphs of a walk from now on, in a process that goes on to time what was recorded."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._reasons: list[str] = []
        utils = sys.modules.get("torch._inductor.cudagraph_utils")
        log: logging.Logger | None = getattr(utils, "cudagraphs_log", None)
        if log is not None:
            log.addHandler(self)
        self._before = self._counts()

    def emit(self, record: logging.LogRecord) -> None:
        if len(self._reasons) < _MOST_REASONS and (said := record.getMessage()) not in self._reasons:
            self._reasons.append(said)

    def take(self) -> dict[str, Any]:
        """What came since this was asked last: how many were ``recorded``, ``rerecorded``, ``skipped``, whether
        everything is ``captured`` (None: not known) and ``why`` not."""
        now, reasons = self._counts(), list(self._reasons)
        before, self._before, self._reasons = self._before, now, []
        return {
            **now.since(before),
            "captured": captured(now.skipped - before.skipped, now.recorded),
            "why": reasons,
        }

    def _counts(self) -> Counts:
        skipped = int(torch._dynamo.utils.counters["inductor"]["cudagraph_skips"])
        return counted(_manager(), skipped)


def captured(skipped: int, recorded: int | None) -> bool | None:
    """Whether all that was called is in graphs: nothing was skipped, and something is recorded, now or before."""
    if skipped:
        return False
    return None if recorded is None else recorded > 0


def merged(first: Mapping[str, Any] | None, then: Mapping[str, Any]) -> dict[str, Any]:
    """What two visits of one bucket say together. ``captured`` is the later one's: graphs are recorded in the first
    visit, and only then replayed; a skip is for good."""
    if first is None:
        return dict(then)
    sums = {name: _sum(first[name], then[name]) for name in ("recorded", "rerecorded", "skipped")}
    whole = False if sums["skipped"] else then["captured"]
    return {**sums, "captured": whole, "why": list(dict.fromkeys([*first["why"], *then["why"]]))}


def fact(
    said: Mapping[str, Any] | None, options: Mapping[str, Any], regions: list[str] | None
) -> dict[str, Any]:
    """The fact ``cuda_graphs`` of a cell: whether its calls are in graphs, or why not. ``regions``: compiled code that
    ran."""
    if said is None or not asks_for_graphs(options):
        return {"captured": False, "why": ["this variant does not ask for CUDA graphs"]}
    if regions is not None and not regions:
        return {**said, "captured": False, "why": [*said["why"], "no compiled code ran"]}
    return dict(said)


def _manager() -> Any:
    trees = sys.modules.get("torch._inductor.cudagraph_trees")
    ask = getattr(trees, "get_manager", None)
    if ask is None or not torch.cuda.is_initialized():
        return None
    return ask(torch.cuda.current_device(), create_if_none_exists=False)


def _sum(first: int | None, then: int | None) -> int | None:
    return None if first is None or then is None else first + then


def _less(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before
