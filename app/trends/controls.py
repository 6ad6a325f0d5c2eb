"""What Trends follows: its pickers and what the URL says of them.

URL keys: m (metric), over (versions, runs), v (variant), on (target), host (machine), ref or refrun (the reference of
either axis), at or atrun (the point whose cells are listed), table. A key that another page has would be taken along to it, and
the browser's Back would come back to that step.
"""

from __future__ import annotations

from functools import partial
from typing import Final, cast

import streamlit as st

from app import state, theme
from app.trends import frames as trend_frames
from app.trends.frames import Same
from app.trends.shown import Recorded
from db.queries import trends

OVER: Final = ("versions", "runs")
EVERY: Final = "every variant"
# A point of one axis is none of the other.
AT: Final = {"versions": "at", "runs": "atrun"}


def choose(found: trends.Choices) -> tuple[str, trends.Scope]:
    """The metric, and what is followed: filters that leave no choice are not drawn."""
    machine, target, side = found.machines[0][0], found.targets[0], st.sidebar.selectbox
    if len(found.targets) > 1:
        target = state.pick("Target", "on", found.targets, what="target", place=side)
    else:
        state.check("on", found.targets, what="target")
    cpus = dict(found.machines)
    if len(cpus) == 1:
        state.check("host", list(cpus), what="machine")
    else:
        machine = state.pick("Machine", "host", tuple(cpus), what="machine", place=side)
        st.sidebar.caption(theme.literal(cpus[machine] or "processor unknown"))
    known = [metric for metric in trend_frames.METRICS if metric in found.metrics]
    left, middle, right, _ = st.columns([2, 1.4, 1.4, 2], vertical_alignment="bottom")
    with left:
        metric = state.pick("Metric", "m", known or trend_frames.METRICS[:1], what="metric")
    with middle:
        bar = partial(st.segmented_control, required=True, default=OVER[0])
        over = state.pick("Over torch versions, or runs by date", "over", OVER, what="axis", place=bar)
    variant = EVERY
    if len(found.variants) > 1:
        with right:
            variant = state.pick("Variant", "v", [EVERY, *found.variants], what="variant")
    else:
        state.check("v", [*found.variants, EVERY], what="variant")
    scope = trends.Scope(cast(trends.Over, over), machine, target, None if variant == EVERY else variant)
    return metric, scope


def pick_reference(of: Recorded) -> str | None:
    """What the others are compared to: at first the earliest point that has enough cells."""
    n = of.wide.notna().sum()
    known = [str(point) for point in n[n > 0].index]
    first = trend_frames.first_reference(of.wide)
    if first is None:
        return None
    key, word = ("ref", "torch version") if of.over == "versions" else ("refrun", "run")
    box = partial(st.sidebar.selectbox, index=known.index(first))
    return state.pick("Reference", key, known, what=f"{word} with this metric", place=box)


def picked_point(of: Recorded, same: Same | None) -> str:
    """The point of the URL whose cells are listed; at first the newest of those that are followed."""
    wanted, known = state.asked(AT[of.over]), list(of.about["point"])
    state.check(AT[of.over], known[::-1], what="point")
    if wanted is not None and wanted in known:
        return wanted
    return same.points[-1] if same else str(known[-1])
