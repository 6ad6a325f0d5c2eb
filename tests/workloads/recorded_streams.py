"""What a workload on streams submits, recorded on a machine that has none: as a program of the ordering model.

The streams and events that it makes note their calls and do nothing. Every operator runs on the CPU and is noted with the stream
that is current, the storage it reads and writes, and when that storage is made and freed.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from evaluator.ordering.calls import (
    HOST,
    Allocate,
    Call,
    Free,
    Record,
    RecordStream,
    Run,
    SyncEvent,
    SyncStream,
    Wait,
    WaitStream,
)
from evaluator.ordering.program import Program

DEFAULT = "default"
# Makes memory and launches nothing.
_EMPTY = ("aten::empty", "aten::new_empty")


class Recorder(TorchDispatchMode):
    """Notes calls while it is active. ``host`` storage belongs to the host; all other is a device's."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.current = DEFAULT
        self.made = 0
        self.names: dict[int, str] = {}
        self.homes: dict[str, str] = {}
        self.host: set[str] = set()
        self.freed: dict[str, list[str]] = {}

    def program(self) -> Program:
        return Program(tuple(self.calls))

    def number(self) -> int:
        self.made += 1
        return self.made

    def name_of(self, tensor: torch.Tensor) -> str:
        """The storage of a tensor; one that was there before gets a name now."""
        key = tensor.untyped_storage()._cdata
        if key not in self.names:
            self.names[key] = f"given{self.number()}"
            weakref.finalize(tensor.untyped_storage(), self.names.pop, key, None)
        return self.names[key]

    def belongs_to_host(self, *tensors: torch.Tensor) -> None:
        self.host |= {self.name_of(one) for one in tensors}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [
            (tensor, bool(argument.alias_info and argument.alias_info.is_write))
            for argument, value in _arguments(func, args, kwargs)
            for tensor in pytree.tree_leaves(value)
            if isinstance(tensor, torch.Tensor)
        ]
        reads = [self.name_of(tensor) for tensor, written in given if not written]
        writes = [self.name_of(tensor) for tensor, written in given if written]
        out = func(*args, **kwargs)
        fresh = [
            one
            for one in pytree.tree_leaves(out)
            if isinstance(one, torch.Tensor) and one.untyped_storage()._cdata not in self.names
        ]
        on_host = bool(given) and all(name in self.host for name in (*reads, *writes))
        writes += [self.allocate(one, on_host=on_host) for one in fresh]
        if writes and not func._schema.name.startswith(_EMPTY):
            name = f"{func._schema.name.removeprefix('aten::')}{self.number()}"
            stream = HOST if on_host else self.current
            unique = tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes))
            self.calls.append(Run(name, stream, 1, reads=unique[0], writes=unique[1]))
        return out

    def allocate(self, tensor: torch.Tensor, *, on_host: bool) -> str:
        """Note new storage: a device's gets the block that was freed first on this stream, whatever its size, if any was."""
        storage = tensor.untyped_storage()
        name = f"t{self.number()}"
        self.names[storage._cdata] = name
        if on_host:
            self.host.add(name)
        else:
            left = self.freed.setdefault(self.current, [])
            self.calls.append(Allocate(name, self.current, reuses=left.pop(0) if left else None))
            self.homes[name] = self.current
        weakref.finalize(storage, self.free, storage._cdata, name)
        return name

    def free(self, key: int, name: str) -> None:
        self.names.pop(key, None)
        if name in self.homes:
            self.calls.append(Free(name))
            self.freed.setdefault(self.homes[name], []).append(name)


def _arguments(func: Any, args: Any, kwargs: Any) -> Iterator[tuple[Any, Any]]:
    schema = func._schema.arguments
    yield from zip(schema, args, strict=False)
    by_name = {one.name: one for one in schema}
    yield from ((by_name[name], value) for name, value in kwargs.items())


@contextmanager
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A recorder, with streams and events that note their calls in it in place of CUDA's. Activate it to note operators."""
    recorder = Recorder()

    class Event:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.name = f"e{recorder.number()}"

        def record(self, stream: Stream | None = None) -> None:
            recorder.calls.append(Record(self.name, stream.name if stream else recorder.current))

        def wait(self, stream: Stream | None = None) -> None:
            recorder.calls.append(Wait(stream.name if stream else recorder.current, self.name))

        def synchronize(self) -> None:
            recorder.calls.append(SyncEvent(self.name))

    class Stream:
        def __init__(self, name: str | None = None) -> None:
            self.name = name or f"s{recorder.number()}"

        def record_event(self, event: Event | None = None) -> Event:
            event = event or Event()
            event.record(self)
            return event

        def wait_event(self, event: Event) -> None:
            event.wait(self)

        def wait_stream(self, other: Stream) -> None:
            recorder.calls.append(WaitStream(self.name, other.name))

        def synchronize(self) -> None:
            recorder.calls.append(SyncStream(self.name))

    @contextmanager
    def stream(one: Stream) -> Iterator[None]:
        before, recorder.current = recorder.current, one.name
        yield
        recorder.current = before

    def record_stream(tensor: torch.Tensor, one: Stream) -> None:
        recorder.calls.append(RecordStream(recorder.name_of(tensor), one.name))

    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "stream", stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: Stream(recorder.current))
    monkeypatch.setattr(torch.Tensor, "record_stream", record_stream)
    yield recorder
