"""From the queries' frames to those that the Workload page draws and lists. Pure: no Streamlit, no database."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pandas as pd

from app import theme
from app.findings import NOTHING
from db.queries import history, versions


def frames(
    newest: pd.DataFrame, summary: pd.DataFrame, failed: pd.DataFrame, metric: str
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The points, medians and failures of a metric, as ``charts.history`` takes them."""
    where = newest.set_index("evaluation")[["torch", "bucket", "note"]].rename(columns={"torch": "version"})
    mine = summary[summary["metric"] == metric].join(where, on="evaluation")
    medians = mine.rename(columns={"lo": "low", "hi": "high", "replicas": "n"})
    n = mine["replica_medians"].map(len).tolist()
    points = pd.DataFrame(
        {
            **{name: mine[name].repeat(n).to_numpy() for name in ("version", "bucket")},
            "replica": list(chain.from_iterable(mine["replica_numbers"])),
            "value": list(chain.from_iterable(mine["replica_medians"])),
        }
    )
    failures = history.without_value(newest, failed, summary, metric).join(where, on="evaluation")
    failures["failed"] = ~failures["status"].isin(list(theme.NEUTRAL_STATUSES))
    failures["status"] = [theme.status_text(status) for status in failures["status"]]
    if not metric.startswith("compiled."):
        medians["note"] = medians["note"].where(medians["note"] == NOTHING)
    keep = ["version", "bucket", "median", "low", "high", "n", "evaluation", "note"]
    return points, medians[keep], failures


def in_order(newest: pd.DataFrame, buckets: Sequence[str]) -> pd.DataFrame:
    """The evaluations as rows of a table, newest version first, buckets in declared order, statuses in words."""
    rank = {version: place for place, version in enumerate(versions.in_order(newest["torch"]))}
    place = {bucket: position for position, bucket in enumerate(buckets)}
    shown = newest.assign(
        status=[theme.status_text(s if isinstance(s, str) else "running") for s in newest["status"]],
        version_rank=newest["torch"].map(rank),
        bucket_rank=newest["bucket"].map(place),
    )
    shown = shown.sort_values(["version_rank", "bucket_rank"], ascending=[False, True])
    return shown.drop(columns=["version_rank", "bucket_rank"])


def remarks(found: pd.DataFrame, newest: pd.DataFrame, older: int, *, replicas: bool = True) -> list[str]:
    """How to read the charts, and what they leave out; ``older``: evaluations of earlier definitions; ``replicas``: the
    charts show them."""
    said = (
        ["Small: replicas. Line: their median. Band: 95% interval, from 6 replicas on."] if replicas else []
    )
    said.append("Click a mark to see its evidence.")
    if newest["note"].notna().any():
        said.append("Hollow: not what the title says, see the note.")
    if newest["torch"].nunique() == 1:
        said.append("One torch version only: evaluate another to see a change.")
    if len(found) > len(newest):
        said.append(
            f"Newest run of each version; {theme.counted(len(found) - len(newest), 'earlier evaluation')} left out."
        )
    if older:
        said.append(f"{theme.counted(older, 'evaluation')} of an older definition left out.")
    return said
