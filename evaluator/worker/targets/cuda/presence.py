"""Which GPU this machine's CUDA would take first, found without CUDA; and how it is at the moment.

A process that has asked CUDA for its devices can't fork children that use it, and a server keeps no device file open
either. So NVML is asked by a process of its own, which ends at once: ``python -m evaluator.worker.targets.cuda.presence``.
It has the standard library alone, so torch is imported here only where it is loaded anyway.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.worker.targets.cuda import nvml
from evaluator.worker.targets.cuda.visible import Device, first

_LIMIT_S: Final = 30.0
_TORCH_LIMIT_S: Final = 120.0
_BY_TORCH: Final = """
import json, torch
found = torch.cuda.get_device_properties(0)
print(json.dumps({
    "gpu": found.name, "capability": f"{found.major}.{found.minor}", "uuid": f"GPU-{found.uuid}",
}))
"""
_MODULE: Final = "evaluator.worker.targets.cuda.presence"


@dataclass(frozen=True)
class Present:
    """The GPU that is device 0 of this environment's CUDA; all None, with ``why``, where there is none."""

    gpu: str | None = None
    capability: str | None = None
    driver: str | None = None
    uuid: str | None = None
    why: str | None = None


# What this process and its children know of the GPU, once the server has looked.
_path: str | None = None
_found = Present(why="nobody has looked for a GPU")


def begin(path: str | None) -> Present:
    """Look for the GPU once, for this process and those forked from it. ``path``: the controller's file of pynvml; this
    interpreter's own is taken where it has none, and where that has none CUDA is asked, in a process of its own."""
    import torch

    global _path, _found
    if path is None:
        spec = importlib.util.find_spec("pynvml")
        path = spec.origin if spec is not None else None
    _path = path
    if torch.version.cuda is None:
        _found = Present(why=f"torch {torch.__version__} is built without CUDA")
    elif path is None:
        _found = _by_torch()
    else:
        _found, _ = look(path)
    return _found


def _by_torch() -> Present:
    """The GPU as CUDA itself has it, from an interpreter of its own that ends: slow, and nothing of its conditions, but
    it needs nothing beside torch."""
    command = [sys.executable, "-c", _BY_TORCH]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=_TORCH_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Present(why=f"no pynvml is there to ask the driver, and CUDA does not answer: {error}")
    if asked.returncode != 0:
        words = (asked.stderr.strip().splitlines() or ["it says nothing"])[-1]
        return Present(why=f"no pynvml is there to ask the driver, and CUDA has no device: {words}")
    said = json.loads(asked.stdout)
    return Present(**said, driver=_kernel_module_version())


def _kernel_module_version() -> str | None:
    """The driver's version, as the kernel tells it."""
    try:
        return Path("/sys/module/nvidia/version").read_text().strip()
    except OSError:
        return None


def found() -> Present:
    """What ``begin`` found."""
    return _found


def conditions() -> nvml.Snapshot:
    """How the GPU that was found is now, with what runs there besides this process's tree; empty where none was."""
    if _path is None or _found.uuid is None:
        return {} if _found.uuid is None else {"uuid": _found.uuid}
    return look(_path, uuid=_found.uuid)[1]


def reader() -> nvml.NvmlReader:
    """NVML in this process, for the device that CUDA uses in it; raises NoNvml.

    Once there is a context CUDA itself says which one that is; else it is the one that ``begin`` found.
    """
    import torch

    library = nvml.load(_path)
    names = [_found.uuid] if _found.uuid is not None else []
    if torch.cuda.is_initialized():
        uuid = str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
        names = [f"GPU-{uuid}", f"MIG-{uuid}"]
    problem = nvml.NoNvml(_found.why or "no GPU was found")
    for name in names:
        try:
            return nvml.NvmlReader(library, name)
        except nvml.NoNvml as error:
            problem = error
    raise problem


def look(path: str | None, root: int | None = None, uuid: str | None = None) -> tuple[Present, nvml.Snapshot]:
    """The GPU, and its conditions below the process ``root`` (default: this one), from a process of its own.

    ``path``: the file of pynvml. ``uuid``: of a device that was found before; else it is looked for.
    """
    given = {"path": path, "root": os.getpid() if root is None else root, "uuid": uuid}
    command = [sys.executable, "-S", "-m", _MODULE, json.dumps(given)]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return Present(why=f"the NVIDIA driver did not answer within {_LIMIT_S:g} s"), {}
    except OSError as error:
        return Present(why=f"the NVIDIA driver can't be asked: {error.strerror}"), {}
    try:
        said = json.loads(asked.stdout)
    except ValueError:
        words = (asked.stderr.strip().splitlines() or [f"exit code {asked.returncode}"])[-1]
        return Present(why=f"the NVIDIA driver can't be asked: {words}"), {}
    return Present(**said["present"]), said["snapshot"]


def listed(library: Any) -> list[Device]:
    """Every GPU that NVML lists; one that has fallen off the bus is left out."""
    found = []
    for index in range(library.nvmlDeviceGetCount()):
        try:
            handle = library.nvmlDeviceGetHandleByIndex(index)
            uuid, name = library.nvmlDeviceGetUUID(handle), library.nvmlDeviceGetName(handle)
        except library.NVMLError:
            continue
        mig, instances = _instances(library, handle)
        found.append(Device(_decoded(uuid), _decoded(name), instances, mig))
    return found


def _instances(library: Any, handle: Any) -> tuple[bool, tuple[str, ...]]:
    try:
        if not library.nvmlDeviceGetMigMode(handle)[0]:
            return False, ()
        most = library.nvmlDeviceGetMaxMigDeviceCount(handle)
    except library.NVMLError:
        return False, ()  # a card that can't be divided
    found = []
    for index in range(most):
        try:
            instance = library.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            found.append(_decoded(library.nvmlDeviceGetUUID(instance)))
        except library.NVMLError:
            continue  # a place without an instance
    return True, tuple(found)


def _decoded(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _ask(path: str | None, root: int, uuid: str | None) -> tuple[Present, nvml.Snapshot]:
    """What ``look`` answers, in the process that is asked."""
    try:
        library = nvml.load(path)
        if uuid is None:
            uuid, why = first(listed(library), os.environ)
            if uuid is None:
                return Present(why=why), {}
        reader = nvml.NvmlReader(library, uuid)
        found = Present(reader.name(), reader.capability(), reader.driver(), uuid)
        return found, reader.snapshot(root, context=False)
    except nvml.NoNvml as error:
        return Present(why=str(error)), {}


if __name__ == "__main__":
    _present, _snapshot = _ask(**json.loads(sys.argv[1]))
    sys.stdout.write(json.dumps({"present": asdict(_present), "snapshot": _snapshot}))
