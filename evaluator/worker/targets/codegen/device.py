"""The card, as far as Inductor looks: while it lowers a graph, and only then, torch answers as if it were there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import torch

from evaluator.worker.errors import Unsupported
from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.card import Card
from evaluator.worker.targets.codegen.patching import asked_anew, entries, patched
from evaluator.worker.targets.codegen.twins import on_card, on_host

# A generator's state on CUDA: 8 bytes of seed, 8 of offset.
_RNG_STATE_BYTES: Final = 16
_CUDA: Final = "13.0"
_NO_CUDA: Final = ("not linked with support for cuda", "not compiled with CUDA enabled")
_PRIMITIVES: Final = "torch._inductor.inductor_prims"
_REINPLACE: Final = "torch._inductor.fx_passes.reinplace"
_SELECT: Final = "torch._inductor.select_algorithm"


@contextlib.contextmanager
def present(card: Card) -> Iterator[None]:
    """Inside, torch and Triton see one device ``cuda:0`` with the card's figures; afterwards none, as before.

    It can be asked and generated for. Nothing can be allocated or launched on it.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(asked_anew())
        for name, value in _answers(card).items():
            stack.enter_context(patched(torch.cuda, name, value))
        # A generated module takes the current stream by this name, whether or not a graph launches anything.
        stack.enter_context(patched(torch._C, "_cuda_getCurrentRawStream", lambda _: 0))
        # A build without CUDA would be taken for AMD's; the rules of attention are of CUDA 13 as well.
        stack.enter_context(patched(torch.version, "cuda", torch.version.cuda or _CUDA))
        # It describes the device it was first made on.
        stack.enter_context(patched(internals.get_module(_SELECT), "_ALGORITHM_SELECTOR_CACHE", None))
        stack.enter_context(_interface(card))
        stack.enter_context(driver_of(card))
        stack.enter_context(_shapes_found_on_host())
        stack.enter_context(_constants_stay())
        yield


def _answers(card: Card) -> dict[str, Any]:
    def nothing(*_: Any, **__: Any) -> None:
        return None

    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda device=None: card,
        "get_device_capability": lambda device=None: card.capability,
        "is_bf16_supported": lambda including_emulation=True: card.capability >= (8, 0),
        "get_rng_state": lambda device=None: torch.zeros(_RNG_STATE_BYTES, dtype=torch.uint8),
        "set_rng_state": nothing,
        "synchronize": nothing,
        "is_current_stream_capturing": lambda: False,
        "_exchange_device": lambda index: 0,
        "_maybe_exchange_device": lambda index: 0,
    }


@contextlib.contextmanager
def _interface(card: Card) -> Iterator[None]:
    """Inductor's own interface to a device, for this card."""
    internals.get("torch._dynamo.device_interface:get_interface_for_device")(
        "cpu"
    )  # fills the registry first
    base = internals.get("torch._dynamo.device_interface:CudaInterface")
    answers = {name: staticmethod(value) for name, value in _answers(card).items()}
    worker = type("Worker", (base.Worker,), answers)
    interface = type(
        "CardInterface",
        (base,),
        {
            **answers,
            "Worker": worker,
            "get_compute_capability": staticmethod(lambda device=None: card.arch),
            "get_raw_stream": staticmethod(lambda index: 0),
            "exchange_device": staticmethod(lambda index: 0),
            "maybe_exchange_device": staticmethod(lambda index: 0),
            "is_triton_capable": staticmethod(lambda device=None: True),
            "raise_if_triton_unavailable": staticmethod(lambda device=None: None),
        },
    )
    registry = internals.get("torch._dynamo.device_interface:device_interfaces")
    with entries(registry, **{"cuda": interface, "cuda:0": interface}):
        yield


class _Driver:
    """What Triton asks of a driver before anything is launched."""

    def __init__(self, card: Card) -> None:
        self._card = card

    def get_current_target(self) -> Any:
        target = internals.get("triton.backends.compiler:GPUTarget")
        return target("cuda", self._card.arch, self._card.warp_size)

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(
            f"a Triton kernel is launched outside of the compiled code ({name}), which needs the card"
        )


@contextlib.contextmanager
def driver_of(card: Card) -> Iterator[None]:
    """Inside, Triton has a driver that knows which card code is compiled for, and can launch nothing."""
    drivers = internals.get("triton.runtime.driver:driver")
    driver = _Driver(card)
    helpers = internals.get_module("torch._inductor.runtime.triton_helpers")
    with (
        patched(drivers, "_active", driver),
        patched(drivers, "_default", driver),
        patched(helpers, "set_driver_to_gpu", lambda: None),
    ):
        yield


@contextlib.contextmanager
def _shapes_found_on_host() -> Iterator[None]:
    """What finds the shape of a result by calling torch on tensors of the card does so on CPU ones.

    A build without CUDA can't call its Python methods even on tensors without data. Inductor's own primitives
    (random numbers) and its in-place writes into views do, and some operators that are made of others.
    """
    with contextlib.ExitStack() as stack:
        for operator in vars(internals.get_module(_PRIMITIVES)).values():
            if hasattr(operator, "prim_meta_impl"):
                stack.enter_context(patched(operator, "prim_meta_impl", _on_host(operator.prim_meta_impl)))
        scatter = internals.get(f"{_REINPLACE}:_inplace_generalized_scatter")
        reinplace = internals.get_module(_REINPLACE)
        stack.enter_context(patched(reinplace, "_inplace_generalized_scatter", _on_host(scatter)))
        call = torch.fx.Interpreter.call_function
        stack.enter_context(patched(torch.fx.Interpreter, "call_function", _or_on_host(call)))
        yield


def without_cuda(error: BaseException) -> bool:
    """Whether this is how a build without CUDA refuses to work on a tensor of the card."""
    return isinstance(error, (RuntimeError, AssertionError)) and any(sign in str(error) for sign in _NO_CUDA)


def _or_on_host(call: Any) -> Any:
    """A graph's node run for its shapes: on tensors of the card, or on the CPU's where this build can't."""

    def call_function(interpreter: Any, target: Any, args: Any, kwargs: Any) -> Any:
        try:
            return call(interpreter, target, args, kwargs)
        except (RuntimeError, AssertionError) as error:
            if not without_cuda(error):
                raise
            return _on_host(call)(interpreter, target, args, kwargs)

    return call_function


def _on_host(shape: Any) -> Any:
    def computed(*args: Any, **kwargs: Any) -> Any:
        host_args, host_kwargs = on_host((args, kwargs))
        return on_card(shape(*host_args, **host_kwargs))

    return computed


@contextlib.contextmanager
def _constants_stay() -> Iterator[None]:
    """A graph's constants, which Inductor copies to the device that needs them, keep their memory here."""

    def constant_name(graph: Any, name: str, device: torch.device | None) -> str:
        if device is None or graph.constants[name].device == device:
            return name
        place = f"{name}_{device.type}{device.index or 0}"
        kept: str = graph.allocate_non_dup_const_name(place, graph.constants[name])
        return kept

    with patched(internals.get("torch._inductor.graph:GraphLowering"), "constant_name", constant_name):
        yield
