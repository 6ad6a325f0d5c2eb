"""The part of a reproduction script that runs the workload and prints what happens beside what was recorded.

`python -m evaluator repro` puts the text of this module and of `repro_float64` below the workload's own source, so
they use torch and the standard library only, and every name of its own begins with ``repro_``: the workload's may be anything.
It repeats the calls of the accuracy probe and of the walk: every bucket up to the one in question, in order,
fresh inputs from the seed before each call, a build of its own for each mode.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import math
import pathlib
import re
import types
from typing import Any

import torch

from evaluator.worker.repro_float64 import repro_in_float64


def repro_main(spec: dict[str, Any], build: Any, inputs: Any) -> None:
    """Run eager, float64 and compiled over the buckets of ``spec`` and print facts of the last one."""
    target = types.SimpleNamespace(name=spec["target"], device="cuda" if spec["target"] == "cuda" else "cpu")
    session = ReproSession(spec, build, inputs, target)
    eager, eager_error = session.walk("eager")
    reference, reference_error = session.walk("float64")
    compiled, compiled_error = session.walk("compiled")
    print(f"torch {torch.__version__}; recorded on torch {spec['recorded']['torch']}")
    print(f"{spec['workload']}, bucket {spec['buckets'][-1]['name']}, torch.compile({spec['options']})")
    if spec["precision"] is not None:
        print(f"float32 precision {spec['precision']}")
    facts = repro_trace_facts(spec["trace_dir"], session.start_of_last)
    recorded = spec["recorded"]
    rows = [
        (name, facts[name], recorded["facts"].get(name))
        for name in ("graphs", "break_events", "recompiles", "recompile_limit_hit")
    ]
    for row in rows:
        repro_row(*row)
    for text in facts["breaks"].values():
        print(f"  graph break: {text}")
    for text in facts["recompile_reasons"]:
        print(f"  recompile: {text}")
    errors = [
        ("error, eager", eager_error, recorded["eager_error"]),
        ("error, compiled", compiled_error, recorded["compiled_error"]),
    ]
    for row in errors:
        repro_row(*row)
    if eager_error is None and compiled_error is None:
        figures = repro_figures(eager, compiled, reference if reference_error is None else None)
        for name, value in figures.items():
            rows.append((name, value, (recorded["accuracy"] or {}).get(name)))
            repro_row(*rows[-1])
    other = [name for name, here, there in rows if not repro_same(here, there)]
    # Of an error its presence is compared: its words hold paths and addresses.
    other += [name for name, here, there in errors if (here is None) != (there is None)]
    print(f"not as recorded: {', '.join(other)}" if other else "as recorded")


class ReproSession:
    """The calls of one reproduction."""

    def __init__(self, spec: dict[str, Any], build: Any, inputs: Any, target: Any) -> None:
        self.spec = spec
        self.build = build
        self.inputs = inputs
        self.target = target
        self.start_of_last = 0

    def walk(self, mode: str) -> tuple[list[list[torch.Tensor]], str | None]:
        """Tensors that each call of the last bucket left (outputs, gradients, arguments, buffers), or the error."""
        found: list[list[torch.Tensor]] = []
        try:
            repro_precision(self.spec["precision"])
            self.seed()
            fn = repro_call(self.build, self.target)
            if mode == "float64" and isinstance(fn, torch.nn.Module):
                fn = fn.double()
            called = torch.compile(fn, **self.spec["options"]) if mode == "compiled" else fn
            found = self.walk_with(fn, called, mode)
        except Exception as error:  # noqa: BLE001 - the error is what may be reproduced
            return found, repro_error(error)
        return found, None

    def walk_with(self, fn: Any, called: Any, mode: str = "eager") -> list[list[torch.Tensor]]:
        """Call ``called``, which is ``fn`` or made of it, over the buckets; the tensors of the last bucket's calls."""
        found = []
        for bucket in self.spec["buckets"]:
            last = bucket is self.spec["buckets"][-1]
            if last and mode == "compiled":
                self.start_of_last = repro_trace_size(self.spec["trace_dir"])
            for _ in range(self.spec["calls"]):
                left = self.call(fn, called, bucket, mode)
                if last:
                    found.append(left)
        return found

    def seed(self) -> None:
        torch.set_grad_enabled(True)
        torch.manual_seed(self.spec["seed"])

    def call(self, fn: Any, called: Any, bucket: dict[str, Any], mode: str) -> list[torch.Tensor]:
        self.seed()
        args, kwargs = repro_call(self.inputs, dict(bucket["params"]), self.target)
        if mode == "float64":
            args, kwargs = repro_to_float64(args), repro_to_float64(kwargs)
        training = self.spec["training"]
        parameters = dict(fn.named_parameters()) if isinstance(fn, torch.nn.Module) else {}
        for parameter in parameters.values():
            parameter.grad = None
        keep = training or self.spec["grad"]
        grad = contextlib.nullcontext() if keep else torch.no_grad()
        with grad, repro_in_float64() if mode == "float64" else contextlib.nullcontext():
            output = called(*args, **kwargs)
            leaves = repro_tensors(output)
            if training:
                repro_backward(leaves, self.spec["seed"])
        left = [*leaves, *repro_tensors((args, kwargs))]
        left += [p.grad for p in parameters.values() if p.grad is not None]
        left += list(fn.buffers()) if isinstance(fn, torch.nn.Module) else []
        return [tensor.detach().clone() for tensor in left]


