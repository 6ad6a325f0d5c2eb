"""How sure the geometric means of Trends are: intervals from the replicas of two runs. Pure: no Streamlit, no database."""

from __future__ import annotations

import math
from itertools import chain
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
    mine = at.loc[
        at["cell"].isin(list(same.cells))
        & at["point"].isin(list(same.points))
        & at["replica_medians"].notna(),
        ["point", "run", "environment", metric, "replica_numbers", "replica_medians"],
    ]
    middle = np.log(mine[metric].to_numpy("float64"))
    replicas, values = lists(mine["replica_numbers"]), lists(mine["replica_medians"])
    of, points = pd.factorize(mine["point"])
    cells = np.bincount(of)
    middles = np.bincount(of, middle) / cells
    places = mine.drop_duplicates(["point", "run", "environment"])["point"].value_counts()
    # One entry a replica of an evaluation. A frame of them would take longer to make than all of the sums.
    n = [len(one) for one in values]
    value = np.array(list(chain.from_iterable(values)), dtype="float64")
    numbers, replica = np.unique(list(chain.from_iterable(replicas)), return_inverse=True)
    counts = value > 0
    group = (np.repeat(of, n) * len(numbers) + replica)[counts]
    luck = np.log(value[counts]) - np.repeat(middle, n)[counts]
    shape = len(points), len(numbers)
    known = np.bincount(group, minlength=len(points) * len(numbers)).reshape(shape)
    lucks = np.bincount(group, luck, minlength=len(points) * len(numbers)).reshape(shape)
    found: dict[str, list[float]] = {}
    for place, point in enumerate(points):
        enough = known[place] >= max(1, LEAST_CELLS * cells[place])
        one_run = cells[place] == len(same.cells) and places[point] == 1
        if one_run and enough.sum() >= LEAST_REPLICAS:
            means = middles[place] + lucks[place][enough] / known[place][enough]
            found[str(point)] = np.exp(means).tolist()
    return found
