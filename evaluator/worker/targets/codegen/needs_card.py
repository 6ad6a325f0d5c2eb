"""Workloads that no CPU runs, and so not this target, which runs every graph on one."""

from __future__ import annotations

import re
from typing import Final

from evaluator.worker.errors import chain

_CARD: Final = re.compile(r"\b(?:cuda|gpus?|nvidia|xpu)\b", re.IGNORECASE)


def needs_card(error: BaseException) -> str | None:
    """Why a workload that raised without being compiled is none for this target: it says that it wants a card.

    None where it says no such thing, and so is broken wherever it runs.
    """
    for link in chain(error):
        said = next((line for line in str(link).splitlines() if _CARD.search(line)), None)
        if said is not None:
            return (
                f"it does not run on a CPU, where this target runs it: {type(link).__name__}: {said.strip()}"
            )
    return None
