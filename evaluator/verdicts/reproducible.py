"""Whether a stand-alone script can show again what was recorded for a card that is not there: it runs on the CPU."""

from __future__ import annotations

from typing import Final

from evaluator.verdicts.words import NOT_TRIED, is_codegen

# What raises where a backend was asked for code, whatever it is that went wrong there.
_OF_BACKENDS: Final = ("torch._inductor.", "torch._dynamo.exc.BackendCompilerFailed", "triton.")

SHOWN_ON_CPU: Final = "breaks, recompiles and graphs"


def why_not(target: str, status: str | None, error: str | None) -> str | None:
    """Why there is nothing that a script would show again, as the end of a sentence; None where there is.

    ``error``: the type of what was raised, if anything was.
    """
    if not is_codegen(target):
        return None
    if status in NOT_TRIED:
        return "it was not tried for the card, and a script has no card either"
    if status == "compile_error" and (error or "").startswith(_OF_BACKENDS):
        return "it failed where code is generated for the card, and a script generates it for the CPU"
    return None
