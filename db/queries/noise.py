"""Which evaluations have warm times whose rounds spread so widely that their medians tell little."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Label, String, cast, exists

from db.models import Evaluation, Summary

_WARM: Final = ("eager.wall_ms", "compiled.wall_ms", "eager.stream_ms", "compiled.stream_ms")


def noisy_times() -> Label[Any]:
    """A column ``noisy`` of a query over evaluations: whether a process flagged its warm rounds as noisy."""
    flagged = exists().where(
        Summary.evaluation_id == Evaluation.id,
        Summary.metric.in_(_WARM),
        cast(Summary.flags, String).like('%"noisy"%'),
    )
    return flagged.label("noisy")
