"""How sure the geometric means of Trends are: intervals from the replicas of two runs. Pure: no Streamlit, no database."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean
from typing import Any, Final

import numpy as np
import pandas as pd

from app.trends.frames import Same
from db.queries.frames import lists
from evaluator.verdicts.policy import LEAST_REPLICAS
from evaluator.verdicts.ratio import ratio as ratio_of

# A replica speaks for a point if it has this share of its cells.
LEAST_CELLS: Final = 0.9


def with_intervals(found: pd.DataFrame, at: pd.DataFrame, metric: str, same: Same) -> pd.DataFrame:
    """``ratios`` with low and high, the 95% interval of the ratio, missing where there is none.

    The unit is the replica: forks of one server share its luck, so each replica gives one geometric mean over the
    cells, and the two groups of these are compared as verdicts do. It needs a point whose cells are of one run, and
    4 replicas with nearly all of them. It knows nothing of what differs between days.
    """
    means = _replica_means(at, metric, same)
    base = means.get(same.reference)
    lows, highs = [], []
    for point, ratio in zip(found["point"], found["ratio"], strict=True):
        low = high = math.nan
        if base and point != same.reference and (mine := means.get(point)):
            interval = ratio_of(base, mine)
            # The middle of replicas' means is not quite the mean of medians; both belong inside.
            low, high = min(interval.low, ratio), max(interval.high, ratio)
        lows.append(low)
        highs.append(high)
    return found.assign(low=pd.Series(lows, dtype="float64"), high=pd.Series(highs, dtype="float64"))


def _replica_means(at: pd.DataFrame, metric: str, same: Same) -> dict[str, list[float]]:
    """The geometric mean of each replica at each point: that of the cells' medians, times the mean of how far the
    replica's own values are from these. A replica that lacks a tenth of the cells has none."""
    mine = at[
        at["cell"].isin(list(same.cells))
        & at["point"].isin(list(same.points))
        & at["replica_medians"].notna()
    ]
    # A frame with a row a replica would take longer to make than all of its sums.
    rows = zip(
        mine["point"],
        zip(mine["run"], mine["environment"], strict=True),
        np.log(mine[metric].astype("float64")),
        lists(mine["replica_numbers"]),
        lists(mine["replica_medians"]),
        strict=True,
    )
    places, middles = defaultdict[str, set[Any]](set), defaultdict[str, list[float]](list)
    lucks = defaultdict[str, dict[int, list[float]]](lambda: defaultdict(list))
    for point, place, middle, replicas, values in rows:
        places[point].add(place)
        middles[point].append(middle)
        for replica, value in zip(replicas, values, strict=True):
            if value is not None and value > 0:
                lucks[point][replica].append(math.log(value) - middle)
    found: dict[str, list[float]] = {}
    for point, logs in middles.items():
        enough = [fmean(luck) for luck in lucks[point].values() if len(luck) >= LEAST_CELLS * len(logs)]
        one_run = len(logs) == len(same.cells) and len(places[point]) == 1
        if one_run and len(enough) >= LEAST_REPLICAS:
            found[point] = [math.exp(fmean(logs) + one) for one in enough]
    return found
