"""The plain form: each of its options, and what is said when a part is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workloads import catalog
from workloads.registry import VARIANTS, Target, Variant, Workload

CPU = Target("cpu", "cpu")
BASE = '''"""A sine.

More about it.
"""
import torch
def build():
    return torch.sin
BUCKETS = [{"n": 5}, {"n": 2}]
def inputs(bucket):
    return (torch.full((bucket["n"],), 0.5),), {}
'''


def load(folder: Path, text: str, name: str = "case") -> catalog.Catalog:
    file = folder / f"{name}.py"
    file.write_text(text)
    return catalog.load([str(file)], packs=False)


def made(folder: Path, text: str, name: str = "case") -> Workload:
    loaded = load(folder, text, name)
    assert loaded.problems == []
    return loaded.workloads[name]


def test_defaults(tmp_path: Path) -> None:
    workload = made(tmp_path, BASE)
    assert workload.stands_for == "A sine."
    assert [bucket.name for bucket in workload.buckets] == ["n=5", "n=2"]
    assert workload.variants == VARIANTS
    assert (workload.training, workload.grad, workload.calls, workload.requires) == (False, False, 2, None)
    args, kwargs = workload.inputs({"n": 2}, CPU)
    assert workload.build(CPU)(*args, **kwargs).tolist() == pytest.approx([0.479425538604203] * 2)


def test_name_is_the_file_s_whatever_it_is(tmp_path: Path) -> None:
    assert made(tmp_path, BASE, "my case (2)").name == "my case (2)"


def test_compile_arguments_are_the_one_variant(tmp_path: Path) -> None:
    workload = made(tmp_path, BASE + "COMPILE = {'dynamic': False, 'fullgraph': True}")
    assert workload.variants == (Variant("default", {"dynamic": False, "fullgraph": True}),)


def test_empty_compile_arguments_are_still_the_one_variant(tmp_path: Path) -> None:
    assert made(tmp_path, BASE + "COMPILE = {}").variants == (Variant("default", {}),)


def test_flags(tmp_path: Path) -> None:
    workload = made(tmp_path, BASE + "TRAINING = True\nGRAD = True\nCALLS = 5\nREQUIRES = 'cuda'\n")
    assert (workload.training, workload.grad, workload.calls, workload.requires) == (True, True, 5, "cuda")


def test_build_and_inputs_may_ask_for_the_target(tmp_path: Path) -> None:
    text = BASE.replace("def build():\n", "def build(target):\n    assert target.name == 'cpu'\n")
    text = text.replace("inputs(bucket):", "inputs(bucket, target):\n    assert target.device == 'cpu'")
    workload = made(tmp_path, text)
    assert callable(workload.build(CPU))
    assert workload.inputs({"n": 1}, CPU)[1] == {}


def test_a_default_of_their_own_is_left_alone(tmp_path: Path) -> None:
    text = BASE.replace("def build():", "def build(layers=3):\n    assert layers == 3")
    assert callable(made(tmp_path, text).build(CPU))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "def build():",
            "def construct():",
            "there is no build: the plain form has build(), inputs(bucket) and BUCKETS",
        ),
        ("def inputs(", "def arguments(", "there is no inputs"),
        ("BUCKETS =", "SHAPES =", "there is no BUCKETS"),
        ("def build():\n    return torch.sin", "build = 3", "build must be a function, not int"),
        ('[{"n": 5}, {"n": 2}]', "[]", "there are no buckets"),
        ('[{"n": 5}, {"n": 2}]', "[5, 2]", "a bucket must be a dict of parameters, not int (5)"),
        ('[{"n": 5}, {"n": 2}]', "5", "the buckets must be a list of dicts, not int"),
        (
            "BUCKETS",
            "COMPILE = 'max-autotune'\nBUCKETS",
            "COMPILE must be a dict of torch.compile's arguments, not str",
        ),
        ("BUCKETS", "CALLS = 0\nBUCKETS", "calls must be a whole number of at least 1, not 0"),
        ("BUCKETS", "REQUIRES = 'tpu'\nBUCKETS", "requires must be 'gpu', 'cuda' or absent"),
    ],
)
def test_what_is_missing_or_wrong_is_said(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    loaded = load(tmp_path, BASE.replace(old, new))
    assert loaded.workloads == {}
    (problem,) = loaded.problems
    assert problem.name == "case"
    assert f": {sentence}" in problem.message


def test_definition_is_the_whole_file(tmp_path: Path) -> None:
    def definition(text: str) -> str:
        (described,) = catalog.describe(load(tmp_path, text))
        assert described["source"] == text
        return described["definition_hash"]

    assert definition(BASE) == definition(BASE)
    assert len({definition(BASE), definition(BASE + "# a comment\n"), definition(BASE + "CALLS = 3\n")}) == 3


def test_real_world_files_load() -> None:
    folder = os.environ.get("COMPILEWATCH_TEST_CASES")
    if not folder:
        pytest.skip("set COMPILEWATCH_TEST_CASES to a folder of plain workload files")
    loaded = catalog.load([folder], packs=False)
    assert loaded.problems == []
    assert len(loaded.workloads) == len(list(Path(folder).glob("*.py")))
    for workload in loaded.workloads.values():
        if workload.requires is None:
            assert callable(workload.build(CPU))
