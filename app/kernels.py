"""Kernels as the rows of a table: what Inductor says of them, what ptxas made of them, what is amiss. Pure but for columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from pandas.api.types import is_numeric_dtype

from app import tables, theme
from evaluator.verdicts.findings import FusionChange
from evaluator.verdicts.sides import KernelUse
from evaluator.verdicts.wording import size
from evaluator.verdicts.words import is_refusal


@dataclass(frozen=True)
class _Column:
    """A column of what is known of a kernel: of one side, and of two in one (``base → candidate``)."""

    title: str
    width: int
    help: str | None = None
    width_of_two: int = 95


_COUNTED: Final = (
    "by Inductor's own count in its body; it counts none where a kernel does several things side by side"
)
# Shown only where some kernel has it: most targets know none of these.
_COLUMNS: Final[Mapping[str, _Column]] = {
    "mark": _Column("amiss", 85, width_of_two=150),
    "form": _Column(
        "form", 100, "what Inductor makes of it: pointwise, reduction, persistent_reduction, ..."
    ),
    "registers": _Column("registers", 68, "of a thread, by ptxas"),
    "spills": _Column(
        "spilled", 62, "bytes that a thread writes to memory and reads back for want of registers"
    ),
    "moved": _Column(
        "moves",
        70,
        "read and written by one launch, by Inductor's own estimate; it makes none of a workload's own",
    ),
    "loads": _Column("loads", 48, _COUNTED),
    "stores": _Column("stores", 52, _COUNTED),
    "reductions": _Column("reductions", 75, _COUNTED),
    "shared": _Column("shared", 58, "dynamic shared memory of a launch in bytes, by Triton"),
    "stack": _Column("stack", 50, "bytes of a thread, by ptxas"),
    "cubin": _Column("cubin", 65, "size of the machine code's file"),
    "machine_code": _Column("machine code", 105, "hash of the machine code; equal ones are the same"),
    "calls": _Column("calls", 48, "places in the generated code that run it"),
}


def worded(kernels: pd.DataFrame) -> pd.DataFrame:
    """The kernels with mark (refused, not built, spills; missing: nothing amiss), and sizes and the machine code's hash as text."""
    rows = kernels.to_dict("records")
    sizes = {"moved": "bytes_moved", "spills": "spilled", "cubin": "cubin_bytes"}
    return kernels.assign(
        mark=[mark(row) for row in rows],
        machine_code=[one[:12] if isinstance(one, str) else None for one in kernels["sass_hash"]],
        **{name: [_size(row[column]) for row in rows] for name, column in sizes.items()},
    )


def mark(kernel: Mapping[Any, Any]) -> str | None:
    """What is amiss with a kernel that was to be built; None where nothing is, or nobody tried."""
    error, spilled = kernel["error"], kernel["spilled"]
    return _amiss(error if isinstance(error, str) else None, int(spilled) if pd.notna(spilled) else 0)


def _amiss(error: str | None, spilled: int | None) -> str | None:
    if error is not None:
        return theme.kernel_mark("refused" if is_refusal(error) else "not_built")
    return theme.kernel_mark("spills") if spilled else None


def columns(shown: pd.DataFrame, *, of_two: bool = False) -> dict[str, Any]:
    """The columns of what is known of some kernel, none of others. ``of_two``: a cell holds both sides, as ``between``
    has them."""
    found: dict[str, Any] = {}
    for name, column in _COLUMNS.items():
        if name in shown and shown[name].notna().any():
            make = tables.whole if is_numeric_dtype(shown[name]) else tables.text
            found[name] = make(
                column.title, width=column.width_of_two if of_two else column.width, help=column.help
            )
    return found


