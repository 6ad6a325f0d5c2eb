"""Timeline: the page as a user opens it, over a database without traces and over one that has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest

from app.timeline.chart import MOST_MARKS
from db.queries import profiles
from db.session import database_url, open_reader
from evaluator.ordering.presets import PRESETS
from tests.app import seed, timelines
from tests.app.conftest import Opener, said

Databases = Callable[[str], Path]
TRACES = {"lanes": "Recorded traces"}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return timelines.traced(tmp_path_factory.mktemp("traced") / "traced.db")


def datasets(app: AppTest) -> dict[str, list[dict[str, Any]]]:
    """What the browser gets to draw, by name."""
    (chart,) = app.get("vega_lite_chart")
    return {
        one.name: convert_arrow_bytes_to_pandas_df(one.data.data).to_dict("records")
        for one in chart.proto.datasets
    }


def bars(app: AppTest) -> list[tuple[int, float, float, str]]:
    return [(one["lane"], one["start"], one["end"], one["kind"]) for one in datasets(app)["bars"]]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda one: one.key)
def test_every_program_opens(opens: Opener, databases: Databases, preset: Any) -> None:
    app = opens(databases("tiny"), "timeline", program=preset.title)
    assert not app.exception
    assert preset.shows in said(app)
    assert len(app.number_input) == len(preset.program.runs)
    # A row a call in the table.
    assert len(app.dataframe[0].value) == len(preset.program.calls)


def test_the_first_program_is_drawn_with_its_wait(opens: Opener, databases: Databases) -> None:
    app = opens(databases("tiny"), "timeline")
    assert "`B` is ordered after `A`: by `s2.wait_event(e)` (call 3)." in said(app)
    # Lanes host, s1, s2: A from 1 to 7, the wait from 2 to 7, B from 7 to 10.
    assert bars(app) == [(1, 1, 7, "run"), (2, 2, 7, "wait"), (2, 7, 10, "run")]
    waits = [one for one in datasets(app)["links"] if one["kind"] == "wait"]
    assert waits == [{"x": 7, "lane": 1, "x2": 7, "lane2": 2, "kind": "wait"}]


def test_a_missing_wait_is_named(opens: Opener, databases: Databases) -> None:
    app = opens(databases("tiny"), "timeline", program="Missing wait")
    assert bars(app) == [(1, 1, 7, "run"), (2, 2, 5, "alarm")]
    assert "**`B` is NOT ordered after `A`**: it starts at 2 while `A` runs until 7" in said(app)


def test_times_that_look_right_are_named_too(opens: Opener, databases: Databases) -> None:
    app = opens(databases("tiny"), "timeline", program="Missing wait, short A")
    assert bars(app) == [(1, 1, 2, "run"), (2, 2, 5, "alarm")]
    assert "**`B` is NOT ordered after `A`**, though the times look right" in said(app)


def test_durations_of_the_url_are_drawn(opens: Opener, databases: Databases) -> None:
    query = {"program": "Missing wait", "missing-wait.A": "40", "missing-wait.B": "100"}
    app = opens(databases("tiny"), "timeline", **query)
    assert bars(app) == [(1, 1, 41, "run"), (2, 2, 102, "alarm")]
    assert not app.warning
    app.number_input[0].set_value(1).run()
    assert not app.warning
    assert bars(app) == [(1, 1, 2, "run"), (2, 2, 102, "alarm")]
    assert "NOT ordered" in said(app)


def test_a_duration_may_have_a_fraction(opens: Opener, databases: Databases) -> None:
    app = opens(databases("tiny"), "timeline", **{"event-wait.A": "2.5"})
    assert bars(app) == [(1, 1, 3.5, "run"), (2, 2, 3.5, "wait"), (2, 3.5, 6.5, "run")]
    assert not app.warning


@pytest.mark.parametrize("value", ["0", "0.5", "101", "-3", "<b>six</b>", "", "nan", "inf", "-inf", "1e999"])
def test_other_durations_are_said_and_not_taken(opens: Opener, databases: Databases, value: str) -> None:
    app = opens(databases("tiny"), "timeline", **{"event-wait.A": value})
    assert not app.exception
    assert bars(app)[0] == (1, 1, 7, "run")
    (warning,) = [one.value for one in app.warning]
    assert warning.startswith("A duration is a number from 1 to 100, not `")
    assert warning.endswith("`A` takes 6.")


def test_inputs_are_bounded(opens: Opener, databases: Databases) -> None:
    app = opens(databases("tiny"), "timeline")
    assert [(one.min, one.max) for one in app.number_input] == [(1, 100), (1, 100)]


def test_a_program_that_is_not_there_is_said(opens: Opener, databases: Databases) -> None:
    app = opens(databases("tiny"), "timeline", program="**Dance**")
    (warning,) = app.warning
    # In the words of every page.
    assert warning.value.startswith("No program `**Dance**` is recorded here; ")
    assert f"Known: `{PRESETS[0].title}`, " in warning.value
    assert bars(app)


def test_reuse_is_named_and_record_stream_holds(opens: Opener, databases: Databases) -> None:
    early = said(opens(databases("tiny"), "timeline", program="Storage reused without record_stream"))
    assert (
        "**`w` gets the block of `x` before `B` is done with it**: `C` starts at 3 while `B` runs until 9."
        in early
    )
    held = said(opens(databases("tiny"), "timeline", program="Storage reused with record_stream"))
    assert (
        "The block of `x` is held until `s2` is done with it at 9: `w` asks for it at 3 and gets other memory."
        in held
    )
    assert "before `B` is done" not in held


def test_without_a_trace_it_says_so_and_how_to_make_one(opens: Opener, tmp_path: Path) -> None:
    for path in (seed.tiny(tmp_path / "tiny.db"), seed.write(tmp_path / "new.db", [])):
        app = opens(path, "timeline", **TRACES)
        assert not app.exception
        shown = said(app)
        assert "No Chrome trace is recorded" in shown
        assert "None has run on a GPU yet." in shown
        assert f"python -m evaluator run --tag quickstart --chrome-traces --db {path}" in shown
        assert 'recorded.export_chrome_trace("batch.json.gz")' in shown
        assert not app.get("vega_lite_chart")


def test_the_snippet_that_makes_one_is_torchs_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs here, where the one thing that needs a GPU is taken out, and what it writes can be read."""
    import subprocess
    import sys

    from app.timeline.traces import RECORDS_ONE
    from evaluator.chrome_trace.recording import read_recording

    code = "import torch\ncall = lambda: torch.ones(4).exp()\n" + RECORDS_ONE.replace(
        "torch.cuda.synchronize()", "pass"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    found = read_recording((tmp_path / "batch.json.gz").read_bytes())
    assert [one.name for one in found.regions] == ["batch"]
    assert "aten::exp" in [one.name for one in found.operators]


def test_traces_of_the_database_are_listed_newest_first(traced: Path) -> None:
    engine = open_reader(database_url(str(traced)))
    with engine.connect() as connection:
        listed = profiles.chrome_traces(connection)
    engine.dispose()
    assert list(listed["bucket"]) == ["n=65536", "n=4096"]
    assert set(listed["workload"]) == {"pointwise.silu"}
    assert listed["sha256"].str.fullmatch("[0-9a-f]{64}").all()


def of(traced: Path, bucket: str) -> str:
    engine = open_reader(database_url(str(traced)))
    with engine.connect() as connection:
        listed = profiles.chrome_traces(connection)
    engine.dispose()
    return str(listed.loc[listed["bucket"] == bucket, "sha256"].iloc[0])[:12]


def test_a_trace_is_drawn_with_its_intervals(opens: Opener, traced: Path) -> None:
    app = opens(traced, "timeline", **TRACES, trace=of(traced, "n=4096"))
    assert not app.exception
    shown = said(app)
    # Read off the drawing in tests/evaluator/chrome_trace/made.py.
    assert "Host region: 94.0 µs" in shown
    assert "Stream interval: 110 µs" in shown
    assert "Batch wall: 130 µs" in shown
    assert "Time to first kernel: 15.0 µs" in shown
    assert "Kernels: 3 1 copy, 0 sets beside" in shown
    assert (
        "stream 7 and stream 13 worked at the same time for 30.0 µs, 75% of the one that worked less."
        in shown
    )
    # From the region's start at 5: the three intervals, an operator, and the device's work.
    drawn = bars(app)
    assert drawn[:3] == [(0, 0, 94, "interval"), (1, 15, 125, "interval"), (2, 0, 130, "interval")]
    assert [one for one in drawn if one[3] in ("kernel", "copy")] == [
        (5, 15, 45, "kernel"),
        (5, 55, 85, "kernel"),
        (5, 95, 125, "kernel"),
        (6, 25, 65, "copy"),
    ]
    assert [one[1:3] for one in drawn if one[3] == "operator"] == [(3, 25), (87, 95)]


def test_each_region_is_one_to_look_at(opens: Opener, traced: Path) -> None:
    app = opens(traced, "timeline", **TRACES, trace=of(traced, "n=4096"), region="2. one stream")
    shown = said(app)
    assert "**Serialised**: all of it ran in stream 7, the default stream by its usual number" in shown
    assert "Bound by: host" in shown
    names = app.dataframe[-1].value
    assert len(names) == 3
    whole = opens(traced, "timeline", **TRACES, trace=of(traced, "n=4096"), region="the whole trace")
    assert len(whole.dataframe[-1].value) == 7


def test_a_damaged_trace_shows_what_it_has_and_claims_no_more(opens: Opener, traced: Path) -> None:
    app = opens(traced, "timeline", **TRACES, trace=of(traced, "n=65536"))
    assert not app.exception
    shown = said(app)
    assert "The file has no end" in shown
    assert "is not in the trace" in shown
    assert "Stream interval: –" in shown
    assert "Bound by: –" in shown


@pytest.mark.parametrize(
    ("key", "what"), [("trace", "trace"), ("region", "region"), ("lanes", "kind of timeline")]
)
def test_what_the_url_names_and_is_not_there_is_said(
    opens: Opener, traced: Path, key: str, what: str
) -> None:
    app = opens(traced, "timeline", **{**TRACES, "trace": of(traced, "n=4096"), key: "<b>no</b>"})
    assert not app.exception
    assert [one.value for one in app.warning if f"No {what} `<b>no</b>`" in one.value]


def test_names_of_kernels_stay_out_of_markdown(opens: Opener, traced: Path) -> None:
    app = opens(traced, "timeline", **TRACES, trace=of(traced, "n=4096"), region="2. one stream")
    assert timelines.HOSTILE_KERNEL in set(app.dataframe[-1].value["name"])
    assert "onerror" not in said(app)


def test_a_trace_whose_file_is_gone_is_one_sentence(opens: Opener, tmp_path: Path) -> None:
    path = timelines.traced(tmp_path / "gone.db")
    for file in (tmp_path / "gone.artifacts").rglob("*.gz"):
        file.unlink()
    app = opens(path, "timeline", **TRACES)
    assert not app.exception
    assert "copy the artifact folder together with the database" in said(app)


def test_an_artifact_that_is_no_trace_is_one_sentence(opens: Opener, tmp_path: Path) -> None:
    path = timelines.garbled(tmp_path / "garbled.db")
    app = opens(path, "timeline", **TRACES)
    assert not app.exception
    assert [one.value for one in app.warning] == [
        "It can't be drawn: this is JSON, but no Chrome trace: it has no list of events."
    ]


def test_a_long_trace_is_drawn_with_few_marks(opens: Opener, tmp_path: Path) -> None:
    app = opens(timelines.busy(tmp_path / "busy.db"), "timeline", **TRACES)
    assert not app.exception
    found = datasets(app)
    assert len(found["bars"]) + len(found["links"]) <= MOST_MARKS
    assert len(app.dataframe[-1].value) == 20_000
