"""The kernels of an evaluation: what was generated, what Triton made of it for a card that is not there, and what ran."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Float, ForeignKey
from sqlalchemy.orm import Mapped

from db.models.base import ROW_ID, Base, described, one_of, row_id
from evaluator.worker.protocol import MODES

# What a device does: run a kernel, copy, or set memory.
WORK_KINDS: Final = ("kernel", "copy", "set")


class Kernel(Base):
    """A kernel that was generated, or an external one that is called, as one walk saw it in one bucket."""

    __tablename__ = "kernel"
    __table_args__ = ({"comment": __doc__},)

    id: Mapped[int] = row_id("row id, in the order they were generated")
    probe_id: Mapped[int] = described("its walk", ForeignKey("probe.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = described("generated name, or name of the external function")
    kind: Mapped[str | None] = described("triton, cpp, template or extern")
    form: Mapped[str | None] = described(
        "Triton only: pointwise, reduction, persistent_reduction, template, user, ...; NULL: not said"
    )
    source_hash: Mapped[str | None] = described(
        "hash of the body: name, imports, paths and metadata taken out", index=True
    )
    launch_hash: Mapped[str | None] = described(
        "Triton only: hash of the launch: signature, constants, size hints; NULL: not recorded"
    )
    graph: Mapped[str | None] = described("compile id of the graph it belongs to")
    origin: Mapped[str | None] = described("forward, backward or inference")
    source_sha256: Mapped[str | None] = described(
        "its source text; NULL: external, or not kept",
        ForeignKey("artifact.sha256", ondelete="RESTRICT"),
        index=True,
    )
    calls: Mapped[int | None] = described(
        "places in the generated code that run it, a loop counted once; NULL: not recorded"
    )
    loads: Mapped[int | None] = described("loads in its body, by Inductor's own count; NULL: not said")
    stores: Mapped[int | None] = described("stores in its body, by Inductor's own count")
    reductions: Mapped[int | None] = described("reductions in its body, by Inductor's own count")
    bytes_moved: Mapped[int | None] = described(
        "bytes that one launch reads and writes, by Inductor's own estimate and never measured; NULL: not said",
        ROW_ID,
    )


class KernelBuild(Base):
    """A kernel built to machine code for a named card, without running it. Every number is NULL where it was not."""

    __tablename__ = "kernel_build"
    __table_args__ = ({"comment": __doc__},)

    id: Mapped[int] = row_id("row id, in the order they were built")
    probe_id: Mapped[int] = described(
        "the build probe", ForeignKey("probe.id", ondelete="CASCADE"), index=True
    )
    name: Mapped[str] = described("generated name of the kernel")
    source_sha256: Mapped[str | None] = described(
        "the source it was built from, as in kernel; NULL: not kept",
        ForeignKey("artifact.sha256", ondelete="RESTRICT"),
        index=True,
    )
    arch: Mapped[str | None] = described("architecture it was built for (sm_90a)")
    config: Mapped[dict[str, Any] | None] = described(
        "the configuration built, the first of its heuristics that fits: block sizes, num_warps, num_stages"
    )
    configs: Mapped[int | None] = described("how many configurations there are to choose from")
    registers: Mapped[int | None] = described("registers of a thread, by ptxas")
    spill_stores: Mapped[int | None] = described("bytes a thread spills to local memory, by ptxas")
    spill_loads: Mapped[int | None] = described("bytes a thread reads back from there, by ptxas")
    stack: Mapped[int | None] = described("stack frame of a thread in bytes, by ptxas")
    shared: Mapped[int | None] = described("dynamic shared memory of a launch in bytes, by Triton")
    static_shared: Mapped[int | None] = described("static shared memory in bytes, by ptxas")
    ptx_bytes: Mapped[int | None] = described("size of the PTX in bytes")
    cubin_bytes: Mapped[int | None] = described("size of the cubin in bytes")
    sass_hash: Mapped[str | None] = described("SHA-256 of the machine code, the binary layer of its identity")
    compile_s: Mapped[float | None] = described(
        "wall time of the build in s, with another beside it; no measurement of the compiler", Float()
    )
    cached: Mapped[bool | None] = described(
        "true: numbers of an earlier build of the same source for the same card and Triton, compile_s too"
    )
    triton: Mapped[str | None] = described("version of Triton")
    ptxas: Mapped[str | None] = described("version of ptxas")
    error: Mapped[str | None] = described(
        "why Triton or ptxas refused it; after `not built: ` how its build failed by itself; NULL: it was built"
    )
    note: Mapped[str | None] = described(
        "what else is to be said of it: why no earlier configuration, or where ptxas and the binary disagree"
    )


class ObservedKernel(Base):
    """All launches of a kernel, or all copies or sets of a kind, in one profiled batch of calls. A copy is no kernel."""

    __tablename__ = "observed_kernel"
    __table_args__ = (one_of("mode", MODES), one_of("kind", WORK_KINDS), {"comment": __doc__})

    id: Mapped[int] = row_id("row id, the longest device time first")
    probe_id: Mapped[int] = described(
        "the profile probe", ForeignKey("probe.id", ondelete="CASCADE"), index=True
    )
    mode: Mapped[str] = described("eager or compiled")
    kind: Mapped[str] = described("kernel, copy or set")
    name: Mapped[str] = described("name in the trace: Triton's plain ones, C++ templates written out")
    launches: Mapped[int] = described("how often it ran in the batch; the fact calls says of how many calls")
    device_ms: Mapped[float] = described(
        "time on the device in ms, all launches together, under the profiler; compared with nothing", Float()
    )
    registers: Mapped[int | None] = described(
        "registers of a thread, as launched; NULL: not given, or not the same for all launches"
    )
    spills: Mapped[int | None] = described(
        "local memory of a thread in 4-byte words, by Triton, of a generated kernel; NULL: not said, as of a library's"
    )
    occupancy: Mapped[float | None] = described(
        "the profiler's estimate of achieved occupancy in percent; NULL likewise", Float()
    )


class ObservedOperator(Base):
    """All calls of an operator on the host in one profiled batch of calls. One operator is not one kernel."""

    __tablename__ = "observed_operator"
    __table_args__ = (one_of("mode", MODES), {"comment": __doc__})

    id: Mapped[int] = row_id("row id, the longest time on the host first")
    probe_id: Mapped[int] = described(
        "the profile probe", ForeignKey("probe.id", ondelete="CASCADE"), index=True
    )
    mode: Mapped[str] = described("eager or compiled")
    name: Mapped[str] = described("name in the trace (aten::mm), or of a step of the compiled code")
    calls: Mapped[int] = described("how often it was called in the batch, inside other operators too")
    host_ms: Mapped[float] = described(
        "time on the host in ms, all calls together, with what they call, under the profiler", Float()
    )
    kernels: Mapped[int | None] = described(
        "kernels launched from inside them; NULL: nothing of a device is known, as on a CPU"
    )