def repro_precision(precision: str | None) -> None:
    """Set the float32 precision ("ieee", "tf32") everywhere alike; None: leave torch's defaults."""
    if precision is None:
        return
    places = [torch.backends, torch.backends.cuda.matmul]
    places += [getattr(torch.backends.cudnn, name) for name in ("conv", "rnn")]
    places += [getattr(torch.backends.mkldnn, name) for name in ("matmul", "conv", "rnn")]
    for place in places:
        place.fp32_precision = precision


def repro_call(function: Any, *arguments: Any) -> Any:
    """Call with as many of the arguments as the function asks for (`build()` or `build(target)`)."""
    parameters = inspect.signature(function).parameters.values()
    required = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return function(*arguments[: len(required)])


def repro_backward(leaves: list[torch.Tensor], seed: int) -> None:
    """Backward from the scalar losses, or else from every float output with seeded cotangents of eighths."""
    roots = repro_roots(leaves)
    torch.autograd.backward(roots, repro_cotangents(roots, seed) or None)


def repro_roots(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    """Where backward begins: the scalar losses, or else every output that needs a gradient."""
    roots = [leaf for leaf in leaves if leaf.requires_grad]
    return [leaf for leaf in roots if leaf.dim() == 0 and not leaf.is_complex()] or roots


def repro_cotangents(roots: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """A seeded cotangent of eighths for each root; none where the roots are scalar losses, which need none."""
    if all(leaf.dim() == 0 and not leaf.is_complex() for leaf in roots):
        return []
    cotangents = []
    for index, leaf in enumerate(roots):
        generator = torch.Generator().manual_seed(seed + index)
        shape = (*leaf.shape, 2) if leaf.is_complex() else tuple(leaf.shape)
        steps = torch.randint(1, 9, shape, generator=generator, dtype=torch.float64)
        drawn = steps * (torch.randint(0, 2, shape, generator=generator, dtype=torch.float64) * 2 - 1) / 8
        drawn = torch.view_as_complex(drawn) if leaf.is_complex() else drawn
        cotangents.append(drawn.to(device=leaf.device, dtype=leaf.dtype))
    return cotangents


def repro_tensors(value: Any) -> list[torch.Tensor]:
    """Tensors in an output of any kind, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in repro_tensors(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in repro_tensors(item)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [leaf for f in dataclasses.fields(value) for leaf in repro_tensors(getattr(value, f.name))]
    return []


def repro_to_float64(value: Any) -> Any:
    """The same tree with float tensors in float64 and complex ones in complex128."""
    if isinstance(value, torch.Tensor):
        if not (value.is_floating_point() or value.is_complex()):
            return value
        dtype = torch.complex128 if value.is_complex() else torch.float64
        return value.detach().to(dtype).requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: repro_to_float64(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(repro_to_float64(item) for item in value)
    return value


def repro_figures(eager: Any, compiled: Any, reference: Any) -> dict[str, float | None]:
    """max_abs and max_rel of compiled to eager, and both sides' worst RMSE to float64, over calls and leaves."""
    found: dict[str, float | None] = {
        "max_abs": None,
        "max_rel": None,
        "rmse_fp64": None,
        "eager_rmse_fp64": None,
    }

    def worse(name: str, value: float) -> None:
        known = found[name]
        found[name] = value if known is None else max(known, value)

    for call, (ours, theirs) in enumerate(zip(compiled, eager, strict=False)):
        exact = reference[call] if reference is not None and call < len(reference) else None
        for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one.shape != other.shape or one.numel() == 0:
                continue
            if not (other.is_floating_point() or other.is_complex()):
                continue
            wide = torch.complex128 if other.is_complex() else torch.float64
            a, b = one.to(wide), other.to(wide)
            finite = torch.isfinite(a) & torch.isfinite(b)
            if not bool(finite.any()):
                continue
            difference = (a - b).abs()[finite]
            worse("max_abs", float(difference.max()))
            size = b.abs()[finite]
            if bool((size > 0).any()):
                worse("max_rel", float((difference[size > 0] / size[size > 0]).max()))
            if exact is not None and index < len(exact) and exact[index].shape == a.shape:
                right = exact[index].to(wide)
                known = finite & torch.isfinite(right)
                if bool(known.any()):
                    worse("rmse_fp64", math.sqrt(float(((a - right).abs()[known] ** 2).mean())))
                    worse("eager_rmse_fp64", math.sqrt(float(((b - right).abs()[known] ** 2).mean())))
    return found


def repro_error(error: BaseException) -> str:
    lines: list[str] = []
    link: BaseException | None = error
    while link is not None:
        first = next((line for line in str(link).splitlines() if line.strip()), "")
        lines.append(f"{type(link).__name__}: {first.strip()}")
        link = link.__cause__
    return " <- ".join(lines)


def repro_same(here: Any, there: Any) -> bool:
    """Whether a fact is as recorded; what was not recorded contradicts nothing. Figures may differ by a thousandth."""
    if there is None or isinstance(there, str):
        return True
    if isinstance(here, float):
        return math.isclose(here, there, rel_tol=1e-3, abs_tol=1e-12)
    return bool(here == there)


def repro_row(name: str, here: Any, recorded: Any) -> None:
    if here is None and recorded is None:
        return
    print(f"{name:18} here {here!s:40} recorded {recorded}")


def repro_trace_size(folder: str) -> int:
    """Bytes of torch's structured trace so far."""
    return sum(log.stat().st_size for log in pathlib.Path(folder).glob("*.log"))


def repro_trace_facts(folder: str, start: int) -> dict[str, Any]:
    """Graphs, graph breaks and recompiles that the trace holds from byte ``start`` on, with their reasons."""
    facts: dict[str, Any] = {
        "graphs": 0,
        "break_events": 0,
        "recompiles": 0,
        "recompile_limit_hit": False,
        "breaks": {},
        "recompile_reasons": [],
    }
    for log in pathlib.Path(folder).glob("*.log"):
        graphs: set[str] = set()
        raw = log.read_bytes()
        # Once hit, the limit holds for every later call.
        facts["recompile_limit_hit"] |= re.search(rb'"fail_reason": "[^"]*recompile.limit', raw) is not None
        for event, payload in repro_events(raw[start:].decode(errors="replace")):
            compile_id = f"{event.get('frame_id')}/{event.get('frame_compile_id')}"
            metrics = event.get("compilation_metrics") or {}
            if "dynamo_output_graph" in event:
                graphs.add(compile_id)
            elif (event.get("artifact") or {}).get("name") == "dynamo_graph_break_reason":
                # A restarted attempt logs its break again.
                facts["breaks"][compile_id] = repro_break(payload)
            elif metrics.get("has_guarded_code") and metrics.get("is_forward") is not False:
                facts["graphs"] += compile_id in graphs
                if event.get("frame_compile_id"):
                    facts["recompiles"] += 1
                    facts["recompile_reasons"].append(" ".join(str(metrics.get("recompile_reason")).split()))
    facts["break_events"] = len(facts["breaks"])
    return facts


def repro_events(text: str) -> list[tuple[dict[str, Any], str]]:
    """(event, payload) of a trace log: a line with a JSON object, and the tab-indented lines that follow it."""
    events: list[tuple[dict[str, Any], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("\t") and events:
            events[-1][1].append(line[1:])
        elif line.startswith("V") and "{" in line:
            try:
                events.append((json.loads(line[line.index("{") :]), []))
            except ValueError:
                continue
    return [(event, "\n".join(payload)) for event, payload in events]


def repro_break(payload: str) -> str:
    """One line of a break: what was met, the innermost line of the user's code, and torch's id of its kind."""
    # What torch's own frames were doing follows the user's; it places nothing.
    payload = payload.partition("Traceback (most recent call last):")[0]
    site = re.findall(r"gb\d{4}", payload)
    places = re.findall(r'^  File "(.+)", line (\d+), in (\S+)', payload, re.MULTILINE)
    said = payload.partition("Reason:")[2].splitlines() or payload.splitlines()
    lines = [line.strip() for line in said if line.strip()]
    if len(lines) > 1 and lines[0].startswith(("Encountered graph break", "Failed to handle")):
        lines = lines[1:]
    where = f" at {pathlib.Path(places[-1][0]).name}:{places[-1][1]} in {places[-1][2]}" if places else ""
    # The headline alone often names no construct; the first line of the explanation does.
    lines = [line.removeprefix("Explanation: ") for line in lines[:2]]
    return f"{': '.join(lines) or 'no reason given'}{where}{f' ({site[0]})' if site else ''}"