def between(base: KernelUse | None, candidate: KernelUse | None) -> dict[str, str | None]:
    """What is known of a kernel on two sides, each as one text where both have the same, else ``base → candidate``; None
    where neither has it: mark, form, registers, spills, moved, loads, stores, shared, cubin, machine_code."""
    sides = [_of_use(one) for one in (base, candidate)]
    found: dict[str, str | None] = {}
    for name in _of_use(None):
        ours, theirs = sides[0][name], sides[1][name]
        if base is None or candidate is None or ours == theirs:
            found[name] = ours if candidate is None else theirs
        else:
            found[name] = f"{ours or theme.MISSING} → {theirs or theme.MISSING}"
    return found


def _of_use(one: KernelUse | None) -> dict[str, str | None]:
    build = one.build if one else None
    counts = {
        "registers": build.registers if build else None,
        "loads": one.loads if one else None,
        "stores": one.stores if one else None,
    }
    sizes = {
        "spills": build.spilled if build else None,
        "moved": one.bytes_moved if one else None,
        "shared": build.shared if build else None,
        "cubin": build.cubin_bytes if build else None,
    }
    return {
        "mark": _amiss(build.error, build.spilled) if build else None,
        "form": one.form if one else None,
        **{name: None if value is None else str(value) for name, value in counts.items()},
        **{name: None if value is None else size(value) for name, value in sizes.items()},
        "machine_code": build.sass_hash[:12] if build and build.sass_hash else None,
    }


def fusion(one: FusionChange) -> dict[str, str | None]:
    """A fusion that was lost or gained as a row: change, base, candidate (the kernels' names), more (bytes moved)."""
    sign = "+" if (one.more_bytes or 0) > 0 else ""
    return {
        "change": {"lost": "≠ lost", "gained": "≠ gained"}[one.change],
        "base": ", ".join(one.base),
        "candidate": ", ".join(one.candidate),
        "more": None if one.more_bytes is None else f"{sign}{size(one.more_bytes)}",
    }


def build_lines(build: Mapping[Any, Any]) -> str:
    """All that is known of one build, a line each."""
    error = build["error"]
    refused = isinstance(error, str) and is_refusal(error)
    known = [
        ("refused" if refused else "failed", error if isinstance(error, str) else None),
        ("for", build["arch"]),
        ("configuration", _config(build["config"], build["configs"])),
        ("note", build["note"]),
        ("spills", None if pd.isna(build["spill_stores"]) else _spills(build)),
        ("shared memory", _sum(build["shared"], build["static_shared"])),
        ("PTX, cubin", _pair(build["ptx_bytes"], build["cubin_bytes"])),
        ("machine code", build["sass_hash"]),
        ("built in", _took(build)),
        ("by", ", ".join(f"{word} {build[name]}" for name, word in _TOOLS if isinstance(build[name], str))),
    ]
    return "\n".join(f"{name + ':':<15}{text}" for name, text in known if isinstance(text, str) and text)


_TOOLS: Final = (("triton", "Triton"), ("ptxas", "ptxas"))


def _size(value: Any) -> str | None:
    return None if pd.isna(value) else size(int(value))


def _config(config: Any, choices: Any) -> str | None:
    if not isinstance(config, dict):
        return None
    of = (
        ""
        if pd.isna(choices)
        else f" (of {theme.counted(int(choices), 'configuration')}, the first that fits)"
    )
    return ", ".join(f"{name} {value}" for name, value in config.items()) + of


def _spills(build: Mapping[Any, Any]) -> str:
    return f"{int(build['spill_stores'])} B stored, {int(build['spill_loads'])} B loaded a thread"


def _sum(dynamic: Any, static: Any) -> str | None:
    parts = ((dynamic, "of the launch"), (static, "static"))
    known = [f"{size(int(one))} {word}" for one, word in parts if pd.notna(one)]
    return ", ".join(known) or None


def _pair(ptx: Any, cubin: Any) -> str | None:
    known = [size(int(one)) for one in (ptx, cubin) if pd.notna(one)]
    return ", ".join(known) or None


def _took(build: Mapping[Any, Any]) -> str | None:
    if pd.isna(build["compile_s"]):
        return None
    earlier = ", by an earlier build of the same source" if build["cached"] is True else ""
    return f"{theme.number(float(build['compile_s']))} s, another kernel beside it{earlier}"
