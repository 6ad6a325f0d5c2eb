"""What results are about, shared by all runs: machines, environments, workloads and their cells, artifacts."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, relationship

from db.models.base import ROW_ID, Base, described, row_id


class Machine(Base):
    """A host, known by a random id made once on it; only series of one machine and device are compared as times."""

    __tablename__ = "machine"
    __table_args__ = ({"comment": __doc__},)

    id: Mapped[str] = described(
        "random id made once on the host; no host name, no user name", primary_key=True
    )
    cpu_model: Mapped[str | None] = described("processor model, as first seen")
    cpu_count: Mapped[int | None] = described("processors the evaluator could use, as first seen")
    memory_mb: Mapped[float | None] = described("physical memory in MB, as first seen")
    os: Mapped[str | None] = described(
        "operating system and kernel, as first seen; what a run saw is in its environment"
    )


class Environment(Base):
    """What else decides a result (torch, Triton, CUDA, driver, Python, device, threads, libraries, declared variables)."""

    __tablename__ = "environment"
    __table_args__ = (UniqueConstraint("hash"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    hash: Mapped[str] = described("hash of all fields: equal hashes are one environment")
    torch_version: Mapped[str | None] = described("`torch.__version__`, with its local part (2.13.0+cpu)")
    torch_git: Mapped[str | None] = described("git commit that torch was built from")
    torch_cuda: Mapped[str | None] = described("CUDA version torch was built for; NULL: a build without CUDA")
    triton_version: Mapped[str | None] = described("Triton's version; NULL: not installed")
    python_version: Mapped[str | None] = described("Python's version (3.11.7)")
    gpu: Mapped[str | None] = described("GPU model; NULL: none was there")
    gpu_capability: Mapped[str | None] = described("compute capability of the GPU (9.0); NULL: no GPU")
    driver: Mapped[str | None] = described("GPU driver version; NULL: no GPU")
    cpu_model: Mapped[str | None] = described("processor model")
    fields: Mapped[dict[str, Any]] = described("every field that is hashed, as the worker reported it")


class Artifact(Base):
    """A file kept beside the database, named by the SHA-256 of its plain content; equal content is stored once."""

    __tablename__ = "artifact"
    __table_args__ = ({"comment": __doc__},)

    sha256: Mapped[str] = described("SHA-256 of the plain bytes, 64 hexadecimal digits", primary_key=True)
    kind: Mapped[str] = described(
        "what it was first stored as: trace, log, kernel_source, workload_source, ..."
    )
    size: Mapped[int] = described("plain bytes, before compression", ROW_ID)


class Workload(Base):
    """A registered callable or module in one definition; a change of its source, buckets or variants is a new row."""

    __tablename__ = "workload"
    __table_args__ = (UniqueConstraint("name", "definition_hash"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    name: Mapped[str] = described("registered name (models.llama)", index=True)
    definition_hash: Mapped[str] = described(
        "hash of source, buckets, variants, tolerance, flags; '-' if it failed to load"
    )
    stands_for: Mapped[str | None] = described("what real use it stands for, one sentence")
    origin: Mapped[str | None] = described("module or file name it was registered in")
    form: Mapped[str | None] = described(
        "how it was written: registry, or plain (a file with build and inputs)"
    )
    training: Mapped[bool | None] = described("true: the backward pass belongs to a call")
    grad: Mapped[bool | None] = described("true: gradients stay on in an inference call")
    calls: Mapped[int | None] = described("calls of each bucket in a walk")
    requires: Mapped[str | None] = described("what it needs to run (cuda); NULL: nothing")
    repeats: Mapped[int | None] = described(
        "fixed calls in a timing round; NULL: chosen for a round of about 50 ms"
    )
    precision: Mapped[str | None] = described(
        "float32 precision it asks for (ieee, tf32), where a variant asks for none; NULL: torch's default"
    )
    tolerance: Mapped[dict[str, Any] | None] = described("dtype name to [rtol, atol]; empty: the defaults")
    variables: Mapped[list[Any] | None] = described("environment variables it declares as changing it")
    libraries: Mapped[list[Any] | None] = described("distributions it uses (transformers)")
    tags: Mapped[list[Any] | None] = described("tags, sorted")
    problem: Mapped[str | None] = described("why it could not be loaded; NULL: it loaded")
    source_sha256: Mapped[str | None] = described(
        "self-contained source text", ForeignKey("artifact.sha256", ondelete="RESTRICT"), index=True
    )


class Bucket(Base):
    """A shape bucket: one named point of a workload's shape space. A walk visits them in order of position."""

    __tablename__ = "bucket"
    __table_args__ = (UniqueConstraint("workload_id", "name"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    workload_id: Mapped[int] = described("its workload", ForeignKey("workload.id", ondelete="RESTRICT"))
    name: Mapped[str] = described(
        "name that follows from the parameters (batch=8,seq=512); '-' without parameters"
    )
    position: Mapped[int | None] = described(
        "place in the walk, from 0; NULL: the workload could not be described"
    )
    params: Mapped[dict[str, Any]] = described("shape parameters by name")

    workload: Mapped[Workload] = relationship()


class Variant(Base):
    """How a workload is compiled: the keyword arguments of torch.compile, and the float32 precision."""

    __tablename__ = "variant"
    __table_args__ = (UniqueConstraint("workload_id", "name"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    workload_id: Mapped[int] = described("its workload", ForeignKey("workload.id", ondelete="RESTRICT"))
    name: Mapped[str] = described("default, dynamic, fullgraph, reduce-overhead, ...")
    position: Mapped[int | None] = described(
        "declared order, from 0; NULL: the workload could not be described"
    )
    options: Mapped[dict[str, Any]] = described(
        "keyword arguments of torch.compile; and fp32_precision (ieee, tf32), where it has one of its own"
    )
    evidence_only: Mapped[bool] = described("true: shows what was captured; no kernels and no claim of speed")
    requires: Mapped[str | None] = described("what it needs to run (cuda); NULL: nothing")

    workload: Mapped[Workload] = relationship()


class Cell(Base):
    """Workload x bucket x variant x target: the thing that is followed over versions."""

    __tablename__ = "cell"
    __table_args__ = (UniqueConstraint("bucket_id", "variant_id", "target"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    bucket_id: Mapped[int] = described(
        "shape bucket, and through it the workload", ForeignKey("bucket.id", ondelete="RESTRICT")
    )
    variant_id: Mapped[int] = described(
        "variant of the same workload", ForeignKey("variant.id", ondelete="RESTRICT"), index=True
    )
    target: Mapped[str] = described("cpu, cuda, or codegen:<gpu>")

    bucket: Mapped[Bucket] = relationship()
    variant: Mapped[Variant] = relationship()
