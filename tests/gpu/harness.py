"""What a stage is given: a folder, the evaluator's command line, checks that are told with their numbers."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
Record = dict[str, Any]
TARGET = "cuda"
# For an interrupted run to write what it has.
_LAST_WORDS_S = 8.0
_SERVERS = 3


@dataclass(frozen=True)
class Check:
    """One thing that must hold, with what was measured of it."""

    what: str
    good: bool
    value: Any = None


@dataclass
class Stage:
    """A running stage. Its checks and numbers are kept as they come, so that a stage that is cut off tells them too.

    ``ends``: when it is cut off, by ``time.monotonic``.
    """

    folder: Path
    tell: Callable[[Record], None]
    ends: float = math.inf
    checks: list[Check] = field(default_factory=list)

    def left(self) -> float:
        """Seconds until it is cut off, less what telling the rest takes."""
        return self.ends - time.monotonic() - _LAST_WORDS_S

    def part(self, what: str, run: Callable[[], None]) -> None:
        """Run a part of the stage. One that breaks is a check that does not hold, and those after it run."""
        try:
            run()
        except Exception:  # noqa: BLE001 - whatever a part meets on a machine that nobody has tried
            self.check(f"{what}: it ran to its end", False, traceback.format_exc()[-1500:])

    def check(self, what: str, good: bool, value: Any = None) -> None:
        """Note whether something holds; a stage goes on where it does not."""
        self.checks.append(Check(what, bool(good), value))
        self.tell({"check": what, "good": bool(good), "value": value})

    def near(self, what: str, ours: float, theirs: float, within: float = 0.03) -> None:
        """Check that two measurements of one thing agree."""
        apart = abs(ours - theirs) / theirs
        self.check(f"{what}: ours within {within:.0%}", apart <= within, {"ours": ours, "theirs": theirs})

    def number(self, what: str, value: Any) -> None:
        """Keep a number that nothing is asked of."""
        self.tell({"number": what, "value": value})

    def evaluate(self, *arguments: str, limit_s: float = math.inf, **variables: str) -> list[Record]:
        """Run ``evaluator run --target cuda`` with these arguments; its records.

        A run that comes to no end within ``limit_s``, or what is left of the stage, is interrupted, as by Ctrl-C: what it
        has recorded by then is given, and a check says that it is not all.
        """
        limit_s = min(limit_s, self.left() - _LAST_WORDS_S)
        if limit_s <= 0:
            self.check(f"{' '.join(arguments)}: there was time for it", False)
            return []
        path = self.folder / f"records-{len(list(self.folder.glob('records-*')))}.jsonl"
        command = [sys.executable, "-m", "evaluator", "run", "--records", str(path), *arguments]
        if "--target" not in arguments:
            command += ["--target", TARGET]
            command += [] if "--chrome-traces" in arguments else ["--no-chrome-traces"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_paths()), **variables}
        said = path.with_suffix(".txt")
        # Into a file: a pipe ends only once all have closed it that the run started.
        with said.open("w") as errors:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors
            )
        ended = waited(process, limit_s)
        if ended and process.returncode != 0:
            words = said.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}: {words}")
        records = told_in(path)
        if not ended:
            done = sum(one.get("type") == "evaluation_finished" for one in records)
            self.check(f"{' '.join(arguments)}: all within {limit_s:.0f} s", False, f"{done} cells ended")
        return records

    def source(self, name: str, text: str) -> Path:
        """A workload file of this stage's own."""
        path = self.folder / f"{name}.py"
        path.write_text(text)
        return path


def waited(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Whether a process ended by itself within its limit; else it is interrupted, and ended where that does not help."""
    try:
        process.wait(timeout=limit_s)
        return True
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=_LAST_WORDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return False


def told_in(file: Path) -> list[Record]:
    """Lines of JSON; the last one of a process that was ended may be cut short."""
    found = []
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _paths() -> list[str]:
    return [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]


def probes(records: Iterable[Record], probe: str | None = None) -> list[Record]:
    """Probe records, all or of one kind."""
    return [one for one in records if one.get("type") == "probe" and probe in (None, one["probe"])]


def statuses(records: list[Record]) -> dict[str, str]:
    """The status of each cell, by workload, bucket and variant."""
    named = {
        one["uuid"]: f"{one['workload']} {one['bucket']} [{one['variant']}]"
        for one in records
        if one.get("type") == "evaluation"
    }
    return {
        named[one["evaluation"]]: one["status"] for one in records if one.get("type") == "evaluation_finished"
    }


def values(of: Iterable[Record], metric: str) -> list[float]:
    """Every value of a metric in these probe records, in order."""
    return [
        sample["value"]
        for probe in of
        for sample in probe.get("samples") or ()
        if sample["metric"] == metric and sample["value"] is not None
    ]


@contextmanager
def served(folder: Path) -> Iterator[Any]:
    """A process server of this interpreter, with the toolchain folder that its runs have."""
    from evaluator.control.server_client import Server
    from evaluator.environments import toolchain_folder

    python = Path(sys.executable)
    with Server(python, toolchain_folder(python), folder / "server.log") as server:
        yield server


def side_by_side(stage: Stage, things: Sequence[str], work: Callable[[Any, str], None]) -> None:
    """``work`` (a server, a thing) for all of these things by several servers at once, each in a thread of its own: for
    what is not timed. What is left when the stage's time runs out is not begun; each that breaks is a check of its own."""

    def some(mine: Sequence[str]) -> None:
        with served(stage.folder) as server:
            for thing in mine:
                if stage.left() < _LAST_WORDS_S:
                    break
                stage.part(thing, partial(work, server, thing))

    shares = [things[first::_SERVERS] for first in range(_SERVERS)]
    with ThreadPoolExecutor(_SERVERS) as pool:
        running = [pool.submit(some, share) for share in shares if share]
    for one in running:
        stage.part("a server of several", one.result)


def described(server: Any, sources: Iterable[str] = (), packs: bool = True) -> dict[str, Record]:
    """What the server describes, by name. It takes seconds: ask once."""
    return {one["name"]: one for one in server.describe(list(sources), packs, TARGET).workloads}


def request(folder: Path, workload: str, bucket: str, **more: Any) -> Record:
    """A probe request on the GPU."""
    return {
        "sources": [],
        "packs": True,
        "workload": workload,
        "variant": "default",
        "target": TARGET,
        "buckets": [bucket],
        "seed": 0,
        "limits": {"time_s": 60, "memory_mb": 60000},
        "log": str(folder / "child.log"),
        **more,
    }


def probed(stage: Stage, server: Any, what: str, asked: Record) -> list[Record]:
    """The results of a probe. Where one is not ok that is a check of the stage that does not hold, and there are none."""
    try:
        return results(server.probe(asked, 60))
    except RuntimeError as error:
        stage.check(f"{what}: ok", False, str(error))
        return []


def results(answers: Iterable[Record]) -> list[Record]:
    """The results of a probe; raises RuntimeError where one is not ok."""
    found = [one for one in answers if one.get("kind") == "result"]
    bad = [f"{one['probe']}: {one['status']}: {one.get('reason')}" for one in found if one["status"] != "ok"]
    if bad or not found:
        raise RuntimeError("; ".join(bad) or "the probe reported nothing")
    return found
