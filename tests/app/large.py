"""A database as large as years of nightly runs make it: ``python -m tests.app.large PATH``.

25 torch versions, 4 runs of each, 50 workloads of 5 shape buckets, 5 replicas, more than a million samples, with graph
breaks, recompiles, kernels and failures that come and go; the newest run measures the last two versions in turns.
A few runs are written through the store like real ones; the others are copies of them with other numbers, since a
million samples through the store would take half an hour. Every number is invented.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Table

from db.models import Base
from db.store import Store
from tests.app import seed
from tests.app.records import BEGAN, MadeRun, MadeWorkload, environment, environment_hash
from tests.app.upgrades import MadeUpgrade

VERSIONS, RUNS_EACH, WORKLOADS, BUCKETS = 25, 4, 50, 5
FAMILIES: Final = (
    "pointwise",
    "reduction",
    "norm",
    "attention",
    "conv",
    "models",
    "shapes",
    "graphs",
    "rnn",
    "loss",
)
# Tables whose rows are a run's own, in an order in which they can be written.
_OWNED: Final = (
    *("run", "replica", "environment_sample", "evaluation", "probe", "sample", "facts", "graph_break"),
    *("recompile", "kernel", "accuracy", "difference", "summary", "probe_artifact"),
)
_TIMES: Final = {"sample": ("value",), "summary": ("median", "lo", "hi", "min", "max")}
_LISTS: Final = ("replica_medians", "eager_medians")


def workloads(age: int) -> list[MadeWorkload]:
    """The workloads as a torch of this age (0: new, 1, 2: older) compiles them: the older, the more breaks and failures."""
    return [_workload(number, age) for number in range(WORKLOADS)]


def _workload(number: int, age: int) -> MadeWorkload:
    kernels = tuple(
        seed._kernel(
            f"cpp_fused_add_mul_{place}",
            source=seed.SILU_SOURCE.replace("4096", str(64 * (number + place + age))),
        )
        for place in range(1 + number % 4)
    )
    failing = {("*", "*"): ("cold", "compile_error", "LoweringException: assertion failed in layout")}
    wrong = {("*", "*"): ("accuracy", "accuracy_failed", "leaf 0: largest error 0.031")}
    made = MadeWorkload(
        f"{FAMILIES[number % len(FAMILIES)]}.w{number:02d}",
        seed._buckets("n", [32 << place for place in range(BUCKETS)], batch=1 + number % 3),
        stands_for=f"Workload {number} of a large database",
        cold_s=2.0 + number % 17,
        eager_ms=0.1 * (1 + number % 23),
        speed_up=1.1 + (number % 9) / 10,
        training=number % 7 == 0,
        breaks=(seed.PRINT_BREAK, seed.ITEM_BREAK)[: max(0, number % 5 - 3 + age)],
        recompiles=(seed.SIZE_GUARD,) if number % 6 < age + 1 else (),
        kernels=kernels,
        reuses=number % 4 == 0,
    )
    if number % 25 == age:
        return replace(made, failures=failing if age else wrong)  # type: ignore[arg-type]
    return made


def versions() -> list[str]:
    """25 versions, oldest first: ``2.0.0+cpu``, ``2.0.1+cpu``, ... with two patches of each minor release."""
    return [f"2.{number // 2}.{number % 2}+cpu" for number in range(VERSIONS)]


@dataclass(frozen=True)
class _Pattern:
    """A run that was written through the store: in each table the first and the last of its row ids."""

    spans: dict[str, tuple[int, int]]


def write(path: Path, versions_: Sequence[str] = (), runs_each: int = RUNS_EACH) -> Path:
    """A new database at ``path``; fewer versions or runs make a smaller one."""
    names = list(versions_ or versions())
    path.parent.mkdir(parents=True, exist_ok=True)
    # The oldest version, one in the middle and the newest are the three patterns: the last third is like the newest.
    stored = {0: 2, len(names) // 2: 1, len(names) - 1: 0}
    patterns = {age: _through_store(path, names[number], number, age) for number, age in stored.items()}
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.create_function("scaled", 2, _scaled, deterministic=True)
        for number, torch in enumerate(names):
            where = _environment(connection, torch)
            pattern = patterns[min(2, (len(names) - 1 - number) * 3 // len(names))]
            for again in range(number in stored, runs_each):
                began = BEGAN + timedelta(days=10 * number + again)
                _copy(connection, pattern, where, began, 1 + 0.004 * again - 0.01 * (7 * number % 5))
        connection.execute("ANALYZE")
    connection.close()
    _upgrade(path, *names[-2:], number=10 * (len(names) + 1))
    return path


def _through_store(path: Path, torch: str, number: int, age: int) -> _Pattern:
    before = _spans(path) if path.exists() else dict.fromkeys(_OWNED, (0, 0))
    run = MadeRun(torch, 10 * number, drift=1 + age / 10, rounds=1)
    _store(path, run.records(workloads(age)))
    after = _spans(path)
    return _Pattern({name: (before[name][1] + 1, after[name][1]) for name in _OWNED})


def _upgrade(path: Path, base: str, candidate: str, number: int) -> None:
    """The newest run: both versions in turns, some workloads slower, one with a new break, one failing."""
    newer = workloads(0)
    newer[3] = replace(newer[3], speed_up=newer[3].speed_up / 1.12)
    newer[8] = replace(newer[8], cold_s=newer[8].cold_s * 1.3)
    newer[12] = replace(newer[12], breaks=(seed.PRINT_BREAK,))
    made = MadeUpgrade(
        MadeRun(base, number, "to the newest", rounds=1),
        MadeRun(candidate, number + 1, "to the newest", rounds=1),
    )
    _store(path, made.records(workloads(0), newer))


def _store(path: Path, records: Iterable[dict[str, Any]]) -> None:
    store = Store(str(path))
    try:
        store.write_many(list(records))
    finally:
        store.close()


def _spans(path: Path) -> dict[str, tuple[int, int]]:
    with sqlite3.connect(path) as connection:
        spans = {
            name: connection.execute(
                f"SELECT coalesce(min({_key(name)}), 0), coalesce(max({_key(name)}), 0) FROM {name}"
            )
            for name in _OWNED
        }
        return {name: found.fetchone() for name, found in spans.items()}


def _key(table: str) -> str:
    return "probe_id" if table == "probe_artifact" else "id"


def _environment(connection: sqlite3.Connection, torch: str) -> int:
    """Its row, made as the store makes one where there is none yet."""
    fields = environment(torch)
    columns = {
        "hash": environment_hash(fields),
        "torch_version": torch,
        "torch_git": fields["torch_git"],
        "triton_version": fields["triton"],
        "python_version": fields["python"],
        "cpu_model": fields["cpu_model"],
        "fields": json.dumps(fields),
    }
    wanted = "SELECT id FROM environment WHERE hash = ?"
    known = connection.execute(wanted, (columns["hash"],)).fetchone()
    if known is None:
        marks = ", ".join("?" * len(columns))
        names = ", ".join(columns)
        connection.execute(f"INSERT INTO environment ({names}) VALUES ({marks})", list(columns.values()))
        known = connection.execute(wanted, (columns["hash"],)).fetchone()
    return int(known[0])


def _copy(
    connection: sqlite3.Connection, pattern: _Pattern, where: int, began: datetime, factor: float
) -> None:
    """A copy of a run, begun at another time in another environment, with its times multiplied."""
    offsets = {
        name: connection.execute(f"SELECT coalesce(max({_key(name)}), 0) FROM {name}").fetchone()[0]
        - pattern.spans[name][0]
        + 1
        for name in _OWNED
    }
    hash_ = connection.execute("SELECT hash FROM environment WHERE id = ?", (where,)).fetchone()[0]
    given = {
        "environment": where,
        "factor": factor,
        "started": began.strftime("%Y-%m-%d %H:%M:%S.000000"),
        "finished": (began + timedelta(minutes=50)).strftime("%Y-%m-%d %H:%M:%S.000000"),
        "plan": json.dumps({"replicas": 5, "environments": [hash_]}),
    }
    for name in _OWNED:
        table = Base.metadata.tables[name]
        columns = {column.name: _copied(table, column.name, offsets) for column in table.columns}
        low, high = pattern.spans[name]
        connection.execute(
            f"INSERT INTO {name} ({', '.join(columns)}) SELECT {', '.join(columns.values())} FROM {name} "
            f"WHERE {_key(name)} BETWEEN {low} AND {high}",
            given,
        )
    # Only now: what belongs to a run that is finished can't change.
    run = pattern.spans["run"][0] + offsets["run"]
    connection.execute(
        "UPDATE run SET status = 'finished', finished_at = ? WHERE id = ?", (given["finished"], run)
    )


def _copied(table: Table, column: str, offsets: dict[str, int]) -> str:
    """What stands in a column of a copied row, as SQL."""
    if column == "id":
        return f"id + {offsets[table.name]}"
    if column == "uuid":
        return "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4000-8000-' || hex(randomblob(6)))"
    if column == "server":
        return "lower(hex(randomblob(16)))"
    if column == "environment_id":
        return ":environment"
    for key in table.columns[column].foreign_keys:
        if key.column.table.name in offsets and key.column.name == "id":
            return f"{column} + {offsets[key.column.table.name]}"
    if table.name == "run":
        special = {
            "status": "'running'",
            "finished_at": "NULL",
            "started_at": ":started",
            "plan": ":plan",
            "label": "NULL",
        }
        return special.get(column, column)
    if column in _TIMES.get(table.name, ()):
        return f"{column} * :factor"
    return f"scaled({column}, :factor)" if table.name == "summary" and column in _LISTS else column


def _scaled(text: str | None, factor: float) -> str | None:
    if text is None:
        return None
    return json.dumps([None if one is None else one * factor for one in json.loads(text)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    arguments = parser.parse_args()
    begun = time.monotonic()
    write(arguments.path)
    with sqlite3.connect(arguments.path) as connection:
        (samples,) = connection.execute("SELECT count(*) FROM sample").fetchone()
    size = arguments.path.stat().st_size / 1e6
    print(f"{arguments.path}: {samples:,} samples, {size:.0f} MB, made in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
