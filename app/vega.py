"""Charts as Vega-Lite's JSON: their layers are Altair's, put together here, and each frame stands once in the JSON.

Altair copies all layers several times over when it puts them together, and each layer's frame as well; that took longer
than all else about a page. Knows no Streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from app import theme

# A chart as JSON.
Spec = dict[str, Any]

# The width is the page's; the height is the plot's own, with axes and legend around it.
FIT_WIDTH: Final = {"type": "fit-x", "contains": "padding"}


def named(name: str) -> alt.NamedData:
    """The frame that ``layered`` is given under this name."""
    return alt.NamedData(name=name)


def inline(**row: Any) -> alt.InlineData:
    """Data of one row."""
    return alt.InlineData(values=[row])


def layered(
    layers: Sequence[alt.Chart],
    frames: Mapping[str, pd.DataFrame],
    *,
    height: float | dict[str, float],
    config: Mapping[str, Any] | None = None,
) -> Spec:
    """The layers on one plot as wide as the page, with the frames that they name. ``height``: in pixels, or of each step
    (``{"step": 20}``). A selection of a layer is the chart's own, as Vega-Lite wants it."""
    data: dict[str, Any] = {name: records(frame) for name, frame in frames.items()}
    made, selections = [], []
    channels: dict[int, Any] = {}
    for place, layer in enumerate(layers):
        bare = layer.copy(deep=False)
        bare.encoding = alt.Undefined
        one = bare.to_dict(validate=False, context={"top_level": False, "datasets": data})
        one["encoding"] = {
            str(name): _channel(channel, channels)
            for name, channel in layer.encoding._kwds.items()
            if channel is not alt.Undefined
        }
        for selection in one.pop("params", ()):
            # Not as Vega-Lite itself names layers: one that is put before this later would have the same name.
            one["name"] = f"clicked_{place}"
            selections.append({**selection, "views": [one["name"]]})
        made.append(one)
    return {
        "$schema": alt.SCHEMA_URL,
        "layer": made,
        "params": selections,
        "datasets": data,
        "height": height,
        "autosize": FIT_WIDTH,
        "config": {"view": {"strokeWidth": 0}, **(config or {})},
    }


def in_theme(spec: Spec, *, dark: bool) -> Spec:
    """The chart with its words (axes, legends, text marks that name a style) in colours that can be read on a light or a
    dark background. Its other parts are the same objects."""
    colors = {style: pair[int(dark)] for style, pair in theme.TEXT_STYLES.items()}
    named = {style: {"color": color} for style, color in colors.items()}
    words = {"labelColor": colors["quiet"], "titleColor": colors["quiet"]}
    return {**spec, "config": {**spec["config"], "axis": words, "legend": words, "style": named}}


def _channel(channel: Any, known: dict[int, Any]) -> Any:
    """A channel of an encoding as JSON. Layers share most of theirs (an axis with all its values), and each is made once:
    ``known`` has those that were, by their identity."""
    if isinstance(channel, list):
        return [_channel(one, known) for one in channel]
    if id(channel) not in known:
        known[id(channel)] = channel.to_dict(validate=False, context={})
    return known[id(channel)]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them: null where a value is missing."""
    names = [str(name) for name in frame.columns]
    columns = [_plain(frame[name]) for name in frame.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(column: pd.Series[Any]) -> list[Any]:
    values, missing = column.tolist(), column.isna()
    if not missing.any():
        return values
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]
