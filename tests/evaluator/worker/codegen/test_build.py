"""A generated kernel built for a card: every number is read twice, from ptxas and from the binary."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import triton

from evaluator.cards import KNOWN
from evaluator.verdicts import words
from evaluator.worker.probes import build as probe
from evaluator.worker.processes import is_zombie
from evaluator.worker.protocol import NOT_BUILT
from evaluator.worker.targets.codegen.build import Refused, build, versions
from evaluator.worker.targets.codegen.card import Card
from evaluator.worker.targets.codegen.cubin import machine_code_hash, usage_from_ptxas
from tests.evaluator.worker.codegen.generating import generated, sources

TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"
H100 = Card(KNOWN["h100"])

# 8192 floats by one warp: 256 of them a thread, more than the 255 registers that it can have.
CROWDED = """
import triton
import triton.language as tl
from torch._inductor.runtime import triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties

@triton_heuristics.template(
    num_stages=1,
    num_warps=WARPS,
    inductor_meta={'kernel_name': 'crowded', 'grid_type': 'FixedGrid', 'fixed_grid': ['1', '1', '1'], 'extra_launcher_args': []},
    triton_meta={
        'signature': {'source': '*fp32', 'goal': '*fp32', 'COUNT': 'constexpr'},
        'device': DeviceProperties(
            type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536,
            max_threads_per_multi_processor=2048, warp_size=32,
        ),
        'constants': {'COUNT': 8192},
        'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}],
    },
    filename=__file__,
)
@triton.jit
def crowded(source, goal, COUNT: tl.constexpr):
    place = tl.arange(0, COUNT)
    value = tl.load(source + place)
    total = tl.sum(value)
    tl.store(goal + place, value * total + tl.flip(value, 0))
