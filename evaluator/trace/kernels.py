"""The kernels in a module that Inductor generated: those it defines, and the library calls between them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from evaluator.trace import cpp_wrapper
from evaluator.trace.decorators import read_decorator
from evaluator.trace.normalise import body_hash, launch_hash

KernelKind = Literal["triton", "cpp", "template", "extern"]
Origin = Literal["forward", "backward", "inference"]

# AsyncCompile's methods that define a kernel, with the kind that they define. What is not listed is new: it is
# recorded all the same, as a template (code that a person wrote and Inductor filled in), with a note.
_DEFINERS: Final[dict[str, KernelKind]] = {
    "cpp": "cpp",
    "cpp_pybinding": "cpp",
    "triton": "triton",
    "multi_kernel": "triton",
    "size_hint_multi_kernel": "triton",
    "cuda": "template",
    "cutlass": "template",
    "xpu": "template",
    "rocm": "template",
    "cutedsl": "template",
    "nv_universal_gemm": "template",
    "pallas": "template",
    "halide": "template",
    "metal": "template",
}
_MULTI: Final = frozenset({"multi_kernel", "size_hint_multi_kernel"})
_NOT_DEFINERS: Final = frozenset({"wait", "warm_pool", "use_process_pool"})
# How the template behind a kernel shows in its source: Triton's decorator, and the names in Inductor's C++ templates.
_TEMPLATE_SIGNS: Final = re.compile(r"@triton_heuristics\.template\b|micro_gemm\b|\bflex_attention\b")

# Functions of the generated module that the compiled graph does not run.
_BENCHMARKS: Final = re.compile(r"^(?:get_args|benchmark_\w+|compiled_module_main)$")
# Operators that only describe memory.
_VIEWS: Final = frozenset({"torch.ops.inductor._reinterpret_tensor", "torch.ops.inductor._alloc_from_pool"})
# Names that every generated module gives to torch's operator namespaces.
_ALIASES: Final = {
    "aten": "torch.ops.aten",
    "prims": "torch.ops.prims",
    "inductor_ops": "torch.ops.inductor",
    "_quantized": "torch.ops._quantized",
}
_AOT_ID: Final = re.compile(r"^# AOT ID: \['\d+_(forward|backward|inference)'\]", re.MULTILINE)
_DEFINITION_TEXT: Final = re.compile(
    r"^(\w+) = async_compile\.(\w+)\((?:(?!''').)*?r?'''(.*?)'''", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Kernel:
    """A generated kernel, or a library call (kind ``extern``, without a source).

    ``source_hash`` identifies the body and ``launch_hash`` a Triton kernel's launch; ``calls`` counts the places in
    the generated code that run it (a loop counts once). ``choices`` names the kernels a multi-kernel picks from.
    ``form`` (pointwise, reduction, persistent_reduction, ..., user for the workload's own) and the counts of loads,
    stores and reductions are what Inductor wrote beside a Triton kernel; None where it wrote nothing.
    """

    name: str
    kind: KernelKind
    source: str | None
    source_hash: str | None
    launch_hash: str | None
    calls: int
    choices: tuple[str, ...] = ()
    form: str | None = None
    loads: int | None = None
    stores: int | None = None
    reductions: int | None = None


@dataclass(frozen=True)
class GeneratedModule:
    """What a generated module says: its kernels in order, the pass it belongs to, and what could not be read."""

    kernels: tuple[Kernel, ...]
    origin: Origin | None
    notes: tuple[str, ...]


def kernels_of(output_code: str) -> list[Kernel]:
    """The kernels of a generated module: those it defines in order, then its library calls by name."""
    return list(read_module(output_code).kernels)


def read_module(output_code: str) -> GeneratedModule:
    """Read a generated module. What it does not understand becomes a note, never an error."""
    notes: list[str] = []
    try:
        tree = ast.parse(output_code)
    except (SyntaxError, ValueError, RecursionError) as error:
        notes.append(
            f"the generated code does not parse as Python ({error}); kernels found by their text alone"
        )
        defined = [_kernel(name, method, source, notes) for name, method, source in _by_text(output_code)]
        externs: list[Kernel] = []
    else:
        kernels, cpp_wrappers = _definitions(tree, notes)
        calls = Counter(_calls(tree))
        defined = [replace(kernel, calls=calls.pop(variable, 0)) for variable, kernel in kernels]
        for source in cpp_wrappers:
            defined += [
                Kernel(name, "cpp", text, body_hash(text, name), None, cpp_wrapper.uses(source, name))
                for name, text in cpp_wrapper.kernels(source)
            ]
            calls.update(cpp_wrapper.library_calls(source))
            notes.append("a C++ wrapper: kernels and library calls are found by their text")
        externs = [
            Kernel(name, "extern", None, None, None, count)
            for name, count in sorted(calls.items())
            if _is_extern(name)
        ]
    return GeneratedModule(tuple(defined + externs), _origin(output_code), tuple(dict.fromkeys(notes)))


def _origin(output_code: str) -> Origin | None:
    found = _AOT_ID.search(output_code)
    match found[1] if found else None:
        case "forward":
            return "forward"
        case "backward":
            return "backward"
        case "inference":
            return "inference"
        case _:
            return None


def _definitions(tree: ast.Module, notes: list[str]) -> tuple[list[tuple[str, Kernel]], list[str]]:
    """The kernels of every ``NAME = async_compile.METHOD(...)`` wherever it stands, each with the variable that the
    code calls it by, and C++ wrapper sources."""
    kernels: list[tuple[str, Kernel]] = []
    cpp_wrappers: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, value = node.targets[0].id, node.value
        method = _definer(value)
        if method is not None and isinstance(value, ast.Call):
            kernels.append((name, _defined(_own_name(method, value) or name, method, value, notes)))
        elif name == "cpp_wrapper_src":
            cpp_wrappers += _strings(value)
    return kernels, cpp_wrappers


def _own_name(method: str, call: ast.Call) -> str | None:
    """What a Triton kernel is called in its source: a workload's own kernel has another name than its variable."""
    first = call.args[0] if method == "triton" and call.args else None
    named = isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.isidentifier()
    return str(first.value) if named and isinstance(first, ast.Constant) else None


def _defined(name: str, method: str, call: ast.Call, notes: list[str]) -> Kernel:
    if method in _MULTI:
        choices = tuple(
            child.id
            for argument in call.args
            if isinstance(argument, ast.List | ast.Tuple | ast.Dict)
            for child in ast.walk(argument)
            if isinstance(child, ast.Name)
        )
        return Kernel(name, "triton", None, None, None, 0, choices)
    # The first strings are the kernel's name or file type: the source is the longest.
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    texts = [text for argument in arguments for text in _strings(argument)]
    return _kernel(name, method, max(texts, key=len, default=None), notes)


def _definer(value: ast.expr) -> str | None:
    """The AsyncCompile method that this expression calls to define a kernel."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
        return None
    owner = value.func.value
    if isinstance(owner, ast.Name) and owner.id == "async_compile" and value.func.attr not in _NOT_DEFINERS:
        return value.func.attr
    return None


def _kernel(name: str, method: str, source: str | None, notes: list[str]) -> Kernel:
    kind = _DEFINERS.get(method)
    if kind is None:
        notes.append(f"async_compile.{method} is not known; its kernels are recorded as templates")
        kind = "template"
    if source is None:
        notes.append(f"no source found for {name}")
        return Kernel(name, kind, None, None, None, 0)
    if _TEMPLATE_SIGNS.search(source):
        kind = "template"
    said = read_decorator(source)
    return Kernel(
        name,
        kind,
        source,
        body_hash(source, name),
        launch_hash(source),
        0,
        form=said.form,
        loads=said.loads,
        stores=said.stores,
        reductions=said.reductions,
    )


def _strings(node: ast.expr) -> list[str]:
    return [
        child.value
        for child in ast.walk(node)
        if isinstance(child, ast.Constant) and isinstance(child.value, str)
    ]


def _calls(tree: ast.Module) -> Iterator[str]:
    """The dotted name of everything that the graph's own code calls; a kernel's launch counts as the kernel."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _BENCHMARKS.match(node.name):
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for child in ast.walk(node):
                if isinstance(child, ast.Call):
                    name = _dotted(child.func)
                    if name is not None:
                        yield name.removesuffix(".run")


def _dotted(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(_ALIASES.get(node.id, node.id))
    return ".".join(reversed(parts))


def _is_extern(name: str) -> bool:
    return name.startswith(("extern_kernels.", "torch.ops.", "aoti_torch_")) and name not in _VIEWS


def _by_text(output_code: str) -> list[tuple[str, str, str]]:
    return [(found[1], found[2], found[3]) for found in _DEFINITION_TEXT.finditer(output_code)]
