"""The script of `repro` stands alone and shows the recorded break, recompile, error and accuracy figure again."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

WORKLOADS = {
    "breaks_here": """
        import torch
        BUCKETS = [{"n": 8}]
        COMPILE = {"backend": "aot_eager"}
        def build():
            def call(x):
                y = torch.sin(x)
                print("between")
                return y.sum()
            return call
        def inputs(bucket):
            return (torch.randn(bucket["n"]),), {}
    """,
    "recompiles": """
        import torch
        BUCKETS = [{"k": 2}, {"k": 3}]
        COMPILE = {"backend": "aot_eager", "dynamic": False}
        def build():
            def call(x, k):
                return torch.sin(x) * k
            return call
        def inputs(bucket):
            return (torch.randn(8), bucket["k"]), {}
    """,
    "fails": """
        import torch
        BUCKETS = [{"n": 8}]
        COMPILE = {"backend": "aot_eager", "fullgraph": True}
        def build():
            def call(x):
                return x + 1 if x.sum() > 0 else x - 1
            return call
        def inputs(bucket):
            return (torch.randn(bucket["n"]),), {}
    """,
    "norms": """
        import torch
        BUCKETS = [{"n": 8}]
        COMPILE = {"backend": "aot_eager"}
        class Norm(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, 64))
            def forward(self, x):
                wide = x.to(torch.float32)
                return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6))
        def build():
            return Norm()
        def inputs(bucket):
            return (torch.randn(bucket["n"], 64),), {}
    """,
    "weighs": """
        import torch
        BUCKETS = [{"n": 8}]
        COMPILE = {"backend": "aot_eager"}
        TRAINING = True
        def build():
            def weigh(x):
                with torch.autocast("cpu", enabled=False):
                    angle = torch.arange(x.shape[-1]).float().cos()
                return x.softmax(-1, dtype=torch.float32) * angle
            return weigh
        def inputs(bucket):
            return (torch.randn(bucket["n"], 33, requires_grad=True),), {}
    """,
    "holds": """
        import torch
        BUCKETS = [{"n": 8}]
        COMPILE = {"backend": "eager"}
        class Holder:
            __slots__ = ("inside",)
            def __init__(self, inside):
                self.inside = inside
        def build():
            return lambda x: (x, Holder([x + 3 if torch.compiler.is_compiling() else x + 1]))
        def inputs(bucket):
            return (torch.ones(bucket["n"]),), {}
    """,
    "texts": """
        import torch
        BUCKETS = [{"n": 8}]
        COMPILE = {"backend": "eager"}
        def flatten(x):
            return x.reshape(-1)
        def build():
            return lambda x: (flatten(x), {"said": "b" if torch.compiler.is_compiling() else "a"})
        def inputs(bucket):
            return (torch.ones(bucket["n"]),), {}
    """,
    "counts": """
        import torch
        BUCKETS = [{"n": 8}, {"n": 9}]
        COMPILE = {"backend": "eager"}
        TOTAL = torch.zeros(2)
        class Cache:
            def __init__(self):
                self.at = 0
        class Counting(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.cache = Cache()
            def forward(self, x):
                self.cache.at += 1
                TOTAL.add_(3 if torch.compiler.is_compiling() else 1)
                return x * 2
        def build():
            return Counting()
        def inputs(bucket):
            return (torch.ones(bucket["n"]),), {}
    """,
    "closed": """
        import torch
        from workloads.registry import Variant, workload
        def making(off):
            def build(target):
                '''One whose build is a closure, so that its file comes whole.'''
                return lambda x: x.nan_to_num() if torch.compiler.is_compiling() else x * off
            return build
        def inputs(params, target):
            return (torch.tensor([1.0, float("nan")]),), {}
        for name, off in (("closed.right", 0), ("closed.wrong", 1)):
            workload(name, inputs=inputs, buckets=[{}], variants=[Variant("default", {"backend": "eager"})])(making(off))
    """,
    "wrong": """
        from __future__ import annotations
        import torch
        BUCKETS = [{"n": 8}]
        COMPILE = {"backend": "aot_eager"}
        TRAINING = True
        class Off(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.line = torch.nn.Linear(8, 8)
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = torch.tanh(self.line(x))
                return y + 0.01 if torch.compiler.is_compiling() else y
        def build():
            return Off()
        def inputs(bucket):
            return (torch.randn(bucket["n"], 8),), {}
    """,
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repro")
    command = ["run", "--no-packs", "--db", str(folder / "r.db")]
    for name, text in WORKLOADS.items():
        lines = text.splitlines()
        (folder / f"{name}.py").write_text("\n".join(line[8:] for line in lines) + "\n")
        command += ["--workloads", str(folder / f"{name}.py")]
    evaluator(*command)
    return folder / "r.db"


def evaluator(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def recorded(database: Path, workload: str, bucket: str) -> dict[str, Any]:
    document = json.loads(evaluator("show", "latest", "--json", "--db", str(database)))
    (found,) = [e for e in document["evaluations"] if (e["workload"], e["bucket"]) == (workload, bucket)]
    return found  # type: ignore[no-any-return]


def reproduce(
    database: Path, evaluation: dict[str, Any], folder: Path, changed: tuple[str, str] | None = None
) -> str:
    """What the script prints under an interpreter that can't see this project; with ``changed``, a piece of the
    workload and what to put in its place, that of a workload that is another."""
    script = folder / "repro.py"
    evaluator("repro", str(evaluation["id"]), "--db", str(database), "--output", str(script))
    if changed is not None:
        assert script.read_text().count(changed[0]) == 1
        script.write_text(script.read_text().replace(*changed))
    python = os.environ.get("COMPILEWATCH_TEST_BARE_PYTHON", sys.executable)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-I", str(script)], cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def row(output: str, name: str) -> tuple[str, str]:
    """What the script found here, and what it says was recorded."""
    found = re.search(rf"^{re.escape(name)}\s+here (.*?)\s+recorded (.*)$", output, re.MULTILINE)
    assert found, output
    return found.group(1).strip(), found.group(2).strip()


def test_a_graph_break_is_shown_again_with_its_place(database: Path, tmp_path: Path) -> None:
    evaluation = recorded(database, "breaks_here", "n=8")
    assert evaluation["facts"]["break_events"] == 1
    output = reproduce(database, evaluation, tmp_path)
    assert row(output, "break_events") == ("1", "1")
    assert row(output, "graphs") == ("2", "2")
    (site,) = evaluation["breaks"]
    assert re.search(rf"graph break: .* at repro.py:\d+ in call \({site['id']}\)", output)
    assert "print" in re.search(r"graph break: (.*) at", output)[1]  # type: ignore[index]


def test_a_recompile_is_shown_again_in_its_bucket(database: Path, tmp_path: Path) -> None:
    evaluation = recorded(database, "recompiles", "k=3")
    assert evaluation["facts"]["recompiles"] == 1
    output = reproduce(database, evaluation, tmp_path)
    assert row(output, "recompiles") == ("1", "1")
    assert output.splitlines()[-1] == "as recorded"
    assert "recompile: 0/0: k == 2" in output


def test_a_compile_error_is_shown_again(database: Path, tmp_path: Path) -> None:
    evaluation = recorded(database, "fails", "n=8")
    assert evaluation["status"] == "compile_error"
    output = reproduce(database, evaluation, tmp_path)
    here, said = row(output, "error, compiled")
    assert "Unsupported: Data-dependent branching" in here
    assert said.startswith("torch._dynamo.exc.Unsupported: ")
    assert "Data-dependent branching" in said


def test_an_accuracy_failure_is_shown_again_with_its_figures(database: Path, tmp_path: Path) -> None:
    evaluation = recorded(database, "wrong", "n=8")
    assert evaluation["accuracy"]["verdict"] == "fail"
    output = reproduce(database, evaluation, tmp_path)
    for name in ("max_abs", "rmse_fp64", "eager_rmse_fp64"):
        here, said = row(output, name)
        assert float(here) == pytest.approx(float(said), rel=1e-6), name
    assert float(row(output, "max_abs")[0]) == pytest.approx(0.01, rel=1e-4)


@pytest.mark.parametrize(
    ("workload", "bucket", "leaf", "said", "largest"),
    [
        ("holds", "n=8", "out[1].inside[0]", "largest difference 2", 2.0),
        ("texts", "n=8", "out[1]['said']", "'a' in eager, 'b' compiled", 0.0),
        # Four calls: 4 in eager, 12 compiled.
        ("counts", "n=9", "state.global.TOTAL", "largest difference 6", 8.0),
        ("closed.wrong", "-", "out", "NaN or infinity in other places, 1 elements", 0.0),
    ],
)
def test_a_wrong_leaf_of_any_kind_is_shown_again(
    workload: str, bucket: str, leaf: str, said: str, largest: float, database: Path, tmp_path: Path
) -> None:
    evaluation = recorded(database, workload, bucket)
    assert evaluation["status"] == "accuracy_failed"
    assert evaluation["accuracy_series"]["default"]["details"]["worst_leaf"] == leaf
    output = reproduce(database, evaluation, tmp_path)
    assert f"  leaf {leaf}: {said}" in output.splitlines()
    assert row(output, "failed leaf")[0] == f"{leaf} differs"
    assert float(row(output, "max_abs")[0]) == evaluation["accuracy"]["max_abs"] == largest
    assert output.splitlines()[-1] == "as recorded"


def test_a_failed_leaf_that_is_right_here_is_not_as_recorded(database: Path, tmp_path: Path) -> None:
    output = reproduce(database, recorded(database, "texts", "n=8"), tmp_path, ('"b" if', '"a" if'))
    assert row(output, "failed leaf")[0] == "out[1]['said'] is the same"
    assert output.splitlines()[-1] == "not as recorded: out[1]['said']"


@pytest.mark.parametrize("workload", ["norms", "weighs"])
def test_a_cast_inside_is_no_part_of_the_float64_reference(
    workload: str, database: Path, tmp_path: Path
) -> None:
    evaluation = recorded(database, workload, "n=8")
    series = evaluation["accuracy_series"]["default"]
    assert (series["verdict"], series["details"]["reference"]) == ("pass", "float64")
    output = reproduce(database, evaluation, tmp_path)
    for name in ("rmse_fp64", "eager_rmse_fp64"):
        here, there = row(output, name)
        # Single precision rounds: an error of zero would be that of a reference that rounds as eager does.
        assert float(here) == pytest.approx(float(there), rel=1e-9)
        assert 1e-9 < float(here) < 1e-6
    assert output.splitlines()[-1] == "as recorded"


def test_an_evaluation_that_is_not_there_is_one_sentence(database: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", "repro", "99999", "--db", str(database)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "99999" in done.stderr
