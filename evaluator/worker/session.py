"""What a probe is given: the workload and its cell, and a way to report."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from evaluator.worker import calling
from evaluator.worker.channel import Record
from evaluator.worker.errors import describe_error, status_of

if TYPE_CHECKING:
    from workloads.registry import Bucket, Target, Variant, Workload

# What a workload may raise: anything, SystemExit and exceptions of its own making included.
WORKLOAD_ERRORS: Final = (BaseException,)


@dataclass(frozen=True)
class ProbeSession:
    """One probe process: which workload, how it is compiled, which buckets in which order, and where to report.

    ``request`` holds what only some probes read: ``cache`` ("cold" or "warm"), ``mode``, ``timing``, ``trace_dir``.
    """

    probe: str
    workload: Workload
    variant: Variant
    target: Target
    buckets: tuple[Bucket, ...]
    seed: int
    request: Record
    emit: Callable[[Record], None]

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of torch.compile."""
        return dict(self.variant.options)

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
        info = describe_error(error)
        self.result(
            bucket,
            status_of(error, stage),
            probe,
            reason=f"{stage} raised {info.get('type')}",
            stage=stage,
            error=info,
            **fields,
        )

    def build(self) -> Any:
        """A fresh module or callable; raises what build() raises."""
        return calling.build(self.workload, self.target, self.seed)

    def inputs(self, bucket: Bucket) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Fresh inputs of the bucket, the same values every time; raises what inputs() raises."""
        return calling.make_inputs(self.workload, bucket, self.target, self.seed)

    def compile(self, built: Any) -> Any:
        """``torch.compile`` with the variant's options; nothing is compiled before the first call."""
        return torch.compile(built, **self.options)


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
