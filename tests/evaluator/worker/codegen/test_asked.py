"""Options of Inductor's that need the card itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._inductor import config

from evaluator.worker.errors import status_of, unsupported
from tests.evaluator.worker.codegen.generating import compiler, generated

pytestmark = pytest.mark.slow

X = torch.ones(64, 64)


def softened(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.sin(), -1)


def refused(options: dict[str, Any]) -> str:
    with compiler() as codegen:
        compiled = codegen.compile(softened, {"options": options})
        with pytest.raises(Exception) as caught:
            compiled(X)
        assert status_of(caught.value, "compile") == "unsupported"
        assert codegen.generated == []
    return unsupported(caught.value) or ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_autotune": True}, "max_autotune chooses code by timing it on the card"),
        (
            {"coordinate_descent_tuning": True},
            "coordinate_descent_tuning chooses code by timing it on the card",
        ),
        ({"benchmark_fusion": True}, "benchmark_fusion chooses code by timing it on the card"),
        ({"triton.multi_kernel": 1}, "triton.multi_kernel chooses code by timing it on the card"),
        (
            {"combo_kernels": True, "benchmark_combo_kernel": True},
            "benchmark_combo_kernel chooses code by timing it on the card",
        ),
        ({"triton.cudagraphs": True}, "triton.cudagraphs records CUDA graphs on the card"),
        ({"cpp_wrapper": True}, "cpp_wrapper calls kernels from C++ that is built where the card is"),
        ({"cuda_backend": "pallas"}, "cuda_backend is 'pallas', and this target reads Triton's kernels"),
    ],
)
def test_an_option_that_needs_the_card_is_unsupported(options: dict[str, Any], said: str) -> None:
    assert refused(options) == said


def test_a_programs_own_configuration_counts_and_an_option_goes_before_it() -> None:
    with config.patch({"triton.cudagraphs": True}):
        assert refused({}) == "triton.cudagraphs records CUDA graphs on the card"
        assert generated(softened, X, options={"triton.cudagraphs": False})


@pytest.mark.parametrize("options", [{"combo_kernels": True}, {"epilogue_fusion": False}])
def test_an_option_that_needs_no_card_is_taken(options: dict[str, Any]) -> None:
    assert generated(softened, X, options=options)
