"""What Workload's charts rest on while an evaluation goes on: what is shown of it, and no more."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from app import data
from app.workload.shown import Shown
from db.queries import history
from db.session import open_reader
from db.store import Store
from tests.app import seed
from tests.app.records import MadeRun, MadeWorkload


def rests_on(path: Path, workload: str) -> tuple[Hashable, ...]:
    database = data.opened(str(path))
    assert isinstance(database, data.Database)
    with open_reader(str(path)).connect() as reads:
        choices = history.choices(reads, workload)
        assert choices is not None
        found = history.evaluations(reads, choices.definition, target="cpu", variant="default")
    newest = history.newest_of_each_version(found)
    return Shown(database, (workload,), newest, choices, tuple(newest["torch"])).rests_on


def recorded(path: Path, workload: MadeWorkload) -> Iterator[tuple[str, tuple[Hashable, ...]]]:
    """Record by record of a run: what was recorded, and what the charts rest on then, from the first evaluation on."""
    begun = False
    store = Store(str(path))
    files: list[dict[str, object]] = []
    for record in MadeRun("2.13.0+cpu", 1, replicas=2).records([workload]):
        files.append(record)
        if record["type"] == "artifact":
            continue  # it comes with the probe that left it
        store.write_many(files)
        files = []
        begun = begun or record["type"] == "evaluation"
        if begun:
            kind = record["probe"] if record["type"] == "probe" else record["type"]
            yield f"{kind} {record.get('status')}", rests_on(path, workload.name)
    store.close()


def test_what_is_not_shown_before_the_end_draws_nothing_anew(tmp_path: Path) -> None:
    one = replace(seed.MATMUL, buckets=seed.MATMUL.buckets[:1])
    seen = list(recorded(tmp_path / "going.db", one))
    anew = [kind for (kind, now), (_, before) in zip(seen[1:], seen, strict=False) if now != before]
    # Accuracy's own findings are drawn at once, and all else at the end.
    assert anew == ["accuracy ok", "evaluation_finished ok"]
    assert len(seen) > 8


def test_a_failed_probe_is_drawn_at_once(tmp_path: Path) -> None:
    broken = {("*", "*"): ("timing", "timeout", "the timing took longer than 300 s")}
    one = replace(seed.MATMUL, buckets=seed.MATMUL.buckets[:1], failures=broken)  # type: ignore[arg-type]
    seen = list(recorded(tmp_path / "failing.db", one))
    anew = [kind for (kind, now), (_, before) in zip(seen[1:], seen, strict=False) if now != before]
    assert anew[0] == "timing timeout"


def test_an_unfinished_evaluation_is_told_from_a_finished_one(tmp_path: Path) -> None:
    path = seed.write(tmp_path / "done.db", [(MadeRun("2.13.0+cpu", 1, replicas=1), [seed.MATMUL])])
    ids = rests_on(path, seed.MATMUL.name)
    assert all(isinstance(one, int) for one in ids)
    assert pd.Series(ids).is_unique
