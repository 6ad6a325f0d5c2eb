"""What is kept as text or file: errors, logs, sources, traces, fields of an environment. All is drawn as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
import streamlit as st

from app import tables, theme
from app.data import MOST_SHOWN_BYTES, Database, artifact
from evaluator.verdicts.environments import place

# Which highlighting suits a kind of file; None is plain text.
LANGUAGES: Final = {"workload_source": "python", "kernel_source": "cpp", "log": None, "trace": None}
# A box of more lines than this scrolls.
MOST_LINES: Final = 22
# Letters of a name that is part of a file's.
MOST_NAMED: Final = 80
ENDINGS: Final = {
    "workload_source": "py",
    "kernel_source": "txt",
    "log": "log",
    "trace": "trace.log",
    "chrome_trace": "trace.json",
}


def failure(probe: Mapping[Any, Any] | pd.Series[Any]) -> None:
    """The reason, exception and log tail of one probe."""
    reason, error, tail = probe.get("reason"), probe.get("error"), probe.get("log_tail")
    if isinstance(reason, str) and reason:
        st.caption("Reason")
        shown(reason)
    if isinstance(error, dict):
        st.caption("Exception")
        whole = error.get("traceback") or "\n".join([_first(error), *map(str, error.get("chain") or [])])
        shown(str(whole))
    facts = probe.get("facts")
    origin = facts.get("origin") if isinstance(facts, dict) else None
    if isinstance(origin, dict):
        st.caption("Where it came from, by one more run that waited for each launch")
        shown(str(origin.get("traceback") or origin.get("message") or ""))
    st.caption("Last lines of the log")
    shown(tail if isinstance(tail, str) and tail else "(nothing was written)")


def shown(text: str, language: str | None = None) -> None:
    """Text as it is, in a box that scrolls where it is long; plain text wraps, code does not."""
    long = text.count("\n") >= MOST_LINES
    st.code(text, language=language, wrap_lines=language is None, height=420 if long else "content")


def _first(error: Mapping[str, Any]) -> str:
    return f"{error.get('type') or 'Error'}: {error.get('message') or ''}"


def fields(values: Mapping[str, Any], *, key: str, before: Mapping[str, Any] | None = None) -> None:
    """An environment's fields as a table of two columns, in their order, after those of ``before``; nested ones are
    written out."""
    flat: dict[str, str] = {}
    listed = [*(before or {}).items(), *sorted(values.items(), key=lambda one: place(one[0]))]
    for name, value in listed:
        inner = sorted(value.items()) if isinstance(value, dict) else [(None, value)]
        for sub, one in inner:
            flat[name if sub is None else f"{name}.{sub}"] = _written(one)
    frame = pd.DataFrame({"field": list(flat), "value": list(flat.values())}, dtype="str")
    columns = {"field": tables.text("field", width=220), "value": tables.text("value")}
    tables.show(frame, columns, key=key, rows=16)


def _written(value: Any) -> str:
    if value is None:
        return theme.MISSING
    return value if isinstance(value, str) else json.dumps(value)


def browse(database: Database, found: pd.DataFrame, *, key: str) -> None:
    """A table of artifacts; the picked one can be read and saved. ``found`` may have names of theirs."""
    if found.empty:
        st.info("No file was kept.")
        return
    shown = found.assign(bytes=[theme.size(n) for n in found["size"]])
    names = [
        name
        for name in ("name", "workload", "bucket", "variant", "replica", "probe", "cache")
        if name in shown
    ]
    columns: dict[str, Any] = {"kind": tables.text("kind", width=120), "bytes": tables.text("size", width=80)}
    columns |= {name: tables.text(name) for name in names}
    columns["sha256"] = tables.text("sha256", width=260)
    row = tables.show(shown, columns, key=key, rows=10, pick="row", csv="files.csv")
    if row is not None:
        picked = found.iloc[row]
        told = [str(picked[name]) for name in ("name", "workload", "bucket", "probe") if name in names]
        content(database, str(picked["kind"]), str(picked["sha256"]), key=key, name=" ".join(told[:2]))


def saved_as(kind: str, sha256: str, name: str = "") -> str:
    """What a file is called when it is saved. ``name`` comes from a record: what is not a plain letter or digit becomes a
    ``_``, so that it can be no path, hidden file or device, and the hash tells files of one name apart."""
    plain = re.sub(r"[^A-Za-z0-9.=-]+|\.{2,}", "_", name)[:MOST_NAMED].strip("._-=")
    return f"{plain}{'-' if plain else ''}{sha256[:12]}.{ENDINGS.get(kind, 'bin')}"


def content(database: Database, kind: str, sha256: str, *, key: str, name: str = "") -> None:
    """One artifact: its text up to a limit, and the whole of it to save, under a name that begins with ``name``."""
    plain = artifact(database, sha256)
    st.download_button(
        f"Save this file ({theme.size(len(plain))})",
        plain,
        file_name=saved_as(kind, sha256, name),
        mime="application/octet-stream",
        key=f"{key}-save-{sha256}",
        on_click="ignore",
    )
    text = plain[:MOST_SHOWN_BYTES].decode("utf-8", "replace")
    shown(text, LANGUAGES.get(kind))
    if len(plain) > MOST_SHOWN_BYTES:
        st.caption(
            f"The first {theme.size(MOST_SHOWN_BYTES)} are shown; the file has {theme.size(len(plain))}."
        )
