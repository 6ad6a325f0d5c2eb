"""What the compiler did and how right the result was: facts, graph breaks, recompiles, accuracy, summaries."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Float, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped

from db.models.base import Base, described, one_of, row_id

DEFAULT: Final = "default"
FALLBACK_RANDOM: Final = "fallback_random"
ACCURACY_SERIES: Final = (DEFAULT, FALLBACK_RANDOM)
RAN_EAGER: Final = ("none", "some", "all")
ACCURACY_VERDICTS: Final = ("pass", "fail", "not_comparable")


class Facts(Base):
    """The exact facts of an evaluation, one row each: counts of this bucket's calls in the first walk."""

    __tablename__ = "facts"
    __table_args__ = (
        UniqueConstraint("evaluation_id"),
        one_of("ran_eager", RAN_EAGER),
        {"comment": __doc__},
    )

    id: Mapped[int] = row_id("row id")
    evaluation_id: Mapped[int] = described("its evaluation", ForeignKey("evaluation.id", ondelete="CASCADE"))
    probe_id: Mapped[int | None] = described(
        "the walk they come from, which also holds the breaks, recompiles and kernels to show; NULL: none was done",
        ForeignKey("probe.id", ondelete="CASCADE"),
        index=True,
    )
    graphs: Mapped[int | None] = described(
        "graphs captured whose backend succeeded; NULL: evidence lost, or refused before"
    )
    ops: Mapped[int | None] = described("operators captured in those graphs")
    graph_breaks: Mapped[int | None] = described(
        "distinct sites (file and line) of graph breaks, inherited ones included"
    )
    break_events: Mapped[int | None] = described("graph breaks as they happened; recompiles repeat them")
    compiles: Mapped[int | None] = described("frames compiled to guarded code")
    recompiles: Mapped[int | None] = described("of these, frames compiled before; a refused attempt is none")
    recompile_limit_hit: Mapped[bool | None] = described("true: the recompile limit refused an attempt")
    ran_eager: Mapped[str | None] = described("how many compiled regions then ran eager: none, some, all")
    second_walk_compiles: Mapped[int | None] = described("compiles in the second walk; above 0: unstable")
    cache_hits: Mapped[int | None] = described("compiled graphs taken from the walk's cache")
    cache_misses: Mapped[int | None] = described("graphs the cache did not hold")
    cache_bypasses: Mapped[int | None] = described("graphs that could not be cached")
    backward_graphs: Mapped[int | None] = described("backward graphs compiled")
    dynamic_symbols: Mapped[int | None] = described("sizes that became symbols in the graphs")
    reused_code: Mapped[bool | None] = described(
        "true: this bucket compiled nothing and ran what earlier ones left"
    )
    nothing_compiled: Mapped[bool | None] = described(
        "true: not one graph in the whole walk, a finding of its own"
    )
    extra: Mapped[dict[str, Any] | None] = described("every other fact, by name")


class GraphBreak(Base):
    """A site where capture ended, as one walk saw it in one bucket."""

    __tablename__ = "graph_break"
    __table_args__ = ({"comment": __doc__},)

    id: Mapped[int] = row_id("row id, in the order they happened")
    probe_id: Mapped[int] = described("its walk", ForeignKey("probe.id", ondelete="CASCADE"), index=True)
    reason: Mapped[str | None] = described("why, one line")
    break_id: Mapped[str | None] = described("torch's id of this kind of break (gb0025)")
    explanation: Mapped[str | None] = described("torch's explanation")
    hints: Mapped[list[Any] | None] = described("torch's hints, each one text")
    file: Mapped[str | None] = described("file of the user's line")
    line: Mapped[int | None] = described("line in that file, from 1")
    function: Mapped[str | None] = described("function the line is in")
    inherited: Mapped[bool] = described("true: met by an earlier bucket whose code this one reuses")
    events: Mapped[int | None] = described("how often it happened in this bucket; 0 if inherited")
    compile_id: Mapped[str | None] = described("torch's compile id (1/0)")


class Recompile(Base):
    """Why a frame was compiled again, as one walk saw it in one bucket."""

    __tablename__ = "recompile"
    __table_args__ = ({"comment": __doc__},)

    id: Mapped[int] = row_id("row id, in the order they happened")
    probe_id: Mapped[int] = described("its walk", ForeignKey("probe.id", ondelete="CASCADE"), index=True)
    reason: Mapped[str | None] = described("the guard that failed, as torch words it")
    guard: Mapped[str | None] = described("the guard's expression")
    file: Mapped[str | None] = described("file of the frame or of the user's line")
    line: Mapped[int | None] = described("line in that file, from 1")
    function: Mapped[str | None] = described("function that the guard is about, or that was compiled again")
    frame: Mapped[str | None] = described("code object that was compiled again, by name")
    compile_id: Mapped[str | None] = described("torch's compile id (1/1)")


