"""What was measured in two evaluations and under what: the tabs of Why for times, accuracy, logs, files, environment."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import files as kept_files
from app import measurements, metric_words, tables, theme
from app.data import Database
from app.drawing import themed, unchecked
from app.pair import charts as pair_charts
from app.pair import kept
from app.pair import numbers as pair_numbers
from app.pair.page import Sides
from evaluator.verdicts import diffs


def times(database: Database, sides: Sides) -> None:
    """Where both cold compiles went, and every metric of both with what the verdict says of it."""
    found = pair_numbers.metrics(sides.base, sides.candidate, sides.cell)
    if found.empty:
        never = theme.NOTHING_RAN if sides.cell.cell.codegen else None
        st.info(never or "Neither side measured anything: see the probes for what failed.")
        return
    names = [word for word, _ in sides.both]
    stacked = pair_numbers.phases(sides.both)
    if not stacked.empty:
        order = [metric_words.title(metric) for metric in pair_numbers.PHASES] + [pair_numbers.REST]
        known = [phase for phase in order if phase in set(stacked["phase"])]
        spec = unchecked(lambda: pair_charts.phases(stacked, names, known))
        st.vega_lite_chart(themed(spec), key=f"pair-phases-{_key(sides)}")
        for name in names:
            if name not in set(stacked["side"]):
                st.caption(f"{name}: the phases of its compile were not recorded.")
    columns = {
        "metric": tables.text("metric", width=190),
        "base": tables.text("base", width=90),
        "candidate": tables.text("candidate", width=90),
        "unit": tables.text("unit", width=45),
        "change": tables.text("change and interval", width=240),
        "verdict": tables.text("verdict", width=130),
        "replicas": tables.text("replicas", width=70),
        "why": tables.text("why", width=380),
        "includes": tables.text("what it includes", width=420),
    }
    tables.show(
        found,
        columns,
        key=f"pair-times-{_key(sides)}",
        rows=20,
        csv="metrics-compared.csv",
        caption="Medians over the replicas. A change without an interval is of the medians alone, and no verdict.",
    )


def accuracy(database: Database, sides: Sides) -> None:
    """Both sides' errors to float64, how their outputs differ from each other, and leaves that differ in form."""
    for one in sides.cell.findings:
        if one.metric in ("accuracy", "drift") and one.text:
            st.caption(metric_words.title(one.metric))
            kept_files.shown(f"{theme.verdict_text(one.verdict, one.confirmed)}: {one.text}")
    found = pair_numbers.accuracy(sides.base, sides.candidate)
    if found.empty:
        never = theme.NOTHING_RAN if sides.cell.cell.codegen else None
        st.info(never or "Accuracy was not measured on either side.")
        return
    columns = {
        "series": tables.text("series", width=130),
        "figure": tables.text("figure", width=260),
        "base": tables.text("base", width=260),
        "candidate": tables.text("candidate", width=260),
    }
    tables.show(
        found,
        columns,
        key=f"pair-accuracy-{_key(sides)}",
        csv="accuracy-compared.csv",
        caption="Worst leaf of the outputs.",
    )
    forms = {"leaf": "leaf", "kind": "what", "eager": "eager", "compiled": "compiled"}
    for column, (word, record) in zip(st.columns(2), sides.both, strict=True):
        with column:
            if record.differences.empty:
                continue
            st.caption(f"{word}: leaves of the output that differ from eager's in form")
            tables.show(
                record.differences,
                {name: tables.text(label) for name, label in forms.items()},
                key=f"pair-form-{word}-{_key(sides)}",
            )


