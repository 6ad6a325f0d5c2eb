"""What NVML tells of a card: the real pynvml against a library that stands in the driver's place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.worker.targets.cuda import nvml
from tests.evaluator.worker.cuda import fake_driver

pynvml = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
REPOSITORY = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_driver.build(tmp_path_factory.mktemp("driver"))


def run(program: str, driver: Path | None, **variables: str) -> Any:
    """What a program prints as JSON, in a process of its own that loads this library as the driver's."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **variables}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    environment.update({"LD_LIBRARY_PATH": str(driver) if driver else "", **variables})
    program = f"import json, os, sys\nPATH = {pynvml.__file__!r}\n{program}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SNAPSHOT = """
from evaluator.worker.targets.cuda import nvml
reader = nvml.NvmlReader(nvml.load(PATH), {uuid!r})
print(json.dumps([reader.name(), reader.capability(), reader.driver(), reader.snapshot(context={context})]))
"""


def snapshot(driver: Path, uuid: str = fake_driver.FIRST, context: bool = True, **variables: str) -> Any:
    return run(SNAPSHOT.format(uuid=uuid, context=context), driver, **variables)


def test_a_card_is_read_in_the_units_that_are_said(driver: Path) -> None:
    name, capability, version, read = snapshot(driver, FAKE_PIDS="", FAKE_THERMAL="42")
    assert (name, capability, version) == ("Fake A", "9.0", "580.65.06")
    assert read == {
        "uuid": fake_driver.FIRST,
        "sm_clock_mhz": 1755,
        "memory_clock_mhz": 2619,
        "clock_reasons": ["gpu_idle"],
        "power_w": 312.5,
        "temperature_c": 54,
        "memory_used_mb": 2500.0,
        "power_violation": 0,
        "thermal_violation": 42,
        # This driver has no such counters, which is not zero.
        "board_limit_violation": None,
        "reliability_violation": None,
        # Our own process should be listed and is not: hidden, so nothing is known of others.
        "other_processes": None,
        "other_pids": None,
    }


def test_an_instance_is_asked_for_its_memory_and_its_board_for_the_clocks(driver: Path) -> None:
    name, capability, _, read = snapshot(driver, fake_driver.INSTANCES[1])
    assert (name, capability) == ("Fake A MIG 1g.10gb", "9.0")
    assert (read["sm_clock_mhz"], read["power_w"], read["memory_used_mb"]) == (1755, 312.5, 2500.0)


def test_reasons_have_the_names_of_the_header_by_either_function(driver: Path, tmp_path: Path) -> None:
    bits = pynvml.nvmlClocksEventReasonSwPowerCap | pynvml.nvmlClocksEventReasonHwThermalSlowdown | 1 << 20
    expected = ["sw_power_cap", "hw_thermal_slowdown", "unknown_0x100000"]
    assert snapshot(driver, FAKE_REASONS=str(bits))[3]["clock_reasons"] == expected
    old = fake_driver.build(tmp_path, "-DOLD")
    assert snapshot(old, FAKE_REASONS=str(bits))[3]["clock_reasons"] == expected


def test_every_reason_of_the_module_has_its_name() -> None:
    spelled = {
        getattr(pynvml, name): name.removeprefix("nvmlClocksThrottleReason")
        for name in dir(pynvml)
        if name.startswith("nvmlClocksThrottleReason")
        and name.removeprefix("nvmlClocksThrottleReason") not in ("All", "None", "UserDefinedClocks")
    }
    assert {bit: name.replace("_", "") for bit, name in nvml.REASONS.items()} == {
        bit: name.lower() for bit, name in spelled.items()
    }


def test_an_unknown_device_and_a_missing_or_broken_driver_are_sentences(driver: Path, tmp_path: Path) -> None:
    program = """
from evaluator.worker.targets.cuda import nvml
try:
    nvml.NvmlReader(nvml.load({path}), "GPU-none")
    print(json.dumps("nothing was raised"))
