"""The model beside torch's own CUDA sanitizer, whose rules are Python and need no GPU: the same programs, the same races."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from evaluator.ordering.calls import (
    HOST,
    Call,
    Record,
    Run,
    SyncDevice,
    SyncEvent,
    SyncStream,
    Wait,
    WaitStream,
)
from evaluator.ordering.conflicts import Dependency, dependencies, verdicts
from evaluator.ordering.order import order_of
from evaluator.ordering.presets import PRESETS
from evaluator.ordering.program import Program
from evaluator.ordering.schedule import schedule
from tests.evaluator.ordering.simulated import random_calls

STORAGE = ("x", "y")
Race = tuple[str, str]


def sanitized(program: Program) -> set[Race]:
    """The races that torch's sanitizer reports, as (earlier, later) operations."""
    sanitizer = pytest.importorskip("torch.cuda._sanitizer")
    handler = sanitizer.EventHandler()
    streams = {name: number for number, name in enumerate(program.streams, start=1)}
    for number in streams.values():
        handler._handle_stream_creation(number)
    events = {name: number for number, name in enumerate(_events(program), start=100)}
    for number in events.values():
        handler._handle_event_creation(number)
    places = {name: number for number, name in enumerate(_storage(program), start=1000)}
    found: set[Race] = set()
    for call in program.calls:
        match call:
            case Run():
                reads = {places[one] for one in call.reads if one not in call.writes}
                writes = {places[one] for one in call.writes}
                names: dict[int, list[str]] = {place: [] for place in places.values()}
                errors = handler._handle_kernel_launch(
                    streams[call.stream], reads, writes, writes, call.name, names
                )
                found |= {(one.previous_access.operator, one.current_access.operator) for one in errors}
            case Record():
                handler._handle_event_record(events[call.event], streams[call.stream])
            case Wait():
                handler._handle_event_wait(events[call.event], streams[call.stream])
            case WaitStream():
                # As torch does it: a fresh event, recorded and waited for.
                handler._handle_event_creation(99)
                handler._handle_event_record(99, streams[call.other])
                handler._handle_event_wait(99, streams[call.stream])
            case SyncEvent():
                handler._handle_event_synchronization(events[call.event])
            case SyncStream():
                handler._handle_stream_synchronization(streams[call.stream])
            case SyncDevice():
                handler._handle_device_synchronization()
            case _:
                raise AssertionError(call)
    return found


def _events(program: Program) -> list[str]:
    return sorted({call.event for call in program.calls if isinstance(call, Record | Wait | SyncEvent)})


def _storage(program: Program) -> list[str]:
    runs = [call for call in program.calls if isinstance(call, Run)]
    return sorted({one for run in runs for one in (*run.reads, *run.writes)})


def modelled(program: Program) -> set[Race]:
    order = order_of(program)
    found = verdicts(order, schedule(order))
    return {(one.dependency.producer, one.dependency.consumer) for one in found if not one.ordered}


def random_accesses(seed: int) -> Program:
    """A random program on streams alone, whose operations read and write two tensors."""
    rng = random.Random(seed)
    made: list[Call] = []
    for call in random_calls(rng, most_runs=7, most_streams=3):
        if isinstance(call, Run):
            uses = {"reads": (), "writes": ()} | {
                rng.choice(("reads", "writes")): (storage,) for storage in STORAGE if rng.random() < 0.8
            }
            stream = "s0" if call.stream == HOST else call.stream
            made.append(replace(call, stream=stream, reads=uses["reads"], writes=uses["writes"]))
        else:
            made.append(call)
    return Program(tuple(made))


@pytest.mark.parametrize("seed", range(300))
def test_the_same_races_as_torchs_sanitizer(seed: int) -> None:
    program = random_accesses(seed)
    theirs, ours = sanitized(program), modelled(program)
    assert theirs <= ours
    # It looks at a last write only if nothing has read that since; of the other pairs one is a race already.
    overwritten: set[Dependency] = {one for one in dependencies(program) if one.kind == "overwrites_written"}
    more = ours - theirs
    assert more <= {(one.producer, one.consumer) for one in overwritten}
    assert bool(theirs) == bool(ours)


def test_the_random_programs_are_of_both_kinds() -> None:
    racing = [bool(modelled(random_accesses(seed))) for seed in range(300)]
    assert 50 < sum(racing) < 250


@pytest.mark.parametrize(
    "preset",
    [
        one
        for one in PRESETS
        if all(type(call).__name__ not in ("Allocate", "Free", "RecordStream") for call in one.program.calls)
        and all(call.stream != HOST for call in one.program.calls if isinstance(call, Run))
    ],
    ids=lambda one: one.key,
)
def test_presets_too(preset: object) -> None:
    assert hasattr(preset, "program")
    assert sanitized(preset.program) == modelled(preset.program)
