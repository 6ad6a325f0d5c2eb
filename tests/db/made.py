"""The records of a small run with numbers that can be checked by hand, as an evaluator writes them."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from db.store import Store
from evaluator.sink import FORMAT, FORMAT_VERSION, artifact

Record = dict[str, Any]

SOURCE = b"def build():\n    return abs\n"
KERNEL = b'extern "C" void kernel(const float* in0, float* out0) {}\n'
TRACE = b"V1129 10:00:00.000000 1 torch/_logging/structured.py:1] {}\n" * 40
FIELDS = {
    "torch": "2.13.0+cpu",
    "torch_git": "0123abcd",
    "built_cuda": None,
    "triton": "3.7.1",
    "python": "3.11.7",
    "cpu_model": "Some CPU",
    "gpu": None,
    "capability": None,
    "driver": None,
    "libraries": {"numpy": "2.4.0"},
    "variables": {"OMP_NUM_THREADS": "2"},
}
DEFINITION = "d" * 64
WORKLOAD = "made.absolute"
BUCKETS = ("n=4", "n=8")


def named(*parts: object) -> str:
    """A uuid that follows from its parts."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, " ".join(map(str, parts))))


def run_uuid(name: str = "first") -> str:
    return named("run", name)


def evaluation_uuid(name: str = "first", bucket: str = "n=4") -> str:
    return named("evaluation", name, bucket)


def head(name: str = "first", **changes: Any) -> list[Record]:
    """A run's beginning: itself, its environment, its one workload."""
    run = {
        "type": "run",
        "uuid": run_uuid(name),
        "label": f"label-{name}",
        "profile": "quick",
        "started_at": "2026-03-01T10:00:00+00:00",
        "argv": ["run", "--profile", "quick"],
        "machine": {
            "id": "machine-1",
            "cpu_model": "Some CPU",
            "cpu_count": 2,
            "memory_mb": 8000,
            "os": "Linux 6.1",
        },
        "plan": {"replicas": 2},
        "evaluator_version": "0.1.0",
    }
    environment = {"type": "environment", "run": run_uuid(name), "hash": "e" * 64, "fields": FIELDS}
    source = artifact("workload_source", SOURCE)
    workload = {
        "type": "workload",
        "run": run_uuid(name),
        "name": "made.absolute",
        "stands_for": "a pointwise function",
        "definition_hash": DEFINITION,
        "source_sha256": source["sha256"],
        "origin": "made.py",
        "form": "plain",
        "training": False,
        "grad": False,
        "calls": 2,
        "requires": None,
        "repeats": None,
        "precision": "ieee",
        "tolerance": {"float32": [1e-5, 1e-6]},
        "environment": ["OMP_NUM_THREADS"],
        "libraries": ["numpy"],
        "tags": ["small", "pointwise"],
        "buckets": [{"name": bucket, "params": {"n": int(bucket[2:])}} for bucket in BUCKETS],
        "variants": [
            {"name": "default", "options": {"dynamic": False}, "evidence_only": False, "requires": None}
        ],
    }
    return [run | changes, environment, source, workload]


def replica(name: str = "first", number: int = 0, **changes: Any) -> Record:
    samples = [{"metric": "import.torch_s", "round": None, "value": 4.0 + number, "flags": []}]
    return {
        "type": "replica",
        "run": run_uuid(name),
        "environment": "e" * 64,
        "index": number,
        "server": named("server", name, number),
        "started_at": f"2026-03-01T10:0{number}:00+00:00",
        "samples": samples,
        "conditions": {"load_1m": 0.5},
    } | changes


def evaluation(name: str = "first", bucket: str = "n=4") -> Record:
    return {
        "type": "evaluation",
        "run": run_uuid(name),
        "uuid": evaluation_uuid(name, bucket),
        "environment": "e" * 64,
        "workload": "made.absolute",
        "definition_hash": DEFINITION,
        "bucket": bucket,
        "variant": "default",
        "target": "cpu",
    }


