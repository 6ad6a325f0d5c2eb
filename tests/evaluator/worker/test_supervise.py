"""A child process and everything it starts ends within its limits, and how it ended is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# The supervisor ends every process below its own, so it never runs inside pytest itself.
_SERVER = """
import json, os, sys, time, signal, subprocess, threading, ctypes
from pathlib import Path
from evaluator.worker import processes
from evaluator.worker.supervise import run_child
processes.become_subreaper()
records = []
def body(writer):
{body}
ending = run_child(body, {{"time_s": {time_s}, "memory_mb": {memory_mb}}}, Path({log!r}), records.append, [], lambda: False)
print(json.dumps({{**ending.as_record(), "records": records, "left": processes.descendants(os.getpid())}}))
"""


def supervise(tmp_path: Path, body: str, time_s: float = 60, memory_mb: float = 4000) -> dict[str, Any]:
    indented = "\n".join("    " + line for line in body.splitlines())
    code = _SERVER.format(body=indented, time_s=time_s, memory_mb=memory_mb, log=str(tmp_path / "log"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=_repository(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended: dict[str, Any] = json.loads(done.stdout)
    return ended


def _repository() -> Path:
    return Path(__file__).parents[3]


def test_a_child_that_reports_and_returns_is_ok(tmp_path: Path) -> None:
    ended = supervise(tmp_path, "print('hello'); writer.write({'kind': 'result', 'value': 1})")
    assert (ended["status"], ended["exit_code"], ended["signal"]) == ("ok", 0, None)
    assert ended["records"] == [{"kind": "result", "value": 1}]
    assert (tmp_path / "log").read_text() == "hello\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os._exit(0)", "exit code 0 before it had reported"),
        ("raise ValueError('a fault of ours')", "exit code 70"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal 11 (SIGSEGV)"),
        ("ctypes.string_at(0)", "signal 11 (SIGSEGV)"),
        ("os.abort()", "signal 6 (SIGABRT)"),
    ],
)
def test_a_child_that_vanishes_crashed_and_says_where(tmp_path: Path, body: str, reason: str) -> None:
    ended = supervise(
        tmp_path, f"writer.write({{'kind': 'stage', 'stage': 'eager', 'bucket': 'n=4'}})\n{body}"
    )
    assert ended["status"] == "crashed"
    assert reason in ended["reason"]
    assert ended["reason"].endswith("last stage reached: eager")
    assert ended["bucket"] == "n=4"


def test_a_hang_is_a_timeout_at_its_limit_though_signals_are_ignored(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nctypes.CDLL(None).sleep(1000)"
    ended = supervise(tmp_path, body, time_s=0.5)
    assert ended["status"] == "timeout"
    assert "0.5 s" in ended["reason"]
    assert ended["left"] == []


def test_each_bucket_has_the_whole_time_limit(tmp_path: Path) -> None:
    body = (
        "for bucket in ('a', 'b', 'c'):\n"
        "    writer.write({'kind': 'stage', 'stage': 'call', 'bucket': bucket, 'probe': 'walk'})\n"
        "    time.sleep(0.8)\n"
    )
    assert supervise(tmp_path, body, time_s=2)["status"] == "ok"
    stuck = body + "time.sleep(1000)"
    ended = supervise(tmp_path, stuck, time_s=2)
    assert (ended["status"], ended["bucket"]) == ("timeout", "c")


def test_memory_beyond_the_limit_ends_the_child(tmp_path: Path) -> None:
    body = "held = []\nwhile True:\n    held.append(b'x' * 10_000_000)\n    time.sleep(0.002)"
    ended = supervise(tmp_path, body, memory_mb=300)
    assert ended["status"] == "out_of_memory"
    assert "300 MB" in ended["reason"]


def test_memory_of_a_grandchild_counts(tmp_path: Path) -> None:
    code = "import time; held = b'x' * 600_000_000; time.sleep(1000)"
    ended = supervise(tmp_path, f"subprocess.run([sys.executable, '-c', {code!r}])", memory_mb=300)
    assert ended["status"] == "out_of_memory"
    assert ended["left"] == []


def test_what_a_child_leaves_in_a_session_of_its_own_is_ended_and_counted(tmp_path: Path) -> None:
    body = (
        "first = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        'inner = \'import subprocess; p = subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=-3, stderr=-3); print(p.pid)\'\n'
        "second = subprocess.run([sys.executable, '-c', inner], capture_output=True, text=True)\n"
        "writer.write({'kind': 'result', 'pids': [first.pid, int(second.stdout)]})"
    )
    ended = supervise(tmp_path, body)
    assert ended["status"] == "ok"
    assert ended["leftovers"] == 2
    assert ended["left"] == []
    for pid in ended["records"][0]["pids"]:
        assert not Path(f"/proc/{pid}").exists()


def test_a_thread_that_never_ends_does_not_hold_the_child(tmp_path: Path) -> None:
    body = "threading.Thread(target=threading.Event().wait, daemon=False).start()"
    assert supervise(tmp_path, body, time_s=30)["status"] == "ok"


def test_megabytes_to_every_descriptor_forge_nothing(tmp_path: Path) -> None:
    body = (
        'forged = b\'{"kind": "result", "status": "ok"}\\n\' * 1000\n'
        "for fd in range(1, 64):\n"
        "    try:\n"
        "        for _ in range(100): os.write(fd, forged)\n"
        "    except OSError: continue\n"
        "writer.write({'kind': 'result', 'value': 7})"
    )
    ended = supervise(tmp_path, body)
    assert ended["status"] == "ok"
    assert ended["records"] == [{"kind": "result", "value": 7}]


def test_children_die_with_the_server(tmp_path: Path) -> None:
    code = _SERVER.format(
        body="    print(os.getpid(), flush=True)\n    time.sleep(1000)",
        time_s=900,
        memory_mb=4000,
        log=str(tmp_path / "log"),
    )
    server = subprocess.Popen([sys.executable, "-c", code], cwd=_repository())
    while not ((tmp_path / "log").exists() and (tmp_path / "log").read_text().endswith("\n")):
        assert server.poll() is None
    child = int((tmp_path / "log").read_text())
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    # The kernel signals the child as the server ends; only its last breath is waited for.
    for _ in range(1000):
        stat = Path(f"/proc/{child}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        os.sched_yield()
        subprocess.run(["sleep", "0.01"], check=True)
    raise AssertionError(f"process {child} outlived its server")
