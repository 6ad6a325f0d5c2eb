"""A process whose rounds spread widely says so, and one whose rounds have a single spike does not."""

from __future__ import annotations

import pytest

from evaluator.worker.protocol import Sample
from evaluator.worker.rounds import _is_noisy


def rounds(*values: float) -> list[Sample]:
    return [
        {"metric": "eager.wall_ms", "round": number, "value": value, "flags": []}
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "noisy"),
    [
        # Quartiles by hand: of seven sorted rounds the second and the sixth; 1.02 - 0.99 against a median of 1.
        ((1.0, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03), False),
        # One spike leaves the quartiles where they are.
        ((1.0, 0.98, 0.99, 1.0, 1.01, 1.02, 9.0), False),
        # 1.3 - 0.9 is more than a fifth of 1.
        ((0.8, 0.9, 1.0, 1.0, 1.1, 1.3, 1.4), True),
        ((25.0, 17.7, 35.4, 106.0, 8.7, 54.0, 67.0), True),
        # Too few rounds have no quartiles worth the name.
        ((1.0, 9.0, 20.0), False),
    ],
)
def test_spread(values: tuple[float, ...], noisy: bool) -> None:
    assert _is_noisy(rounds(*values), "eager") is noisy