def probe(kind: str, name: str = "first", bucket: str = "n=4", number: int = 0, **changes: Any) -> Record:
    """A probe record that says nothing but ``changes``. ``kind``: a probe, or ``cold`` and ``warm`` for compile."""
    cache = kind if kind in ("cold", "warm") else None
    return {
        "type": "probe",
        "run": run_uuid(name),
        "evaluation": evaluation_uuid(name, bucket),
        "replica": number,
        "probe": "compile" if cache else kind,
        "cache": cache,
        "attempt": 1,
        "started_at": f"2026-03-01T10:1{number}:00+00:00",
        "duration_s": 2.5,
        "status": "ok",
        "reason": None,
        "stage": None,
        "error": None,
        "log_tail": "printed\n",
        "artifacts": [],
        "samples": [],
        "facts": {},
        "breaks": [],
        "recompile_reasons": [],
        "kernels": [],
        "accuracy": None,
        "differences": [],
        "timing_protocol": None,
        "conditions": {"before": {"load_1m": 0.5}, "after": {"load_1m": 0.7}},
        "limits": {"time_s": 300.0, "memory_mb": 8000.0},
    } | changes


def sample(metric: str, value: float | None, number: int | None = None, *flags: str) -> Record:
    return {"metric": metric, "round": number, "value": value, "flags": list(flags)}


WALK_FACTS = {
    "graphs": 2,
    "ops": 7,
    "graph_breaks": 1,
    "break_events": 2,
    "compiles": 2,
    "recompiles": 1,
    "recompile_limit_hit": False,
    "ran_eager": "none",
    "second_walk_compiles": 0,
    "cache_hits": 0,
    "cache_misses": 2,
    "cache_bypasses": 0,
    "backward_graphs": 0,
    "dynamic_symbols": 0,
    "nothing_compiled": False,
    "guards": 11,
    "regions": ["0/0", "1/0"],
}
BREAK = {
    "reason": "print is not traced",
    "id": "gb0059",
    "explanation": "a longer text",
    "hints": ["leave it out"],
    "file": "made.py",
    "line": 3,
    "function": "build",
    "inherited": False,
    "events": 2,
    "compile_id": "0/0",
}
RECOMPILE = {
    "reason": "tensor 'x' size mismatch at index 0. expected 4, actual 8",
    "guard": "x.size()[0] == 4",
    "file": "made.py",
    "line": 2,
    "function": "build",
    "frame": "0",
    "compile_id": "0/1",
}
TIMES = {
    "eager.wall_ms": ((2.0, 4.0, 3.0), (5.0, 7.0, 6.0)),
    "compiled.wall_ms": ((1.0, 3.0, 2.0), (9.0, 1.0, 4.0)),
}
PROTOCOL = {
    "rounds": 3,
    "repeats": 50,
    "warmup": 12,
    "warmup_ms": 300,
    "inputs": [
        {"path": "[0]", "dtype": "float32", "shape": [4, 2], "stride": [2, 1], "device": "cpu"},
        {"path": "[1]", "dtype": "float32", "shape": [2], "stride": [1], "device": "cpu"},
    ],
    "precision": {"matmul": "ieee"},
}


def cell(name: str = "first", bucket: str = "n=4", replicas: int = 2) -> list[Record]:
    """A whole evaluation: compile cold and warm, walk, timing in each replica; accuracy in the first; its end."""
    kernel, trace = artifact("kernel_source", KERNEL), artifact("trace", TRACE)
    records: list[Record] = [evaluation(name, bucket), kernel, trace]
    for number in range(replicas):
        place = (name, bucket, number)
        phases = [sample("compile.dynamo_s", 0.5 + number), sample("compile.host_peak_mb", 100.0)]
        records.append(probe("cold", *place, samples=[sample("compile.cold_s", 3.0 + number), *phases]))
        records.append(
            probe(
                "warm",
                *place,
                # What a warm process tells of phases is no cold phase.
                samples=[
                    sample("compile.warm_cache_s", 1.0, None, "cache_missed"),
                    sample("compile.dynamo_s", 99.0),
                ],
                facts={"fx_cache_hit": 0},
            )
        )
        records.append(
            probe(
                "walk",
                *place,
                samples=[sample("walk.first_call_s", 2.0)],
                facts=WALK_FACTS if number == 0 else {"regions": ["0/0"]},
                breaks=[BREAK] if number == 0 else [],
                recompile_reasons=[RECOMPILE] if number == 0 else [],
                kernels=[
                    {
                        "name": "cpp_fused_abs_0",
                        "kind": "cpp",
                        "source_hash": "b" * 64,
                        "graph": "0/0",
                        "origin": "inference",
                        "source_sha256": kernel["sha256"],
                    }
                ]
                if number == 0
                else [],
                artifacts=[{"kind": "trace", "sha256": trace["sha256"]}] if number == 0 else [],
            )
        )
        rounds = [
            sample(metric, value, index)
            for metric, replicas_values in TIMES.items()
            for index, value in enumerate(replicas_values[number % 2])
        ]
        rounds += [sample(f"{side}.stream_ms", None, None, "no_device") for side in ("eager", "compiled")]
        records.append(probe("timing", *place, samples=rounds, timing_protocol=PROTOCOL))
    records.append(
        probe(
            "accuracy",
            name,
            bucket,
            0,
            samples=[sample("accuracy.max_abs", 1e-7)],
            accuracy={
                "verdict": "pass",
                "max_abs": 1e-7,
                "max_rel": 2e-7,
                "rmse_fp64": 3e-8,
                "eager_rmse_fp64": 4e-8,
                "reason": None,
                "leaves": [{"path": "out", "digest": "ff"}],
            },
            differences=[{"leaf": "out", "kind": "stride", "eager": "(2, 1)", "compiled": "(1, 4)"}],
        )
    )
    return [*records, finished(name, bucket)]