except nvml.NoNvml as error:
    print(json.dumps(str(error)))
"""
    said = program.format(path="PATH")
    assert run(said, driver).startswith("the driver does not know GPU-none: ")
    assert run(said, driver, FAKE_NOT_LOADED="1") == "the NVIDIA driver does not answer: Driver Not Loaded"
    assert run(said, tmp_path) == "no NVIDIA driver is there (libnvidia-ml.so.1 is not found)"
    assert "install nvidia-ml-py" in run(program.format(path=None), driver)
    assert "/nowhere/pynvml.py is not there" in run(program.format(path="'/nowhere/pynvml.py'"), driver)


def test_what_others_started_in_nvml_is_closed_too(driver: Path) -> None:
    program = """
import ctypes
from evaluator.worker.targets.cuda import nvml
nvml.release()
library = ctypes.CDLL("libnvidia-ml.so.1")
counts = []
for _ in range(3):
    library.nvmlInit_v2()
nvml.load(PATH)
counts.append(library.fake_users())
nvml.release()
counts.append(library.fake_users())
print(json.dumps(counts))
"""
    assert run(program, driver) == [4, 0]


@pytest.mark.parametrize(
    ("root", "others"), [("os.getpid()", [os.getpid()]), (str(os.getpid()), [])], ids=["another", "ours"]
)
def test_other_processes_are_those_outside_a_tree(driver: Path, root: str, others: list[int]) -> None:
    # The program that reads is a child of this test, which is the other process on the card.
    program = f"""
from evaluator.worker.targets.cuda import nvml
reader = nvml.NvmlReader(nvml.load(PATH), "{fake_driver.FIRST}")
os.environ["FAKE_PIDS"] = f"{{os.getpid()}} {os.getpid()}"
read = reader.snapshot({root})
print(json.dumps([read["other_processes"], read["other_pids"]]))
"""
    assert run(program, driver) == [len(others), others]


@pytest.mark.parametrize(
    ("listed", "context", "expected"),
    [
        ([], True, (None, None)),  # ours must be there: the driver hides processes
        ([], False, (0, [])),
        ([4_000_000_001], True, (0, None)),  # the one there is ours, under another number
        ([4_000_000_001, 4_000_000_002], True, (1, None)),
        ([4_000_000_001], False, (1, [4_000_000_001])),
        (None, True, (None, None)),
    ],
)
def test_a_container_that_hides_or_renumbers_processes(
    listed: list[int] | None, context: bool, expected: tuple[int | None, list[int] | None]
) -> None:
    found = nvml.others(listed, os.getpid(), context=context)
    assert (found["other_processes"], found["other_pids"]) == expected


CALM = {"clock_reasons": ["gpu_idle"], "power_violation": 7, "other_processes": 0}


@pytest.mark.parametrize(
    ("before", "after", "flags"),
    [
        ({}, {}, []),
        ({}, {"clock_reasons": ["gpu_idle", "applications_clocks_setting", "sync_boost"]}, []),
        ({}, {"clock_reasons": ["sw_power_cap"]}, ["throttled"]),
        ({"clock_reasons": ["hw_slowdown"]}, {}, ["throttled"]),
        ({}, {"clock_reasons": ["sw_thermal_slowdown"], "other_processes": 1}, ["throttled", "shared_gpu"]),
        ({}, {"power_violation": 8}, ["throttled"]),
        # A counter that one reading lacks has not moved.
        ({"power_violation": None}, {"power_violation": 8}, []),
        ({"other_processes": 2}, {}, ["shared_gpu"]),
        ({"other_processes": None}, {"other_processes": None}, []),
    ],
)
def test_what_qualifies_a_round(before: dict[str, Any], after: dict[str, Any], flags: list[str]) -> None:
    assert nvml.judged({**CALM, **before}, {**CALM, **after}) == flags


def test_nothing_known_is_no_word() -> None:
    assert nvml.judged({}, {}) == []
