"""One generated kernel built for the card by Triton: what it takes, or why it was refused."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from evaluator.worker.errors import chain
from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.card import Card
from evaluator.worker.targets.codegen.cubin import (
    machine_code_hash,
    resources_from_cuobjdump,
    usage_from_ptxas,
)
from evaluator.worker.targets.codegen.device import present
from evaluator.worker.targets.codegen.patching import patched

# Has Triton print what ptxas says.
_SAY_PTXAS: Final = "TRITON_DUMP_PTXAS_LOG"
_MESSAGE_LIMIT: Final = 2000
_FILES: Final = re.compile(r"\S*/tmp\w+\.ptx")
# How to run it again, in the words of this machine: its interpreter's folder, and files that are gone.
_REPRODUCER: Final = re.compile(r"^Repro command: .*\n?", re.MULTILINE)
# Inductor's option for the fallback, and the method of the versions that have it.
_UNPIPELINED: Final = "dynamic_disable_pipelining"
_UNPIPELINES: Final = "compile_by_disabling_pipelining"
_CUOBJDUMP_S: Final = 60

Build = dict[str, Any]


class Refused(Exception):
    """Triton or ptxas does not build the kernel; the message is what it said."""


class NotBuilt(Exception):
    """The build came to no end that says anything of the kernel; the message is what happened."""


def build(name: str, source: str, card: Card, folder: Path) -> Build:
    """Build the kernel of a generated source in the first configuration of its heuristics that fits into the card.

    ``folder`` is for the module, Triton's cache and what is read from the binary. The numbers: registers a thread;
    spills, stack and shared memory in bytes; sizes of PTX and cubin in bytes; ``compile_s`` in seconds from source
    to cubin. Raises Refused, also for a kernel that no configuration fits, and NotBuilt where a compiler crashed or could not run.
    """
    os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    os.environ[_SAY_PTXAS] = "1"
    _take_torch_s_ptxas()
    with present(card):
        kernel = getattr(internals.get("torch._inductor.codecache:PyCodeCache").load(source), name)
        if not kernel.configs:
            raise NotBuilt("its heuristics have no configuration")
        made = _first_that_fits(kernel, card.shared_memory_per_block_optin)
    binary = made.binary
    usage = _usage(made.said, binary.asm["cubin"], folder)
    notes = [one for one in (made.passed, usage.pop("note", None)) if one is not None]
    return {
        "config": _configuration(made.configuration),
        "configs": len(kernel.configs),
        "arch": _arch(binary.asm["ptx"]),
        "ptx_bytes": len(binary.asm["ptx"]),
        "cubin_bytes": len(binary.asm["cubin"]),
        "shared": int(binary.metadata.shared),
        "sass_hash": machine_code_hash(binary.asm["cubin"]),
        "compile_s": made.elapsed_s,
        **usage,
        **({"note": "; ".join(notes)} if notes else {}),
    }


@dataclass(frozen=True)
class _Made:
    """A binary, the configuration it was made in, what ptxas said and how long it took; ``passed``: why no earlier one."""

    configuration: Any
    binary: Any
    said: str
    elapsed_s: float
    passed: str | None = None


def _first_that_fits(kernel: Any, shared: int) -> _Made:
    """The kernel in the first configuration that a card with so much shared memory for a block can launch.

    Inductor leaves the others out there. Raises Refused where none is left.
    """
    needed: list[int] = []
    for configuration in _in_order(kernel):
        made = _made(kernel, configuration)
        if made.binary.metadata.shared <= shared:
            lacks = (
                f"in its first configuration it needs {needed[0]} bytes of shared memory, the card has {shared}"
                if needed
                else None
            )
            return replace(made, passed=lacks)
        needed.append(int(made.binary.metadata.shared))
    several = "" if len(needed) == 1 else f" at the least, in {len(needed)} configurations"
    raise Refused(f"needs {min(needed)} bytes of shared memory{several}, the card has {shared}")


def _in_order(kernel: Any) -> Iterator[Any]:
    """The configurations of its heuristics, and what Inductor falls back to: the last one, without a pipeline."""
    yield from kernel.configs
    last = kernel.configs[-1]
    stages = max(last.num_stages, last.kwargs.get("NUM_STAGES", 1))
    if stages > 1 and hasattr(kernel, _UNPIPELINES) and kernel.inductor_meta.get(_UNPIPELINED, True):
        single = copy.deepcopy(last)
        single.num_stages = 1
        if "NUM_STAGES" in single.kwargs:
            single.kwargs["NUM_STAGES"] = 1
        yield single


def _made(kernel: Any, configuration: Any) -> _Made:
    said = io.StringIO()
    started = time.perf_counter()
    try:
        with contextlib.redirect_stdout(said):
            binary = _binary(kernel, configuration)
    except Exception as error:
        accident = _accident(error)
        if accident is not None:
            raise NotBuilt(_bounded(accident)) from error
        raise Refused(_bounded(f"{type(error).__name__}: {error}")) from error
    return _Made(configuration, binary, said.getvalue(), time.perf_counter() - started)


def _binary(kernel: Any, configuration: Any) -> Any:
    """What Triton's compiler makes of the kernel, asked in the way in which Inductor asks it."""
    triton = internals.get_module("triton")
    compile_, made = triton.compile, []

    def compiled(*args: Any, **kwargs: Any) -> Any:
        made.append(compile_(*args, **kwargs))
        return made[-1]

    with patched(triton, "compile", compiled):
        kernel._precompile_config(configuration)
    return made[0]


