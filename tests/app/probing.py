"""The record of one probe of an invented workload, with what it left and found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluator.sink import artifact
from evaluator.worker.protocol import Status

if TYPE_CHECKING:
    from tests.app.records import MadeRun, MadeWorkload

Record = dict[str, Any]


def conditions(load: float) -> Record:
    return {"load_1m": load, "load_5m": 0.5, "memory_available_mb": 21000.0, "cpu_clock_mhz": 2400.0}


ORDER = ("cold", "warm", "walk", "timing", "accuracy")
PROBE_NAMES = {
    "cold": "compile",
    "warm": "compile",
    "walk": "walk",
    "timing": "timing",
    "accuracy": "accuracy",
}


@dataclass
class Probing:
    """One probe of one cell in one replica."""

    run: MadeRun
    workload: MadeWorkload
    bucket: str
    position: int
    replica: int
    kind: str
    failed: tuple[str, Status, str] | None

    @property
    def status(self) -> Status:
        if self.failed is None:
            return "ok"
        kind, status, _ = self.failed
        if self.kind == kind:
            return status
        # Where a process ended or nothing compiled, what builds on it was not worth running.
        stops = status not in ("accuracy_failed", "not_comparable") and ORDER.index(self.kind) > ORDER.index(
            kind
        )
        return "skipped" if stops else "ok"

    def records(self, evaluation: str) -> Iterable[Record]:
        ok = self.status == "ok"
        kernels = []
        if self.kind == "walk" and ok and self.replica == 0 and not self._reuses():
            for kernel in self.workload.kernels:
                made = artifact("kernel_source", str(kernel["source"]).encode())
                yield made
                kept = {k: v for k, v in kernel.items() if k != "source"}
                kernels.append({**kept, "source_sha256": made["sha256"], "source_hash": made["sha256"]})
        log = f"{self.workload.name} {self.bucket} {self.kind}\nprinted by the workload\n"
        kept_log = artifact("log", log.encode())
        yield kept_log
        files = [{"kind": "log", "sha256": kept_log["sha256"]}]
        if self.kind == "walk" and self.replica == 0:
            trace = artifact("trace", f"V0302 trace of {self.workload.name}\n".encode())
            yield trace
            files.append({"kind": "trace", "sha256": trace["sha256"]})
        for kernel in kernels:
            files.append({"kind": "kernel_source", "sha256": kernel["source_sha256"]})
        yield {
            "type": "probe",
            "run": self.run.uuid,
            "evaluation": evaluation,
            "replica": self.replica,
            "probe": PROBE_NAMES[self.kind],
            "cache": self.kind if self.kind in ("cold", "warm") else None,
            "attempt": 1,
            "started_at": self.run.started.isoformat(),
            "duration_s": 4.2,
            "status": self.status,
            "reason": None if ok else (self.failed or ("", "", ""))[2],
            "stage": "done" if ok else "compile",
            "error": self._error(),
            "log_tail": log,
            "artifacts": files,
            "samples": self._samples()
            if self.status in ("ok", "accuracy_failed", "not_comparable") and self.workload.target == "cpu"
            else [],
            "facts": self._facts() if self.kind == "walk" and self.replica == 0 else {},
            "breaks": self._breaks() if self.kind == "walk" and self.replica == 0 and ok else [],
            "recompile_reasons": self._recompiles()
            if self.kind == "walk" and self.replica == 0 and ok
            else [],
            "kernels": kernels,
            "accuracy": self._accuracy(),
            "differences": [],
            "timing_protocol": {"rounds": 7, "round_ms": 50} if self.kind == "timing" else None,
            "conditions": {"before": conditions(0.4), "after": conditions(0.6)},
            "limits": {"time_s": 300, "memory_mb": 8000},
        }

    def _reuses(self) -> bool:
        return self.workload.reuses and self.position > 1

    def _ran_eager(self) -> bool:
        return self.workload.limit_from is not None and self.position >= self.workload.limit_from

    def _error(self) -> Record | None:
        if self.status in ("ok", "skipped", "unsupported"):
            return None
        message = (self.failed or ("", "", ""))[2]
        return {
            "type": "torch._inductor.exc.InductorError",
            "message": message,
            "chain": [f"LoweringException: {message}"],
            "traceback": f'Traceback (most recent call last):\n  File "model.py", line 12\n{message}',
        }

    def _noisy(self, value: float, spread: float) -> float:
        return float(value * self.run.drift * self.run.random.lognormvariate(0, spread))

    def _samples(self) -> list[Record]:
        scale = 1 + self.position
        cold = self.workload.cold_s * (1 + 0.15 * self.position)
        if self.kind == "cold":
            share = {"compile.dynamo_s": 0.11, "compile.aot_autograd_s": 0.06}
            share |= {"compile.inductor_s": 0.21, "compile.toolchain_s": 0.58, "compile.cold_s": 1.0}
            total = self._noisy(cold, 0.05)
            return [
                {"metric": metric, "round": None, "value": total * part} for metric, part in share.items()
            ]
        if self.kind == "warm":
            value = self._noisy(cold * 0.18, 0.04)
            return [{"metric": "compile.warm_cache_s", "round": None, "value": value, "flags": []}]
        if self.kind == "walk":
            return [{"metric": "walk.first_call_s", "round": None, "value": self._noisy(cold, 0.05)}]
        if self.kind == "accuracy":
            return [{"metric": "accuracy.rmse_fp64", "round": None, "value": 2.1e-7}]
        eager = self.workload.eager_ms * scale * self.run.random.lognormvariate(0, 0.01)
        ratio = 1.0 if self._ran_eager() or self.workload.nothing else self.workload.speed_up
        rounds = []
        for number in range(self.run.rounds):
            for metric, value in (("eager.wall_ms", eager), ("compiled.wall_ms", eager / ratio)):
                rounds.append(
                    {"metric": metric, "round": number, "value": self._noisy(value, 0.01), "flags": []}
                )
        return rounds + self._requests()

    def _requests(self) -> list[Record]:
        request = self.workload.request_ms
        served = {"eager.latency_ms": 1.0, "compiled.latency_ms": 0.8} if request is not None else {}
        return [
            {"metric": metric, "round": number, "value": (request or 0) * part, "flags": []}
            for metric, part in served.items()
            for number in range(3)
        ]

    def _facts(self) -> Record:
        if self.status != "ok":
            return {
                "graphs": 0,
                "ops": 0,
                "graph_breaks": 0,
                "break_events": 0,
                "compiles": 0,
                "recompiles": 0,
            }
        broken, quiet = len(self.workload.breaks), self._reuses() or self.workload.nothing
        recompiles = 0 if self.position == 0 else len(self.workload.recompiles)
        refused = self._ran_eager()
        return {
            "graphs": 0 if quiet or refused else 1 + broken,
            "ops": 0 if quiet or refused else 24,
            "graph_breaks": broken,
            "break_events": 0 if quiet else broken,
            "compiles": 0 if quiet or refused else 1 + broken,
            "recompiles": 0 if quiet or refused else recompiles,
            "recompile_limit_hit": refused,
            "ran_eager": "all" if refused else "none",
            "second_walk_compiles": 0,
            "cache_hits": 0,
            "cache_misses": 0 if quiet or refused else 1,
            "cache_bypasses": 0,
            "backward_graphs": 1 if self.workload.training else 0,
            "dynamic_symbols": 1 if self.workload.reuses and self.position == 1 else 0,
            "nothing_compiled": self.workload.nothing,
        }

    def _breaks(self) -> list[Record]:
        inherited = self._reuses()
        return [
            {**one, "inherited": inherited, "events": 0 if inherited else 1} for one in self.workload.breaks
        ]

    def _recompiles(self) -> list[Record]:
        quiet = self.position == 0 or self._reuses() or self._ran_eager()
        return [] if quiet else list(self.workload.recompiles)

    def _accuracy(self) -> Record | None:
        if self.kind != "accuracy" or self.status not in ("ok", "accuracy_failed", "not_comparable"):
            return None
        verdict = {"ok": "pass", "accuracy_failed": "fail", "not_comparable": "not_comparable"}[self.status]
        bad = verdict == "fail"
        return {
            "verdict": verdict,
            "max_abs": 0.031 if bad else 9.5e-7,
            "max_rel": 0.4 if bad else 1.2e-6,
            "rmse_fp64": 0.0072 if bad else 2.1e-7,
            "eager_rmse_fp64": 2.3e-7,
            "reason": self.failed[2] if self.failed and verdict != "pass" else None,
        }
