"""Ten stages on a GPU, each bounded in time and written out as it ends: see README.md.

python -m tests.gpu [--out FILE] [--only NUMBER ...] [--seconds SECONDS] [--list]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluator.worker import processes
from tests.gpu.harness import REPOSITORY, Stage, told_in
from tests.gpu.stages import STAGES

# Less than ten minutes: what calls this may end it then, and nothing of the last stage would be told.
WHOLE_S = 585.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument(
        "--out", type=Path, help="file that each stage's line is added to, besides being printed"
    )
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these stages alone")
    parser.add_argument(
        "--seconds", type=float, help="for all of them together, which they share; else as --list says"
    )
    parser.add_argument("--list", action="store_true", help="name the stages and end")
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        code = run_one(arguments.run)
        sys.stderr.flush()
        # What a device error or a pool of compilers does to an interpreter that ends is no part of the stage.
        os._exit(code)
    wanted = arguments.only or list(STAGES)
    if arguments.list:
        for number in STAGES:
            name, limit_s, _ = STAGES[number]
            print(f"{number:2} {name} ({limit_s:.0f} s, and its part of what those before it left)")
        return 0
    unknown = [number for number in wanted if number not in STAGES]
    if unknown:
        parser.error(f"there is no stage {unknown[0]}: they are 1 to {max(STAGES)}")
    if arguments.out:
        try:
            arguments.out.open("a").close()
        except OSError as error:
            parser.error(f"{arguments.out} can't be written: {error.strerror}")
    keep_awake()
    # What a stage that ran out of time leaves running is ended before the next one begins.
    processes.become_subreaper()
    ends = time.monotonic() + (arguments.seconds or min(WHOLE_S, sum(STAGES[one][1] for one in wanted)))
    about = what_is_here()
    bad = 0
    for place, number in enumerate(wanted):
        line = json.dumps(one_stage(number, part(wanted[place:], ends - time.monotonic()), about))
        processes.kill_all_below(os.getpid())
        print(line, flush=True)
        if arguments.out:
            with arguments.out.open("a") as out:
                out.write(line + "\n")
        bad += json.loads(line)["status"] not in ("ok", "unsupported")
    return 1 if bad else 0


def keep_awake() -> None:
    """Keep the GPUs' files open until this process ends, as the driver's persistence does: else it may shut a card down
    each time that nobody uses it, and take seconds to have it ready for each process. No context is made."""
    for file in Path("/dev").glob("nvidia[0-9]*"):
        try:
            os.open(file, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # another one's card, or none that may be opened


def part(stages: Sequence[int], left_s: float) -> float:
    """Seconds of ``left_s`` for the first of these stages: they share as their limits are to each other."""
    limits = [STAGES[number][1] for number in stages]
    return left_s * limits[0] / sum(limits)


def one_stage(number: int, limit_s: float, about: dict[str, Any]) -> dict[str, Any]:
    """A stage in a process of its own: what it told, however it ended. ``about``: torch and the GPU."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    said: dict[str, Any] = {"stage": number, "name": STAGES[number][0], "date": now, **about}
    nothing: dict[str, Any] = {"checks": [], "numbers": {}}
    if about["device"] is None:
        return {**said, "status": "unsupported", "reason": "torch sees no GPU here", **nothing}
    if limit_s <= 0:
        return {**said, "status": "timeout", "reason": "the seconds of all stages are over", **nothing}
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-stage-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        command = [sys.executable, "-m", "tests.gpu", "--run", str(number)]
        environment = {**os.environ, "GPU_STAGE_FOLDER": name, "GPU_STAGE_S": str(limit_s)}
        # Into a file: a pipe ends only once all have closed it that the stage started, the compilers' pool among them.
        errors = folder / "errors.txt"
        with errors.open("w") as written:
            # The time is over for all that the stage started, so it has a group of its own.
            process = subprocess.Popen(
                command, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL, stderr=written, start_new_session=True
            )  # fmt: skip
        try:
            status = {0: "ok", 1: "failed"}.get(process.wait(timeout=limit_s), "error")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            status = "timeout"
        told = told_in(folder / "told.jsonl")
        if status in ("error", "timeout"):
            words = errors.read_text(errors="replace").strip()[-2000:]
            said["reason"] = words or (
                f"no end within {limit_s:.0f} s" if status == "timeout" else f"exit code {process.returncode}"
            )
    return {
        **said,
        "status": status,
        "seconds": round(time.monotonic() - begun, 1),
        "checks": [one for one in told if "check" in one],
        "numbers": {one["number"]: one["value"] for one in told if "number" in one},
    }


def run_one(number: int) -> int:
    """The stage itself: 0 all holds, 1 something does not, 2 it broke."""
    folder = Path(os.environ["GPU_STAGE_FOLDER"])

    def tell(record: dict[str, Any]) -> None:
        with (folder / "told.jsonl").open("a") as out:
            out.write(json.dumps(record, default=str) + "\n")

    stage = Stage(folder, tell, time.monotonic() + float(os.environ["GPU_STAGE_S"]))
    try:
        STAGES[number][2](stage)
    except Exception:  # noqa: BLE001 - a stage that breaks is told, and the next one runs
        traceback.print_exc()
        return 2
    return 0 if stage.checks and all(one.good for one in stage.checks) else 1


def what_is_here() -> dict[str, Any]:
    """torch and the GPU, asked by an interpreter of its own: a stage may fork what uses CUDA."""
    program = (
        "import json, torch; there = torch.cuda.is_available(); p = torch.cuda.get_device_properties(0) if there else None; "
        "print(json.dumps({'torch': torch.__version__, 'device': p.name if there else None, "
        "'capability': f'{p.major}.{p.minor}' if there else None}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    about: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return about


if __name__ == "__main__":
    sys.exit(main())