def probes(database: Database, sides: Sides) -> None:
    """What each side raised where that differs, then each side's probes with the error and log of the picked one."""
    if sides.cell.differences.error is not None:
        st.caption("What was raised differs")
        for column, (word, _), text in zip(
            st.columns(2), sides.both, sides.cell.differences.error, strict=True
        ):
            with column:
                kept_files.shown(text or f"(the {word.lower()} raised nothing)")
    elif sides.pair.base is not None and (raised := diffs.error_text(sides.pair.base.failure)):
        st.caption("Both sides raised the same, but for paths, lines and addresses")
        kept_files.shown(raised)
    labels = (sides.verdicts.base, sides.verdicts.candidate)
    for column, (word, record), label in zip(st.columns(2), sides.both, labels, strict=True):
        with column:
            st.caption(f"{word} · {theme.literal(label)}")
            measurements.probes(database, record)


def files(database: Database, sides: Sides) -> None:
    """Every file that both sides' probes left, as pairs of one kind and name, the picked pair to be read and saved; and the
    workload's source."""
    found = kept.pairs(*(kept.named(record.artifacts, record.kernels) for _, record in sides.both))
    key = f"pair-files-{_key(sides)}"
    if found.empty:
        st.info("No file was kept.")
    else:
        shown = found.assign(
            **{name: [theme.size(n) for n in found[name]] for name in ("base_size", "candidate_size")}
        )
        columns = {
            "change": tables.text("change", width=110),
            "kind": tables.text("kind", width=115),
            "name": tables.text("of", width=335),
            "base_size": tables.text("base", width=75),
            "candidate_size": tables.text("candidate", width=80),
            "base_sha256": tables.text("sha256, base", width=115),
            "candidate_sha256": tables.text("sha256, candidate", width=115),
        }
        row = tables.show(
            shown,
            columns,
            key=key,
            rows=8,
            pick="row",
            csv="files-compared.csv",
            caption="Pairs of one kind and kernel. Pick one to read and save it.",
        )
        picked = found.iloc[row or 0]
        hashes = (picked["base_sha256"], picked["candidate_sha256"])
        _both(database, str(picked["kind"]), hashes, str(picked["name"]), key)
    st.caption("Source of the workload")
    sources = (sides.base.source_sha256, sides.candidate.source_sha256)
    _both(database, "workload_source", sources, sides.candidate.workload, f"pair-source-{_key(sides)}")


def _both(database: Database, kind: str, hashes: tuple[Any, Any], name: str, key: str) -> None:
    """One file of each side, or the one that they share."""
    if hashes[0] == hashes[1]:
        if isinstance(hashes[0], str):
            st.caption("The same on both sides")
            kept_files.content(database, kind, hashes[0], key=key, name=name)
        return
    for column, word, sha256 in zip(st.columns(2), ("Base", "Candidate"), hashes, strict=True):
        with column:
            st.caption(word)
            if isinstance(sha256, str):
                kept_files.content(database, kind, sha256, key=f"{key}-{word}", name=f"{name}-{word.lower()}")
            else:
                st.info("This side has no such file.")


def environment(database: Database, sides: Sides) -> None:
    """Only what differs between the two environments, and as what it counts."""
    found = pair_numbers.environment(sides.verdicts.moved)
    for sentence in sides.verdicts.warnings:
        st.text(sentence)
    if found.empty:
        st.info("All recorded fields of the two environments are equal.")
        return
    columns = {
        "field": tables.text("field", width=200),
        "base": tables.text("base", width=330),
        "candidate": tables.text("candidate", width=330),
        "counts": tables.text("moved dependency", width=150),
    }
    ours, theirs = sides.base.environment_fields, sides.candidate.environment_fields
    same = sum(ours.get(name) == theirs.get(name) for name in {*ours, *theirs})
    tables.show(
        found,
        columns,
        key=f"pair-environment-{_key(sides)}",
        rows=16,
        csv="environments-compared.csv",
        caption=f"{theme.counted(len(found), 'field')} differ{'s' if len(found) == 1 else ''}; "
        f"{theme.counted(same, 'whole field')} are equal. Torch with what it pins counts once.",
    )


def _key(sides: Sides) -> str:
    return f"{sides.base.id}-{sides.candidate.id}"
