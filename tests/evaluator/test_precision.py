"""One workload under two float32 precisions in one run, through the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from torch.testing._internal.common_mkldnn import tf32_is_not_fp32

from tests.evaluator.commandline import document, environment, evaluator

pytestmark = pytest.mark.slow

# Its result tells the precision in force while it was built: 1 under IEEE, 2 under TF32, 3 where nobody set any.
WORKLOAD = """
import torch
from workloads.registry import Variant, workload

EAGER = {"backend": "eager"}
VARIANTS = [
    Variant("default", EAGER),
    Variant("exact", EAGER, precision="ieee"),
    Variant("coarse", EAGER, precision="tf32"),
]


def inputs(bucket, target):
    return (torch.ones(2),), {}


def check(args, kwargs, output):
    told = torch.backends.cuda.matmul.fp32_precision
    assert output[0] == {"ieee": 1, "tf32": 2}[told], told


@workload("told", inputs=inputs, buckets=[{}], variants=VARIANTS, precision=ASKED, check=check)
def build(target):
    \"\"\"Code that reads the precision.\"\"\"
    factor = {"ieee": 1.0, "tf32": 2.0}[torch.backends.cuda.matmul.fp32_precision]

    def scaled(x):
        return torch.relu(x) * factor

    return scaled
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("precision")


@pytest.fixture(scope="module")
def recorded(folder: Path) -> dict[str, dict[str, Any]]:
    """The evaluations by variant."""
    (folder / "told.py").write_text(WORKLOAD.replace("ASKED", "'ieee'"))
    done = evaluator(folder, "run", "--no-packs", "--workloads", "told.py", "--variants", "*")
    assert done.returncode == 0, done.stderr
    return {one["variant"]: one for one in document(folder)["evaluations"]}


def test_each_variant_is_measured_under_its_own(recorded: dict[str, dict[str, Any]]) -> None:
    expected = {"default": "ok", "exact": "ok", "coarse": "ok" if tf32_is_not_fp32() else "unsupported"}
    assert {name: one["status"] for name, one in recorded.items()} == expected
    in_force = {
        name: one["benchmark"]["precision_in_force"] for name, one in recorded.items() if one["benchmark"]
    }
    assert {name: set(places.values()) for name, places in in_force.items()} == {
        name: {"tf32" if name == "coarse" else "ieee"} for name, status in expected.items() if status == "ok"
    }


@pytest.mark.skipif(tf32_is_not_fp32(), reason="this processor has TF32")
def test_what_would_change_nothing_is_not_recorded_as_if_it_had(recorded: dict[str, dict[str, Any]]) -> None:
    coarse = recorded["coarse"]
    assert "TF32 changes nothing on this processor" in coarse["reason"]
    assert coarse["probes"] == {}


def test_list_says_it_too(folder: Path, recorded: dict[str, dict[str, Any]]) -> None:
    done = evaluator(folder, "list", "--no-packs", "--workloads", "told.py", "--json")
    (workload,) = json.loads(done.stdout)["workloads"]
    unsupported = {one["name"]: one["unsupported"] for one in workload["variants"]}
    assert unsupported["exact"] is None
    assert unsupported["coarse"] == recorded["coarse"]["reason"]


def test_a_script_builds_under_the_variant_s(folder: Path, recorded: dict[str, dict[str, Any]]) -> None:
    # The workload itself asks for nothing else than `exact` does; `coarse` has to win over it.
    for name, shown in (("exact", "ieee"), ("coarse", "tf32")):
        one = recorded[name]
        if one["status"] == "unsupported":
            continue
        made = evaluator(folder, "repro", str(one["id"]), "--output", f"{name}.py")
        assert made.returncode == 0, made.stderr
        command = [sys.executable, f"{name}.py"]
        told = subprocess.run(
            command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
        )
        assert f"float32 precision {shown}" in told.stdout.splitlines(), told.stdout + told.stderr
        assert told.stdout.splitlines()[-1] == "as recorded"