"""


def crowded(warps: int) -> str:
    return CROWDED.replace("WARPS", str(warps))


@pytest.mark.slow
def test_a_kernel_that_needs_more_registers_than_there_are_spills(tmp_path: Path) -> None:
    tight = build("crowded", crowded(1), H100, tmp_path / "tight")
    assert tight["registers"] == 255
    assert tight["spill_stores"] > 0
    assert tight["spill_loads"] > 0
    # What is spilled lies in the stack frame.
    assert tight["stack"] >= 8
    roomy = build("crowded", crowded(32), H100, tmp_path / "roomy")
    assert (roomy["spill_stores"], roomy["spill_loads"]) == (0, 0)
    assert roomy["registers"] < 255
    # Sums of several warps meet in shared memory; a single warp needs none for them.
    assert roomy["shared"] > 0


@pytest.mark.slow
def test_ptxas_and_the_binary_agree_and_the_hash_is_of_the_machine_code(tmp_path: Path) -> None:
    def normalised(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(torch.nn.functional.gelu(x), (1024,))

    with sources() as found:
        names = generated(normalised, torch.ones(256, 1024, dtype=torch.bfloat16))
    assert names == ["triton_per_fused_gelu_native_layer_norm_0"]
    made = build(names[0], found[names[0]], H100, tmp_path)
    assert (made["spill_stores"], made["spill_loads"]) == (0, 0)
    assert "note" not in made
    cubin = tmp_path / "kernel.cubin"
    said = subprocess.run(
        [TOOLS / "cuobjdump", "--dump-resource-usage", cubin], capture_output=True, text=True, check=True
    ).stdout
    numbers = re.search(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)", said)
    assert numbers is not None
    # Cards of capability 9.0 keep 1024 bytes of each block's shared memory for themselves.
    assert (made["registers"], made["stack"], made["static_shared"] + 1024) == tuple(
        map(int, numbers.groups())
    )
    # ptxas on the PTX that Triton left in its cache, apart from Triton.
    (ptx,) = (tmp_path / "triton").rglob("*.ptx")
    again = subprocess.run(
        [TOOLS / "ptxas", "-v", f"--gpu-name={made['arch']}", ptx, "-o", tmp_path / "again.cubin"],
        capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    usage = usage_from_ptxas(again)
    assert usage is not None
    assert usage.registers == made["registers"]
    assert made["ptx_bytes"] == ptx.stat().st_size
    assert made["cubin_bytes"] == cubin.stat().st_size
    # The instructions as the disassembler prints them, 16 bytes each in two words, are the bytes that are hashed.
    text = subprocess.run(
        [TOOLS / "cuobjdump", "-sass", cubin], capture_output=True, text=True, check=True
    ).stdout
    words = re.findall(r"/\* 0x([0-9a-f]{16}) \*/", text)
    code = b"".join(int(word, 16).to_bytes(8, "little") for word in words)
    import hashlib

    assert made["sass_hash"] == hashlib.sha256(code).hexdigest()


@pytest.mark.parametrize(("card", "tool"), [("h100", "ptxas"), ("b200", "ptxas-blackwell")])
def test_the_version_is_of_the_ptxas_that_builds_for_the_card(card: str, tool: str) -> None:
    said = subprocess.run([TOOLS / tool, "--version"], capture_output=True, text=True, check=True).stdout
    (release,) = re.findall(r"release [\d.]+, V([\d.]+)", said)
    assert versions(Card(KNOWN[card])) == {"triton": triton.__version__, "ptxas": release}


@pytest.mark.slow
def test_a_ptxas_that_comes_with_torch_builds_as_inductor_has_it_on_the_card(tmp_path: Path) -> None:
    """In an interpreter of its own, where Inductor's file seems to lie beside such a one; Triton keeps what it found."""
    # Which folder above the file it is differs by version.
    beside = [tmp_path / folder / "bin" for folder in ("", "torch", "torch/_inductor")]
    for folder in beside:
        folder.mkdir(parents=True)
    for place, release in (*((folder, "99.1.23") for folder in beside), (tmp_path, "98.7.6")):
        (place / "ptxas").write_text(f"#!/bin/sh\necho Cuda compilation tools, release 13.9, V{release}\n")
        (place / "ptxas").chmod(0o755)
    program = f"""
import os, sys
from torch._inductor.runtime import compile_tasks
from evaluator.cards import KNOWN
from evaluator.worker.targets.codegen.build import versions
from evaluator.worker.targets.codegen.card import Card
compile_tasks.__file__ = {str(tmp_path / "torch/_inductor/runtime/compile_tasks.py")!r}
print(versions(Card(KNOWN["h100"]))["ptxas"])
"""

    def said(**variables: str) -> str:
        clean = {name: value for name, value in os.environ.items() if name != "TRITON_PTXAS_PATH"}
        command, environment = [sys.executable, "-c", program], {**clean, **variables}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert said() == "99.1.23"
    # What a user set is taken, as by Inductor.
    assert said(TRITON_PTXAS_PATH=str(tmp_path / "ptxas")) == "98.7.6"


def test_what_is_no_binary_has_no_hash() -> None:
    assert machine_code_hash(b"") is None
    assert machine_code_hash(b"\x7fELF\x02") is None
    assert machine_code_hash(b"not a binary at all" * 10) is None


def test_a_log_that_does_not_tell_gives_no_number() -> None:
    assert usage_from_ptxas("ptxas info    : 0 bytes gmem") is None
    told = usage_from_ptxas(
        "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
        "    528 bytes stack frame, 524 bytes spill stores, 516 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 528 bytes cumulative stack size, 96 bytes smem\n"
    )
    assert told is not None
    assert (told.registers, told.stack, told.spill_stores, told.spill_loads, told.static_shared) == (
        255, 528, 524, 516, 96,
    )  # fmt: skip


@pytest.mark.slow
def test_what_triton_refuses_is_said(tmp_path: Path) -> None:
    wrong = crowded(1).replace("tl.flip(value, 0)", "tl.flip(value, 5)")
    with pytest.raises(Refused, match=r"flip|dim"):
        build("crowded", wrong, H100, tmp_path)


class Written:
    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def write(self, record: dict[str, Any]) -> None:
        self.records.append(record)

    def builds(self) -> dict[str, list[dict[str, Any]]]:
        return {one["bucket"]: one["builds"] for one in self.records if one["kind"] == "result"}


