"""Ten stages on a GPU, each bounded in time and written out as it ends: see README.md.

python -m tests.gpu [--out FILE] [--only NUMBER ...] [--list]
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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.gpu.harness import REPOSITORY, Stage
from tests.gpu.stages import STAGES

# Less than ten minutes: what calls this may end it then, and nothing of the last stage would be told.
WHOLE_S = 585.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument(
        "--out", type=Path, help="file that each stage's line is added to, besides being printed"
    )
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these stages alone")
    parser.add_argument("--list", action="store_true", help="name the stages and end")
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        return run_one(arguments.run)
    wanted = arguments.only or list(STAGES)
    if arguments.list:
        for number in STAGES:
            name, limit_s, _ = STAGES[number]
            print(f"{number:2} {name} (at most {limit_s:.0f} s)")
        return 0
    unknown = [number for number in wanted if number not in STAGES]
    if unknown:
        parser.error(f"there is no stage {unknown[0]}: they are 1 to {max(STAGES)}")
    if arguments.out:
        try:
            arguments.out.open("a").close()
        except OSError as error:
            parser.error(f"{arguments.out} can't be written: {error.strerror}")
    ends = time.monotonic() + WHOLE_S
    about = what_is_here()
    bad = 0
    for number in wanted:
        line = json.dumps(one_stage(number, ends - time.monotonic(), about))
        print(line, flush=True)
        if arguments.out:
            with arguments.out.open("a") as out:
                out.write(line + "\n")
        bad += json.loads(line)["status"] not in ("ok", "unsupported")
    return 1 if bad else 0


def one_stage(number: int, left_s: float, about: dict[str, Any]) -> dict[str, Any]:
    """A stage in a process of its own: what it told, however it ended. ``about``: torch and the GPU."""
    name, limit_s, _ = STAGES[number]
    limit_s = min(limit_s, left_s)
    told: list[dict[str, Any]] = []
    now = datetime.now(UTC).isoformat(timespec="seconds")
    said: dict[str, Any] = {"stage": number, "name": name, "date": now, **about}
    if about["device"] is None:
        return {
            **said,
            "status": "unsupported",
            "reason": "torch sees no GPU here",
            "checks": [],
            "numbers": {},
        }
    if limit_s <= 0:
        return {
            **said,
            "status": "timeout",
            "checks": [],
            "numbers": {},
            "reason": f"the {WHOLE_S:.0f} s of all stages are over",
        }
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-stage-") as folder:
        path = Path(folder) / "told.jsonl"
        command = [sys.executable, "-m", "tests.gpu", "--run", str(number)]
        environment = {**os.environ, "GPU_STAGE_FOLDER": folder, "GPU_STAGE_S": str(limit_s)}
        # The time is over for all that the stage started, so it has a group of its own.
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            _, errors = process.communicate(timeout=limit_s)
            status = {0: "ok", 1: "failed"}.get(process.returncode, "error")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            _, errors = process.communicate()
            status = "timeout"
        if path.exists():
            told = [json.loads(line) for line in path.read_text().splitlines()]
    if status in ("error", "timeout"):
        said["reason"] = (errors or "").strip()[-2000:] or f"no end within {limit_s:.0f} s"
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
