"""torch's CUDA device as the timer uses it, and a look at which streams a call works on.

Has not run on a GPU yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

# What is no view, and launches nothing: it makes room, or tells the allocator something.
_LAUNCH_NOTHING: Final = ("empty", "new_empty", "record_stream", "resize_", "set_")
# Twice the largest L2 of today's cards, so that nothing of what a call reads is left there.
_FLUSH_BYTES: Final = 256 * 1024 * 1024


class CudaDevice:
    """The current CUDA device of this process."""

    def stream(self) -> torch.cuda.Stream:
        """The stream that work is submitted to now."""
        return torch.cuda.current_stream()

    def event(self) -> torch.cuda.Event:
        """A new event that keeps time."""
        return torch.cuda.Event(enable_timing=True)

    def synchronize(self) -> None:
        """Hold the host until all streams are done; raises what the device failed with."""
        torch.cuda.synchronize()

    def joiner(self, others: Sequence[Any]) -> Callable[[Any], None]:
        """What makes a stream wait for all that ``others`` were given when it is called; its events are made here."""
        events = [torch.cuda.Event() for _ in others]
        for event, other in zip(events, others, strict=True):
            # torch makes an event when it is first recorded.
            event.record(other)

        def join(stream: Any) -> None:
            for event, other in zip(events, others, strict=True):
                event.record(other)
                stream.wait_event(event)

        return join

    def segments(self) -> int | None:
        """How often memory was taken from the driver so far."""
        counted = torch.cuda.memory_stats().get("num_device_alloc")
        return None if counted is None else int(counted)


class Flush:
    """Empties the device's L2 cache by writing over a buffer larger than it."""

    def __init__(self) -> None:
        self._buffer = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")

    def __call__(self) -> None:
        self._buffer.zero_()


class StreamsUsed(TorchDispatchMode):
    """Counts operators that work on the device, and notes whose stream is neither of ``known``.

    Sees what goes through torch's dispatcher: not what a compiled region or an extension launches by itself.
    """

    def __init__(self, device: Any, known: Sequence[Any]) -> None:
        super().__init__()
        self._device, self._known = device, tuple(known)
        self.launching = 0
        self.elsewhere = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator, and note where."""
        result = func(*args, **(kwargs or {}))
        # A view moves no data, and `prim` asks what a tensor is.
        launches = not (func.is_view or func.namespace == "prim" or _launches_nothing(func))
        if launches and _on_device((args, kwargs, result)):
            self.launching += 1
            self.elsewhere = self.elsewhere or self._device.stream() not in self._known
        return result


def _launches_nothing(func: Any) -> bool:
    return str(func.overloadpacket.__name__).startswith(_LAUNCH_NOTHING)


def _on_device(tree: Any) -> bool:
    return any(isinstance(leaf, torch.Tensor) and leaf.is_cuda for leaf in tree_iter(tree))
