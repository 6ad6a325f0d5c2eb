"""Databases for tests of the dashboard, written through the store like real ones: ``python -m tests.app.seed``.

Every number is invented; none of this is part of the application.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from db.store import Store
from tests.app.records import MadeRun, MadeWorkload, Record

HOSTILE_NAME = (
    "<script>alert(1)</script> **bold** `tick` :smile: $x^2$ [link](http://evil.example/) ../../etc/passwd"
)
HOSTILE_BUCKET = "<img src=x onerror=alert(1)>,a|b=`1`"
HOSTILE_MESSAGE = (
    "# heading\n<img src=http://evil.example/x.png onerror=alert(1)> ![pic](http://evil.example/y.png) "
    ":red[red] $\\frac{1}{0}$ ``` fence ```"
)

SILU_SOURCE = """#include <c10/util/complex.h>
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{
    for (int64_t x0 = 0; x0 < 4096; x0 += 16)
    {
        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x0, 16);
        auto tmp1 = tmp0 * decltype(tmp0)(1)/(decltype(tmp0)(1) + tmp0.neg().exp());
        tmp1.store(out_ptr0 + x0);
    }
}
"""


def _buckets(name: str, values: Sequence[int], **fixed: int) -> tuple[tuple[str, dict[str, int]], ...]:
    made = [{**fixed, name: value} for value in values]
    return tuple((",".join(f"{k}={v}" for k, v in params.items()), params) for params in made)


def _kernel(name: str, kind: str = "cpp", source: str = SILU_SOURCE, graph: str = "0/0") -> Record:
    return {"name": name, "kind": kind, "source": source, "graph": graph, "origin": "inference"}


PRINT_BREAK: Record = {
    "reason": "Failed to trace builtin operator",
    "id": "gb0059",
    "explanation": "Dynamo does not know how to trace builtin operator `print` with argument types ['str']",
    "hints": ["Avoid calling `print` inside the compiled region, or move it out."],
    "file": "workloads/graphs.py",
    "line": 41,
    "function": "forward",
    "compile_id": "0/0",
}
ITEM_BREAK: Record = {
    "reason": "Data-dependent branching",
    "id": "gb0170",
    "explanation": "Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).",
    "hints": ["Use `torch.cond` to express dynamic control flow."],
    "file": "workloads/graphs.py",
    "line": 47,
    "function": "forward",
    "compile_id": "0/0",
}
SIZE_GUARD: Record = {
    "reason": "tensor 'x' size mismatch at index 0. expected 1, actual 2",
    "guard": "check_tensor(L['x'], Tensor, torch.float32, size=[1, 64])",
    "file": "workloads/shapes.py",
    "line": 18,
    "function": "forward",
    "frame": "0",
    "compile_id": "0/1",
}

POINTWISE = MadeWorkload(
    "pointwise.silu",
    _buckets("n", (4096, 65536, 1048576)),
    stands_for="An activation of four pointwise operators that fuse into one kernel",
    cold_s=2.1,
    eager_ms=0.05,
    speed_up=2.6,
    variants=(
        ("default", {}, False),
        ("dynamic", {"dynamic": True}, False),
        ("eager", {"backend": "eager"}, True),
    ),
    kernels=(_kernel("cpp_fused_add_div_exp_mul_neg_0"),),
)
LLAMA = MadeWorkload(
    "models.llama",
    _buckets("seq", (16, 64, 256), batch=1),
    stands_for="Llama causal language model built from a configuration with random weights",
    cold_s=19.0,
    eager_ms=11.0,
    speed_up=1.28,
    kernels=(
        *(
            _kernel(f"cpp_fused_{name}_{i}", source=SILU_SOURCE.replace("4096", str(64 << i)))
            for i, name in enumerate(
                ("embedding_mean_mul_pow_rsqrt", "cat_neg", "mul_silu", "add_mean_mul_pow")
            )
        ),
        {"name": "extern_kernels.mm", "kind": "extern", "source": "", "graph": "0/0", "origin": "inference"},
    ),
    reuses=True,
    failures={("2.9.1", "batch=1,seq=256"): ("cold", "timeout", "the cold compile took longer than 300 s")},
)
BERT = MadeWorkload(
    "models.bert",
    _buckets("seq", (32, 128), batch=2),
    stands_for="BERT encoder, one training step",
    cold_s=24.0,
    eager_ms=21.0,
    speed_up=1.15,
    training=True,
    kernels=(_kernel("cpp_fused_gelu_0"), _kernel("cpp_fused_native_layer_norm_1")),
)
VIT = MadeWorkload(
    "models.vit",
    _buckets("batch", (1, 4)),
    stands_for="Vision transformer, inference",
    request_ms=5.0,
    cold_s=15.0,
    eager_ms=14.0,
    speed_up=1.2,
    kernels=(_kernel("cpp_fused_convolution_0"),),
    failures={
        ("2.9.1", "*"): ("cold", "compile_error", "LoweringException: assertion failed in conv layout")
    },
)
NORM = MadeWorkload(
    "norm.layer_norm",
    _buckets("hidden", (256, 1024), batch=8),
    stands_for="Layer normalisation over the last dimension",
    cold_s=2.6,
    eager_ms=0.4,
    speed_up=1.9,
    kernels=(_kernel("cpp_fused_native_layer_norm_0"),),
    failures={
        ("2.14.1", "batch=8,hidden=1024"): (
            "accuracy",
            "accuracy_failed",
            "leaf 0: largest error 0.031 is over 2 x eager's plus a tenth of the tolerance",
        )
    },
)
BREAKS = MadeWorkload(
    "graphs.breaks",
    _buckets("n", (64, 128)),
    stands_for="A print and a data-dependent branch inside the compiled region",
    cold_s=3.1,
    eager_ms=0.12,
    speed_up=0.8,
    breaks=(PRINT_BREAK, ITEM_BREAK),
    kernels=(_kernel("cpp_fused_relu_0"), _kernel("cpp_fused_sum_1", graph="1/0")),
    reuses=True,
)
RECOMPILES = MadeWorkload(
    "shapes.recompiles",
    _buckets("batch", (1, 2, 3, 4, 5, 6, 7, 8, 9)),
    stands_for="A static compile that is called with a new batch size each time",
    cold_s=2.2,
    eager_ms=0.2,
    speed_up=1.5,
    recompiles=(SIZE_GUARD,),
    kernels=(_kernel("cpp_fused_add_mul_0"),),
    limit_from=8,
)
NOTHING = MadeWorkload(
    "graphs.disabled",
    (("-", {}),),
    stands_for="A module whose forward is marked as not to be compiled",
    cold_s=0.4,
    eager_ms=0.3,
    nothing=True,
)
MATMUL = MadeWorkload(
    "matmul.fp32_1024",
    (("-", {}),),
    stands_for="Square matrix product in IEEE float32",
    cold_s=2.0,
    eager_ms=31.0,
    speed_up=1.0,
    kernels=(
        {"name": "extern_kernels.mm", "kind": "extern", "source": "", "graph": "0/0", "origin": "inference"},
    ),
)
CRASH = MadeWorkload(
    "failures.crash",
    (("-", {}),),
    stands_for="A native crash while compiling",
    failures={("*", "*"): ("cold", "crashed", "the process ended on signal 11 (segmentation fault)")},
)
WORKLOADS = (POINTWISE, MATMUL, NORM, BREAKS, RECOMPILES, NOTHING, LLAMA, BERT, VIT, CRASH)


def write(path: Path, runs: Sequence[tuple[MadeRun, Sequence[MadeWorkload]]]) -> Path:
    """Store these runs in a new database at ``path``, in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    store = Store(str(path))
    try:
        for run, workloads in runs:
            store.write_many(list(run.records(workloads)))
    finally:
        store.close()
    return path


