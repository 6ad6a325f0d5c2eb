"""What a forked child does with a request: describe the workloads, prepare the toolchain, or run one probe."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evaluator.worker.channel import Record, RecordWriter

if TYPE_CHECKING:
    from evaluator.worker.session import ProbeSession

_PROBE_MODULES: Final = {
    "compile": "evaluator.worker.probes.compile",
    "walk": "evaluator.worker.probes.walk",
    "accuracy": "evaluator.worker.probes.accuracy",
    "memory": "evaluator.worker.probes.memory",
    "profile": "evaluator.worker.probes.profile",
}


def run(request: Record, writer: RecordWriter) -> None:
    """Answer one request in this process, which ends afterwards."""
    if request.get("target", "cpu") != "cuda":
        # Dynamo itself asks CUDA for its state even when a CPU function compiles.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if request.get("temporary"):
        # The server's own temp directory holds the C++ header, which Inductor found when it was imported.
        os.environ["TMPDIR"] = tempfile.tempdir = request["temporary"]
    if request.get("blocking"):
        # Each launch is waited for, so that an error is raised where it comes from. CUDA reads it at its start.
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    op = request["op"]
    if op == "describe":
        writer.write(_describe(request))
    elif op == "toolchain":
        from evaluator.worker import toolchain

        writer.write(toolchain.prepare())
    elif op == "probe":
        _probe(request, writer)
    else:
        writer.write({"kind": "result", "status": "setup_error", "reason": f"unknown request {op!r}"})


def _describe(request: Record) -> Record:
    from evaluator.worker import environment, precision
    from evaluator.worker.targets.cuda import presence
    from workloads import catalog

    loaded = catalog.load(request.get("sources", []), packs=request.get("packs", True))
    described = catalog.describe(loaded)
    workloads = [entry for entry in described if "problem" not in entry]
    libraries = {name for entry in workloads for name in entry["libraries"]}
    declared = {name for entry in workloads for name in entry["environment"]}
    fields = environment.fields(
        libraries,
        declared | set(request.get("declared", ())),
        request.get("copy", 1),
        # Where no probe sees a GPU it decides nothing.
        presence.found() if request.get("target") == "cuda" else None,
    )
    for entry in workloads:
        precision.mark_unsupported(
            entry, request.get("target", "cpu"), fields["capability"], fields["variables"]
        )
    return {
        "kind": "result",
        "workloads": workloads,
        "problems": [entry for entry in described if "problem" in entry],
        "environment": fields,
        "environment_hash": environment.fingerprint(fields),
    }


def _probe(request: Record, writer: RecordWriter) -> None:
    from evaluator.worker.session import use_caches

    if request.get("cache_dir"):
        use_caches(Path(request["cache_dir"]))
    if request["probe"] == "build":
        # Of the workload nothing is needed but what was generated for it.
        from evaluator.worker.probes import build

        build.run(request, writer)
        return
    from evaluator.worker.targets.cuda import losing

    losing.tell_by(writer.write)
    session = _session(request, writer)
    if session is not None:
        importlib.import_module(_PROBE_MODULES[session.probe]).run(session)
    _stop_compile_workers()


def _session(request: Record, writer: RecordWriter) -> ProbeSession | None:
    """The probe's session; None if the workload can't be had, which is then reported for each bucket."""
    from evaluator.worker.session import ProbeSession
    from workloads import catalog
    from workloads.registry import Target

    writer.write({"kind": "stage", "stage": "setup", "bucket": None, "probe": request["probe"]})
    name = request["workload"]
    try:
        workload = catalog.load_one(request.get("sources", []), request.get("packs", True), name)
        variant = workload.variant(request["variant"])
    except LookupError as error:
        for bucket in request["buckets"]:
            writer.write(_unusable(request["probe"], bucket, str(error.args[0])))
        return None
    by_name = {bucket.name: bucket for bucket in workload.buckets}
    for bucket in request["buckets"]:
        if bucket not in by_name:
            writer.write(_unusable(request["probe"], bucket, f"{name} has no bucket {bucket!r} any more"))
    target = request["target"]
    codegen = None
    if request.get("card"):
        from evaluator.worker.errors import Unsupported
        from evaluator.worker.targets.codegen.compiling import Codegen

        try:
            codegen = Codegen.of(request["card"])
        except Unsupported as error:
            for bucket in request["buckets"]:
                writer.write({**_unusable(request["probe"], bucket, str(error)), "status": "unsupported"})
            return None
    return ProbeSession(
        probe=request["probe"],
        workload=workload,
        variant=variant,
        target=Target(name=target, device="cuda" if target == "cuda" else "cpu"),
        buckets=tuple(by_name[bucket] for bucket in request["buckets"] if bucket in by_name),
        seed=int(request.get("seed", 0)),
        request=request,
        emit=writer.write,
        codegen=codegen,
    )


def _unusable(probe: str, bucket: str, reason: str) -> Record:
    return {
        "kind": "result",
        "probe": probe,
        "bucket": bucket,
        "status": "setup_error",
        "reason": reason,
        "stage": "setup",
    }


def _stop_compile_workers() -> None:
    """End Inductor's own worker processes, which would otherwise be taken for the workload's leftovers."""
    module = importlib.import_module("torch._inductor.async_compile")
    stop = getattr(module, "shutdown_compile_workers", None)
    if stop is not None:
        stop()
