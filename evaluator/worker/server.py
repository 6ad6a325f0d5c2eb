"""The process server: imports torch and the compiler once, then forks one child per request.

It never initialises CUDA, starts threads or imports a workload itself. Requests and answers are JSON lines on
two pipes of its own; see ``evaluator/README.md`` for each.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import types
from pathlib import Path
from typing import Any, Final

from evaluator.worker import processes
from evaluator.worker.channel import Record, RecordWriter
from evaluator.worker.conditions import read_conditions
from evaluator.worker.protocol import PROTOCOL_VERSION, SHARED_STATE, Limits
from evaluator.worker.supervise import Ending, run_child

# The compiler as a user's first compile needs it; their import time is a series of its own.
COMPILER_MODULES: Final = (
    "torch._dynamo",
    "torch._dynamo.backends.inductor",
    "torch._functorch.aot_autograd",
    "torch._inductor.compile_fx",
    "torch._inductor.codegen.cpp",
)
_DESCRIBE_LIMITS: Final[Limits] = {"time_s": 120.0, "memory_mb": 8000.0}
_TOOLCHAIN_LIMITS: Final[Limits] = {"time_s": 600.0, "memory_mb": 8000.0}


class Server:
    """Serves requests from one descriptor and answers on another until the requests end."""

    def __init__(self, requests_fd: int, records_fd: int, log: Path, nvml: str | None = None) -> None:
        self._requests_fd = requests_fd
        self._records_fd = records_fd
        self._log = log
        self._nvml = nvml
        self._buffer = b""
        self._stopping = False

    def serve(self) -> None:
        """Import, say hello, and answer until the requests end or a stop signal comes."""
        processes.become_subreaper()
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, self._stop)
        processes.die_with_parent(signal.SIGTERM)
        for variable in [name for name in os.environ if SHARED_STATE.fullmatch(name)]:
            del os.environ[variable]
        # With it torch counts devices by NVML; a process that asked CUDA can't fork children that use it.
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        try:
            hello = self._hello()
        except Exception as error:  # noqa: BLE001 - a torch that can't be imported is an answer, not a crash
            self._send({"kind": "failed", "message": f"{type(error).__name__}: {error}"})
            return
        self._send(hello)
        while (request := self._next_request()) is not None:
            if request.get("op") == "shutdown":
                break
            self._answer(request)
        processes.kill_all_below(os.getpid())

    def _hello(self) -> Record:
        import importlib

        started = time.perf_counter()
        importlib.import_module("torch")
        torch_s = time.perf_counter() - started
        started = time.perf_counter()
        for name in COMPILER_MODULES:
            importlib.import_module(name)
        compiler_s = time.perf_counter() - started
        from evaluator.worker import environment, toolchain
        from evaluator.worker.targets.cuda import nvml, presence

        toolchain.preload()
        present = presence.begin(self._nvml)
        # Inductor counts devices while it is imported, for which torch keeps the driver's files open.
        nvml.release()
        fields = environment.fields(gpu=present)
        return {
            "kind": "hello",
            "protocol": PROTOCOL_VERSION,
            "environment": fields,
            "environment_hash": environment.fingerprint(fields),
            "host": environment.host(),
            "no_gpu": present.why,
            "conditions": read_conditions(presence.conditions() or None),
            "threads": len(list(Path("/proc/self/task").iterdir())),
            "samples": [
                {"metric": "import.torch_s", "round": None, "value": torch_s, "flags": []},
                {"metric": "import.compiler_s", "round": None, "value": compiler_s, "flags": []},
            ],
        }

    def _answer(self, request: Record) -> None:
        from evaluator.worker import child, toolchain

        identity = request.get("id")
        op = request.get("op")
        if op == "codegen":
            from evaluator.worker.targets.codegen import prepare

            self._send({**prepare.prepare(), "id": identity})
            self._send({"kind": "done", "status": "ok", "id": identity})
            return
        before = _conditions(request)
        log = Path(request.get("log") or self._log)

        def forward(record: Record) -> None:
            self._send({**record, "id": identity})

        limits = request.get("limits")
        if limits is None:
            limits = _TOOLCHAIN_LIMITS if op == "toolchain" else _DESCRIBE_LIMITS

        def body(writer: RecordWriter) -> None:
            child.run(request, writer)

        try:
            ending = run_child(
                body, limits, log, forward, [self._requests_fd, self._records_fd], self._was_interrupted
            )
        except OSError as error:
            ending = Ending(status="setup_error", reason=f"no process could be started: {error}")
        if op == "toolchain" and ending.status == "ok":
            # What the child found (compiler, vector instructions) is now cheap to ask here, and every
            # child inherits the answers, as it does the modules a first compile needs.
            toolchain.adopt()
        self._send(
            {
                **ending.as_record(),
                "id": identity,
                "conditions": {"before": before, "after": _conditions(request)},
            }
        )

    def _send(self, record: Record) -> None:
        line = (json.dumps(record, default=str) + "\n").encode()
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._records_fd, view) :]
        except BrokenPipeError:
            self._stopping = True

    def _next_request(self) -> Record | None:
        while b"\n" not in self._buffer:
            if self._stopping:
                return None
            ready, _, _ = select.select([self._requests_fd], [], [], 1.0)
            if not ready:
                continue
            chunk = os.read(self._requests_fd, 1 << 16)
            if not chunk:
                return None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        request: dict[str, Any] = json.loads(line)
        return request

    def _was_interrupted(self) -> bool:
        """Whether to give up on the running child: a stop signal came, or the controller hung up."""
        if self._stopping:
            return True
        poll = select.poll()
        poll.register(self._requests_fd, select.POLLIN)
        hung_up = any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
        self._stopping = self._stopping or hung_up
        return self._stopping

    def _stop(self, signum: int, frame: types.FrameType | None) -> None:
        self._stopping = True


def _conditions(request: Record) -> dict[str, Any]:
    """Conditions around a request's child; those of the GPU where it uses one."""
    from evaluator.worker.targets.cuda import presence

    return read_conditions(presence.conditions() if request.get("target") == "cuda" else None)


def main(requests_fd: int, records_fd: int, log: Path, nvml: str | None = None) -> int:
    """Run a server on these descriptors; the exit status. ``nvml``: the file of pynvml, if the controller has one."""
    for fd in (requests_fd, records_fd):
        os.set_inheritable(fd, False)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    Server(requests_fd, records_fd, log, nvml).serve()
    sys.stdout.flush()
    return 0
