"""The files of two evaluations as pairs: of one kind and kernel, or of one probe. Pure: no Streamlit, no database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from app.pair.rows import CHANGES

COLUMNS: Final = (
    *("change", "kind", "name", "base_size", "candidate_size"),
    *("base_sha256", "candidate_sha256"),
)
# What is worth a look first: a pair that differs.
_ORDER: Final = ("changed", "added", "removed", "same")


def named(artifacts: pd.DataFrame, kernels: pd.DataFrame) -> pd.DataFrame:
    """The files of an evaluation, each kernel's source once and any other file once, with a ``name``: the kernel's, else
    what the file was left by (``compile cold, replica 1``). Frames as in ``why.EvaluationRecord``."""
    of_source: dict[str, list[str]] = defaultdict(list)
    for name, sha256 in zip(kernels["name"], kernels["source_sha256"], strict=True):
        if isinstance(sha256, str) and isinstance(name, str) and name not in of_source[sha256]:
            of_source[sha256].append(name)
    rows: list[dict[Hashable, Any]] = []
    for row in artifacts.drop_duplicates(["kind", "sha256"]).to_dict("records"):
        known = of_source.get(row["sha256"], []) if row["kind"] == "kernel_source" else []
        rows += [{**row, "name": name} for name in known or [_left_by(row)]]
    return pd.DataFrame(rows, columns=pd.Index([*artifacts.columns, "name"]))


def _left_by(row: Mapping[Hashable, Any]) -> str:
    words = [row[name] for name in ("probe", "cache") if isinstance(row.get(name), str)]
    replica = row.get("replica")
    number = [] if replica is None or pd.isna(replica) else [f"replica {int(replica)}"]
    return ", ".join([" ".join(words), *number] if words else number)


def pairs(base: pd.DataFrame, candidate: pd.DataFrame) -> pd.DataFrame:
    """A row for each pair of files, and for each file that only one side has: ``COLUMNS``; sizes in bytes. Frames as
    ``named`` makes them. Of several of one kind and name those of equal contents are pairs, then the others in order."""
    sides = [_grouped(base), _grouped(candidate)]
    rows: list[dict[str, Any]] = []
    for kind, name in dict.fromkeys([*sides[0], *sides[1]]):
        ours, theirs = (list(side.get((kind, name), ())) for side in sides)
        same = [one for one in ours if one in theirs]
        matched = [(one, one) for one in same]
        ours, theirs = ([one for one in side if one not in same] for side in (ours, theirs))
        both = min(len(ours), len(theirs))
        matched += zip(ours[:both], theirs[:both], strict=True)
        rows += [_row(kind, name, *one) for one in matched]
        rows += [_row(kind, name, one, None) for one in ours[both:]]
        rows += [_row(kind, name, None, one) for one in theirs[both:]]
    order = [CHANGES[change] for change in _ORDER]
    rows.sort(key=lambda row: (order.index(row["change"]), row["kind"] != "kernel_source"))
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS), dtype="object")


_File = tuple[str, int]


def _grouped(files: pd.DataFrame) -> dict[tuple[str, str], list[_File]]:
    found: dict[tuple[str, str], list[_File]] = defaultdict(list)
    for row in files.to_dict("records"):
        found[row["kind"], row["name"]].append((row["sha256"], row["size"]))
    return found


def _row(kind: str, name: str, base: _File | None, candidate: _File | None) -> dict[str, Any]:
    if base is None:
        change = "added"
    elif candidate is None:
        change = "removed"
    else:
        change = "same" if base[0] == candidate[0] else "changed"
    (ours, our_size), (theirs, their_size) = base or (None, None), candidate or (None, None)
    values: Sequence[Any] = (CHANGES[change], kind, name, our_size, their_size, ours, theirs)
    return dict(zip(COLUMNS, values, strict=True))
