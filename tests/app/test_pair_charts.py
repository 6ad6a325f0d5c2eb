"""Charts of two evaluations as specifications."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd

from app.pair import charts as pair_charts
from tests.app.drawn import valid

ROWS = [
    ("Base", "Dynamo", 1.0),
    ("Base", "Inductor", 2.0),
    ("Candidate", "Inductor", 4.0),
    ("Candidate", "Dynamo", 1.5),
]


def test_both_bars_are_stacked_in_one_order_and_colour() -> None:
    frame = pd.DataFrame(ROWS, columns=["side", "phase", "value"])
    spec = valid(pair_charts.phases(frame, ("Base", "Candidate"), ("Dynamo", "Inductor")))
    bars = spec["layer"][0]["encoding"]
    assert bars["y"]["scale"]["domain"] == ["Base", "Candidate"]
    assert bars["color"]["scale"]["domain"] == ["Dynamo", "Inductor"]
    assert bars["x"]["title"].endswith("(s)")
    (drawn,) = spec["datasets"].values()
    spans = {(row["side"], row["phase"]): (row["start"], row["end"]) for row in drawn}
    assert spans == {
        ("Base", "Dynamo"): (0.0, 1.0),
        ("Base", "Inductor"): (1.0, 3.0),
        ("Candidate", "Dynamo"): (0.0, 1.5),
        ("Candidate", "Inductor"): (1.5, 5.5),
    }


def test_these_charts_know_no_streamlit() -> None:
    code = "import sys; import app.pair.charts; print('streamlit' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    said = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"
