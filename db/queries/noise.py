"""What qualifies the rounds of evaluations' warm times: rounds that spread widely, a GPU that was held down or shared."""

from __future__ import annotations

import re
from typing import Any, Final

import pandas as pd
from sqlalchemy import Label, String, cast, func, select

from db.models import Evaluation, Summary
from evaluator.verdicts.words import round_flags

_WARM: Final = tuple(
    f"{side}.{name}" for side in ("eager", "compiled") for name in ("wall_ms", "stream_ms", "host_ms")
)
_COLUMN: Final = "round_flags"


def warm_round_flags() -> Label[Any]:
    """A column ``round_flags`` of a query over evaluations, for ``with_round_flags``: the flags' lists as one text."""
    texts = (
        select(func.aggregate_strings(cast(Summary.flags, String), ","))
        .where(Summary.evaluation_id == Evaluation.id, Summary.metric.in_(_WARM))
        .correlate(Evaluation)
        .scalar_subquery()
    )
    return texts.label(_COLUMN)


def with_round_flags(found: pd.DataFrame) -> pd.DataFrame:
    """The frame of such a query with ``round_flags`` as lists of flags, in the order in which they are declared."""
    texts = found[_COLUMN].fillna("")
    lists = [round_flags(re.findall(r'"(\w+)"', text)) for text in texts]
    return found.assign(**{_COLUMN: pd.Series(lists, index=found.index, dtype=object)})
