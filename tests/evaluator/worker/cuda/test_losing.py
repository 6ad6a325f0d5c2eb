"""Errors that cost a process its device: told from others, and what a process for a probe does about one."""

from __future__ import annotations

import pytest
import torch

from evaluator.worker.targets.cuda.losing import FATAL, lost


class WithCode(RuntimeError):
    """An accelerator's error, as torch makes it: the runtime's code beside the words."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.error_code = code


def caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("error", "said"),
    [
        # torch's, Triton's and cuBLAS's own wording.
        (torch.AcceleratorError("CUDA error: device-side assert triggered\nCUDA kernel errors ..."), FATAL[710]),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), FATAL[700]),
        (RuntimeError("Triton Error [CUDA]: misaligned address"), FATAL[716]),
        (RuntimeError("CUDA driver error: unspecified launch failure"), FATAL[719]),
        (WithCode("unknown", 715), FATAL[715]),
        (caused(ValueError("wrapped"), RuntimeError("CUDA error: hardware stack error")), FATAL[714]),
        # These leave the context as it was.
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), None),
        (RuntimeError("CUDA error: invalid configuration argument"), None),
        (RuntimeError("CUDA error: no kernel image is available for execution on the device"), None),
        (WithCode("invalid argument", 1), None),
        # The same words from elsewhere.
        (RuntimeError("misaligned address"), None),
        (ValueError("CUDA error: misaligned address"), None),
        (KeyError("x"), None),
    ],
)  # fmt: skip
def test_what_costs_the_device_is_told_from_what_does_not(error: BaseException, said: str | None) -> None:
    assert lost(error) == said
