"""What was seen to run, on the pages: of one evaluation, of two, of a CPU, and where nothing was recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.observed import frames, words
from db.queries import observed, profiles
from db.queries.observed import ObservedRecord
from db.session import database_url, open_reader
from tests.app import profiled as given
from tests.app.conftest import Opener, said
from tests.app.test_hostile_names import FRAGMENTS, rendered
from tests.app.test_pages import PAGES, WHY_TABS

Databases = Callable[[str], Path]
KERNELS = {"tab": "Kernels"}


def rows(app: AppTest, column: str) -> list[dict[Any, Any]]:
    (found,) = [one.value for one in app.dataframe if column in one.value]
    return [
        {name: None if pd.isna(value) else value for name, value in row.items()}
        for row in found.to_dict("records")
    ]


def recorded(path: Path, evaluation: int = 1) -> ObservedRecord | None:
    engine = open_reader(database_url(str(path)))
    with engine.connect() as connection:
        found = observed.observed(connection, evaluation)
    engine.dispose()
    return found


@pytest.mark.parametrize("scenario", given.SCENARIOS)
@pytest.mark.parametrize("page", PAGES)
def test_page_opens(opens: Opener, databases: Databases, page: str | None, scenario: str) -> None:
    app = opens(databases(scenario), page)
    assert not app.exception and app.title


@pytest.mark.parametrize("tab", WHY_TABS)
def test_every_tab_of_why_opens(opens: Opener, databases: Databases, tab: str) -> None:
    assert not opens(databases("profiled"), "why", tab=tab).exception
    assert not opens(databases("profiled_pair"), "why", e="2", vs="1", tab=tab).exception


def test_what_a_call_launches_and_what_the_batch_cost(opens: Opener, databases: Databases) -> None:
    found = rows(opens(databases("profiled"), "why", **KERNELS), "idle_host")
    assert [(one["mode"], one["calls"], one["launches"], one["copies"], one["sets"]) for one in found] == [
        ("eager", 2, 3, 1, 0),
        ("compiled", 2, 2, 0, 0),
    ]
    # By hand: eager's six kernels of 10 µs begin 50 apart, so 260 in all, in which 60 and 2 copies of 4 are busy; the last
    # launch returns at 10 + 5 x 50 + 2. Compiled: four of 16 in 166.
    assert [(one["host"], one["stream"], one["first_kernel"]) for one in found] == [
        (pytest.approx(0.262), pytest.approx(0.260), pytest.approx(0.014)),
        (pytest.approx(0.162), pytest.approx(0.166), pytest.approx(0.014)),
    ]
    assert [(one["busy"], one["idle_host"], one["idle_device"], one["bound"]) for one in found] == [
        ("26%", "74%", "0%", "host"),
        ("39%", "61%", "0%", "host"),
    ]


def test_kernels_have_their_launches_registers_and_spills(opens: Opener, databases: Databases) -> None:
    found = rows(opens(databases("profiled"), "why", **KERNELS), "generated")
    compiled = {one["name"]: one for one in found if one["mode"] == "compiled"}
    fused, gemm = compiled[given.FUSED], compiled[given.GEMM]
    assert (fused["from"], fused["generated"], fused["launches"], fused["time"]) == ("Triton", "yes", 1, 16)
    assert (fused["registers"], fused["spills"]) == (22, 6)
    assert (gemm["from"], gemm["generated"], gemm["spills"]) == ("cuBLAS", "no", None)
    eager = [one for one in found if one["mode"] == "eager"]
    assert [(one["kind"], one["name"], one["generated"]) for one in eager] == [
        ("kernel", "vectorized_elementwise_kernel<CUDAFunctor_add>", None),
        ("kernel", "vectorized_elementwise_kernel<MulFunctor>", None),
        ("kernel", "vectorized_elementwise_kernel<silu_kernel>", None),
        ("copy", "Memcpy HtoD (Pinned -> Device)", None),
    ]


def test_generated_and_launched_are_held_against_each_other(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("profiled"), "why", **KERNELS))
    assert f"**Generated and never launched** in the batch (1): `{given.UNUSED}`." in shown
    assert f"**Launched and not generated** (cuBLAS 1): `{given.GEMM}`." in shown
    assert "A call launches **3** kernels eager (before fusion) and **2** compiled (after it)." in shown
    assert "Fewer launches are not faster" in shown


def test_where_the_host_waits_is_listed(opens: Opener, databases: Databases) -> None:
    app = opens(databases("profiled"), "why", **KERNELS)
    (one,) = rows(app, "through")
    assert (one["mode"], one["where"], one["function"], one["times"]) == (
        "compiled",
        "loop.py:12",
        "forward",
        1,
    )
    assert "does not know all that does (eager)" in said(app)


def test_two_sides_stand_beside_each_other(opens: Opener, databases: Databases) -> None:
    app = opens(databases("profiled_pair"), "why", e="2", vs="1", **KERNELS)
    assert not app.exception
    summary = rows(app, "idle_host")
    assert [(one["side"], one["mode"], one["launches"]) for one in summary] == [
        ("Base", "eager", 3),
        ("Base", "compiled", 2),
        ("Candidate", "eager", 3),
        ("Candidate", "compiled", 3),
    ]
    found = {one["name"]: one for one in rows(app, "base_launches") if one["mode"] == "compiled"}
    new, fused = found[given.HOSTILE], found[given.FUSED]
    assert (new["change"], new["base_launches"], new["launches"], new["time"]) == ("+ added", None, 1, 16)
    assert (fused["change"], fused["base_launches"], fused["launches"]) == ("same", 1, 1)
    assert (fused["registers"], fused["spills"]) == ("22", "6")
    labels = [one.label for one in app.button]
    for side in ("Base", "Candidate"):
        for mode in ("eager", "compiled"):
            assert f"Timeline: {side}, {mode}" in labels


def test_names_of_kernels_stay_out_of_markdown(opens: Opener, databases: Databases) -> None:
    app = opens(databases("profiled_pair"), "why", e="2", vs="1", **KERNELS)
    assert given.HOSTILE in {one["name"] for one in rows(app, "base_launches")}
    for text in rendered(app):
        assert not [one for one in (*FRAGMENTS, "**k**", "](http") if one in text], text


def test_on_a_cpu_nothing_is_zero_and_the_reason_is_said(opens: Opener, databases: Databases) -> None:
    app = opens(databases("profiled_cpu"), "why", **KERNELS)
    shown = said(app)
    assert "nothing is launched on this target: the host does the work itself" in shown
    assert "A call launches" not in shown and "never launched" not in shown
    # Two calls of 40 and 30 µs in a batch of two; columns in which nothing is known are not drawn.
    tables = [list(one.value.columns) for one in app.dataframe]
    assert not [one for one in tables if "launches" in one or "stream" in one]
    (operators,) = [
        one.value for one in app.dataframe if list(one.value.columns) == ["mode", "name", "calls", "time"]
    ]
    product = operators.to_dict("records")[0]
    assert product == {"mode": "eager", "name": "aten::mm", "calls": 1, "time": 35}
    found = recorded(databases("profiled_cpu"))
    assert found is not None
    assert frames.operators(found)["kernels"].isna().all()
    assert (
        frames.summary([(None, found)])[["launches", "copies", "stream", "busy", "bound"]]
        .isna()
        .all(axis=None)
    )


def test_what_is_amiss_is_said(opens: Opener, databases: Databases) -> None:
    shown = said(opens(databases("profiled_eager"), "why", **KERNELS))
    assert "No compiled region ran in the compiled batch: all of it ran eager." in shown
    assert "1 compile fell into the compiled batch, which is so not steady." in shown
    assert "The compiled trace has 1 launch whose work it lacks" in shown
    assert "Whether each generated kernel was launched is not known" in shown


def test_without_a_profile_the_option_is_named(opens: Opener, databases: Databases) -> None:
    app = opens(databases("realistic"), "why", **KERNELS)
    assert words.NOTHING in said(app)
    assert "--chrome-traces" in words.NOTHING
    # On a card that is not there nothing can run, and nothing is asked for.
    assert "What was seen to run" not in said(opens(databases("codegen"), "why", w="point.gate", **KERNELS))


def test_a_trace_opens_on_timeline(opens: Opener, databases: Databases) -> None:
    path = databases("profiled")
    app = opens(path, "why", **KERNELS)
    (button,) = [one for one in app.button if one.label == "Timeline: compiled"]
    button.click().run()
    assert not app.exception
    shown = said(app)
    assert "Timeline" in [one.value for one in app.title]
    # The batch is the region that is shown: 0.162 ms to the last launch's return, 166 µs on the stream.
    assert "Host region: 162 µs" in shown
    assert "Stream interval: 166 µs" in shown
    engine = open_reader(database_url(str(path)))
    with engine.connect() as connection:
        listed = profiles.chrome_traces(connection)
    engine.dispose()
    assert sorted(listed["mode"]) == ["compiled", "eager"]
    assert set(listed["probe"]) == {"profile"}
    compiled = listed.loc[listed["mode"] == "compiled", "sha256"].iloc[0]
    assert app.query_params["trace"] in (compiled[:12], [compiled[:12]])


def test_kernels_of_other_buckets_are_known(tmp_path: Path) -> None:
    from dataclasses import replace

    buckets = (("n=512", {"n": 512}), ("n=1024", {"n": 1024}))
    path = given.pair(tmp_path / "two.db", (replace(given.GATE, buckets=buckets),))
    found = recorded(path, 1)
    assert found is not None
    # Those of the other bucket of this side: not its own, and not those of the other torch.
    assert list(found.elsewhere["name"]) == [given.FUSED, given.UNUSED]
    held = frames.held(found, pd.DataFrame({"name": [], "kind": [], "form": []}))
    assert held is not None
    assert [name for name, _ in held.both] == [given.FUSED]
    assert held.never == ()


def test_nothing_is_recorded_of_an_evaluation_without_a_profile(databases: Databases) -> None:
    assert recorded(databases("realistic")) is None


def test_a_profile_that_failed_says_how(databases: Databases) -> None:
    found = recorded(databases("profiled"))
    assert found is not None
    failed = ObservedRecord(
        "crashed", "signal 11", {}, found.kernels[:0], found.operators[:0], found.elsewhere[:0]
    )
    (one,) = words.sentences(failed, frames.held(failed, found.elsewhere))
    assert one.sentence == "The profile ended as ✗ crashed: `signal 11`."
    assert frames.summary([(None, failed)]).empty
    assert frames.beside(failed, failed).empty
