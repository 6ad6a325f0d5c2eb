"""Small programs with known behaviour under the compiler, walked by ``walker.py`` in a process of its own.

Each is what a report about torch.compile boils down to. Most use a backend without a C++ compiler, since breaks,
guards and recompiles are Dynamo's; the two that need generated code say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

Inputs = Callable[[Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Program:
    """``buckets`` are handed to ``inputs``, and name the buckets by their text; ``calls`` is per bucket and walk."""

    build: Callable[[], Any]
    inputs: Inputs
    buckets: tuple[Any, ...]
    compile: dict[str, Any] = field(default_factory=lambda: {"backend": "eager"})
    calls: int = 2
    training: bool = False
    cache: str | None = None


def row(n: int) -> tuple[torch.Tensor]:
    return (torch.randn(n),)


def two_breaks() -> Any:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        torch._dynamo.graph_break()
        z = y - 1
        torch._dynamo.graph_break()
        return z.sqrt()

    return run


def break_in_loop() -> Any:
    def generate(x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = x.sin() * 2
            if x.max() > 1e6:
                x = x / 2
        return x

    return generate


def item_break() -> Any:
    def scale(x: torch.Tensor) -> torch.Tensor:
        largest = x.abs().max().item()
        return (x / largest).sigmoid()

    return scale


def branch_on_data() -> Any:
    def route(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x.log1p()
        return (x - 3).abs()

    return route


def integer_argument() -> Any:
    def shift(x: torch.Tensor, k: int) -> torch.Tensor:
        return x.cos() * k

    return shift


def goes_dynamic() -> Any:
    def gram(x: torch.Tensor) -> torch.Tensor:
        return (x @ x.t()).tanh()

    return gram


def optimizer_step() -> Any:
    weight = torch.nn.Parameter(torch.ones(6))
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def step(gradient: torch.Tensor) -> torch.Tensor:
        weight.grad = gradient
        optimizer.step()
        return weight.detach().clone()

    return step


class Talkative(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.last = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x).relu()
        print("hidden is", tuple(hidden.shape))
        return self.last(hidden)


class Counting(torch.nn.Module):
    """Compiled anew by every call: a static integer attribute changes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return x * self.seen


def pointwise() -> Any:
    def blend(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(x + y) * (x - y)

    return blend


def training_step() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())


def raising_backend(module: Any, example_inputs: Any) -> Any:
    raise RuntimeError("this backend refuses every graph")


def flip_gradients(mode: str) -> tuple[torch.Tensor]:
    torch.set_grad_enabled(mode == "with")
    return (torch.randn(3),)


def pair(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(n), torch.randn(n)


def batch(n: int) -> tuple[torch.Tensor]:
    return (torch.randn(n, 4),)


INDUCTOR: dict[str, Any] = {"backend": "inductor"}

PROGRAMS: dict[str, Program] = {
    "two_breaks": Program(two_breaks, row, (4, 7, 9)),
    "break_in_loop": Program(break_in_loop, row, (5,)),
    "item_break": Program(item_break, row, (16,), calls=3),
    "branch_on_data": Program(branch_on_data, lambda sign: (torch.rand(12) * sign,), (1, -1)),
    "integer_argument": Program(
        integer_argument,
        lambda k: (torch.randn(8), k),
        tuple(range(2, 13)),
        {"backend": "eager", "dynamic": False},
        calls=1,
    ),
    "goes_dynamic": Program(goes_dynamic, batch, (4, 6, 9, 1)),
    "optimizer_step": Program(optimizer_step, row, (6,), calls=1),
    "talkative": Program(Talkative, batch, (2, 5)),
    "counting": Program(Counting, row, (3,), {"backend": "eager", "dynamic": False}),
    "grad_mode": Program(lambda: torch.sin, flip_gradients, ("without", "with")),
    "whole_graph": Program(break_in_loop, row, (5,), {"backend": "eager", "fullgraph": True}),
    "backend_error": Program(item_break, row, (5,), {"backend": raising_backend}),
    "training": Program(
        training_step, lambda n: (torch.randn(n, 8),), (2, 5), {"backend": "aot_eager"}, training=True
    ),
    "generated_cold": Program(pointwise, pair, (64,), INDUCTOR, cache="generated"),
    "generated_warm": Program(pointwise, pair, (64,), INDUCTOR, cache="generated"),
    "trained_cold": Program(
        training_step, lambda n: (torch.randn(n, 8),), (4,), INDUCTOR, training=True, cache="t"
    ),
    "trained_warm": Program(
        training_step, lambda n: (torch.randn(n, 8),), (4,), INDUCTOR, training=True, cache="t"
    ),
}
