"""What is read off Inductor's launchers: from stand-ins with the attributes that torch's sources give them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from evaluator.worker.launchers import loaded, numbers


@dataclass
class Function:
    __name__: str


@dataclass
class Launcher:
    n_regs: Any = None
    n_spills: Any = None
    shared: Any = None


@dataclass
class Tuner:
    fn: Any
    launchers: Any = field(default_factory=list)


def test_the_numbers_of_a_launcher_by_its_functions_name() -> None:
    tuner = Tuner(Function("triton_poi_fused_add_0"), [Launcher(22, 0, 4096)])
    assert numbers([tuner]) == {"triton_poi_fused_add_0": {"registers": 22, "spills": 0, "shared": 4096}}


def test_what_differs_or_is_not_said_is_unknown() -> None:
    two = [Tuner(Function("k"), [Launcher(22, 0, 8)]), Tuner(Function("k"), [Launcher(22, 6, None)])]
    assert numbers(two) == {"k": {"registers": 22, "spills": None, "shared": None}}
    undecided = Tuner(Function("t"), [Launcher(40, 0, 8), Launcher(64, 0, 8)])
    assert numbers([undecided]) == {"t": {"registers": None, "spills": 0, "shared": 8}}
    # Triton's own placeholder before a binary is loaded is no number.
    assert numbers([Tuner(Function("n"), [Launcher("?", True, 1.5)])]) == {
        "n": {"registers": None, "spills": None, "shared": None}
    }


def test_what_has_no_launcher_is_not_there() -> None:
    assert numbers([Tuner(Function("k")), Tuner(Function("k"), None), Tuner(None, [Launcher(1, 0, 0)])]) == {}


def test_torch_has_such_launchers() -> None:
    found = importlib.util.find_spec("torch._inductor.runtime.triton_heuristics")
    assert found is not None and found.origin is not None
    source = Path(found.origin).read_text()
    for name in ("n_regs", "n_spills", "shared"):
        assert f"launcher.{name} = " in source, torch.__version__
    assert "self.launchers" in source


def test_without_a_device_none_is_loaded() -> None:
    assert loaded() == {}