# A kernel of a card that is not there, as the walk and the build of it tell: two reads and a write of 512x512 float32
# are 3 x 512 x 512 x 4 = 3,145,728 bytes.
TRITON = b"@triton.jit\ndef triton_(in_ptr0, in_ptr1, out_ptr0, xnumel): pass\n"
TRITON_KERNEL = {
    "name": "triton_poi_fused_add_mul_silu_sub_0",
    "kind": "triton",
    "form": "pointwise",
    "source_hash": "c" * 64,
    "launch_hash": "a" * 64,
    "graph": "0/0",
    "origin": "inference",
    "calls": 1,
    "loads": 2,
    "stores": 1,
    "reductions": 0,
    "bytes_moved": 3145728,
}
BUILD = {
    "name": "triton_poi_fused_add_mul_silu_sub_0",
    "arch": "sm_90a",
    "config": {"XBLOCK": 1024, "num_warps": 4, "num_stages": 1},
    "configs": 2,
    "registers": 22,
    "spill_stores": 0,
    "spill_loads": 0,
    "stack": 0,
    "shared": 0,
    "static_shared": 0,
    "ptx_bytes": 5200,
    "cubin_bytes": 9800,
    "sass_hash": "5" * 64,
    "compile_s": 0.25,
    "cached": False,
    "triton": "3.7.1",
    "ptxas": "12.9.86",
    "error": None,
    "note": "in its first configuration it needs 300000 bytes of shared memory, the card has 232448",
}
REFUSED = {
    **dict.fromkeys(BUILD),
    "name": "triton_tem_fused_mm_1",
    "arch": "sm_90a",
    "config": {"BLOCK_M": 64},
    "cached": False,
    "triton": "3.7.1",
    "ptxas": "12.9.86",
    "error": "ptxas: uses too much shared data (0x40000 bytes, 0x38c00 max)",
}


def codegen_cell(name: str = "first", bucket: str = "n=4", target: str = "codegen:h100") -> list[Record]:
    """A whole evaluation for a card that is not there: a walk, and the builds of its two kernels, one refused."""
    source = artifact("kernel_source", TRITON)
    of = evaluation(name, bucket) | {"target": target, "uuid": named("evaluation", name, bucket, target)}
    place: Record = {"evaluation": of["uuid"]}
    kernel = {**TRITON_KERNEL, "source_sha256": source["sha256"]}
    build = {**BUILD, "source_sha256": source["sha256"]}
    card = {"card": {"name": "h100", "capability": [9, 0], "multi_processors": 132}}
    return [
        of,
        source,
        probe("walk", name, bucket, facts=WALK_FACTS | card, kernels=[kernel], **place),
        probe("build", name, bucket, builds=[build, REFUSED], **place),
        finished(name, bucket) | place,
    ]