@pytest.mark.slow
def test_kernels_are_built_side_by_side_once_and_one_that_fails_harms_no_other(tmp_path: Path) -> None:
    texts = {
        "good": crowded(32),
        "refused": crowded(32).replace("tl.sum(value)", "value.no_such_thing"),
        "crashes": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
        "exits": "import os\nos._exit(3)\n",
    }
    kernels = {}
    for key, text in texts.items():
        (tmp_path / f"{key}.py").write_text(text)
        kernels[key] = {"name": "crowded", "file": str(tmp_path / f"{key}.py")}
    manifest = tmp_path / "manifest.json"
    buckets = {"n=1": list(texts), "n=2": ["good"], "n=3": []}
    manifest.write_text(json.dumps({"kernels": kernels, "buckets": buckets}))
    request = {
        "manifest": str(manifest), "card": KNOWN["h100"], "builds_dir": str(tmp_path / "kept"), "buckets": list(buckets),
    }  # fmt: skip
    first, second = Written(), Written()
    probe.run(request, first)  # type: ignore[arg-type]
    probe.run(request, second)  # type: ignore[arg-type]
    builds = first.builds()
    assert list(builds) == ["n=1", "n=2", "n=3"]
    assert builds["n=3"] == []
    good, refused, crashes, exits = builds["n=1"]
    assert builds["n=2"] == [good]
    assert good["registers"] > 0
    assert "no_such_thing" in refused["error"]
    assert "registers" not in refused
    # Whoever judged the kernel is not who crashed.
    assert not refused["error"].startswith(NOT_BUILT)
    assert crashes["error"] == "not built: the compiler crashed (signal 11)"
    assert exits["error"] == "not built: the compiler ended with 3"
    # What the card and Triton decide is kept; how a process of its own happened to end is not.
    again = second.builds()["n=1"]
    assert [one["cached"] for one in again] == [True, True, False, False]
    assert {**again[0], "cached": False} == good


# Says what the real one says of itself, and otherwise does what a broken one might.
STUB = """#!/bin/sh
if [ "$1" = --version ]; then exec {real} --version; fi
{otherwise}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("otherwise", "error", "kept"),
    [
        ("echo $$ > {pid}; exec sleep 3600", r"not built: no end within 15 s", False),
        ("kill -SEGV $$", r"not built: ptxas crashed \(signal 11\)", False),
        # What a shell says of a program that a signal ended.
        ("exit 137", r"not built: ptxas crashed \(signal 9\)", False),
        ("echo 'error: too much shared data' >&2; exit 1", r"PTXASError: .*too much shared data", True),
        ("exit 255", r"PTXASError: ", True),
        # Triton adds how to run it again, with paths of this machine.
        ("echo 'error: odd' >&2; exit 1", r"(?!.*(Repro command|/ptxas)).*error: odd", True),
    ],
)
def test_a_compiler_that_has_an_accident_refuses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, otherwise: str, error: str, kept: bool
) -> None:
    pid = tmp_path / "pid"
    stub = tmp_path / "ptxas"
    stub.write_text(STUB.format(real=TOOLS / "ptxas", otherwise=otherwise.format(pid=pid)))
    stub.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(stub))
    if "sleep" in otherwise:
        monkeypatch.setattr(probe, "KERNEL_LIMIT_S", 15.0)
    (tmp_path / "crowded.py").write_text(crowded(32))
    kernels = {"key": {"name": "crowded", "file": str(tmp_path / "crowded.py")}}
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"kernels": kernels, "buckets": {"n=1": ["key"]}}))
    request = {
        "manifest": str(manifest), "card": KNOWN["h100"], "builds_dir": str(tmp_path / "kept"), "buckets": ["n=1"],
    }  # fmt: skip
    written = Written()
    probe.run(request, written)  # type: ignore[arg-type]
    ((made,),) = written.builds().values()
    assert re.match(error, made["error"], re.DOTALL), made["error"]
    assert "registers" not in made
    assert words.is_refusal(made["error"]) is kept
    assert len(list((tmp_path / "kept").iterdir())) == kept
    # What it had started is not left running.
    if pid.exists():
        deadline = time.monotonic() + 60
        while not is_zombie(int(pid.read_text())) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert is_zombie(int(pid.read_text()))


def test_both_sides_of_the_pipe_say_it_in_the_same_words() -> None:
    assert words.NOT_BUILT == NOT_BUILT
