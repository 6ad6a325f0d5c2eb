"""The float32 precision of products, convolutions and recurrent layers: set, read back, and where it means nothing.

Only through torch's `fp32_precision` (torch 2.9 and later). The older flags (`allow_tf32`,
`set_float32_matmul_precision`) are never touched: torch refuses to answer for either once both were used.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker.errors import Unsupported, chain

if TYPE_CHECKING:
    from workloads.registry import Variant, Workload

# The first of NVIDIA's cards whose tensor cores have the format (Ampere).
_TF32_CAPABILITY: Final = 8
# What ATen/Context.cpp says where an older flag is read that `fp32_precision` has left behind (2.9 to 2.14).
_REFUSAL: Final = "mix of the legacy and new API"
_TORCH: Final = Path(torch.__file__).parent


def precision_of(workload: Workload, variant: Variant) -> str | None:
    """What is set before a build: the variant's, else the workload's own, else None for torch's defaults.

    The variant goes before the workload: results stand under its name, so they have to be what it says.
    """
    return variant.precision or workload.precision


def set_precision(precision: str, backends: Any = torch.backends) -> None:
    """Set "ieee" or "tf32" everywhere alike: products, convolutions, recurrent layers; cuBLAS, cuDNN and oneDNN.

    Raises Unsupported where this torch has no such setting, refuses it, or reads back another.
    """
    if in_force(backends)["matmul"] is None:
        raise Unsupported(_no_setting(precision))
    try:
        for place in _places(backends).values():
            place.fp32_precision = precision
        kept = {name: place.fp32_precision for name, place in _places(backends).items()}
    except (AttributeError, RuntimeError) as error:
        raise Unsupported(
            f"torch {torch.__version__} can't set the float32 precision {precision!r}: {error}"
        ) from error
    other = {name: value for name, value in kept.items() if value != precision}
    if other:
        raise Unsupported(
            f"torch {torch.__version__} did not keep the float32 precision {precision!r}: it reads {other}"
        )


def lost(precision: str, backends: Any = torch.backends) -> dict[str, str | None]:
    """Where another precision is in force than the one that was set, and which: a workload may set its own."""
    return {name: found for name, found in in_force(backends).items() if found != precision}


def in_force(backends: Any = torch.backends) -> dict[str, str | None]:
    """The precision of each place as torch reads it; None where this torch has no such setting, or does not answer.

    ``default`` is what a place has that was not told its own. Asking for it changes nothing.
    """
    return {name: _read(place) for name, place in _places(backends).items()}


def refused(error: BaseException, precision: str) -> str | None:
    """Why a call could not go on under ``precision``, where it is that somebody read the precision by an older flag,
    which torch does not answer any more; None of any other error.

    Inductor's own tuning of products does so (`max-autotune` with "tf32", 2.9 to 2.14).
    """
    for link in chain(error):
        if isinstance(link, RuntimeError) and link.__traceback__ is not None and _REFUSAL in str(link):
            return (
                f"torch {torch.__version__} can't do this under the float32 precision {precision!r}: {_asker(link)} "
                "reads it by an older flag, which torch answers no more where fp32_precision is set"
            )
    return None


def _asker(error: BaseException) -> str:
    """The file that read a flag: in torch with its folders, outside of it the bare name."""
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    # The flags themselves are functions and properties of torch's.
    getters = (_TORCH / "__init__.py", _TORCH / "backends")
    while len(files) > 1 and any(files[-1].is_relative_to(getter) for getter in getters):
        files.pop()
    asker = files[-1]
    return str(asker.relative_to(_TORCH.parent)) if asker.is_relative_to(_TORCH) else asker.name


def why_not(
    precision: str | None, target: str, capability: str | None, variables: Mapping[str, str]
) -> str | None:
    """Why a precision can't be had, or would change nothing, on a target; None where it can.

    ``capability``: the card's compute capability ("9.0"), None where it is not known or there is none.
    """
    if precision is None:
        return None
    if in_force()["matmul"] is None:
        return _no_setting(precision)
    if precision != "tf32":
        return None
    if target == "cpu":
        if _cpu_has_tf32():
            return None
        return "TF32 changes nothing on this processor: oneDNN has it with AMX-FP16 alone; run it with --target cuda"
    if capability is not None and int(capability.partition(".")[0]) < _TF32_CAPABILITY:
        return f"TF32 changes nothing on a card of compute capability {capability}: 8.0 and later have it"
    if target == "cuda" and variables.get("NVIDIA_TF32_OVERRIDE") == "0":
        return "NVIDIA_TF32_OVERRIDE=0 keeps NVIDIA's libraries from TF32, whatever torch asks: unset it"
    return None


def mark_unsupported(
    described: Mapping[str, Any], target: str, capability: str | None, variables: Mapping[str, str]
) -> None:
    """Give each variant of a described workload that can't have its precision here an ``unsupported`` that says why."""
    for variant in described["variants"]:
        asked = variant.get("precision") or described.get("precision")
        reason = why_not(asked, target, capability, variables)
        if reason is not None:
            variant["unsupported"] = reason


def _places(backends: Any) -> dict[str, Any]:
    """Everything that is set, by the names that are recorded; None for what this torch does not have.

    oneDNN's are set one by one: in 2.11 to 2.14 a write to `mkldnn.fp32_precision` goes to the default of all.
    """
    return {
        "default": backends,
        "matmul": backends.cuda.matmul,
        "cudnn.conv": getattr(backends.cudnn, "conv", None),
        "cudnn.rnn": getattr(backends.cudnn, "rnn", None),
        "mkldnn.matmul": getattr(backends.mkldnn, "matmul", None),
        "mkldnn.conv": getattr(backends.mkldnn, "conv", None),
        "mkldnn.rnn": getattr(backends.mkldnn, "rnn", None),
    }


def _read(place: Any) -> str | None:
    try:
        found = getattr(place, "fp32_precision", None)
    except RuntimeError:
        # A workload mixed the older flags in, and torch refuses to say.
        return None
    return None if found is None else str(found)


def _no_setting(precision: str) -> str:
    return (
        f"torch {torch.__version__} has no fp32_precision to set {precision!r} with: 2.9 and later have, and the older "
        "flags don't reach all of it"
    )


def _cpu_has_tf32() -> bool:
    """Whether oneDNN computes in TF32 on this processor, by the rule that torch's own tests go by."""
    known = getattr(torch.cpu, "_is_amx_fp16_supported", None)
    return torch.backends.mkldnn.is_available() and known is not None and bool(known())
