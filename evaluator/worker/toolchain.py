"""The C++ toolchain's one-off costs, paid once an environment: vector instruction probe and precompiled header.

Inductor keeps the header in the default cache folder under the temp directory whatever the cache variable
says, so the server runs with a temp directory of the environment's own (``TMPDIR``). The result stays there:
present in every cold sample, which so measures the compiler.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from evaluator.worker.channel import Record
from evaluator.worker.protocol import Sample

# Written when the toolchain is ready: the modules that a first compile imported on top of the compiler's.
_READY: Final = "compilewatch-toolchain.json"
# Only what belongs to the compiler is preloaded; a library that starts threads on import must not be.
_PRELOADED_PACKAGES: Final = frozenset(
    {"torch", "sympy", "mpmath", "setuptools", "distutils", "packaging", "multiprocessing"}
)


def _ready_file() -> Path:
    return Path(tempfile.gettempdir()) / _READY


def prepare() -> Record:
    """Build what the toolchain needs, in a child: a result record with ``toolchain.header_s`` if it was built.

    A compiler that does not work is ``setup_error`` with the compiler's own words: every CPU workload would
    fail in the same way, and none of them is at fault.
    """
    import torch
    from torch._inductor.cpu_vec_isa import valid_vec_isa_list

    from evaluator.worker.errors import describe_error

    headers = _headers()
    loaded = set(sys.modules)
    started = time.perf_counter()
    try:
        valid_vec_isa_list()
        with tempfile.TemporaryDirectory(prefix="toolchain-") as folder:
            os.environ["TORCHINDUCTOR_CACHE_DIR"], shared = folder, os.environ.get("TORCHINDUCTOR_CACHE_DIR")
            try:
                first = torch.compile(_small)(torch.ones(64))
            finally:
                if shared is None:
                    del os.environ["TORCHINDUCTOR_CACHE_DIR"]
                else:
                    os.environ["TORCHINDUCTOR_CACHE_DIR"] = shared
    except Exception as error:  # noqa: BLE001 - whatever the compiler raises is the answer
        info = describe_error(error)
        return {
            "kind": "result",
            "status": "setup_error",
            "reason": f"the C++ compiler does not work: {info.get('message', '')}",
            "error": info,
            "samples": [],
        }
    elapsed = time.perf_counter() - started
    if first.tolist() != [2.0] * 64:
        return {
            "kind": "result",
            "status": "setup_error",
            "reason": "the C++ compiler builds code that computes wrong numbers (relu(1) + 1 is not 2)",
            "samples": [],
        }
    imported = sorted(name for name in set(sys.modules) - loaded if name.split(".")[0] in _PRELOADED_PACKAGES)
    _note_ready(imported)
    sample: Sample = {"metric": "toolchain.header_s", "round": None, "value": elapsed, "flags": []}
    built = _headers() - headers
    return {"kind": "result", "status": "ok", "reason": None, "samples": [sample] if built else []}


def _headers() -> set[Path]:
    """The precompiled headers that are there."""
    return set(Path(tempfile.gettempdir()).glob("torchinductor_*/precompiled_headers/**/*.gch"))


def _made_by() -> list[str | None]:
    """What the list of modules and the vector-instruction probe depend on."""
    import torch

    return [torch.__version__, torch.version.git_version, sys.version, os.environ.get("CXX")]


def _ready_modules() -> list[str]:
    """The modules that a prepared toolchain here noted; none where there is none, or another torch made it."""
    try:
        ready = json.loads(_ready_file().read_text())
        return list(ready["modules"]) if ready["made_by"] == _made_by() else []
    except (OSError, ValueError, KeyError):
        return []


def _note_ready(imported: list[str]) -> None:
    # What was preloaded is not imported again: the list only grows.
    known = sorted({*_ready_modules(), *imported})
    # Another run may read it meanwhile, so it appears whole.
    draft = _ready_file().with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({"made_by": _made_by(), "modules": known}))
    draft.replace(_ready_file())


def preload() -> None:
    """Import in the server what a first compile would import, if a toolchain was prepared here before."""
    modules = _ready_modules()
    if not modules:
        return
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # generated or removed meanwhile; the probe that needs it imports it and says so
    _ask_vector_instructions()


def adopt() -> None:
    """After ``prepare`` succeeded in a child: take over what it left, so that later children inherit it."""
    preload()


def _ask_vector_instructions() -> None:
    """Have the server know the vector instructions: the probe's binaries are there, only loading is tried."""
    from torch._inductor.cpu_vec_isa import valid_vec_isa_list

    valid_vec_isa_list()


def _small(x):  # type: ignore[no-untyped-def]
    import torch

    return torch.relu(x) + 1
