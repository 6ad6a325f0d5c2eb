"""A query's result as a data frame whose columns are there also when no row is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import pandas as pd
from sqlalchemy import Connection, Select

AnySelect: TypeAlias = Select[*tuple[Any, ...]]

# SQLite takes at most 32,766 variables in a statement, PostgreSQL's driver 65,535.
_MOST_VARIABLES: Final = 10_000


def frame(connection: Connection, statement: AnySelect) -> pd.DataFrame:
    """All rows of ``statement``, one column each selected name. NULL stays missing."""
    result = connection.execute(statement)
    columns = list(result.keys())
    return pd.DataFrame([tuple(row) for row in result.all()], columns=pd.Index(columns))


def frame_of_ids(connection: Connection, statement: AnySelect, column: Any, ids: list[int]) -> pd.DataFrame:
    """``statement`` restricted to rows whose ``column`` is one of ``ids``, in pieces that fit one statement."""
    starts = range(0, max(1, len(ids)), _MOST_VARIABLES)
    pieces = [frame(connection, statement.where(column.in_(ids[i : i + _MOST_VARIABLES]))) for i in starts]
    return pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)


def lists(texts: Iterable[str]) -> list[tuple[Any, ...]]:
    """Lists from the JSON text of each. One text for all is read far faster than each alone, and equal ones, as numbers of
    replicas mostly are, once."""
    given = list(texts)
    distinct = list(dict.fromkeys(given))
    found = map(tuple, json.loads(f"[{','.join(distinct)}]"))
    by_text = dict(zip(distinct, found, strict=True))
    return [by_text[text] for text in given]
