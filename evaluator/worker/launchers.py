"""What Inductor's own launchers of Triton kernels know of the binaries that they launch, which a trace does not say."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any, Final

# Attributes of a launcher in torch 2.11 to 2.14, by our names. Spills are Triton's: local memory of a thread in 4-byte words.
_FIELDS: Final = {"registers": "n_regs", "spills": "n_spills", "shared": "shared"}
Numbers = dict[str, int | None]


def loaded() -> dict[str, Numbers]:
    """Every Triton kernel that Inductor holds a launcher of in this process, by its function's name."""
    try:
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    except ImportError:
        return {}
    # By the type alone: asking an object of a workload for its class may run its code.
    return numbers(one for one in gc.get_objects() if issubclass(type(one), CachingAutotuner))


def numbers(tuners: Iterable[Any]) -> dict[str, Numbers]:
    """The numbers of these autotuners' kernels. None is one that a torch does not say, and one that kernels of a name, or
    configurations between which nothing was decided, have differently."""
    found: dict[str, list[Numbers]] = {}
    for tuner in tuners:
        name = getattr(getattr(tuner, "fn", None), "__name__", None)
        for launcher in getattr(tuner, "launchers", None) or ():
            if isinstance(name, str):
                said = {ours: getattr(launcher, theirs, None) for ours, theirs in _FIELDS.items()}
                found.setdefault(name, []).append(
                    {key: value if type(value) is int else None for key, value in said.items()}
                )
    return {name: {key: _same([one[key] for one in told]) for key in _FIELDS} for name, told in found.items()}


def _same(values: list[int | None]) -> int | None:
    return values[0] if len(set(values)) == 1 else None
