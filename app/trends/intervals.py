"""How sure the geometric means of Trends are: intervals from the replicas of two runs. Pure: no Streamlit, no database."""

from __future__ import annotations

import math
from typing import Final

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
    long = pd.DataFrame(
        {
            "point": mine["point"],
            "middle": mine[metric],
            "replica": lists(mine["replica_numbers"]),
            "value": lists(mine["replica_medians"]),
        }
    ).explode(["replica", "value"])
    value = long["value"].astype("float64")
    long = long.assign(luck=np.log(value.where(value > 0)) - np.log(long["middle"].astype("float64")))
    lucks = long.dropna().groupby(["point", "replica"])["luck"].agg(["mean", "size"])
    found: dict[str, list[float]] = {}
    for point, rows in mine.groupby("point"):
        one_run = len(rows) == len(same.cells) and len(rows[["run", "environment"]].drop_duplicates()) == 1
        luck = lucks.loc[point]
        enough = luck.loc[luck["size"] >= LEAST_CELLS * len(rows), "mean"]
        if one_run and len(enough) >= LEAST_REPLICAS:
            middle = float(np.log(rows[metric].astype("float64")).mean())
            found[str(point)] = [math.exp(middle + one) for one in enough]
    return found
