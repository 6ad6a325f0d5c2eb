"""The two sides that the comparing pages are about, and what the evaluator says of them.

The entry file calls ``draw`` for pages that compare (``passed`` for others), so that the pickers stay while one goes from page to page. A page
calls ``current(database)``: the comparison, or None after the page was told why there is none. URL keys: base, cand;
their values are references that ``db.queries.comparison.resolve`` takes (``7@2``, ``2.14.1+cpu``).
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from app import data, empty, state, steps, theme
from app.data import Database, read
from db.queries import comparison
from db.queries import sides as recorded
from db.queries.comparison import Pair, SideRef
from db.queries.sides import Choice, Choices
from evaluator.errors import UserError
from evaluator.verdicts.findings import Verdicts
from evaluator.verdicts.whole import compare

KEYS: Final = ("base", "cand")
UPGRADE: Final = "python -m evaluator upgrade"
_DRAWN: Final = "_sides"
_LOST: Final = "_sides_lost"
_WORDS: Final = {"base": "base", "cand": "candidate"}
_KEPT: Final = "_sides_kept"


@dataclass(frozen=True)
class Compared:
    """A comparison as the evaluator judges it. ``pairs``: both sides' evaluations, cell by cell; the refs say which
    run and environment each side is; ``key`` stands for all that it rests on. Shared between sessions: never change what
    is in it."""

    verdicts: Verdicts
    pairs: tuple[Pair, ...]
    base_ref: SideRef
    cand_ref: SideRef
    key: tuple[Any, ...] = ()

    @property
    def base(self) -> str:
        """The base as a short reference, ``7@1``."""
        return f"{self.base_ref.run}@{self.base_ref.position}"

    @property
    def cand(self) -> str:
        """The candidate as a short reference, ``7@2``."""
        return f"{self.cand_ref.run}@{self.cand_ref.position}"


def draw(database: Database, page: str) -> None:
    """Draw the pickers Base and Candidate in the sidebar and keep what is picked for the page of this run.

    ``page``: its path in the URL. A side that the URL of another page names goes along to this one.
    """
    found = read(database, recorded.choices)
    default = found.default()
    kept = st.session_state.get(_KEPT, {})
    # Going to a page drops these keys from its URL; going back to a URL without them means the default.
    moved = kept.get("page") not in (None, page)
    if moved:
        along = {key: kept[key] for key in KEYS if state.asked(key) is None and kept.get(key) is not None}
        if along:
            steps.amend(page, along)
    asked = {key: state.asked(key) for key in KEYS}
    st.session_state[_KEPT] = {"page": page, **asked}
    st.session_state[_LOST] = [] if default is None else _lost(found)
    st.session_state[_DRAWN] = None if default is None else _pick_both(found, default)


def passed(page: str) -> None:
    """Note that a page without pickers is open: coming back from it, the sides are as they were."""
    st.session_state[_KEPT] = {**st.session_state.get(_KEPT, {}), "page": page}


def _pick_both(found: Choices, default: tuple[str, str]) -> tuple[str, str] | None:
    asked = [state.asked(key) for key in KEYS]
    wanted = [None if value is None else found.meant(value) for value in asked]
    if _lost(found):
        # Nobody has asked for what would stand in for it.
        default_base = default_cand = None
    elif wanted[0] and not wanted[1]:
        default_base, default_cand = default[0], found.other(wanted[0], base=False) or default[1]
    elif wanted[1] and not wanted[0]:
        default_base, default_cand = found.other(wanted[1], base=True) or default[0], default[1]
    else:
        default_base, default_cand = default
    base = _pick("Base", KEYS[0], found, wanted[0] or default_base)
    cand = _pick("Candidate", KEYS[1], found, wanted[1] or default_cand)
    return (base, cand) if base is not None and cand is not None else None


def _lost(found: Choices) -> list[tuple[str, str]]:
    """The sides that the URL asks for and that are not there: which side, and its reference."""
    asked = [(_WORDS[key], state.asked(key)) for key in KEYS]
    return [(word, value) for word, value in asked if value is not None and found.meant(value) is None]


def _pick(label: str, key: str, found: Choices, current: str | None) -> str | None:
    """One picker, without a selection where ``current`` is None. The URL holds the reference and the list shows words, which a bound widget can't; its key holds the
    current value so that the browser's Back moves the selection too."""
    options = list(found.references)
    picked = st.sidebar.selectbox(
        label,
        options,
        index=None if current is None else options.index(current),
        format_func=lambda reference: name(found, reference),
        key=f"{key}-{current or state.asked(key)}",
        placeholder="Choose one",
    )
    one = None if current is None else found.of(current)
    if one is not None:
        st.sidebar.caption(about(one))
    if picked is not None and picked != current:
        st.query_params[key] = picked
        st.rerun()
    return current