def _accident(error: Exception) -> str | None:
    """What happened to a compiler that was not its judgement of the kernel; None where it judged it."""
    for link in chain(error):
        if isinstance(link, subprocess.CalledProcessError):
            number = _signal(link.returncode)
            if number is not None:
                program = Path(link.cmd[0] if isinstance(link.cmd, (list, tuple)) else link.cmd).name
                return f"{program} crashed (signal {number})"
        if isinstance(link, (OSError, MemoryError)):
            return f"{type(link).__name__}: {link}"
    return None


def _signal(status: int) -> int | None:
    """The signal that ended a process, as Python says it or as a shell in between does."""
    number = -status if status < 0 else status - 128
    return number if number in signal.valid_signals() else None


def _usage(said: str, cubin: bytes, folder: Path) -> Build:
    usage = usage_from_ptxas(said)
    found = _resources(cubin, folder)
    numbers: Build = (
        asdict(usage) if usage else dict.fromkeys(("spill_stores", "spill_loads", "static_shared"))
    )
    if found is not None:
        registers, stack, _ = found
        if usage is None:
            numbers |= {"registers": registers, "stack": stack}
        elif (usage.registers, usage.stack) != (registers, stack):
            numbers["note"] = (
                f"ptxas says {usage.registers} registers and {usage.stack} bytes of stack, "
                f"the binary {registers} and {stack}"
            )
    return numbers


def _resources(cubin: bytes, folder: Path) -> tuple[int, int, int] | None:
    """What the binary says by cuobjdump, which comes with Triton; None where it does not."""
    tool = Path(internals.get_module("triton").__file__).parent / "backends/nvidia/bin/cuobjdump"
    if not tool.exists():
        return None
    file = folder / "kernel.cubin"
    file.write_bytes(cubin)
    done = subprocess.run(
        [tool, "--dump-resource-usage", file],
        capture_output=True,
        text=True,
        timeout=_CUOBJDUMP_S,
        check=False,
    )
    return resources_from_cuobjdump(done.stdout)


def _configuration(configuration: Any) -> Build:
    fixed = {
        name: getattr(configuration, name, None)
        for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")
    }
    return {**configuration.kwargs, **{name: value for name, value in fixed.items() if value is not None}}


def _arch(ptx: str) -> str | None:
    lines = (line.split() for line in ptx.splitlines())
    return next((words[1].rstrip(",") for words in lines if words[:1] == [".target"]), None)


def versions(card: Card) -> dict[str, str | None]:
    """Versions of what builds for the card: ``triton``, and the ``ptxas`` it takes there (None if it does not say).

    Triton comes with two of them; cards of capability 10.0 and later have one of their own. Some builds of torch bring
    one too, which Inductor then has Triton take for the other cards.
    """
    triton = internals.get_module("triton")
    _take_torch_s_ptxas()
    try:
        # Triton asks it once a process, and those that build are forked from the one that asks here.
        said = internals.get("triton.backends.nvidia.compiler:get_ptxas_version")(card.arch)
    except (OSError, subprocess.SubprocessError):
        said = ""
    found = [word.rstrip(",") for line in said.splitlines() if " release " in line for word in line.split()]
    return {"triton": triton.__version__, "ptxas": found[-1].lstrip("V") if found else None}


def _take_torch_s_ptxas() -> None:
    """As Inductor does before it compiles for a card; what a user set stays."""
    internals.get("torch._inductor.runtime.compile_tasks:_set_triton_ptxas_path")()


def _bounded(text: str) -> str:
    # Each build has files of another name.
    text = _FILES.sub("kernel.ptx", _REPRODUCER.sub("", text)).rstrip()
    if len(text) <= _MESSAGE_LIMIT:
        return text
    return f"{text[: _MESSAGE_LIMIT // 2]}\n[...]\n{text[-_MESSAGE_LIMIT // 2 :]}"
