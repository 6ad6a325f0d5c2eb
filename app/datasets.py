"""Data of charts by name: each frame stands once in a chart's JSON, however many layers draw it.

Altair by itself converts, and hashes, the frame of every layer anew, and looks at every value of a chart's data whenever
it copies or writes the chart, which takes longer than all else about it. Knows no Streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import altair as alt
import pandas as pd

# No border around a plot.
PLAIN: Final = alt.ViewConfig(strokeWidth=0)
_CONFIG: Final = alt.Config(view=PLAIN)


def named(name: str) -> alt.NamedData:
    """The frame that ``layered`` is given under this name."""
    return alt.NamedData(name=name)


def inline(**row: Any) -> alt.InlineData:
    """Data of one row."""
    return alt.InlineData(values=[row])


def layered(
    layers: Sequence[alt.Chart],
    frames: Mapping[str, pd.DataFrame],
    config: alt.Config = _CONFIG,
    **options: Any,
) -> alt.LayerChart:
    """The layers as one chart with the frames that they name; ``options`` are its other properties.

    All at once: whatever is done to a chart of layers later, Altair does to a copy of all of it.
    """
    rows = {name: _Rows(records(frame)) for name, frame in frames.items()}
    return alt.LayerChart(layer=list(layers), datasets=rows, config=config, **options)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them: null where a value is missing."""
    plain = frame.astype("object").where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]


class _Rows(alt.SchemaBase):  # type: ignore[misc]
    """Rows that are JSON already: they go into a chart's JSON as they are, and all copies of a chart share them."""

    _schema: ClassVar[dict[str, Any]] = {"type": "array"}

    def to_dict(self, *_: Any, **__: Any) -> Any:
        return self._args[0]

    def __deepcopy__(self, _: Any) -> _Rows:
        return self
