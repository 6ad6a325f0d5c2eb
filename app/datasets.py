"""Data of charts by name: each frame stands once in a chart's JSON, however many layers draw it.

Altair by itself converts, and hashes, the frame of every layer anew, which takes longer than all else about a chart.
Knows no Streamlit.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd


def named(name: str) -> alt.NamedData:
    """The frame that ``with_data`` gives under this name."""
    return alt.NamedData(name=name)


def with_data(chart: alt.LayerChart, **frames: pd.DataFrame) -> alt.LayerChart:
    """The chart with the frames that its layers name."""
    chart.datasets = {name: records(frame) for name, frame in frames.items()}
    return chart


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them: null where a value is missing."""
    plain = frame.astype("object").where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]