# One batch of 4 calls as the profile probe tells it. Eager: 8 launches of two kernels, of 0.2 ms together; compiled: 4 of one.
OBSERVED = [
    {
        "mode": mode,
        "kind": kind,
        "name": name,
        "launches": launches,
        "device_ms": ms,
        "registers": 22,
        "spills": spills,
        "occupancy": 75.0,
    }
    for mode, kind, name, launches, ms, spills in (
        (
            "eager",
            "kernel",
            "void at::native::vectorized_elementwise_kernel<4, f, a>(int, f, a)",
            8,
            0.2,
            None,
        ),
        ("eager", "copy", "Memcpy DtoD (Device -> Device)", 4, 0.02, None),
        ("compiled", "kernel", "triton_poi_fused_add_mul_silu_sub_0", 4, 0.1, 0),
    )
]
OPERATORS = [
    {"mode": "eager", "name": "aten::silu", "calls": 4, "host_ms": 0.08, "kernels": 4},
    {"mode": "eager", "name": "aten::mul", "calls": 4, "host_ms": 0.06, "kernels": None},
    {"mode": "compiled", "name": "Torch-Compiled Region: 0/0", "calls": 4, "host_ms": 0.4, "kernels": 4},
]
PROFILE = {
    mode: {
        "calls": 4,
        "trace_bytes": 1000,
        "reason": None,
        "regions": ["0/0"] if mode == "compiled" else [],
        "batch": {"kernels": kernels, "copies": copies, "sets": 0, "lost": 0, "orphans": 0, "bound": "host"},
        "sync_points": [],
        "sync_reason": None,
    }
    for mode, kernels, copies in (("eager", 8, 4), ("compiled", 4, 0))
}


def profiled_cell(name: str = "first", bucket: str = "n=4", target: str = "cuda") -> list[Record]:
    """A whole evaluation of a target with a device: a walk that generated one kernel, and what was seen to run."""
    source, trace = artifact("kernel_source", TRITON), artifact("chrome_trace", b'{"traceEvents": []}')
    of = evaluation(name, bucket) | {"target": target, "uuid": named("evaluation", name, bucket, target)}
    place: Record = {"evaluation": of["uuid"]}
    kernel = {**TRITON_KERNEL, "source_sha256": source["sha256"]}
    facts = {mode: {**said, "trace": trace["sha256"]} for mode, said in PROFILE.items()}
    left = [{"kind": "chrome_trace", "sha256": trace["sha256"]}]
    seen = {"observed_kernels": OBSERVED, "observed_operators": OPERATORS, "artifacts": left}
    return [
        of,
        source,
        trace,
        probe("walk", name, bucket, facts=WALK_FACTS, kernels=[kernel], **place),
        probe("profile", name, bucket, facts=facts, **seen, **place),
        finished(name, bucket) | place,
    ]


def finished(
    name: str = "first", bucket: str = "n=4", status: str = "ok", reason: str | None = None
) -> Record:
    return {
        "type": "evaluation_finished",
        "run": run_uuid(name),
        "evaluation": evaluation_uuid(name, bucket),
        "status": status,
        "reason": reason,
    }


def end(name: str = "first", status: str = "finished") -> Record:
    return {
        "type": "run_finished",
        "run": run_uuid(name),
        "status": status,
        "finished_at": "2026-03-01T11:00:00+00:00",
    }


def whole_run(
    name: str = "first", replicas: int = 2, buckets: Sequence[str] = BUCKETS, **changes: Any
) -> list[Record]:
    """A finished run of one workload in these buckets."""
    records = head(name, **changes)
    records += [replica(name, number) for number in range(replicas)]
    for bucket in buckets:
        records += cell(name, bucket, replicas)
    return [*copy.deepcopy(records), end(name)]


def write_file(path: Path, records: Iterable[Record]) -> Path:
    """A records file as ``run --records`` leaves it."""
    header = {"type": "header", "format": FORMAT, "version": FORMAT_VERSION}
    path.write_text("".join(json.dumps(record) + "\n" for record in (header, *records)))
    return path


def store_two_runs(database: str, replicas: int = 2, *, builds: bool = False) -> None:
    """Store a finished run ``first`` and a run ``going-on`` that has done everything but end.

    Both calibrate, and with ``builds`` have a cell whose kernels were built and one that was profiled: with ``replicas`` that are enough for
    noise (4), every table that hangs on a run then has rows of both.
    """
    store = Store(database)
    for name in ("first", "going-on"):
        *records, ended = whole_run(name, replicas=replicas, purpose="calibrate")
        of_builds = [*codegen_cell(name), *profiled_cell(name)] if builds else []
        store.write_many([*records, *of_builds, *([ended] if name == "first" else [])])
    store.close()
