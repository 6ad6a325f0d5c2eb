"""Where the host is made to wait: torch's warnings gathered with their stacks, and the line that somebody wrote."""

from __future__ import annotations

import contextlib
import os
import subprocess
import warnings
from pathlib import Path

import pytest
import torch

from evaluator.worker import waits
from evaluator.worker.waits import Frame, SyncPoint, noted, sync_points

ROOT = Path(__file__).parents[3]
TORCH = Path(torch.__file__).parent
# As torch's warning reaches Python where it says where inside itself it arose.
WHOLE = (
    "called a synchronizing CUDA operation (Triggered internally at /pytorch/c10/cuda/CUDAFunctions.cpp:173.)"
)
# What torch warns with in C++, each time, on any machine: the gradient of a tensor that is no leaf.
NO_LEAF = "The .grad attribute of a Tensor that is not a leaf"


def item_like() -> None:
    warnings.warn(WHOLE, UserWarning, stacklevel=1)


def test_each_time_is_noted_though_python_would_say_it_once() -> None:
    with noted() as found:
        for _ in range(3):
            item_like()
    (point,) = sync_points(found)
    assert (point.file, point.function, point.times, point.through) == (
        "tests/evaluator/worker/test_waits.py",
        "item_like",
        3,
        None,
    )
    assert "warnings.warn(WHOLE" in (ROOT / point.file).read_text().splitlines()[point.line - 1]


def test_a_warning_of_torchs_own_is_noted_at_the_line_that_caused_it() -> None:
    tensor = torch.ones(2, requires_grad=True) * 2
    with noted(NO_LEAF) as found:
        _ = tensor.grad
        _ = tensor.grad
    lines = (ROOT / "tests/evaluator/worker/test_waits.py").read_text().splitlines()
    points = sync_points(found)
    assert [lines[one.line - 1].strip() for one in points] == ["_ = tensor.grad"] * 2
    assert {one.function for one in points} == {
        "test_a_warning_of_torchs_own_is_noted_at_the_line_that_caused_it"
    }


def test_other_warnings_go_where_they_went_and_the_filters_come_back() -> None:
    before = list(warnings.filters)
    with pytest.warns(UserWarning, match="something else"), noted() as found:
        warnings.warn("something else", stacklevel=1)
    assert found == []
    assert warnings.filters == before
    with pytest.warns(UserWarning, match="synchronizing"):
        item_like()


def test_nothing_is_noted_after_an_error_either() -> None:
    shown = warnings.showwarning
    with contextlib.suppress(ZeroDivisionError), noted():
        raise ZeroDivisionError
    assert warnings.showwarning is shown


def test_the_line_is_the_innermost_that_somebody_wrote_for_the_workload() -> None:
    stack = [
        Frame(str(TORCH / "_tensor.py"), 1100, "__contains__"),
        Frame("/home/somebody/secret/loop.py", 12, "forward"),
        Frame(str(TORCH / "nn" / "modules" / "module.py"), 1779, "_call_impl"),
        Frame(str(ROOT / "evaluator" / "worker" / "probes" / "profile.py"), 70, "batch"),
    ]
    assert sync_points([stack, stack]) == [
        SyncPoint("loop.py", 12, "forward", 2, "torch/_tensor.py:1100 in __contains__")
    ]


def test_a_pack_and_a_library_are_named_by_their_place_below_their_root() -> None:
    pack = Frame(str(ROOT / "workloads" / "packs" / "models.py"), 3, "build")
    library = Frame(str(TORCH.parent / "transformers" / "masking_utils.py"), 40, "skip")
    assert [one.file for one in sync_points([[pack], [library]])] == [
        "workloads/packs/models.py",
        "transformers/masking_utils.py",
    ]


def test_packages_in_an_environment_inside_the_repository_are_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch_there = ROOT / ".venv" / "lib" / "python3.11" / "site-packages" / "torch"
    monkeypatch.setattr(waits, "_TORCH", torch_there)
    stack = [
        Frame(str(torch_there / "_tensor.py"), 7, "item"),
        Frame(str(ROOT / "workloads" / "w.py"), 3, "f"),
    ]
    assert sync_points([stack]) == [SyncPoint("workloads/w.py", 3, "f", 1, "torch/_tensor.py:7 in item")]


def test_generated_code_has_no_file_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/var/scratch/run-1")
    generated = Frame("/var/scratch/run-1/ab/cab.py", 90, "call")
    mine = Frame("/w/loop.py", 5, "step")
    assert sync_points([[generated, mine]]) == [
        SyncPoint("loop.py", 5, "step", 1, "generated code:90 in call")
    ]
    # Where nobody's line is in the stack, it is said where it was.
    assert sync_points([[generated]]) == [SyncPoint("generated code", 90, "call", 1, None)]
    assert sync_points([[]]) == []


def test_places_are_told_apart_and_most_often_comes_first() -> None:
    one, other = Frame("/w/a.py", 1, "f"), Frame("/w/a.py", 2, "f")
    assert [(p.line, p.times) for p in sync_points([[one], [other], [other]])] == [(2, 2), (1, 1)]


def libraries() -> list[Path]:
    """The library that warns, of every torch with CUDA that the environment names."""
    pythons = [
        value for name, value in sorted(os.environ.items()) if name.startswith("COMPILEWATCH_TEST_TORCH_")
    ]
    told = [
        subprocess.run(
            [python, "-c", "import importlib.util as u; print(u.find_spec('torch').origin)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for python in pythons
    ]
    found = [Path(origin).parent / "lib" / "libc10_cuda.so" for origin in told]
    return [path for path in [TORCH / "lib" / "libc10_cuda.so", *found] if path.exists()]


def test_torch_warns_with_these_words() -> None:
    found = libraries()
    if not found:
        pytest.skip("no torch with CUDA: name interpreters in COMPILEWATCH_TEST_TORCH_2_12 and so on")
    for path in found:
        assert waits.MESSAGE.encode() + b"\0" in path.read_bytes(), path
