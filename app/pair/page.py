"""Two evaluations of one cell, beside each other: which two, and what their comparison says.

The URL's ``e`` is the candidate and ``vs`` the base, both ids of evaluations; a link may name the sides as the
comparing pages do instead (``base``, ``cand``). The verdict is that of the whole comparison of the two runs, so that a
cell says here what it says on Verdict.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import streamlit as st

from app import comparing, links, state, steps, theme
from app.comparing import Compared
from app.data import Database, read
from db.queries import comparison, why
from db.queries.why import EvaluationRecord
from evaluator.verdicts.findings import CellVerdict, Verdicts
from evaluator.verdicts.sides import CellName, Pair
from evaluator.verdicts.whole import with_carried_kernels

OTHER: Final = "vs"
_ALONE: Final = "nothing: this evaluation alone"
_SEEN: Final = "_why_seen"
_NAMED: Final = "_why_named"


@dataclass(frozen=True)
class Sides:
    """Both evaluations with all their evidence, their verdict, and the records it was made from.

    ``pair`` has the kernels that earlier buckets left where this one only reused code.
    """

    base: EvaluationRecord
    candidate: EvaluationRecord
    cell: CellVerdict
    pair: Pair
    verdicts: Verdicts

    @property
    def both(self) -> tuple[tuple[str, EvaluationRecord], tuple[str, EvaluationRecord]]:
        """The two records with the words for their sides."""
        return ("Base", self.base), ("Candidate", self.candidate)

    @property
    def why_not(self) -> str | None:
        """Why nothing at all of this cell was compared; None where the two were held against each other."""
        if self.cell.base_evaluation is None or self.cell.candidate_evaluation is None:
            return "a side did not evaluate this cell"
        first = self.cell.findings[0]
        whole = first.metric == "status" and "definition_changed" in first.reasons
        return first.text if whole else None


def named_by_references(database: Database, cell: CellName) -> None:
    """Put the two evaluations of a cell into the URL where it names the sides of a comparison instead.

    Once a link: the browser's Back, and looking at one evaluation alone, must not bring them back.
    """
    base, cand = (state.asked(key) for key in comparing.KEYS)
    link = (base, cand, cell)
    if not (base and cand) or state.asked(OTHER) is not None or st.session_state.get(_NAMED) == link:
        return
    found = comparing.compared(database, base, cand)
    if found is None:
        return
    one = _cell(found.verdicts.cells, cell)
    if one is None or one.base_evaluation is None or one.candidate_evaluation is None:
        st.warning("Not compared: a side of this comparison did not evaluate this cell.")
    elif state.asked("e") in (None, str(one.candidate_evaluation)):
        st.session_state[_NAMED] = link
        steps.amend("why", {"e": str(one.candidate_evaluation), OTHER: str(one.base_evaluation)})


def follow(database: Database, cell: CellName, listed: pd.DataFrame) -> None:
    """Where another cell was chosen on this page, go on with its evaluations in the same runs and environments.

    ``listed``: the cell's evaluations. What a link names is left as it is.
    """
    before, st.session_state[_SEEN] = st.session_state.get(_SEEN), cell
    if before is None or before == cell:
        return
    # It is a finding of the cell before.
    moved: dict[str, str | None] = {links.FINDING: None}
    for key in ("e", OTHER):
        value = state.asked(key)
        if value is None or not value.isdecimal() or int(value) in set(listed["evaluation"]):
            continue
        old = read(database, why.record, int(value))
        if old is None:
            continue
        same = listed[(listed["run"] == old.run) & (listed["environment"] == old.environment)]
        moved[key] = None if same.empty else str(same["evaluation"].iloc[0])
    # The choice of another cell is no step of its own, nor is what follows from it.
    steps.amend("why", moved)


def words(listed: pd.DataFrame) -> list[str | None]:
    """Which side each listed evaluation is, by the URL; None for all of them where only one is looked at."""
    base, candidate = state.asked(OTHER), state.asked("e")
    if base is None or base == candidate:
        return [None] * len(listed)
    names = {base: "base", candidate or str(listed["evaluation"].iloc[0]): "candidate"}
    return [names.get(str(one)) for one in listed["evaluation"]]


def pick_other(listed: pd.DataFrame, evaluation: int) -> int | None:
    """The evaluation to show beside ``evaluation``, of those listed; None for none. The URL's is selected."""
    others = {str(row["evaluation"]): _named(row) for row in listed.to_dict("records")}
    others.pop(str(evaluation))
    wanted = state.asked(OTHER)
    if wanted == str(evaluation):
        st.warning("An evaluation is not compared with itself: choose another one here.")
    elif wanted is not None and wanted not in others:
        state.say_unknown("evaluation of this cell", wanted, list(others))
    current = wanted if wanted in others else ""
    options = ["", *others]
    # The widget's key holds what the URL says, so that the browser's Back moves the selection too.
    picked = st.selectbox(
        "Compare with",
        options,
        index=options.index(current),
        format_func=lambda one: others.get(one, _ALONE),
        key=f"{OTHER}-{evaluation}-{current}",
        disabled=not others,
        help="The base: what it was before. The evaluation that is picked in the table is the candidate.",
    )
    if not others:
        st.caption("There is no other evaluation of this cell yet.")
    if (picked or "") != current:
        steps.put({OTHER: picked} if picked else dict.fromkeys((OTHER, links.FINDING, *comparing.KEYS)))
        st.rerun()
    return int(current) if current else None


def _named(row: Mapping[Hashable, Any]) -> str:
    """An evaluation in a list, as plain text: ``2.13.0+cpu · run 3 · env 1a2b3c · pinned · 2026-03-02 21:15 · ✓ ok``."""
    status = row["status"]
    words = [row["torch"] or "torch unknown", f"run {row['run']}", f"env {str(row['environment'])[:6]}"]
    words += [row["label"], row["started_at"].strftime("%Y-%m-%d %H:%M")]
    words += [theme.status_text(status if isinstance(status, str) else "running")]
    return " · ".join(word for word in words if isinstance(word, str) and word)


def sides(database: Database, base: EvaluationRecord, candidate: EvaluationRecord) -> Sides | None:
    """What the comparison of their two runs says of these evaluations; None after the page was told why it can't."""
    references = [_reference(database, one) for one in (base, candidate)]
    found = comparing.compared(database, *references)
    if found is None:
        return None
    name = CellName(candidate.workload, candidate.bucket, candidate.variant, candidate.target)
    cell = _cell(found.verdicts.cells, name)
    if cell is None or (cell.base_evaluation, cell.candidate_evaluation) != (base.id, candidate.id):
        st.warning("These two evaluations are not the ones that a comparison of their runs rests on.")
        return None
    return Sides(base, candidate, cell, _pair(found, name), found.verdicts)


def _reference(database: Database, record: EvaluationRecord) -> str:
    """A side as ``resolve`` takes it: the run, and which of its environments."""
    places = read(database, comparison.environment_of_run, record.run)
    position = next(place for hash_, _, place in places if hash_ == record.environment)
    return f"{record.run}@{position}"


def _cell(cells: Iterable[CellVerdict], name: CellName) -> CellVerdict | None:
    return next((one for one in cells if one.cell == name), None)


def _pair(found: Compared, name: CellName) -> Pair:
    """The pair of a cell with the kernels of earlier buckets, as the comparison itself looks at it."""
    walk = (name.workload, name.variant, name.target)
    pairs = [one for one in found.pairs if (one.cell.workload, one.cell.variant, one.cell.target) == walk]
    return next(one for one in with_carried_kernels(pairs) if one.cell == name)
