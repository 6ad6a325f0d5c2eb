"""What a machine and an interpreter can measure, and what is missing: one finding a line."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from evaluator import machine
from evaluator.cards import KNOWN
from evaluator.control.server_client import Described, Hello
from evaluator.environments import selectable
from evaluator.estimate import GUESS_HEADER_MB
from evaluator.table import number
from evaluator.verdicts.words import CODEGEN

State = Literal["ok", "limited", "missing"]

# The controller, the database and the dashboard need these; a worker needs none of them.
LIBRARIES: Final = ("sqlalchemy", "alembic", "streamlit", "altair", "pandas")
# Of what workloads may require, what a machine without a GPU can't run.
_GPU_NEEDS: Final = ("gpu", "cuda")
# The least room in which a quick run with its caches fits.
LEAST_DISK_MB: Final = GUESS_HEADER_MB + 1000
# The machine's other processes, the server's imports and a small model need this much.
LEAST_MEMORY_MB: Final = 4000
# What Inductor's code needs of a compiler: a shared library, OpenMP, and the Python headers for its launcher.
_PROGRAM: Final = '#include <omp.h>\nextern "C" int threads() { return omp_get_max_threads(); }\n'


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``missing`` means that nothing can be evaluated as it is; ``fix`` says how to."""

    what: str
    state: State
    detail: str
    fix: str = ""


def machine_findings(database: str) -> Iterator[Finding]:
    """What belongs to the machine and to this interpreter, whatever torch is evaluated."""
    yield Finding("machine", "ok", f"id {machine.machine_id()[:8]}, {os.cpu_count()} CPUs")
    memory = machine.physical_memory_mb()
    limit = memory * machine.DEFAULT_MEMORY_SHARE
    state: State = "ok" if memory >= LEAST_MEMORY_MB else "limited"
    fix = "" if state == "ok" else "evaluate small workloads only, or give the machine or its container more"
    yield Finding("memory", state, f"{memory:.0f} MB; a probe may take {limit:.0f} MB", fix)
    for what, folder in (("disk for caches", machine.cache_folder()), ("disk for results", Path.cwd())):
        yield _disk(what, folder)
    missing = [name for name in LIBRARIES if _version(name) is None]
    if missing:
        fix = f"{machine.shorten(sys.executable)} -m pip install -r requirements.txt; until then `run --records` works"
        yield Finding("libraries", "limited", f"no {', '.join(missing)}", fix)
    else:
        yield Finding("libraries", "ok", ", ".join(f"{name} {_version(name)}" for name in LIBRARIES))
        yield _database(database)


