"""State that no output shows: what objects, containers, closures and the workload's own file keep between calls."""

from __future__ import annotations

import collections
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from evaluator.worker.file_state import FileState
from evaluator.worker.owned import owned_tensors
from evaluator.worker.probes import accuracy
from evaluator.worker.session import ProbeSession
from workloads.registry import Bucket, Place, Target, Variant, Workload

TOTAL = torch.zeros(3)
SEEN: dict[str, Any] = {"calls": 0, "kept": []}
CALLED = 0
UNUSED = torch.zeros(1)


class Counter:
    made = 0

    def __init__(self) -> None:
        self.n = 0


COUNTER = Counter()


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    TOTAL.zero_()
    SEEN.update(calls=0, kept=[])
    COUNTER.n = Counter.made = 0


def compiling() -> bool:
    return torch.compiler.is_compiling()


def case(build: Callable[[], Any], calls: int = 2, **fields: Any) -> Workload:
    return Workload(
        name="case",
        stands_for="a test",
        build=lambda target: build(),
        inputs=lambda params, target: ((torch.ones(3),), {}),
        buckets=(Bucket("a", {}), Bucket("b", {})),
        place=Place(__name__, __file__, 1),
        calls=calls,
        **fields,
    )


def probe(build: Callable[[], Any], **fields: Any) -> list[dict[str, Any]]:
    """The results of two buckets of two calls each."""
    workload = case(build, **fields)
    records: list[dict[str, Any]] = []
    variant, target = Variant("default", {"backend": "eager"}), Target("cpu", "cpu")
    accuracy.run(ProbeSession("accuracy", workload, variant, target, workload.buckets, 0, {}, records.append))
    return [record for record in records if record["kind"] == "result"]


def failed_at(build: Callable[[], Any]) -> str:
    """The leaf that fails in the first bucket."""
    found = probe(build)[0]
    assert found["status"] == "accuracy_failed", found
    return str(found["accuracy"]["worst_leaf"])


class Cache:
    def __init__(self) -> None:
        self.keys, self.length = torch.zeros(3), 0


class SlottedCache:
    __slots__ = ("keys",)

    def __init__(self) -> None:
        self.keys = torch.zeros(3)


class Caching(torch.nn.Module):
    """Writes its cache: in eager by ones, compiled by `step`."""

    def __init__(self, cache: Any, write: Callable[[Any, int], None], step: int) -> None:
        super().__init__()
        self.cache, self.write, self.step = cache, write, step

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.write(self.cache, self.step if compiling() else 1)
        return x * 2


def write_keys(cache: Any, step: int) -> None:
    cache.keys.add_(step)


def write_length(cache: Any, step: int) -> None:
    cache.length += step


def write_first(cache: Any, step: int) -> None:
    cache[0].add_(step)


def append(cache: Any, step: int) -> None:
    cache.append(torch.full((2,), float(step)))


CACHES: list[tuple[Callable[[], Any], Callable[[Any, int], None], str]] = [
    (Cache, write_keys, "state.cache.keys"),
    (SlottedCache, write_keys, "state.cache.keys"),
    (Cache, write_length, "state.cache.length"),
    (lambda: collections.deque([torch.zeros(2)], maxlen=3), write_first, "state.cache.0"),
    (lambda: collections.deque([torch.zeros(2)], maxlen=3), append, "state.cache.1"),
]


@pytest.mark.parametrize(("make", "write", "leaf"), CACHES)
def test_a_cache_that_compiled_code_writes_otherwise_fails(
    make: Callable[[], Any], write: Callable[[Any, int], None], leaf: str
) -> None:
    assert failed_at(lambda: Caching(make(), write, 2)) == leaf
    # Written alike it passes, in every call of both buckets.
    assert [one["status"] for one in probe(lambda: Caching(make(), write, 1))] == ["ok", "ok"]


def test_a_counter_on_a_module_or_in_a_closure_is_state() -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Identity()
            self.inner.n = 0  # type: ignore[assignment]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.inner.n += 2 if compiling() else 1  # type: ignore[operator, assignment]
            return x * 2

    found = probe(Counting)[0]
    assert (found["status"], found["accuracy"]["worst_leaf"]) == ("accuracy_failed", "state.inner.n")
    assert "1 in eager, 2 compiled" in found["reason"]

    def build() -> Callable[[torch.Tensor], torch.Tensor]:
        n = 0

        def call(x: torch.Tensor) -> torch.Tensor:
            nonlocal n
            n += 2 if compiling() else 1
            return x * 2

        return call

    assert failed_at(build) == "state.n"


