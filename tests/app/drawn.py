"""Charts as a browser gets them, checked by Altair, which has Vega-Lite's schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import altair as alt

from app.vega import Spec


def valid(spec: Spec) -> dict[str, Any]:
    """The chart through JSON, with nothing of Python left in it. Raises where Vega-Lite does not allow it."""
    found: dict[str, Any] = json.loads(json.dumps(spec, allow_nan=False))
    chart(found)
    return found


def chart(spec: Spec) -> alt.LayerChart:
    """The chart as one of Altair's own."""
    plain = {name: value for name, value in spec.items() if name != "$schema"}
    found = alt.LayerChart.from_dict(plain, validate=True)
    assert isinstance(found, alt.LayerChart)
    return found


def picture(spec: Spec, target: Path, width: int) -> str:
    """The SVG of the chart, which is written to ``target``."""
    chart(spec).properties(width=width).save(target)
    return target.read_text()
