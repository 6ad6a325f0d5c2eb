"""Pages over a cell of a GPU: memory of the device beside the host's, and flags of its rounds where its times are."""

from __future__ import annotations

import copy
from pathlib import Path

import pandas as pd
import pytest

from app import metric_words
from db.store import Store
from tests.app.conftest import Opener, said
from tests.db import made

# Held in MB, and by which flags its rounds are qualified.
DEVICE = {
    "eager.device_allocated_peak_mb": 120.5,
    "compiled.device_allocated_peak_mb": 80.25,
    "compiled.device_private_pools_mb": 34.0,
    "compiled.device_alloc_retries": 0.0,
    "compile.device_allocated_peak_mb": 95.0,
}


@pytest.fixture(scope="module")
def on_gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gpu") / "gpu.db"
    records = copy.deepcopy(made.whole_run("first", buckets=("n=4",)))
    for record in records:
        for sample in record.get("samples") or ():
            if sample["metric"] == "compiled.wall_ms" and sample["value"] is not None:
                sample["flags"] = ["throttled"]
    memory = made.probe("memory", samples=[made.sample(metric, value) for metric, value in DEVICE.items()])
    # The tab opens at the probe that the cell has its status from.
    (ended,) = [place for place, one in enumerate(records) if one["type"] == "evaluation_finished"]
    records[ended]["status"] = "crashed"
    lost = made.probe(
        "accuracy",
        number=1,
        status="crashed",
        reason="CUDA: device-side assert triggered; it ended the process",
        facts={"origin": {"message": "CUDA error: device-side assert triggered", "traceback": "in gather"}},
    )
    records[ended:ended] = [memory, lost]
    store = Store(str(path))
    store.write_many(records)
    store.close()
    return path


def table_with(tables: list[pd.DataFrame], column: str) -> pd.DataFrame:
    (found,) = [one for one in tables if column in one]
    return found


def test_memory_of_the_device_stands_beside_the_host_s(opens: Opener, on_gpu: Path) -> None:
    app = opens(on_gpu, "workload", see="Memory")
    assert not app.exception
    row = table_with([one.value for one in app.dataframe], "compiled.device_allocated_peak_mb").iloc[0]
    assert {metric: row[metric] for metric in DEVICE} == DEVICE
    # What the driver or the allocator did not tell stays missing.
    assert pd.isna(row["compiled.device_outside_mb"])
    assert "heat or power held the GPU's clocks down in some rounds" in str(row["note"])


def test_why_says_what_qualifies_the_rounds_and_what_a_metric_includes(opens: Opener, on_gpu: Path) -> None:
    app = opens(on_gpu, "why", tab="Times")
    assert not app.exception
    assert "heat or power held the GPU's clocks down in some rounds" in said(app)
    times = table_with([one.value for one in app.dataframe], "rounds").set_index("title")
    warm = times.loc[metric_words.title("compiled.wall_ms")]
    assert warm["rounds"] == "heat or power held the GPU's clocks down in some rounds"
    assert times.loc[metric_words.title("eager.wall_ms")]["rounds"] == ""
    assert "no leak" not in warm["includes"]
    assert "private pools" in times.loc[metric_words.title("compiled.device_private_pools_mb")]["includes"]


def test_a_lost_device_shows_where_the_error_came_from(opens: Opener, on_gpu: Path) -> None:
    app = opens(on_gpu, "why", tab="Probes and logs")
    assert not app.exception
    shown = said(app)
    assert "CUDA: device-side assert triggered; it ended the process" in shown
    assert "by one more run that waited for each launch" in shown
    assert "in gather" in shown
