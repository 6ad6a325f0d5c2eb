"""A run for a card that is not there, through the command line: facts and kernels, and no number that nobody measured."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.cards import KNOWN
from evaluator.control.server_client import Server
from tests.evaluator.commandline import document, evaluator, said
from tests.evaluator.test_cards import OWN

pytestmark = pytest.mark.slow

GATE = """
import torch

BUCKETS = [{"rows": 512}, {"rows": 64}]


def build():
    def gate(x, y):
        return torch.nn.functional.silu(x + y) * (x - y)

    return gate


def inputs(bucket):
    return (torch.ones(bucket["rows"], 512), torch.ones(bucket["rows"], 512)), {}
"""

TRAINS = """
import torch

BUCKETS = [{"rows": 8}]
TRAINING = True


def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.GELU(), torch.nn.LayerNorm(32))


def inputs(bucket):
    return (torch.ones(bucket["rows"], 32),), {}
"""

# Each of its calls sleeps outside of the graph, the second bucket's for longer than is allowed.
SLOW = """
import time
import torch

BUCKETS = [{"seconds": 0}, {"seconds": 3600}]


def build():
    def slow(x, seconds):
        torch._dynamo.graph_break()
        if not torch.compiler.is_compiling():
            time.sleep(seconds)
        return x + 1

    return slow


def inputs(bucket):
    return (torch.ones(4), bucket["seconds"]), {}
"""

# In eager torch.cond compiles its branches: what is tried beforehand must leave no trace of its own.
BRANCHES = """
import torch

BUCKETS = [{"n": 16}]


def build():
    def branches(x):
        return torch.cond(x.sum() > 0, lambda a: a.sin() + 1, lambda a: a.cos() * 2, (x,))

    return branches


def inputs(bucket):
    return (torch.ones(bucket["n"]),), {}
"""

CPU_ONLY = """
import torch

BUCKETS = [{"n": 8}]


def build():
    def only_here(x):
        return torch.ops.mkldnn._linear_pointwise(x, x, None, "none", [], "")

    return only_here


def inputs(bucket):
    return (torch.ones(bucket["n"], bucket["n"]),), {}
"""


# What only a card's operators take, and what is broken wherever it runs.
ASKS = """
import torch

BUCKETS = [{"wants": "a card"}, {"wants": "another shape"}]


def build():
    def asks(x, wants):
        if wants == "a card":
            raise ValueError("all tensors need to be on CUDA or XPU")
        return x + torch.ones(3)

    return asks


def inputs(bucket):
    return (torch.ones(2), bucket["wants"]), {}
"""
PUTS = """
import torch

BUCKETS = [{"n": 8}]


def build():
    return lambda x: x + 1


def inputs(bucket):
    return (torch.ones(bucket["n"], device="cuda"),), {}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("codegen")
    for name, text in {
        "gate": GATE,
        "trains": TRAINS,
        "slow": SLOW,
        "cpu_only": CPU_ONLY,
        "branches": BRANCHES,
        "asks": ASKS,
        "puts": PUTS,
    }.items():
        (made / f"{name}.py").write_text(text)
    return made


def sources(*names: str) -> list[str]:
    return [word for name in names for word in ("--workloads", f"{name}.py")]


@pytest.fixture(scope="module")
def recorded(folder: Path) -> dict[str, Any]:
    names = sources("gate", "trains", "slow", "cpu_only", "asks", "puts")
    done = evaluator(folder, "run", *names, "--target", "codegen:h100")
    assert done.returncode == 0, done.stderr
    return {"stdout": done.stdout, "stderr": done.stderr, **document(folder)}


def of(recorded: dict[str, Any], workload: str, bucket: str | None = None) -> dict[str, Any]:
    found = [one for one in recorded["evaluations"] if one["workload"] == workload]
    return next(one for one in found if bucket in (None, one["bucket"]))


def test_each_unit_is_one_line_whatever_the_profile(recorded: dict[str, Any]) -> None:
    # Facts need one replica: a walk of each workload, with the build of what it generated.
    assert [line.split("]")[0] for line in said(recorded["stderr"])] == [f"[{n}/6" for n in range(1, 7)]
    assert "noisy" not in recorded["stderr"]


def test_a_dry_run_plans_one_replica_whatever_the_profile(folder: Path) -> None:
    asked = ("--target", "codegen:h100", "--no-packs", "--profile", "thorough", "--dry-run")
    done = evaluator(folder, "run", *sources("gate"), *asked)
    assert "2 cells, 1 replica(s), 1 units of work" in done.stdout