def name(found: Choices, reference: str) -> str:
    """How a side is listed: ``2.14.1+cpu · run 7@2``, ``2.14.1+cpu · newest``. Select boxes show it as plain text."""
    one = found.of(reference)
    if one is None:
        return f"{reference} · newest run with it"
    return f"{one.torch or 'torch unknown'} · {reference}" + (f" · {one.label}" if one.label else "")


def about(one: Choice) -> str:
    """Which run a side is of: its label, for which a box has no room, its purpose, when it began, and whether it is
    finished."""
    words = [f"run {one.run}", *([theme.literal(one.label)] if one.label else []), one.purpose]
    words.append(one.started_at.strftime("%Y-%m-%d %H:%M"))
    if not one.finished:
        words.append("not finished")
    return " · ".join(words)


def sides(database: Database) -> tuple[str, str] | None:
    """The two references that are picked; None, with the reason and the command that helps on the page, where the
    database has no two sides. ``draw`` has drawn the pickers."""
    kept: tuple[str, str] | None = st.session_state.get(_DRAWN)
    found = read(database, recorded.choices)
    if lost := st.session_state.get(_LOST):
        _not_there(found, lost)
    elif kept is None:
        _nothing_to_compare(database, found)
    return kept


def current(database: Database) -> Compared | None:
    """The comparison of the sides that are picked; None after the page was told why there is none."""
    picked = sides(database)
    return compared(database, *picked) if picked else None


def compared(database: Database, base: str, cand: str) -> Compared | None:
    """The comparison of two references, read once until something is recorded; None, with the reason on the page,
    where they can't be compared. Where no cell is comparable there still is one: ``verdicts.compared`` is 0."""
    try:
        refs = read(database, comparison.resolve, base, cand)
        # While somebody records another run the comparison of two that have ended stays what it is.
        rests = read(database, comparison.rests_on, *refs)
        return _compared(database.url, rests or database.stamp, *refs, database)
    except UserError as error:
        found = data.unavailable("These two can't be compared", error)
        with st.container(border=True, key="no-comparison"):
            st.subheader(found.title, anchor=False)
            st.text(found.sentence)
            if found.command:
                st.code(found.command, language="bash")
        return None


# Not a copy for each reader, as data.read gives: the records are frozen, and there are many.
@st.cache_resource(show_spinner=False, max_entries=8)
def _compared(
    url: str, rests: tuple[Any, ...], base: SideRef, cand: SideRef, _database: Database
) -> Compared:
    with data.connected(_database) as reads:
        loaded = comparison.load(reads, base, cand)
    verdicts = compare(loaded.base, loaded.candidate, loaded.pairs)
    sides_of = (base.run, base.environment, cand.run, cand.environment)
    return Compared(verdicts, loaded.pairs, base, cand, (url, rests, *sides_of))


def _not_there(found: Choices, lost: list[tuple[str, str]]) -> None:
    """A link whose sides are not here gets no verdict of others."""
    with st.container(border=True, key="side-not-there"):
        st.subheader("Nothing is compared: a side of this link is not here", anchor=False)
        for word, value in lost:
            state.say_unknown(word, value, found.references)
        st.text("Choose Base and Candidate on the left.")


def _nothing_to_compare(database: Database, found: Choices) -> None:
    """What is missing for a comparison: any run, or a second side."""
    if not found.environments:
        empty.nothing_evaluated(database)
        return
    only = found.environments[0]
    with st.container(border=True, key="one-side"):
        st.subheader("One torch version only: nothing to compare yet", anchor=False)
        st.text(
            f"All that is recorded is torch {only.torch or 'unknown'} in run {only.run}. This evaluates it and another "
            "version side by side, in turns, which is what a verdict about times needs:"
        )
        st.code(command(database, only.torch), language="bash")
        st.caption("Write the version that you may move to in place of `NEWER`.")


def command(database: Database, torch: str | None) -> str:
    """The command that measures this version beside a newer one."""
    older = shlex.quote((torch or "OLDER").partition("+")[0])
    return f"{UPGRADE} {older} NEWER{database.option}"
