"""One A/B process over one graph: what torch logged as `fx_graph_runnable`, handed to Inductor alone.

`python -m evaluator.worker.ab_graph SPEC RESULT` reads a JSON spec and writes a JSON result. Inputs have the logged
shapes, strides and dtypes; their values are made here from a seed: floats normal, integers 0, since an integer may be
an index.
"""

from __future__ import annotations

import importlib
import json
import logging
import pathlib
import re
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import torch
from torch._dynamo.debug_utils import InputReader
from torch._dynamo.source import ConstantSource
from torch._inductor.compile_fx import compile_fx_inner
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.fx.traceback import preserve_node_meta

from evaluator.worker import ab_measure
from evaluator.worker.repro import repro_error, repro_precision
from evaluator.worker.repro_leaves import ReproCall, repro_figures, repro_leaves

_SYMBOL: Final = re.compile(r"[su]\d+")


class Size(int):
    """A number that was a symbol in the log, or was made of one."""


def _keeping(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    def operator(self: Size, *others: Any) -> Any:
        found = plain(self, *others)
        return Size(found) if isinstance(found, int) else found

    return operator


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "mod", "neg", "pow"):
    setattr(Size, f"__{_name}__", _keeping(f"__{_name}__"))


class Reader(InputReader):
    """Makes the inputs that ``load_args`` asks for. ``dynamic``: of each tensor, which of its sizes were symbols."""

    def __init__(self) -> None:
        super().__init__(save_dir=None)
        self.dynamic: dict[int, list[bool]] = {}

    def storage(self, storage_hash: str | None, nbytes: int, **more: Any) -> Any:
        return super().storage(storage_hash, int(nbytes), **more)

    def tensor(self, storage: Any, shape: Any, stride: Any = None, **more: Any) -> Any:
        self.dynamic[len(self.args)] = [isinstance(size, Size) for size in shape]
        plain = None if stride is None else tuple(int(step) for step in stride)
        return super().tensor(storage, tuple(int(size) for size in shape), plain, **more)

    def symint(self, val: Any, **more: Any) -> Any:
        # Newer logs name the symbol beside its value, which an older torch does not take.
        self.args.append(val)
        return val


class GraphSession:
    """The graph of a spec: fresh inputs, eager calls, and the compiled callable once it was compiled."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.module = importlib.import_module(spec["graph"])
        for name, value in vars(self.module).items():
            if _SYMBOL.fullmatch(name) and type(value) is int:
                setattr(self.module, name, Size(value))
        self.eager: Any = self.module.Repro()
        self.compiled: Any = None

    def read(self) -> Reader:
        """A reader that made the arguments anew, the same values every time."""
        torch.manual_seed(self.spec["seed"])
        reader = Reader()
        self.module.load_args(reader)
        return reader

    def inputs(self) -> list[Any]:
        """New arguments."""
        return list(self.read().args)

    def compile(self) -> float:
        """Hand the graph to Inductor and call the result once: the seconds both took."""
        args = self.inputs()
        given = self.symbolic_inputs() if self.spec["symbolic"] else args
        # With what each operator was, by which kernels are named.
        with preserve_node_meta():
            graph = make_fx(self.eager)(*given)
        origin = self.spec["origin"]
        begun = time.perf_counter()
        self.compiled = compile_fx_inner(
            graph, given, is_inference=origin == "inference", is_backward=origin == "backward"
        )
        self.compiled(list(args))
        ab_measure.synchronize(self.spec["target"])
        return time.perf_counter() - begun

    def symbolic_inputs(self) -> list[Any]:
        """Arguments without values, in which those sizes are symbols that were in the log, and no others."""
        reader, env = self.read(), ShapeEnv()
        mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
        made: list[Any] = []
        for place, value in enumerate(reader.args):
            source = ConstantSource(f"arg{place}")
            if isinstance(value, torch.Tensor):
                # Equal numbers among them are one symbol, as they are for torch.compile.
                kinds = [
                    DimDynamic.DUCK if dynamic else DimDynamic.STATIC for dynamic in reader.dynamic[place]
                ]
                context: Any = StatelessSymbolicContext(dynamic_sizes=kinds)
                made.append(mode.from_tensor(value, symbolic_context=context, source=source))
            elif type(value) in (int, Size):
                symbol = env.create_symbol(int(value), source, DimDynamic.DUCK, positive=None)
                made.append(env.create_symintnode(symbol, hint=int(value), source=source))
            else:
                made.append(value)
        return made

    def left(self, compiled: bool) -> ReproCall:
        """What one call leaves: its outputs, then its arguments, which it may have changed."""
        args = self.inputs()
        output = self.compiled(list(args)) if compiled else self.eager(*args)
        return repro_leaves((output, args))

    def warm_ms(self) -> dict[str, float]:
        """Milliseconds of a warm call, compiled and eager; its inputs are made once."""
        args, target = self.inputs(), self.spec["target"]

        def compiled(calls: int) -> float:
            ab_measure.synchronize(target)
            begun = time.perf_counter()
            for _ in range(calls):
                self.compiled(list(args))
            ab_measure.synchronize(target)
            return time.perf_counter() - begun

        def eager(calls: int) -> float:
            ab_measure.synchronize(target)
            begun = time.perf_counter()
            for _ in range(calls):
                self.eager(*args)
            ab_measure.synchronize(target)
            return time.perf_counter() - begun

        return ab_measure.warm_ms({"compiled": compiled, "eager": eager})


def facts(spec: dict[str, Any]) -> dict[str, Any]:
    """What this torch makes of the graph: its error, or the code and how close the outputs are to eager's."""
    found: dict[str, Any] = {"versions": ab_measure.versions(), "error": {"eager": None, "compiled": None}}
    session = GraphSession(spec)
    found["ignored"] = getattr(session.module, "IGNORED", [])
    mode = "eager"
    try:
        eager = session.left(compiled=False)
        mode = "compiled"
        session.compile()
        compiled = session.left(compiled=True)
    except Exception as error:  # noqa: BLE001 - the error is what may be reproduced
        found["error"][mode] = repro_error(error)
    else:
        close = repro_figures([eager], [compiled], None)
        found["accuracy"] = {name: close[name] for name in ("max_abs", "max_rel")}
    found |= {"code": ab_measure.output_code(spec["trace_dir"]), "modules": ab_measure.compiler_modules()}
    return found


def times(spec: dict[str, Any]) -> dict[str, float]:
    """One process's cold compile in s and warm calls in ms."""
    ab_measure.preload(spec["modules"], spec["target"])
    session = GraphSession(spec)
    cold = session.compile()
    warm = session.warm_ms()
    return {"cold_s": cold, "compiled_ms": warm["compiled"], "eager_ms": warm["eager"]}


def main(arguments: list[str]) -> None:
    """Do what the spec asks for, ``facts`` or ``times``."""
    spec = json.loads(pathlib.Path(arguments[0]).read_text())
    # "will generate random data" is said for every input.
    logging.getLogger("torch._dynamo.debug_utils").setLevel(logging.ERROR)
    repro_precision(spec["precision"])
    with torch.no_grad():
        result = facts(spec) if spec["do"] == "facts" else times(spec)
    pathlib.Path(arguments[1]).write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