class Accuracy(Base):
    """How far compiled outputs were from eager's and from float64, worst leaf."""

    __tablename__ = "accuracy"
    __table_args__ = (
        UniqueConstraint("probe_id", "series"),
        one_of("series", ACCURACY_SERIES),
        one_of("verdict", ACCURACY_VERDICTS),
        {"comment": __doc__},
    )

    id: Mapped[int] = row_id("row id")
    probe_id: Mapped[int] = described("the accuracy probe", ForeignKey("probe.id", ondelete="CASCADE"))
    series: Mapped[str] = described("default, or fallback_random (eager's random numbers in compiled code)")
    verdict: Mapped[str | None] = described("pass, fail or not_comparable; NULL: it was not reached")
    max_abs: Mapped[float | None] = described(
        "largest absolute difference of compiled and eager outputs", Float()
    )
    max_rel: Mapped[float | None] = described(
        "largest relative difference of compiled and eager outputs", Float()
    )
    rmse_fp64: Mapped[float | None] = described(
        "root mean square error of compiled outputs to float64", Float()
    )
    eager_rmse_fp64: Mapped[float | None] = described(
        "root mean square error of eager outputs to float64", Float()
    )
    reason: Mapped[str | None] = described("why, if not pass")
    details: Mapped[dict[str, Any] | None] = described(
        "all the probe reported, leaf by leaf, digests included"
    )


class Difference(Base):
    """A leaf of the output that differs from eager's in form: dtype, shape, strides, aliasing, type."""

    __tablename__ = "difference"
    __table_args__ = ({"comment": __doc__},)

    id: Mapped[int] = row_id("row id")
    probe_id: Mapped[int] = described(
        "the accuracy probe", ForeignKey("probe.id", ondelete="CASCADE"), index=True
    )
    leaf: Mapped[str | None] = described("path of the leaf in the output tree")
    kind: Mapped[str] = described("what differs: dtype, shape, stride, alias, type, ...")
    eager: Mapped[str | None] = described("as eager has it")
    compiled: Mapped[str | None] = described("as the compiled code has it")


class Summary(Base):
    """A metric of an evaluation over its replicas; verdicts and pages read this, never raw samples."""

    __tablename__ = "summary"
    __table_args__ = (UniqueConstraint("evaluation_id", "metric"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    evaluation_id: Mapped[int] = described("its evaluation", ForeignKey("evaluation.id", ondelete="CASCADE"))
    metric: Mapped[str] = described("a metric of evaluator.worker.protocol.METRICS")
    replicas: Mapped[int] = described("replicas that gave a number")
    samples: Mapped[int] = described("numbers that went in, over all replicas")
    median: Mapped[float] = described("median of the replicas' values, in the metric's unit", Float())
    lo: Mapped[float | None] = described(
        "lower end of the 95% interval of the median by order statistics; NULL below 6 replicas", Float()
    )
    hi: Mapped[float | None] = described("upper end of that interval; NULL below 6 replicas", Float())
    min: Mapped[float] = described("least replica value", Float())
    max: Mapped[float] = described("greatest replica value", Float())
    replica_numbers: Mapped[list[Any]] = described("numbers of the replicas, ascending")
    replica_medians: Mapped[list[Any]] = described(
        "value of each: the median of its rounds, or its one sample"
    )
    eager_medians: Mapped[list[Any] | None] = described(
        "compiled.* only: eager's value in the same replica, same order; null where there is none"
    )
    flags: Mapped[list[Any] | None] = described("flags of the numbers that went in, each once; NULL: none")


class Noise(Base):
    """What equal sides showed on a machine: the spread of a metric of a cell in a run that calibrates."""

    __tablename__ = "noise"
    __table_args__ = (UniqueConstraint("run_id", "cell_id", "environment_id", "metric"), {"comment": __doc__})

    id: Mapped[int] = row_id("row id")
    run_id: Mapped[int] = described("the run that calibrated", ForeignKey("run.id", ondelete="CASCADE"))
    cell_id: Mapped[int] = described(
        "what was evaluated", ForeignKey("cell.id", ondelete="RESTRICT"), index=True
    )
    environment_id: Mapped[int] = described(
        "under what", ForeignKey("environment.id", ondelete="RESTRICT"), index=True
    )
    metric: Mapped[str] = described("a time of evaluator.worker.protocol.METRICS")
    replicas: Mapped[int] = described("replicas that gave a number, two at least")
    rounds: Mapped[int] = described("median number of rounds in a replica")
    between_sd: Mapped[float] = described(
        "standard deviation of the logarithms of the replicas' values", Float()
    )
    within_sd: Mapped[float | None] = described(
        "standard deviation of the logarithms of rounds in a replica; NULL: one number a replica", Float()
    )
    replica_values: Mapped[list[Any]] = described(
        "value of each replica in the metric's unit, in order of their numbers"
    )


class Pruning(Base):
    """The one gate through which a run may be deleted, and the record of every run that was."""

    __tablename__ = "pruning"
    __table_args__ = (Index(None, "run_uuid"), {"comment": __doc__, "sqlite_autoincrement": True})

    id: Mapped[int] = row_id("row id")
    run_uuid: Mapped[str] = described("run that may be deleted")
    reason: Mapped[str] = described("why, one sentence")
    opened_at: Mapped[datetime] = described("when the gate was opened, UTC")
    closed_at: Mapped[datetime | None] = described("when the run was deleted, UTC; NULL: the gate is open")
