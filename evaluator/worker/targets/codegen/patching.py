"""Changes to torch that end where they began: each is undone on the way out, whatever happens inside."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, Final

from evaluator.worker.targets.codegen import internals

_ABSENT: Final = object()

# Functions that answer by the device that was there when they were first asked, and remember it. Not whatever is
# cached: the patterns that Inductor registers once take seconds, and hashing its own source does.
_ASKED_ONCE: Final = {
    "torch.utils._triton": (
        "_device_supports_tma",
        "_device_supports_tensor_descriptor",
        "has_datacenter_blackwell_tma_device",
        "has_triton",
        "has_triton_experimental_host_tma",
        "has_triton_stable_tma_api",
        "has_triton_tensor_descriptor_host_tma",
        "has_triton_tma",
        "has_triton_tma_device",
        "triton_backend",
        "triton_hash_with_backend",
    ),
    "torch._inductor.utils": (
        "_triton_supported_fp8_dtypes",
        "get_backend_num_stages",
        "get_device_tflops",
        "get_gpu_dram_gbps",
        "get_gpu_type",
        "get_max_num_sms",
        "is_big_gpu",
        "tlx_only_cuda_options",
        "use_contiguous",
        "use_decompose_k_choice",
        "using_b200",
    ),
    "torch._inductor.codegen.cuda.cuda_env": (
        "get_cuda_arch",
        "get_cuda_version",
        "is_datacenter_blackwell_arch",
    ),
}
_CACHED_METHODS: Final = (
    "torch._inductor.runtime.hints:DeviceProperties.create",
    "torch._inductor.codecache:CacheBase.get_system",
)


@contextlib.contextmanager
def patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    """``owner.name`` is ``value`` inside, and what it was (or absent) after."""
    before = vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else getattr(owner, name, _ABSENT)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


@contextlib.contextmanager
def entries(mapping: dict[Any, Any], **values: Any) -> Iterator[None]:
    """The mapping has these entries inside, and exactly what it had after."""
    before = dict(mapping)
    mapping.update(values)
    try:
        yield
    finally:
        mapping.clear()
        mapping.update(before)


@contextlib.contextmanager
def asked_anew() -> Iterator[None]:
    """Functions that remember what a device said forget it on the way in, and again on the way out."""
    _forget()
    try:
        yield
    finally:
        _forget()


def _nothing() -> None:
    pass


def _forget() -> None:
    for name, functions in _ASKED_ONCE.items():
        module = sys.modules.get(name)
        for function in functions:
            # A version that lacks one asks anew each time, or does not ask.
            getattr(getattr(module, function, None), "cache_clear", _nothing)()
    for place in _CACHED_METHODS:
        internals.get(place).cache_clear()
