"""The build probe: every kernel that was generated for a card is built for it, each in a process of its own.

Its request names a manifest, a JSON file: ``{"kernels": {KEY: {"name", "file"}}, "buckets": {BUCKET: [KEY, ...]}}``.
Builds are kept in a folder by what they depend on, so that a kernel is built once for a card and Triton.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

import torch

from evaluator.worker.channel import Record, RecordWriter
from evaluator.worker.protocol import NOT_BUILT
from evaluator.worker.targets.codegen.build import Build, NotBuilt, Refused, build, versions
from evaluator.worker.targets.codegen.card import Card

# A kernel that takes longer is recorded as not built, with all that its build started ended.
KERNEL_LIMIT_S: Final = 120.0
# Changes when what is kept of a build does.
_FORMAT: Final = 4


def run(request: Record, writer: RecordWriter) -> None:
    """Build the manifest's kernels, as many at a time as there are processors, and report each bucket."""
    manifest = json.loads(Path(request["manifest"]).read_text())
    card = Card(request["card"])
    kept = Path(request["builds_dir"])
    kept.mkdir(parents=True, exist_ok=True)
    made_by = versions(card)
    writer.write({"kind": "stage", "stage": "build", "bucket": request["buckets"][0], "probe": "build"})
    builds = _build_all(manifest["kernels"], card, kept, made_by)
    for bucket in request["buckets"]:
        writer.write({"kind": "stage", "stage": "build", "bucket": bucket, "probe": "build"})
        writer.write(
            {
                "kind": "result",
                "probe": "build",
                "bucket": bucket,
                "status": "ok",
                "builds": [builds[key] for key in manifest["buckets"].get(bucket, ())],
            }
        )


def _build_all(kernels: dict[str, Any], card: Card, kept: Path, made_by: dict[str, Any]) -> dict[str, Build]:
    builds: dict[str, Build] = {}
    waiting = []
    for key, kernel in kernels.items():
        source = Path(kernel["file"]).read_text()
        base = {"name": kernel["name"], "source_sha256": key, **made_by}
        file = kept / f"{_depends_on(kernel['name'], source, card, made_by)}.json"
        found = _kept(file)
        if found is not None:
            builds[key] = {**base, **found, "cached": True}
        else:
            waiting.append((key, kernel["name"], source, base, file))
    running: dict[Any, tuple[Any, Any, float]] = {}
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            one = waiting.pop(0)
            process, reader = _start(one[1], one[2], card)
            running[reader] = (one, process, time.monotonic() + KERNEL_LIMIT_S)
        soonest = min(deadline for _, _, deadline in running.values())
        ready = wait(list(running), timeout=max(0.0, soonest - time.monotonic()))
        for reader in list(running):
            one, process, deadline = running[reader]
            if reader not in ready and time.monotonic() < deadline:
                continue
            key, _, _, base, file = one
            made = _taken(reader, process, reader in ready)
            if made.get("error") is None or made.pop("keep", False):
                _keep(file, made)
            builds[key] = {**base, **made, "cached": False}
            del running[reader]
    return builds


def _start(name: str, source: str, card: Card) -> tuple[Any, Connection]:
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_one, args=(name, source, card, writer))
    process.start()
    writer.close()
    return process, reader


def _one(name: str, source: str, card: Card, writer: Connection) -> None:
    # A group of its own, so that what it started ends with it.
    os.setpgid(0, 0)
    folder = Path(tempfile.mkdtemp(prefix="kernel-"))
    try:
        made = build(name, source, card, folder)
    except Refused as error:
        made = {"error": str(error), "keep": True}
    except NotBuilt as error:
        made = {"error": f"{NOT_BUILT}{error}"}
    except Exception as error:  # noqa: BLE001 - a generated source may do anything when it is loaded
        made = {"error": f"{NOT_BUILT}{type(error).__name__}: {error}"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    writer.send(made)
    writer.close()


def _taken(reader: Connection, process: Any, ready: bool) -> Build:
    """What a process made; or how it ended, where it made nothing."""
    try:
        made: Build | None = reader.recv() if ready else None
    except EOFError:
        made = None
    if not ready:
        _end(process)
    reader.close()
    process.join()
    if made is not None:
        return made
    if not ready:
        return {"error": f"{NOT_BUILT}no end within {KERNEL_LIMIT_S:.0f} s"}
    code = process.exitcode or 0
    how = f"crashed (signal {-code})" if code < 0 else f"ended with {code}"
    return {"error": f"{NOT_BUILT}the compiler {how}"}


def _end(process: Any) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # It may not have made its group yet.
    process.kill()


def _depends_on(name: str, source: str, card: Card, made_by: dict[str, Any]) -> str:
    parts = [_FORMAT, name, source, card.figures, torch.__version__, torch.version.git_version, made_by]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _kept(file: Path) -> Build | None:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _keep(file: Path, made: Build) -> None:
    # Another run may look for it meanwhile, so it appears whole.
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(made))
    draft.replace(file)
