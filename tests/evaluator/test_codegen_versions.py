"""Several versions of torch for a card that is not there: what the target leans on in each, and what they generate otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator.commandline import REPOSITORY, document, evaluator

pytestmark = pytest.mark.slow

# What moves between versions is told by name, in one place.
VERSIONS = ("2.11", "2.12", "2.13", "2.14")
CHECK = """
import sys
import torch
sys.path.insert(0, sys.argv[1])
from evaluator.cards import KNOWN
from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.compiling import Codegen
print(torch.__version__, internals.missing(), sep="\\n")
codegen = Codegen.of(KNOWN["h100"])
with codegen.walking():
    x = torch.ones(512, 512)
    codegen.compile(lambda x, y: torch.nn.functional.silu(x + y) * (x - y), {})(x, x)
print([kernel.name for kernel in codegen.generated])
"""


def interpreter(version: str) -> str:
    """An interpreter with that torch: the one that a variable names, or this one; else the test is skipped."""
    name = f"COMPILEWATCH_TEST_TORCH_{version.replace('.', '_')}"
    python = os.environ.get(name)
    if python is None:
        import torch

        if not torch.__version__.startswith(f"{version}."):
            pytest.skip(f"set {name} to an interpreter with torch {version}")
        python = sys.executable
    return python


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_of_torch_has_all_that_the_target_leans_on(version: str) -> None:
    python = interpreter(version)
    done = subprocess.run(
        [python, "-c", CHECK, str(REPOSITORY)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    torch_version, missing, names = done.stdout.splitlines()
    assert torch_version.startswith(f"{version}.")
    assert missing == "[]"
    assert names == "['triton_poi_fused_add_mul_silu_sub_0']"


NORM = """
import torch

BUCKETS = [{"rows": 256}]
TRAINING = True


def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.LayerNorm(512))DTYPE


def inputs(bucket):
    return (torch.ones(bucket["rows"], 64)DTYPE,), {}
"""
BOTH = "native_layer_norm_native_layer_norm_backward"


def test_a_kernel_of_another_name_is_known_by_its_body(tmp_path: Path) -> None:
    # A kernel is called after the operators of its nodes. Before 2.14 the backward takes the forward's x - mean, being
    # the same expression; since, only nodes of one side of the cut are merged, and it has its own. In bfloat16 the cast
    # before it is one that the backward needs in both, so that the name keeps the forward's operator.
    pythons = [word for one in ("2.13", "2.14") for word in ("--python", interpreter(one))]
    for name, cast in (("narrow", ".bfloat16()"), ("wide", "")):
        (tmp_path / f"{name}.py").write_text(NORM.replace("DTYPE", cast))
    files = [word for name in ("narrow", "wide") for word in ("--workloads", f"{name}.py")]
    done = evaluator(tmp_path, "run", *files, "--no-packs", "--target", "codegen:h100", *pythons)
    assert done.returncode == 0, done.stderr
    found = document(tmp_path)["evaluations"]
    before, after = (norms(found, "wide", version) for version in ("2.13.", "2.14."))
    assert before and all(BOTH in one["name"] for one in before)
    assert [one["name"].replace(BOTH, "native_layer_norm_backward") for one in before] == [
        one["name"] for one in after
    ]
    identity = ("source_hash", "launch_hash", "bytes_moved")
    assert [[one[part] for part in identity] for one in before] == [
        [one[part] for part in identity] for one in after
    ]
    narrow = [[one["name"] for one in norms(found, "narrow", version)] for version in ("2.13.", "2.14.")]
    assert narrow[0] == narrow[1] and all(BOTH in one for one in narrow[0])


def norms(evaluations: list[dict[str, Any]], workload: str, torch_version: str) -> list[dict[str, Any]]:
    """The backward's kernels of a layer norm, in order."""
    (one,) = [
        one
        for one in evaluations
        if one["workload"] == workload and one["environment"]["torch"].startswith(torch_version)
    ]
    return [kernel for kernel in one["kernels"] if "layer_norm_backward" in kernel["name"]]
