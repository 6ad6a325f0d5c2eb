"""Which backends of attention a program leaves on, and in which order a card's dispatcher asks them.

Source: ``select_sdp_backend`` and ``priority_order`` in ``sdp_utils.cpp``. ``sdpa_kernel`` and the flags of
``torch.backends.cuda`` are a process's own, whether it has a card or not; they are read when a call is decided.
"""

from __future__ import annotations

import os
from typing import Final, Literal

import torch

from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.card import Card

Backend = Literal["cudnn", "flash", "efficient", "math"]

# As torch numbers them (SDPBackend); what comes beside them is for devices of other makers.
_NUMBERS: Final[dict[int, Backend]] = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}
# What a process begins with, and so a program that sets no order.
_UNSET: Final = (1, 2, 0, 3, 4)
# A variable of torch's, by which cuDNN keeps its place behind the others.
_NOT_FIRST: Final = "TORCH_CUDNN_SDPA_DEPRIORITIZED"


def order_of(card: Card) -> list[Backend]:
    """The backends in the order in which they are asked: the program's, or else the card's."""
    said = tuple(internals.get("torch._C:_get_sdp_priority_order")())
    order = [_NUMBERS[one] for one in said if one in _NUMBERS]
    if said == _UNSET and _prefers_cudnn(card):
        order.sort(key=lambda backend: backend != "cudnn")
    return order


def is_on(backend: Backend) -> bool:
    """Whether the program leaves it on."""
    match backend:
        case "cudnn":
            return torch.backends.cuda.cudnn_sdp_enabled()
        case "flash":
            return torch.backends.cuda.flash_sdp_enabled()
        case "efficient":
            return torch.backends.cuda.mem_efficient_sdp_enabled()
        case "math":
            return torch.backends.cuda.math_sdp_enabled()


def _prefers_cudnn(card: Card) -> bool:
    """Hopper's and Blackwell's data-centre cards ask cuDNN first, with cuDNN after 9.15.0 (torch#169849)."""
    return card.capability[0] in (9, 10) and os.environ.get(_NOT_FIRST) != "1"