def realistic(path: Path) -> Path:
    """Four torch versions, recorded out of order, with failures, one of them measured twice."""
    triton = {"2.9.1": "3.5.1", "2.12.0": "3.6.0", "2.13.0": "3.7.1", "2.14.1": "3.8.0"}

    def run(number: int, torch: str, drift: float, replicas: int, label: str | None) -> MadeRun:
        profile = "thorough" if replicas == 8 else "standard"
        fields = {"triton": triton[torch]}
        return MadeRun(f"{torch}+cpu", number, label, profile, replicas, fields=fields, drift=drift)

    runs = [
        run(1, "2.13.0", 1.0, 5, "first"),
        run(2, "2.9.1", 1.22, 5, "oldest we still serve"),
        run(3, "2.12.0", 1.06, 8, None),
        run(4, "2.13.0", 0.97, 8, "pinned"),
        run(5, "2.14.1", 1.04, 8, "candidate"),
    ]
    return write(path, [(one, WORKLOADS) for one in runs])


def tiny(path: Path) -> Path:
    """One quick run of one workload under one torch."""
    return write(path, [(MadeRun("2.13.0+cpu", 1, None, "quick", 1), [POINTWISE])])


def unfinished(path: Path) -> Path:
    """A run that is being written: its last workload has no evaluation that is done."""
    pending = MadeWorkload("slow.pending", (("-", {}),))
    return write(path, [(MadeRun("2.13.0+cpu", 1, None, "quick", 1, status=None), [POINTWISE, pending])])


def all_failed(path: Path) -> Path:
    """Two versions under which not one cell compiled."""
    broken = {("*", "*"): ("cold", "compile_error", "InvalidCxxCompiler: no working C++ compiler was found")}
    workloads = [MadeWorkload(w.name, w.buckets, failures=broken) for w in (POINTWISE, LLAMA)]  # type: ignore[arg-type]
    runs = [MadeRun("2.12.0+cpu", 1, replicas=1), MadeRun("2.13.0+cpu", 2, replicas=1)]
    return write(path, [(run, workloads) for run in runs])


def hostile(path: Path) -> Path:
    """Names and messages that would do harm if they were taken for Markdown, HTML, a formula or a path."""
    bad_break = {**PRINT_BREAK, "reason": HOSTILE_MESSAGE, "file": HOSTILE_NAME, "function": HOSTILE_NAME}
    bad = MadeWorkload(
        HOSTILE_NAME,
        ((HOSTILE_BUCKET, {}), ("b=2", {})),
        stands_for=HOSTILE_MESSAGE,
        variants=((":red[v] `x` <b>", {"mode": "<b>"}, False),),
        breaks=(bad_break,),
        kernels=(_kernel(HOSTILE_NAME, source=HOSTILE_MESSAGE),),
        failures={("*", "b=2"): ("cold", "compile_error", HOSTILE_MESSAGE)},
    )
    torch = "2.13.0+<b>**x**</b>"
    return write(path, [(MadeRun(torch, 1, HOSTILE_NAME, HOSTILE_NAME, 1), [bad])])


SCENARIOS: dict[str, Callable[[Path], Path]] = {
    "realistic": realistic,
    "tiny": tiny,
    "unfinished": unfinished,
    "all_failed": all_failed,
    "hostile": hostile,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", choices=sorted(SCENARIOS))
    parser.add_argument("path", type=Path)
    arguments = parser.parse_args()
    print(SCENARIOS[arguments.scenario](arguments.path))


if __name__ == "__main__":
    main()
