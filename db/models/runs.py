"""What happened: runs, the process servers they started, the cells they evaluated, and every number measured."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import CheckConstraint, Float, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, relationship

from db.models.base import Base, described, one_of, row_id
from db.models.identity import Cell, Environment, Machine
from evaluator.worker.protocol import CACHE_STATES, PROBES, SEVERITY

RUN_STATUSES: Final = ("running", "finished", "interrupted")
RUN_PURPOSES: Final = ("evaluate", "upgrade", "confirm", "explain", "calibrate", "nightly")


class Run(Base):
    """One invocation of the evaluator. Once its status is finished, nothing that hangs on it can change."""

    __tablename__ = "run"
    __table_args__ = (
        UniqueConstraint("uuid"),
        one_of("status", RUN_STATUSES),
        one_of("purpose", RUN_PURPOSES),
        {"comment": __doc__, "sqlite_autoincrement": True},
    )

    id: Mapped[int] = row_id("row id; never used again after a run was pruned")
    uuid: Mapped[str] = described("random id, the same in every database and file the run is copied to")
    label: Mapped[str | None] = described("name given by the user", index=True)
    profile: Mapped[str | None] = described("quick, standard or thorough")
    machine_id: Mapped[str] = described(
        "where it ran", ForeignKey("machine.id", ondelete="RESTRICT"), index=True
    )
    started_at: Mapped[datetime] = described("start, UTC", index=True)
    finished_at: Mapped[datetime | None] = described("end, UTC; NULL while it runs, and after a kill")
    status: Mapped[str] = described(
        "running (or killed without a word), finished, or interrupted (can be resumed)"
    )
    argv: Mapped[list[Any]] = described("the command line's arguments")
    plan: Mapped[dict[str, Any]] = described("what it set out to do: cells, replicas, interpreters")
    evaluator_version: Mapped[str | None] = described("version of the evaluator that wrote it")
    purpose: Mapped[str] = described(
        "evaluate, upgrade (sides in turns), confirm (its candidates afresh), explain (rungs of what regressed), "
        "calibrate (equal sides) or nightly",
        server_default="evaluate",
    )
    parent_uuid: Mapped[str | None] = described(
        "uuid of the run it confirms or explains, which need not be here; NULL: it stands alone", index=True
    )

    machine: Mapped[Machine] = relationship()


class Replica(Base):
    """One start of the process server in a run: the unit of a timing comparison."""

    __tablename__ = "replica"
    __table_args__ = (UniqueConstraint("run_id", "environment_id", "number", "server"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    run_id: Mapped[int] = described("its run", ForeignKey("run.id", ondelete="CASCADE"))
    environment_id: Mapped[int] = described(
        "environment the server reported", ForeignKey("environment.id", ondelete="RESTRICT"), index=True
    )
    number: Mapped[int] = described("which of the run's replicas, from 0; a resumed run may start one again")
    server: Mapped[str | None] = described("random id of this start of the server; NULL: it was not recorded")
    started_at: Mapped[datetime | None] = described("start of the server, UTC")
    conditions: Mapped[dict[str, Any] | None] = described(
        "load, clocks, temperature, other processes at its start"
    )


class EnvironmentSample(Base):
    """A number that belongs to an environment, not to a cell: the cost of imports and of the toolchain."""

    __tablename__ = "environment_sample"
    __table_args__ = (UniqueConstraint("replica_id", "metric"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    run_id: Mapped[int] = described("its run", ForeignKey("run.id", ondelete="CASCADE"), index=True)
    environment_id: Mapped[int] = described(
        "its environment", ForeignKey("environment.id", ondelete="RESTRICT"), index=True
    )
    replica_id: Mapped[int] = described(
        "server that measured it", ForeignKey("replica.id", ondelete="CASCADE")
    )
    metric: Mapped[str] = described("import.torch_s, import.compiler_s, toolchain.header_s")
    value: Mapped[float | None] = described(
        "the number, in the metric's unit; NULL: the measurement failed", Float()
    )
    flags: Mapped[list[Any] | None] = described("words that qualify the number; NULL: none")


class Evaluation(Base):
    """One cell in one run and environment."""

    __tablename__ = "evaluation"
    __table_args__ = (
        UniqueConstraint("uuid"),
        UniqueConstraint("run_id", "cell_id", "environment_id"),
        one_of("status", SEVERITY),
        {"comment": __doc__, "sqlite_autoincrement": True},
    )

    id: Mapped[int] = row_id("row id, the number that `repro` takes; never used again after a run was pruned")
    uuid: Mapped[str] = described("random id, the same in every database and file")
    run_id: Mapped[int] = described("its run", ForeignKey("run.id", ondelete="CASCADE"))
    cell_id: Mapped[int] = described(
        "what was evaluated", ForeignKey("cell.id", ondelete="RESTRICT"), index=True
    )
    environment_id: Mapped[int] = described(
        "under what", ForeignKey("environment.id", ondelete="RESTRICT"), index=True
    )
    status: Mapped[str | None] = described("status of the worst probe; NULL: not all its probes are done")
    reason: Mapped[str | None] = described("why, if not ok")

    run: Mapped[Run] = relationship()
    cell: Mapped[Cell] = relationship()
    environment: Mapped[Environment] = relationship()


class Probe(Base):
    """One kind of measurement of one evaluation, in a process of its own, with a status of its own."""

    __tablename__ = "probe"
    __table_args__ = (
        UniqueConstraint("evaluation_id", "slot"),
        one_of("status", SEVERITY),
        one_of("probe", PROBES),
        one_of("cache", CACHE_STATES),
        CheckConstraint("attempt >= 1", name="attempt_from_one"),
        {"comment": __doc__},
    )

    id: Mapped[int] = row_id("row id")
    evaluation_id: Mapped[int] = described("its evaluation", ForeignKey("evaluation.id", ondelete="CASCADE"))
    replica_id: Mapped[int | None] = described(
        "server that forked it; NULL: no process was started",
        ForeignKey("replica.id", ondelete="CASCADE"),
        index=True,
    )
    probe: Mapped[str] = described(
        "compile, walk, accuracy, timing or memory; build: kernels built for a card that is not there"
    )
    cache: Mapped[str | None] = described(
        "compile only: cold (empty caches), warm (those the cold one left) or cold_serial (empty, one compile thread)"
    )
    attempt: Mapped[int] = described("1, or more where it was measured again")
    slot: Mapped[str] = described(
        "replica number/probe/cache/attempt, '-' for none: unique in the evaluation, since NULLs never are"
    )
    status: Mapped[str] = described("status of this probe")
    reason: Mapped[str | None] = described("why, if not ok")
    stage: Mapped[str | None] = described("how far it got: setup, build, inputs, eager, compile, call, ...")
    error: Mapped[dict[str, Any] | None] = described(
        "the exception: type, message, chain of causes, traceback"
    )
    log_tail: Mapped[str | None] = described("last lines of what the process wrote to stdout and stderr")
    started_at: Mapped[datetime | None] = described("start, UTC")
    duration_s: Mapped[float | None] = described("wall time of the probe in s", Float())
    conditions: Mapped[dict[str, Any] | None] = described(
        "before and after: load, clocks, temperature, other processes"
    )
    limits: Mapped[dict[str, Any] | None] = described("what it was allowed: time_s (s), memory_mb (MB)")
    timing_protocol: Mapped[dict[str, Any] | None] = described(
        "how times were taken: warm-ups, rounds, repeats"
    )
    facts: Mapped[dict[str, Any] | None] = described("what this probe found, as it reported it")

    evaluation: Mapped[Evaluation] = relationship()
    replica: Mapped[Replica | None] = relationship()


class Sample(Base):
    """One number of one process, or of one round in it. Every one is kept."""

    __tablename__ = "sample"
    __table_args__ = (Index(None, "probe_id", "metric"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    probe_id: Mapped[int] = described("process that measured it", ForeignKey("probe.id", ondelete="CASCADE"))
    metric: Mapped[str] = described("a metric of evaluator.worker.protocol.METRICS")
    round: Mapped[int | None] = described("round of a timing, from 0; NULL: one number a process")
    value: Mapped[float | None] = described(
        "the number, in the metric's unit; NULL: the measurement failed", Float()
    )
    flags: Mapped[list[Any] | None] = described("words that qualify it (void: don't count it); NULL: none")


class ProbeArtifact(Base):
    """A file that a probe left behind."""

    __tablename__ = "probe_artifact"
    __table_args__ = ({"comment": __doc__},)

    probe_id: Mapped[int] = described(
        "its probe", ForeignKey("probe.id", ondelete="CASCADE"), primary_key=True
    )
    kind: Mapped[str] = described("what it is to this probe: trace, log, ...", primary_key=True)
    sha256: Mapped[str] = described(
        "the file", ForeignKey("artifact.sha256", ondelete="RESTRICT"), primary_key=True, index=True
    )
