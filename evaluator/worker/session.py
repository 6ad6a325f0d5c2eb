"""What a probe is given: the workload and its cell, and a way to report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker import calling
from evaluator.worker.channel import Record
from evaluator.worker.errors import describe_error, status_of, unsupported
from evaluator.worker.precision import precision_of, refused
from evaluator.worker.protocol import ErrorInfo, Status
from evaluator.worker.targets.codegen.needs_card import needs_card
from evaluator.worker.targets.cuda import losing

if TYPE_CHECKING:
    from evaluator.worker.targets.codegen.compiling import Codegen
    from workloads.registry import Bucket, Target, Variant, Workload

# What a workload may raise: anything, SystemExit and exceptions of its own making included.
WORKLOAD_ERRORS: Final = (BaseException,)


# Under CUDA graphs the first call warms up, the second records, the third replays.
_CUDA_GRAPH_CALLS: Final = 3
# In these a compiled callable was called.
_COMPILED_STAGES: Final = ("compile", "call")
# In these nothing compiled was.
_NOT_COMPILED: Final = ("build", "inputs", "eager")


@dataclass(frozen=True)
class Ended:
    """What is said of a bucket that an exception ended."""

    status: Status
    reason: str
    error: ErrorInfo


def eager_ended(eager: BaseException, compiled: BaseException | None, *, returned: bool = False) -> Ended:
    """The finding that eager itself raised; ``compiled``: what the compiled call raised, ``returned``: it did not."""
    info = describe_error(eager)
    reason = f"eager raised {info.get('type')}"
    if returned:
        reason += ", compiled returned"
    elif compiled is not None:
        reason += f", compiled raised {describe_error(compiled).get('type')}"
    marked = ErrorInfo(**{**info, "message": f"EAGER: {info.get('message', '')}"})
    return Ended(status_of(eager, "eager"), reason, marked)


@dataclass(frozen=True)
class ProbeSession:
    """One probe process: which workload, how it is compiled, which buckets in which order, and where to report.

    ``codegen`` is the compiler of a card that is not there, on such a target. ``request`` holds what only some probes read: ``cache`` ("cold", "warm" or "cold_serial"), ``mode``, ``timing``, ``trace_dir``, ``profile_dir``.
    """

    probe: str
    workload: Workload
    variant: Variant
    target: Target
    buckets: tuple[Bucket, ...]
    seed: int
    request: Record
    emit: Callable[[Record], None]
    codegen: Codegen | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of torch.compile."""
        return dict(self.variant.options)

    @property
    def precision(self) -> str | None:
        """The float32 precision that is set before a build; None for torch's defaults."""
        return precision_of(self.workload, self.variant)

    @property
    def calls(self) -> int:
        """Calls of a bucket in a walk: as the workload says, and at least until a CUDA graph is replayed."""
        graphs = calling.uses_cuda_graphs(self.options, self.target)
        return max(self.workload.calls, _CUDA_GRAPH_CALLS if graphs else 1)

    def stage(self, stage: str, bucket: Bucket | None = None, probe: str | None = None) -> None:
        """Say what begins now, so that a process that dies here is known to have died here."""
        self.emit(
            {
                "kind": "stage",
                "stage": stage,
                "bucket": bucket.name if bucket else None,
                "probe": probe or self.probe,
            }
        )

    def result(self, bucket: Bucket, status: str = "ok", probe: str | None = None, **fields: Any) -> None:
        """Report one bucket's result; ``fields`` are those of the record (reason, error, samples, facts, ...)."""
        record = {"kind": "result", "probe": probe or self.probe, "bucket": bucket.name, "status": status}
        self.emit({**record, **fields})

    def failure(
        self, bucket: Bucket, error: BaseException, stage: str, probe: str | None = None, **fields: Any
    ) -> None:
        """Report that ``error`` ended this bucket in ``stage``."""
        ended = self.ended(bucket, error, stage)
        self.result(
            bucket, ended.status, probe, reason=ended.reason, stage=stage, error=ended.error, **fields
        )

    def ended(self, bucket: Bucket, error: BaseException, stage: str) -> Ended:
        """What to say of an exception in this stage.

        Where a compiled call raised, eager is asked once: if it raises as well, that is the finding, and no
        fault of the compiler.
        """
        losing.leave_if_lost(error)
        if stage in _NOT_COMPILED and (beyond := self._beyond_target(error)) is not None:
            return beyond
        reason = refused(error, self.precision) if self.precision is not None else None
        if reason is not None:
            return Ended("unsupported", reason, describe_error(error))
        if stage == "eager":
            return eager_ended(error, None)
        reason = unsupported(error)
        if reason is not None:
            return Ended("unsupported", reason, describe_error(error))
        if stage in (*_COMPILED_STAGES, "timing"):
            eager = self._eager_error(bucket, error)
            # Eager that could not be asked (it launches the card's kernels) says nothing of the compiled call.
            if eager is not None and unsupported(eager) is None:
                return self._beyond_target(eager) or eager_ended(
                    eager, error if stage in _COMPILED_STAGES else None
                )
        info = describe_error(error)
        status = status_of(error, stage)
        # The first call compiles and runs: what did not come from the compiler came from what it made.
        where = "the first call" if stage == "compile" and status == "runtime_error" else stage
        reason = f"{where} raised {info.get('type')}"
        left_out = self.codegen.not_run if self.codegen is not None else {}
        if left_out and status == "runtime_error":
            # By values that are not there.
            return Ended("unsupported", f"{reason} after {', '.join(left_out)} was not executed", info)
        return Ended(status, reason, info)

    def _beyond_target(self, error: BaseException) -> Ended | None:
        """Where code is generated for a card that is not there: what a workload that asks for the card itself is told."""
        reason = needs_card(error) if self.codegen is not None else None
        return None if reason is None else Ended("unsupported", reason, describe_error(error))

    def _eager_error(self, bucket: Bucket, while_handling: BaseException) -> BaseException | None:
        try:
            built = self.build()
            args, kwargs = self.inputs(bucket)
            calling.call(self.workload, built, args, kwargs, seed=self.seed, target=self.target)
        except WORKLOAD_ERRORS as error:
            # Python notes what was being handled; the compiled call's exception did not cause eager's.
            link: BaseException | None = error
            while link is not None:
                if link.__context__ is while_handling:
                    link.__context__ = None
                link = link.__context__
            return error
        return None

    def build(self) -> Any:
        """A fresh module or callable under the cell's precision; raises what build() raises, and Unsupported."""
        return calling.build(self.workload, self.target, self.seed, self.precision)

    def inputs(self, bucket: Bucket) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Fresh inputs of the bucket, the same values every time; raises what inputs() raises."""
        return calling.make_inputs(self.workload, bucket, self.target, self.seed)

    def compile(self, built: Any) -> Any:
        """``torch.compile`` with the variant's options; nothing is compiled before the first call.

        Raises Unsupported for a variant that the target can't have.
        """
        if self.codegen is not None:
            return self.codegen.compile(built, self.options)
        return torch.compile(built, **self.options)

    def calling_compiled(self) -> contextlib.AbstractContextManager[None]:
        """The context in which what ``compile`` gave is called."""
        return contextlib.nullcontext() if self.codegen is None else self.codegen.walking()


def use_caches(folder: Path) -> None:
    """Point Inductor's, AOTAutograd's and Triton's caches of this process at ``folder`` (made if absent)."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")


def start_trace(folder: Path) -> None:
    """Turn the structured trace on in a forked child, where the variable alone comes too late.

    Seen to work on torch 2.12, 2.13 and 2.14.
    """
    from torch._logging import _internal

    folder.mkdir(parents=True, exist_ok=True)
    os.environ["TORCH_TRACE"] = str(folder)
    _internal.LOG_TRACE_HANDLER = None
    _internal._init_logs()


def trace_file(folder: Path) -> Path | None:
    """The log this process writes; None before its first event."""
    logs = sorted(folder.glob("*.log"))
    return logs[0] if logs else None


def trace_offset(folder: Path) -> int:
    """Bytes written to the log so far."""
    log = trace_file(folder)
    return log.stat().st_size if log else 0
