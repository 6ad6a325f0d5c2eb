"""What a timeline draws: lanes with bars, and links between them. Pure; ``chart`` draws it, whatever it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from app import theme

BAR: Final = ("lane", "start", "end", "kind", "label", "tip")
LINK: Final = ("x", "lane", "x2", "lane2", "kind")
POINT: Final = ("x", "lane", "tip")
# Where the line of something submitted runs in its lane: below the bars.
_BELOW: Final = 0.38
# Kind of bar -> word, colour. Colour is never alone: a bar that is wrong has a sign in its label and a thick edge, a wait a
# dashed one, and everything else has its lane.
KINDS: Final[dict[str, tuple[str, str]]] = {
    "run": ("operation", theme.PALETTE[0]),
    "alarm": ("NOT ordered", theme.PALETTE[1]),
    "host run": ("the host computes", theme.PALETTE[5]),
    "wait": ("wait", theme.NEUTRAL_COLOR),
    "operator": ("operator", theme.PALETTE[5]),
    "call": ("runtime call", theme.PALETTE[3]),
    "kernel": ("kernel", theme.PALETTE[0]),
    "copy": ("copy", theme.PALETTE[2]),
    "set": ("set", theme.PALETTE[4]),
    "interval": ("interval", theme.NEUTRAL_COLOR),
}


@dataclass(frozen=True)
class Picture:
    """``lanes``: names from top to bottom. ``bars``: columns ``BAR``, where lane is a position in ``lanes``, start and end are
    in ``unit``, kind is one of ``KINDS``, and tip is what pointing at it says. ``links``: columns ``LINK``, from (x, lane) to
    (x2, lane2), kind "submit", "queue" or "wait". ``points``: columns ``POINT``, calls that take no time. ``ends``: of the
    axis of time."""

    lanes: tuple[str, ...]
    bars: pd.DataFrame
    links: pd.DataFrame
    points: pd.DataFrame
    unit: str
    ends: tuple[float, float]

    @property
    def marks(self) -> int:
        """How many marks are drawn."""
        return len(self.bars) + len(self.links) + len(self.points)


def submitted(call: float, host: int, start: float, lane: int) -> list[dict[str, Any]]:
    """Links from a call at this time in the lane of the host to what it put into another lane: down, and there along until
    that starts."""
    down = {"x": call, "lane": host, "x2": call, "lane2": lane + _BELOW, "kind": "submit"}
    along = {"x": call, "lane": lane + _BELOW, "x2": start, "lane2": lane + _BELOW, "kind": "queue"}
    return [down, along] if start > call else [down]


def frame(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows with these columns, which are there also when no row is."""
    return pd.DataFrame(list(rows), columns=pd.Index(columns))
