"""The table of what is generated for a card: numbers that were counted, and for each cell that is not there the words kept."""

from __future__ import annotations

from typing import Any

import pytest

from tests.benchmarks.codegen import row, why

CHAIN = ["torch.Wrapped: ValueError: not comparable\n\nSet a variable", "ValueError: not comparable.\nat x"]


def cell(status: str, reason: str, graphs: int | None, chain: list[str] | None = None) -> dict[str, Any]:
    error = None if chain is None else {"type": "torch.Wrapped", "message": chain[0], "chain": chain}
    return {
        "bucket": "n=4",
        "status": status,
        "reason": reason,
        "error": error,
        "facts": {"graphs": graphs},
        "kernels": [],
        "builds": [],
    }


@pytest.mark.parametrize(
    ("reason", "chain", "said"),
    [
        ("compile raised torch.Wrapped", CHAIN, "compile raised torch.Wrapped: ValueError: not comparable."),
        ("it has no card: no CUDA", ["Wrapped: x", "RuntimeError: no CUDA"], "it has no card: no CUDA"),
        ("one eager call takes over 10 s", None, "one eager call takes over 10 s"),
    ],
)
def test_a_cell_says_why_in_its_own_words(reason: str, chain: list[str] | None, said: str) -> None:
    assert why(cell("compile_error", reason, 0, chain)) == said


def test_what_nobody_counted_is_no_zero() -> None:
    refused = cell("unsupported", "needs the card", None)
    assert row("w", [refused, refused])[2:6] == ["", "", "", ""]
    failed = cell("compile_error", "compile raised torch.Wrapped", 0, CHAIN)
    assert row("w", [refused, failed])[2:4] == ["0", "0"]
