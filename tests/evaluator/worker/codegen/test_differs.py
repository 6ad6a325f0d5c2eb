"""What a program asks of its device and a CPU answers, where the graph shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.evaluator.worker.codegen.generating import compiler

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*CUDA is not available")]

X = torch.ones(16, 16)


def casts(device: str, on: bool = True) -> Callable[[torch.Tensor], Any]:
    def product(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(device, dtype=torch.bfloat16, enabled=on):
            return x @ x

    return product


def notes(function: Callable[[torch.Tensor], Any]) -> list[str]:
    with compiler() as codegen:
        codegen.compile(function, {})(X)
        return codegen.notes


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (casts("cuda"), "autocast for cuda casts nothing here"),
        (casts("cpu"), "autocast is the CPU's"),
        (lambda x: x.sin().to("cpu").exp(), "moves to the CPU"),
        (lambda x: x.sin().to(device="cpu").exp(), "moves to the CPU"),
        (lambda x: x.sin().cpu().exp() + x.cpu(), "moves to the CPU"),
    ],
)
def test_what_would_be_otherwise_on_the_card_is_noted_once(
    function: Callable[[torch.Tensor], Any], said: str
) -> None:
    (note,) = notes(function)
    assert said in note


@pytest.mark.parametrize(
    "function",
    [
        casts("cpu", on=False),
        lambda x: x.sin().to(x.device).exp(),
        lambda x: x.sin().to(torch.float64).to(x.dtype),
        lambda x: x + torch.zeros(16, device=x.device),
    ],
)
def test_what_is_the_same_on_the_card_is_not(function: Callable[[torch.Tensor], Any]) -> None:
    assert notes(function) == []