def compiler_finding() -> Finding:
    """Whether a C++ compiler is there and builds what Inductor asks of it."""
    name = os.environ.get("CXX", "g++")
    fix = "install one (Debian: apt-get install g++), or set CXX to it"
    path = shutil.which(name)
    if path is None:
        return Finding("C++ compiler", "missing", f"{name} is not found: no CPU code can be compiled", fix)
    with tempfile.TemporaryDirectory(prefix="compilewatch-") as folder:
        source = Path(folder) / "a.cpp"
        source.write_text(_PROGRAM)
        command = [path, str(source), "-shared", "-fPIC", "-fopenmp", "-o", str(Path(folder) / "a.so")]
        try:
            built = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            shown = subprocess.run(
                [path, "--version"], capture_output=True, text=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Finding("C++ compiler", "missing", f"{name} does not run: {error}", fix)
        if built.returncode != 0 or not (Path(folder) / "a.so").exists():
            said = (built.stderr.strip().splitlines() or ["it says nothing"])[-1]
            return Finding(
                "C++ compiler", "missing", f"{name} builds no shared library with OpenMP: {said}", fix
            )
    return Finding("C++ compiler", "ok", (shown.stdout.splitlines() or [name])[0])


def environment_findings(hello: Hello, described: Described) -> Iterator[Finding]:
    """What a server under the interpreter said."""
    fields = described.environment
    seconds = {sample["metric"]: sample["value"] for sample in hello.samples}
    imports = ", ".join(
        f"{what} imports in {number(seconds.get(metric))} s"
        for what, metric in (("torch", "import.torch_s"), ("its compiler", "import.compiler_s"))
    )
    yield Finding("torch", "ok", f"{fields.get('torch')}, Python {fields.get('python')}; {imports}")
    yield Finding(
        "CPU", "ok",
        f"{fields.get('cpu_model')}, {fields.get('cpu_capability')}, {fields.get('threads')} threads",
    )  # fmt: skip
    if fields.get("triton"):
        yield Finding("Triton", "ok", str(fields["triton"]))
    else:
        yield Finding(
            "Triton", "limited", "none: no GPU code can be compiled", "install the one this torch pins"
        )
    for name, version in (fields.get("libraries") or {}).items():
        if version is None:
            users = _users(described, name)
            if users:
                fix = f"install it there with pip install {name}"
                yield Finding(name, "limited", f"missing: {', '.join(users)} can't be evaluated", fix)
        else:
            yield Finding(name, "ok", str(version))
    gpu = hello.environment
    if gpu.get("gpu"):
        said = f"{gpu['gpu']}, compute capability {gpu.get('capability')}, driver {gpu.get('driver')}"
        yield Finding("GPU", "ok", said)
    else:
        fix = "on a machine that has one, with only torch: run --target cuda --records FILE; then import FILE here"
        why = f"none: {hello.no_gpu}; {_needing_gpu(described)} can't be evaluated"
        yield Finding("GPU", "limited", why, fix)
    for problem in described.problems:
        yield Finding("workload", "limited", f"{problem['name']}: {problem['problem']}", "mend its source")


def codegen_finding(lacking: str | None) -> Finding:
    """Which cards code can be generated for without one; ``lacking``: why none under this torch."""
    if lacking is None:
        known = ", ".join(f"{CODEGEN}{name}" for name in KNOWN)
        return Finding("cards", "ok", f"{known}, or {CODEGEN}CARD.toml with a card's figures, for --target")
    return Finding("cards", "limited", lacking, "evaluate another torch for code of cards that are not there")


def _users(described: Described, library: str) -> list[str]:
    return [one["name"] for one in selectable(described) if library in (one.get("libraries") or ())]


def _needing_gpu(described: Described) -> str:
    """What of the workloads needs a GPU, counted."""

    def needs(one: dict[str, Any]) -> bool:
        return one.get("requires") in _GPU_NEEDS

    workloads = [one for one in described.workloads if needs(one)]
    buckets = [bucket for one in described.workloads for bucket in one["buckets"] if needs(bucket)]
    variants = {
        variant["name"] for one in described.workloads for variant in one["variants"] if needs(variant)
    }
    parts = [f"{len(workloads)} workload(s)"] if workloads else []
    if buckets:
        parts.append(f"{len(buckets)} shape bucket(s)")
    if variants:
        parts.append(f"the variants {', '.join(sorted(variants))}")
    return " and ".join(parts) or "the target cuda"


def _disk(what: str, folder: Path) -> Finding:
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        fix = "make it writable" + (
            ", or set XDG_CACHE_HOME" if "caches" in what else ", or give --db elsewhere"
        )
        return Finding(what, "missing", f"{machine.shorten(str(nearest))} can't be written", fix)
    free = shutil.disk_usage(nearest).free / 1e6
    where = f"{number(free / 1000)} GB free in {machine.shorten(str(nearest))}"
    if free < LEAST_DISK_MB:
        return Finding(what, "missing", where, f"free {LEAST_DISK_MB:.0f} MB there, or choose another folder")
    return Finding(what, "ok", where)


def _database(database: str) -> Finding:
    from db.queries.runs import list_runs
    from db.session import reading_if_there
    from evaluator.errors import UserError

    try:
        with reading_if_there(database) as reads:
            if reads is None:
                return Finding("database", "ok", f"{database} is not there yet: the first run makes it")
            runs = list_runs(reads)
    except UserError as error:
        problem, _, fix = str(error).partition(": ")
        return Finding("database", "missing", problem, fix or "give --db another file")
    unfinished = sum(run.status != "finished" for run in runs)
    more = f", {unfinished} not finished (`run --resume` goes on with one)" if unfinished else ""
    return Finding("database", "ok", f"{database}: {len(runs)} run(s){more}")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def as_row(finding: Finding) -> list[str]:
    """A line of the report."""
    row: list[Any] = [finding.state, finding.what, finding.detail, finding.fix]
    return row
