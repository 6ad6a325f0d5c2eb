"""Graphics cards that code can be generated for without one: their figures, and a user's own from a TOML file.

Inductor asks a device for a handful of figures; they are all that a card is here. The built-in ones come from
NVIDIA's data sheets and the table of compute capabilities in the CUDA C++ Programming Guide.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evaluator.errors import UserError
from evaluator.verdicts.words import CODEGEN, is_codegen

Figures = dict[str, Any]

_DEVICES: Final = ("cpu", "cuda")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")

# What a card has to say, in the words of torch's device properties: name -> what it is.
FIGURES: Final[Mapping[str, str]] = {
    "name": "the name that the driver gives the card",
    "major": "compute capability, before the point",
    "minor": "compute capability, after the point",
    "multi_processor_count": "streaming multiprocessors",
    "regs_per_multiprocessor": "32-bit registers of one",
    "max_threads_per_multi_processor": "threads that one holds",
    "shared_memory_per_multiprocessor": "shared memory of one, bytes",
    "shared_memory_per_block_optin": "shared memory that a block can ask for, bytes",
    "total_memory": "device memory, bytes",
}
# The same on every card since capability 5.0.
_COMMON: Final[Mapping[str, int]] = {
    "warp_size": 32,
    "max_threads_per_block": 1024,
    "shared_memory_per_block": 48 * 1024,
}
_KIB: Final = 1024
_GIB: Final = 1024**3


def _card(
    name: str, capability: tuple[int, int], processors: int, threads: int, shared: int, memory_gib: int
) -> Figures:
    """A card; ``shared``: KiB of a multiprocessor, of which one KiB is the system's in each block."""
    return {
        "name": name,
        "major": capability[0],
        "minor": capability[1],
        "multi_processor_count": processors,
        "regs_per_multiprocessor": 65536,
        "max_threads_per_multi_processor": threads,
        "shared_memory_per_multiprocessor": shared * _KIB,
        "shared_memory_per_block_optin": (shared - 1) * _KIB,
        "total_memory": memory_gib * _GIB,
        **_COMMON,
    }


KNOWN: Final[Mapping[str, Figures]] = {
    "a100": _card("NVIDIA A100-SXM4-80GB", (8, 0), 108, 2048, 164, 80),
    "h100": _card("NVIDIA H100 80GB HBM3", (9, 0), 132, 2048, 228, 80),
    "h200": _card("NVIDIA H200", (9, 0), 132, 2048, 228, 141),
    "b200": _card("NVIDIA B200", (10, 0), 148, 2048, 228, 180),
    "l4": _card("NVIDIA L4", (8, 9), 58, 1536, 100, 24),
    "rtx4090": _card("NVIDIA GeForce RTX 4090", (8, 9), 128, 1536, 100, 24),
}


def resolve(target: str) -> tuple[str, Figures | None]:
    """A target as a cell names it, and the figures of its card (None for ``cpu`` and ``cuda``).

    ``codegen:h100`` is a built-in card; ``codegen:PATH.toml`` a user's own, whose cells are named by the file's
    ``id`` (or its stem) and eight digits of the figures' hash, so that another card under one name is another target.
    Raises UserError for a card that is not known, and a file that can't be read or lacks a figure.
    """
    if target in _DEVICES:
        return target, None
    if not is_codegen(target):
        raise UserError(
            f"no target is called {target!r}: take cpu, cuda or {CODEGEN}CARD ({', '.join(KNOWN)})"
        )
    asked = target.removeprefix(CODEGEN)
    if asked in KNOWN:
        return target, dict(KNOWN[asked])
    if asked.endswith(".toml"):
        return _own(Path(asked))
    raise UserError(
        f"no card is called {asked!r}: take {', '.join(KNOWN)}, or {CODEGEN}CARD.toml with the figures of your own"
    )


def _own(path: Path) -> tuple[str, Figures]:
    try:
        said = tomllib.loads(path.read_text())
    except OSError as error:
        raise UserError(f"can't read the card {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"the card {path} is not TOML: {error}") from error
    identity = said.pop("id", path.stem.lower())
    if not isinstance(identity, str) or not _NAME.fullmatch(identity):
        raise UserError(
            f"the card {path} is called {identity!r}: give it an `id` of lower-case letters, digits, - and _"
        )
    _check(path, said)
    figures = {**_COMMON, **said}
    digest = hashlib.sha256(json.dumps(figures, sort_keys=True).encode()).hexdigest()
    return f"{CODEGEN}{identity}@{digest[:8]}", figures


def _check(path: Path, said: Mapping[str, Any]) -> None:
    lacking = [name for name in FIGURES if name not in said]
    if lacking:
        raise UserError(f"the card {path} lacks {', '.join(f'{name} ({FIGURES[name]})' for name in lacking)}")
    for name, value in said.items():
        if name not in FIGURES and name not in _COMMON:
            raise UserError(
                f"the card {path} has {name!r}, which is no figure; there are {', '.join({**FIGURES, **_COMMON})}"
            )
        if name == "name":
            right = isinstance(value, str) and bool(value)
        else:
            # bool is an int to Python, and no figure.
            right = type(value) is int and value >= (0 if name == "minor" else 1)
        if not right:
            raise UserError(f"the card {path}: {name} must be {_kind(name)}, not {value!r}")
    if not (8 <= said["major"] <= 12 and said["minor"] <= 9):
        raise UserError(
            f"the card {path} has compute capability {said['major']}.{said['minor']}: "
            "Triton generates code for 8.0 to 12.x, with one digit after the point"
        )
    warp = _COMMON["warp_size"]
    if said.get("warp_size", warp) != warp:
        raise UserError(
            f"the card {path}: warp_size is {warp} on every card of NVIDIA's, not {said['warp_size']}"
        )


def _kind(name: str) -> str:
    return "a text" if name == "name" else "a whole number" if name == "minor" else "a whole number above 0"