def test_a_mode_that_only_compiled_code_leaves_is_state() -> None:
    class Switching(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if compiling():
                self.training = False
            return x * 2

    assert failed_at(Switching) == "state.training"


def into_total(x: torch.Tensor) -> torch.Tensor:
    TOTAL.add_(2 if compiling() else 1)
    return x * 2


def into_seen(x: torch.Tensor) -> torch.Tensor:
    SEEN["calls"] += 2 if compiling() else 1
    return x * 2


def into_called(x: torch.Tensor) -> torch.Tensor:
    global CALLED
    CALLED += 2 if compiling() else 1
    return x * 2


def through_others(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([into_seen(one) for one in (x,)])


class WithCounter(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        COUNTER.n += 2 if compiling() else 1
        return x * 2


class WithClass(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (self.count() + 1)

    @staticmethod
    def count() -> int:
        Counter.made += 2 if compiling() else 1
        return 0


@pytest.mark.parametrize(
    ("build", "leaf"),
    [
        (lambda: into_total, "state.global.TOTAL"),
        (lambda: into_seen, "state.global.SEEN.calls"),
        (lambda: into_called, "state.global.CALLED"),
        (lambda: through_others, "state.global.SEEN.calls"),
        (WithCounter, "state.global.COUNTER.n"),
        (WithClass, "state.global.Counter.made"),
    ],
)
def test_what_the_file_keeps_is_state(build: Callable[[], Any], leaf: str) -> None:
    assert failed_at(build) == leaf


def test_every_mode_begins_with_the_same_state_of_the_file() -> None:
    def accumulating(x: torch.Tensor) -> torch.Tensor:
        SEEN["kept"].append(x)
        SEEN["calls"] += 1
        return TOTAL.add_(x) * SEEN["calls"]

    # Without that eager would not repeat itself: its second run would go on from the first one's total.
    found = probe(lambda: accumulating)
    assert [(one["status"], one["accuracy"]["reference"]) for one in found] == [("ok", "float64")] * 2
    assert [one["accuracy"]["unjudged"] for one in found] == [[], []]
    # As the compiled pass left it: two buckets of two calls.
    assert (TOTAL.tolist(), TOTAL.dtype, SEEN["calls"]) == ([4.0] * 3, torch.float32, 4)


def test_only_names_that_the_code_uses_are_the_file_s_state() -> None:
    names = [name for name, _ in FileState(case(lambda: through_others)).named()]
    assert "global.SEEN" in names
    assert "global.UNUSED" not in names and "global.COUNTER" not in names
    assert not any("torch" in name or "compiling" in name for name in names)


def test_what_a_build_noted_at_the_top_of_its_file_stays() -> None:
    registered: list[int] = []

    def build() -> Callable[[torch.Tensor], torch.Tensor]:
        if not SEEN["kept"]:
            SEEN["kept"] = ["registered"]
            registered.append(1)
        return into_total

    assert failed_at(build) == "state.global.TOTAL"
    # Registered again it would be an error, as a custom operator's name is.
    assert registered == [1]


def test_restoring_puts_back_what_is_inside_and_keeps_who_it_is() -> None:
    def uses(x: torch.Tensor) -> Any:
        return SEEN, TOTAL, COUNTER, CALLED

    state, kept = FileState(case(lambda: uses)), SEEN["kept"]
    kept.append(1)
    SEEN["more"] = TOTAL.add_(5)
    COUNTER.n, COUNTER.extra = 3, 4  # type: ignore[attr-defined]
    state.restore()
    assert SEEN == {"calls": 0, "kept": []} and SEEN["kept"] is kept
    assert TOTAL.tolist() == [0.0] * 3
    assert vars(COUNTER) == {"n": 0}


def test_a_clock_that_something_keeps_is_not_compared_and_says_so() -> None:
    class Timed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.at = time.perf_counter_ns()
            self.register_buffer("total", torch.zeros(3))

        @torch.compiler.disable
        def note(self) -> None:
            self.at = time.perf_counter_ns()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.note()
            return x + self.total

    found = probe(Timed)[0]
    assert (found["status"], found["accuracy"]["verdict"]) == ("ok", "pass")
    assert found["accuracy"]["reason"] == "1 leaf not compared: state.at (eager does not repeat itself)"


def test_what_libraries_keep_for_themselves_is_no_state() -> None:
    module = torch.nn.Linear(1, 1)
    module.logger = logging.getLogger("of a module")  # type: ignore[assignment]
    module.words = {str(word): word for word in range(2000)}  # type: ignore[assignment]
    module.compiled = torch.compile(torch.nn.Linear(1, 1))
    named = set(owned_tensors(module).values)
    assert {"in_features", "training", "compiled._orig_mod.in_features"} <= named
    assert not [
        name for name in named if any(part in name for part in ("logger", "words", "dynamo", "torch"))
    ]


def test_what_dynamo_sets_in_an_optimizer_is_no_state() -> None:
    class Step:
        def __init__(self) -> None:
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.optimizer = torch.optim.SGD([self.weight], lr=0.5, momentum=0.9)

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            self.weight.grad = x
            self.optimizer.step()
            return self.weight.detach().clone()

    assert set(owned_tensors(Step()).parameters) == {"weight"}
    assert not [name for name in owned_tensors(Step()).values if name.startswith("optimizer")]
    found = probe(Step)
    assert [one["status"] for one in found] == ["ok", "ok"], found[0]["reason"]
