"""Which GPU is there, without CUDA: by a library in the driver's place, and by torch's own reading of the variables."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from evaluator.control.server_client import Server
from evaluator.worker.targets.cuda import presence
from evaluator.worker.targets.cuda.visible import Device, first
from tests.evaluator.worker.cuda import fake_driver

UUIDS = ["GPU-aa11", "GPU-aa22", "GPU-bb33"]
ALIKE = [Device(uuid, "A") for uuid in UUIDS]


@pytest.mark.parametrize(
    "given",
    [
        None, "", " ", "0", "1", "2,0", "3", "-1", "0,-1", "1gpu,2", "+1", "x", "x,0", " 2 ", "1,1", "0,1,0",
        "GPU-aa11", "GPU-bb", "GPU-aa", "GPU-zz", "GPU-bb33,GPU-aa11", "GPU-bb33,0", "GPU-bb,GPU-bb",
    ],
)  # fmt: skip
def test_the_first_device_is_the_one_that_torch_takes(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if given is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    # torch counts devices by NVML with these two.
    visible = torch.cuda._parse_visible_devices()
    if visible and isinstance(visible[0], str):
        visible = torch.cuda._transform_uuid_to_ordinals(visible, UUIDS)
    places = [place for place in visible if isinstance(place, int)]
    expected = UUIDS[places[0]] if places and places[0] < len(UUIDS) else None
    uuid, why = first(ALIKE, os.environ)
    assert uuid == expected
    assert (why is None) == (expected is not None)


def test_cards_that_differ_are_in_an_order_that_only_cuda_knows() -> None:
    devices = [Device("GPU-1", "A"), Device("GPU-2", "B")]
    for variables in ({}, {"CUDA_VISIBLE_DEVICES": "1"}, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}):
        uuid, why = first(devices, variables)
        assert uuid is None
        assert why is not None
        assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in why
    assert first(devices, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"}) == ("GPU-2", None)
    assert first(devices, {"CUDA_VISIBLE_DEVICES": "GPU-2"}) == ("GPU-2", None)


def test_a_divided_card_stands_for_its_first_instance() -> None:
    divided = Device("GPU-1", "A", ("MIG-x", "MIG-y"), mig=True)
    assert first([divided], {}) == ("MIG-x", None)
    assert first([divided], {"CUDA_VISIBLE_DEVICES": "MIG-y"}) == ("MIG-y", None)
    assert first([divided], {"CUDA_VISIBLE_DEVICES": "GPU-1"}) == ("MIG-x", None)
    uuid, why = first([Device("GPU-1", "A", (), mig=True)], {})
    assert (uuid, why) == (None, "the GPU is set to be divided (MIG), and has no instance")


def test_a_list_without_a_gpu() -> None:
    assert first([], {}) == (None, "the NVIDIA driver lists no GPU")


@pytest.fixture(scope="module")
def pynvml() -> str:
    spec = importlib.util.find_spec("pynvml")
    if spec is None or spec.origin is None:
        pytest.skip("nvidia-ml-py is not installed")
    return spec.origin


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fake_driver.build(tmp_path)))
    yield tmp_path


def test_looking_is_done_by_a_process_of_its_own(
    driver: Path, pynvml: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, snapshot = presence.look(pynvml)
    assert found == presence.Present("Fake A", "9.0", "580.65.06", fake_driver.FIRST)
    assert snapshot["sm_clock_mhz"] == 1755
    assert "libnvidia-ml" not in Path("/proc/self/maps").read_text()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", fake_driver.DIVIDED)
    assert presence.look(pynvml)[0].uuid == fake_driver.INSTANCES[0]
    monkeypatch.setenv("FAKE_OTHER", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert "CUDA_DEVICE_ORDER" in (presence.look(pynvml)[0].why or "")
    # One that was found before is asked for as it is, whatever the variables say now.
    assert presence.look(pynvml, uuid=fake_driver.SECOND)[0].uuid == fake_driver.SECOND


def test_processes_of_the_asking_tree_are_no_others(
    driver: Path, pynvml: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        monkeypatch.setenv("FAKE_PIDS", f"{child.pid} {os.getppid()}")
        assert presence.look(pynvml)[1]["other_pids"] == [os.getppid()]
        child.kill()


def test_without_a_driver_the_reason_is_said(tmp_path: Path, pynvml: str) -> None:
    found, snapshot = presence.look(pynvml)
    assert (found.gpu, found.uuid, snapshot) == (None, None, {})
    assert found.why == "no NVIDIA driver is there (libnvidia-ml.so.1 is not found)"


def test_without_pynvml_cuda_is_asked_by_an_interpreter_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as a machine without a card goes: what it says is CUDA's own reason, and this process never asked."""
    if torch.cuda.is_available():
        pytest.skip("there is a card here")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = presence.begin(None)
    assert found.gpu is None
    assert (found.why or "").startswith("no pynvml is there to ask the driver, and CUDA has no device: ")
    assert not torch.cuda.is_initialized()
    assert presence.conditions() == {}


@pytest.mark.slow
def test_a_server_says_which_gpu_it_has_or_why_none(tmp_path: Path, driver: Path, pynvml: str) -> None:
    with Server(Path(sys.executable), tmp_path / "t", tmp_path / "log") as server:
        hello = server.hello
        described = server.describe([], False, "cuda")
        on_cpu = server.describe([], False, "cpu")
    assert on_cpu.environment["gpu"] is None
    if torch.version.cuda is None:
        assert hello.no_gpu == f"torch {torch.__version__} is built without CUDA"
        assert hello.environment["gpu"] is None
        assert "gpu_uuid" not in hello.conditions
        return
    assert hello.no_gpu is None
    for environment in (hello.environment, described.environment):
        assert [environment[name] for name in ("gpu", "capability", "driver")] == [
            "Fake A",
            "9.0",
            "580.65.06",
        ]
    assert hello.conditions["gpu_uuid"] == fake_driver.FIRST
    assert hello.conditions["gpu_clock_mhz"] == 1755
