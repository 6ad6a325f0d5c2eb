"""What is being looked at: filters and the selected things, kept in the URL so that any view can be sent on.

Keys are short because they are seen: w workload, target, variant, machine (shared, bound in the entry file);
run, b bucket, e evaluation, vs the one beside it, finding, tab.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import streamlit as st

from app import theme
from app.data import Database, read
from db.queries import history

Place = Callable[..., str | None]
_Id = TypeVar("_Id", int, str)

_DATABASE: Final = "_database"
_FILTERS: Final = "_filters"


@dataclass(frozen=True)
class Filters:
    """What Workload and Why are about; ``machine`` None means there is only one."""

    workload: str
    choices: history.Choices
    target: str
    variant: str
    machine: str | None


def keep(database: Database, filters: Filters | None) -> None:
    """Hand the entry file's findings to the page it runs next."""
    st.session_state[_DATABASE] = database
    st.session_state[_FILTERS] = filters


def database() -> Database:
    """The database that the entry file opened for this run of the script."""
    kept = st.session_state[_DATABASE]
    assert isinstance(kept, Database)
    return kept


def filters() -> Filters | None:
    """The shared filters; None where there is nothing to filter yet."""
    kept = st.session_state[_FILTERS]
    assert kept is None or isinstance(kept, Filters)
    return kept


def asked(key: str) -> str | None:
    """What the URL asks for under ``key``; read it before the widget of that key, which drops what it can't show."""
    return st.query_params.get(key)


def say_unknown(what: str, value: str, known: Sequence[str]) -> None:
    """Say that the URL names something that is not here, rather than quietly showing something else."""
    hint = f" Known: {', '.join(theme.literal(one) for one in known[:6])}." if known else ""
    st.warning(
        f"No {what} {theme.literal(value)} is recorded here; the link may be older or of another database.{hint}"
    )


def check(key: str, known: Sequence[str], *, what: str) -> None:
    """Say so where the URL asks for what is not among ``known``: for what is chosen by no ``pick``, or not at all because
    there is no choice."""
    wanted = asked(key)
    if wanted is not None and wanted not in known:
        say_unknown(what, wanted, known)


def pick(label: str, key: str, options: Sequence[str], *, what: str, place: Place | None = None) -> str:
    """A select box bound to the URL. ``options`` is not empty and is what the URL holds, word for word; an unknown
    value in the URL is said above the page. ``place`` draws the box elsewhere (``st.sidebar.selectbox``)."""
    wanted = asked(key)
    before = st.session_state.get(key)
    # What was selected here before may be no option of the workload selected now: that is no link's fault.
    if wanted is not None and wanted not in options and wanted != before:
        say_unknown(what, wanted, options)
    if before is not None and before not in options:
        # Set, not only forgotten: else the box goes on showing it.
        st.session_state[key] = options[0]
    chosen = (place or st.selectbox)(label, list(options), key=key, bind="query-params")
    return chosen if chosen is not None and chosen in options else options[0]


def pick_row(key: str, ids: Sequence[_Id], *, what: str, draw: Callable[[int, str], int | None]) -> _Id:
    """One of ``ids``, no two alike, kept in the URL under ``key`` and picked in a table; at first the first.

    ``draw(position, widget_key)`` draws the table with that row selected and returns the position that is selected
    now. The widget's key holds the URL's value, so that the browser's Back moves the selection too.
    """
    known = {str(one): one for one in ids}
    check(key, list(known), what=what)
    current = known.get(asked(key) or "", ids[0])
    position = draw(ids.index(current), f"{key}-{current}")
    picked = current if position is None else ids[position]
    if picked != current:
        st.query_params[key] = str(picked)
        st.rerun()
    return picked


def shared_filters(database: Database) -> Filters | None:
    """Draw the shared filters in the sidebar; None where no workload was evaluated."""
    names = read(database, history.workload_names)
    if not names:
        return None
    side: Place = st.sidebar.selectbox
    workload = pick("Workload", "w", names, what="workload", place=side)
    found = read(database, history.choices, workload)
    assert found is not None
    target = pick("Target", "target", found.targets, what="target", place=side)
    variant = pick("Variant", "variant", found.variants, what="variant", place=side)
    return Filters(workload, found, target, variant, _machine(database))


def _machine(database: Database) -> str | None:
    hosts = read(database, history.machines)
    if len(hosts) < 2:
        check("machine", [str(one) for one in hosts["machine"]], what="machine")
        return None
    chosen = pick(
        "Machine",
        "machine",
        [str(one) for one in hosts["machine"]],
        what="machine",
        place=st.sidebar.selectbox,
    )
    model = hosts.loc[hosts["machine"] == chosen, "cpu_model"].iloc[0]
    if isinstance(model, str):
        st.sidebar.caption(theme.literal(model))
    return chosen
