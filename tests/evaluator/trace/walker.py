"""Walks programs as an evaluation does, with torch's structured trace on, each in a forked child with its own log.

    python -m tests.evaluator.trace.walker FOLDER [PROGRAM ...]

writes FOLDER/PROGRAM/*.log and FOLDER/PROGRAM/walk.json: the byte offset of the log before each call, and errors.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
import torch._inductor.compile_fx

from tests.evaluator.trace.programs import PROGRAMS, Program

WALKS = 2


def walk(program: Program, folder: Path) -> dict[str, Any]:
    """Every bucket in order, each called ``calls`` times with fresh inputs of the same seed, twice over."""
    segments: list[dict[str, Any]] = []
    errors: dict[str, str] = {}
    torch.manual_seed(0)
    compiled = torch.compile(program.build(), **program.compile)
    for number in range(1, WALKS + 1):
        for bucket in program.buckets:
            for call in range(program.calls):
                size = sum(path.stat().st_size for path in folder.glob("*.log"))
                segments.append({"bucket": str(bucket), "walk": number, "call": call, "start": size})
                torch.set_grad_enabled(program.training)
                torch.manual_seed(0)
                arguments = program.inputs(bucket)
                try:
                    outputs = compiled(*arguments)
                    if program.training:
                        outputs.sum().backward()
                except Exception as error:  # noqa: BLE001 - whatever a compile raises is what is recorded
                    errors[str(bucket)] = f"{type(error).__name__}: {error}"
                    break
    return {"segments": segments, "errors": errors}


def walk_in_child(name: str, folder: Path) -> None:
    """Fork, so that the imports are paid once and yet no program sees another's compiles."""
    folder.mkdir(parents=True)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit(f"walking {name} ended with status {status}")
        return
    os.environ["TORCH_TRACE"] = str(folder)
    program = PROGRAMS[name]
    if program.cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder.parent / f"cache-{program.cache}")
    torch._logging._internal.LOG_TRACE_HANDLER = None
    torch._logging._init_logs()
    (folder / "walk.json").write_text(json.dumps(walk(program, folder)))
    sys.stdout.flush()
    os._exit(0)


def main() -> None:
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or PROGRAMS:
        walk_in_child(name, folder / name)


if __name__ == "__main__":
    main()