def test_the_kernels_are_the_cards(recorded: dict[str, Any]) -> None:
    gate = of(recorded, "gate", "rows=512")
    assert gate["target"] == "codegen:h100"
    assert gate["status"] == "ok"
    (kernel,) = gate["kernels"]
    # The name that a real RTX 3080 gave; two inputs and an output of 512 x 512 x 4 bytes.
    assert kernel["name"] == "triton_poi_fused_add_mul_silu_sub_0"
    assert (kernel["form"], kernel["loads"], kernel["stores"], kernel["reductions"]) == ("pointwise", 2, 1, 0)
    assert kernel["bytes_moved"] == 3 * 512 * 512 * 4
    assert gate["facts"]["card"]["multi_processor_count"] == 132


def test_each_kernel_was_built(recorded: dict[str, Any]) -> None:
    for one in (of(recorded, "gate", "rows=512"), of(recorded, "trains")):
        generated = {kernel["name"] for kernel in one["kernels"] if kernel["kind"] == "triton"}
        assert {build["name"] for build in one["builds"]} == generated
        for build in one["builds"]:
            assert build["error"] is None
            assert build["arch"] == "sm_90a"
            assert 0 < build["registers"] <= 255
            assert build["cubin_bytes"] > 0


def test_a_training_step_has_its_backward(recorded: dict[str, Any]) -> None:
    trains = of(recorded, "trains")
    origins = {kernel["origin"] for kernel in trains["kernels"]}
    assert origins == {"forward", "backward"}
    assert any("layer_norm_backward" in kernel["name"] for kernel in trains["kernels"])
    assert trains["facts"]["backward_graphs"] == 1


def test_the_walk_is_the_real_one(recorded: dict[str, Any]) -> None:
    # Another number of rows is one recompile, which makes it a symbol, one for each of the two inputs.
    second = of(recorded, "gate", "rows=64")
    assert [second["facts"][name] for name in ("graphs", "recompiles", "dynamic_symbols")] == [1, 1, 2]
    assert second["facts"]["second_walk_compiles"] == 0
    slow = of(recorded, "slow", "seconds=0")
    assert slow["facts"]["graph_breaks"] == 1


def test_no_time_and_no_accuracy_is_ever_there(recorded: dict[str, Any], folder: Path) -> None:
    with sqlite3.connect(folder / "r.db") as database:
        kept = "select count(*) from sample where probe_id is not null"
        assert database.execute(kept).fetchone() == (0,)
        assert database.execute("select count(*) from accuracy").fetchone() == (0,)
    for one in recorded["evaluations"]:
        assert set(one["probes"]) <= {"walk", "build"}
        assert one["timing"] == {"protocol": None, "protocols": [], "rounds": {}}
        assert one["metrics"] == {}
        assert one["accuracy"] is None
        assert one["accuracy_series"] in (None, {}, [])
        assert "traced_phases" not in one["facts"]


def test_a_bucket_that_this_cpu_can_not_run_is_unsupported_and_the_others_go_on(
    recorded: dict[str, Any],
) -> None:
    slow = of(recorded, "slow", "seconds=3600")
    assert slow["status"] == "unsupported"
    assert slow["reason"] == "one eager call takes over 10 s on this CPU, where this target runs"
    # It was not walked: no count is zero of something.
    counted = ("graphs", "ops", "graph_breaks", "recompiles", "compiles")
    assert [slow["facts"].get(name) for name in counted] == [None] * len(counted)
    assert of(recorded, "slow", "seconds=0")["status"] == "ok"


def test_what_is_tried_beforehand_leaves_no_trace(folder: Path) -> None:
    request = {
        "probe": "walk", "sources": [str(folder / "branches.py")], "packs": False, "workload": "branches",
        "variant": "default", "buckets": ["n=16"], "target": "codegen:h100", "card": KNOWN["h100"], "seed": 0,
        "cache_dir": str(folder / "walked"), "trace_dir": str(folder / "traced"), "timing": None,
        "temporary": str(folder), "limits": {"time_s": 300, "memory_mb": 8000}, "log": str(folder / "walk.log"),
    }  # fmt: skip
    with Server(Path(sys.executable), folder / "temporary", folder / "server.log") as server:
        records = list(server.probe(request, 300))
    assert [one["status"] for one in records if one["kind"] == "result"] == ["ok"]
    (log,) = (folder / "traced").glob("*.log")
    assert "inductor_output_code" in log.read_text()
    # One kernel for each branch, and what decides between them.
    names = [one["name"] for one in records if one["kind"] == "generated"]
    assert sum("sin" in name for name in names) == 1
    assert sum("cos" in name for name in names) == 1


def test_an_operator_of_the_cpu_alone_is_unsupported(recorded: dict[str, Any]) -> None:
    only = of(recorded, "cpu_only")
    assert only["status"] == "unsupported"
    assert only["reason"].startswith("mkldnn::_linear_pointwise is the CPU's own operator")


