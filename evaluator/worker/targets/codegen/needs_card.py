"""Workloads that no CPU runs, and so not this target, which runs every graph on one.

Nothing but the words of an exception tells: libraries raise what they like. A line has to say that a card is needed
or missing, or that a CPU lacks something; one that only names a card is about something else.
"""

from __future__ import annotations

import re
from typing import Final

from evaluator.worker.errors import chain

# A card as a device, and not as the first half of another noun ("the GPU cluster").
_CARD: Final = (
    r"\b(?:cuda|gpus?|nvidia|xpu)\b"
    r"(?!\s+(?!(?:and|are|arrays?|available|backend|but|capability|devices?|drivers?|enabled|for|gpus?|installed|is|kernels?"
    r"|memory|only|or|required|runtime|support|tensors?|to|toolkit|with)\b)\w)"
)
_NEEDED: Final = (
    r"(?:\b(?:needs?|needed|requires?|required|must|expect(?:s|ed)?|only|should|not|no|without|cannot|attempting"
    r"|support(?:s|ed)?)\b|n't\b)"
)
_LACKS: Final = r"(?:\bnot?\b|\bcannot\b|n't\b)[^\n]*?\b(?:support|implement|available|run)\w*"
_SIGNS: Final = re.compile(
    rf"{_NEEDED}.*{_CARD}|{_CARD}.*{_NEEDED}"
    rf"|{_LACKS}\b.*\b(?:on|for|from|with)\b\W*(?:\w+\W+){{0,2}}?cpu\b|\bon\W+cpu\W+only\b"
    # Torch's kernels by dtype, its choice of attention, and Triton's launcher.
    r'|"\w*cpu\w*" not implemented for|\bno viable backend for scaled_dot_product_attention\b'
    r"|\bcannot be accessed from triton\b",
    re.IGNORECASE,
)


def needs_card(error: BaseException) -> str | None:
    """Why a workload that raised without being compiled is none for this target: it says that it wants a card.

    None where it says no such thing, and so is broken wherever it runs.
    """
    for link in chain(error):
        said = next((line for line in str(link).splitlines() if _SIGNS.search(line)), None)
        if said is not None:
            return (
                f"it does not run on a CPU, where this target runs it: {type(link).__name__}: {said.strip()}"
            )
    return None