@pytest.mark.parametrize(
    ("workload", "bucket"), [("cpu_only", None), ("asks", "wants=a card"), ("puts", None)]
)
def test_what_is_refused_before_it_has_a_graph_has_no_counts(
    recorded: dict[str, Any], workload: str, bucket: str | None
) -> None:
    refused = of(recorded, workload, bucket)
    assert refused["status"] == "unsupported"
    counted = ("graphs", "ops", "recompiles", "compiles", "cache_misses", "nothing_compiled")
    assert [refused["facts"].get(name) for name in counted] == [None] * len(counted)
    lines = [line for line in recorded["stdout"].splitlines() if line.startswith(workload)]
    (line,) = [line for line in lines if bucket is None or bucket in line]
    assert line.split(" unsupported ")[1].split()[0] == "-"


def test_a_workload_that_wants_the_card_itself_is_unsupported_and_a_broken_one_is_broken(
    recorded: dict[str, Any],
) -> None:
    wants, broken = of(recorded, "asks", "wants=a card"), of(recorded, "asks", "wants=another shape")
    assert (wants["status"], wants["reason"]) == (
        "unsupported",
        "it does not run on a CPU, where this target runs it: ValueError: all tensors need to be on CUDA or XPU",
    )
    assert broken["status"] == "runtime_error"
    puts = of(recorded, "puts")
    assert puts["status"] == "unsupported"
    assert puts["reason"].startswith("it does not run on a CPU, where this target runs it: ")


def test_no_script_is_made_that_would_show_nothing(recorded: dict[str, Any], folder: Path) -> None:
    done = evaluator(folder, "repro", str(of(recorded, "cpu_only")["id"]))
    assert done.returncode == 2 and not done.stdout
    (line,) = done.stderr.strip().splitlines()
    assert "nothing that a script would show again: it was not tried for the card" in line


def test_builds_are_kept_for_the_next_run(recorded: dict[str, Any], folder: Path) -> None:
    done = evaluator(folder, "run", *sources("gate"), "--target", "codegen:h100", "--max-buckets", "1")
    assert done.returncode == 0, done.stderr
    (again,) = document(folder)["evaluations"]
    before = of(recorded, "gate", "rows=512")
    assert [build["cached"] for build in again["builds"]] == [True]
    assert [build["cached"] for build in before["builds"]] == [False]
    assert again["builds"][0]["sass_hash"] == before["builds"][0]["sass_hash"]


def test_a_card_of_ones_own_is_another_target_and_resumed_runs_know_it(folder: Path) -> None:
    (folder / "mine.toml").write_text(OWN)
    done = evaluator(folder, "run", *sources("gate"), "--target", "codegen:mine.toml", "--max-buckets", "1")
    assert done.returncode == 0, done.stderr
    (one,) = document(folder)["evaluations"]
    assert one["target"].startswith("codegen:half-h100@")
    assert one["facts"]["card"]["multi_processor_count"] == 66


def test_a_script_says_what_it_shows_of_a_card_and_a_pair_of_evaluations_is_refused(
    recorded: dict[str, Any], folder: Path
) -> None:
    one, other = of(recorded, "gate", "rows=512"), of(recorded, "gate", "rows=64")
    done = evaluator(folder, "repro", str(one["id"]), "--output", "again.py")
    assert done.returncode == 0, done.stderr
    said_of_it = (folder / "again.py").read_text()
    assert "Recorded for codegen:h100, a card that was not there" in said_of_it
    compile(said_of_it, "again.py", "exec")
    pair = evaluator(folder, "repro", "--ab", str(one["id"]), str(other["id"]))
    assert pair.returncode == 2
    assert len(pair.stderr.strip().splitlines()) == 1


def test_what_is_no_card_is_one_line(folder: Path) -> None:
    done = evaluator(folder, "run", *sources("gate"), "--target", "codegen:h1000")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("error: no card is called 'h1000'")


def test_list_says_what_a_card_can_not_have(folder: Path) -> None:
    done = evaluator(folder, "list", *sources("gate"), "--no-packs", "--target", "codegen:l4")
    assert done.returncode == 0, done.stderr
    assert "the backend 'eager' generates no code" in done.stdout


def test_doctor_lists_the_cards(folder: Path) -> None:
    done = evaluator(folder, "doctor", "--no-packs")
    line = next(line for line in done.stdout.splitlines() if line.split()[:2] == ["ok", "cards"])
    assert "codegen:a100, codegen:h100, codegen:h200, codegen:b200, codegen:l4, codegen:rtx4090" in line
