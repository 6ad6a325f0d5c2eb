"""The Coverage page: what a comparison does not hold, what is old, how noisy it is, and what else differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from app.comparing import Compared
from app.coverage import frames as coverage_frames
from app.coverage.parts import selected
from db.queries import coverage
from db.session import open_reader
from db.store import Store
from tests.app.comparisons import compared
from tests.app.conftest import Opener, said
from tests.app.test_hostile_names import FRAGMENTS, rendered
from tests.db.upgrades import BASE, MadeRun

Databases = Callable[[str], Path]

UPGRADE = MadeRun("upgrade", purpose="upgrade", without=[(1, "n=8")])
# Later than the upgrade: one cell of its base again, and a cell that it has on no side.
AGAIN = MadeRun(
    "again", (BASE,), buckets=("n=4",), purpose="evaluate", started_at="2026-03-05T10:00:00+00:00"
)
OTHER = MadeRun(
    "other",
    (BASE,),
    workloads=("made.other",),
    definition="e" * 64,
    purpose="evaluate",
    started_at="2026-03-06T10:00:00+00:00",
)
ELSEWHERE = MadeRun(
    "elsewhere", purpose="upgrade", machine="machine-2", started_at="2026-03-07T10:00:00+00:00"
)
CALIBRATION = MadeRun(
    "calibration",
    (BASE,),
    replicas=4,
    purpose="calibrate",
    buckets=("n=4",),
    started_at="2026-02-01T10:00:00+00:00",
)


def store(path: Path, runs: Sequence[MadeRun]) -> Path:
    opened = Store(str(path))
    for run in runs:
        opened.write_many(run.records())
    opened.close()
    return path


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run 1: an upgrade with gaps; 2: a cell of its base again; 3: another workload; 4: another machine; 5: calibrated."""
    path = tmp_path_factory.mktemp("coverage") / "gaps.db"
    return store(path, [UPGRADE, AGAIN, OTHER, ELSEWHERE, CALIBRATION])


def cells_of(path: Path, base: str, candidate: str) -> tuple[Compared, pd.DataFrame]:
    found = compared(path, base, candidate)
    with open_reader(str(path)).connect() as connection:
        known = coverage.known_cells(connection)
        later = [coverage.newer(connection, ref.run, ref.torch) for ref in (found.base_ref, found.cand_ref)]
    return found, coverage_frames.cells(found.verdicts, found.pairs, known, *later)


@pytest.fixture(scope="module")
def cells(gaps: Path) -> pd.DataFrame:
    return cells_of(gaps, "1@1", "1@2")[1]


def states(frame: pd.DataFrame) -> dict[tuple[str, str], str]:
    names = zip(frame["workload"], frame["bucket"], strict=True)
    return dict(zip(names, frame["state"], strict=True))


def test_known_cells_are_those_of_whole_runs_each_once(gaps: Path) -> None:
    with open_reader(str(gaps)).connect() as connection:
        found = coverage.known_cells(connection)
    assert found[["workload", "bucket", "run"]].to_numpy().tolist() == [
        ["made.absolute", "n=4", 4],
        ["made.absolute", "n=8", 4],
        ["made.other", "n=4", 3],
        ["made.other", "n=8", 3],
    ]


def test_newer_are_later_runs_of_the_same_torch_on_the_same_machine(gaps: Path) -> None:
    with open_reader(str(gaps)).connect() as connection:
        found = coverage.newer(connection, 1, "2.13.0+cpu")
        none = coverage.newer(connection, 1, "2.14.1+cpu")
    assert found[["workload", "bucket", "run"]].to_numpy().tolist() == [
        ["made.absolute", "n=4", 2],
        ["made.other", "n=4", 3],
        ["made.other", "n=8", 3],
    ]
    assert none.empty


def test_each_cell_has_one_state_and_gaps_come_first(cells: pd.DataFrame) -> None:
    assert states(cells) == {
        ("made.other", "n=4"): "neither",
        ("made.other", "n=8"): "neither",
        ("made.absolute", "n=8"): "base",
        ("made.absolute", "n=4"): "compared",
    }
    assert list(cells["state"]) == ["neither", "neither", "base", "compared"]
    assert list(cells["coverage"]) == [
        "∅ on neither side",
        "∅ on neither side",
        "◐ on the base only",
        "✓ compared",
    ]
    assert cells["why"].iloc[0] == "evaluated in run 3, and in neither side's run"
    assert "the candidate did not evaluate this cell" in cells["why"].iloc[2]


def test_a_side_that_did_not_evaluate_has_no_status(cells: pd.DataFrame) -> None:
    lonely = cells[cells["state"] == "base"].iloc[0]
    assert lonely["base_status"] == "ok" and pd.isna(lonely["candidate_status"])
    assert pd.notna(lonely["evaluation"])
    assert cells[cells["state"] == "neither"]["evaluation"].isna().all()


def test_stale_is_what_a_later_run_of_the_version_has(cells: pd.DataFrame) -> None:
    stale = cells[coverage_frames.stale(cells)]
    assert states(stale) == {("made.absolute", "n=4"): "compared"}
    assert (int(stale["stale_base"].iloc[0]), stale["stale_candidate"].isna().all()) == (2, True)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("all", 4),
        ("missing", 3),
        ("failed", 0),
        ("not compared", 3),
        ("stale", 1),
        # Of the two that a side has, the one is calibrated and the other is on one side only.
        ("not calibrated", 0),
    ],
)
def test_choices(cells: pd.DataFrame, choice: str, expected: int) -> None:
    assert len(coverage_frames.chosen(cells, choice)) == expected


def test_what_fails_newly_is_compared(databases: Databases) -> None:
    _, frame = cells_of(databases("hold"), "2.13.0", "2.14.1")
    # And the one whose results are wrong is among what failed, though its numbers were compared.
    failed = coverage_frames.chosen(frame, "failed")
    assert failed["state"].tolist() == ["failed", "failed", "compared"]
    assert failed["candidate_status"].iloc[-1] == "accuracy_failed"
    assert coverage_frames.chosen(frame, "not compared").empty
    _, broken = cells_of(databases("nothing_comparable"), "2.13.0", "2.14.1")
    assert len(coverage_frames.chosen(broken, "not compared")) == len(broken) == 4


def test_the_command_names_the_cells_that_it_is_for() -> None:
    def rows(*cells: tuple[str, str, str]) -> pd.DataFrame:
        return pd.DataFrame(cells, columns=["workload", "variant", "target"])

    assert selected(rows(("a.b", "default", "cpu"), ("a.b", "default", "cpu"))) == " a.b"
    assert (
        selected(rows(("a", "dynamic", "cuda"), ("b-2", "dynamic", "cuda")))
        == " a b-2 --variants dynamic --target cuda"
    )
    # A name that a shell would take apart, and more names than fit: all workloads.
    assert selected(rows(("a", "default", "cpu"), ("$(b)", "default", "cpu"))) == ""
    assert selected(rows(*[(f"w{i}", "default", "cpu") for i in range(9)])) == ""
    # A file of one's own is needed again, and more than its workloads may be.
    given = ("~/my models.py", "pack.of.mine")
    named = " --workloads '~/my models.py' --workloads pack.of.mine"
    assert selected(rows(("a.b", "default", "cpu")), given) == f" a.b{named}"
    assert selected(rows(*[(f"w{i}", "default", "cpu") for i in range(9)]), given) == f" '*'{named}"


def test_failed_cells_say_on_which_side(databases: Databases) -> None:
    _, frame = cells_of(databases("hold"), "2.13.0", "2.14.1")
    failed = frame[frame["state"] == "failed"]
    assert set(failed["workload"]) == {"models.vit"}
    assert set(failed["base_status"]) == {"ok"} and set(failed["candidate_status"]) == {"compile_error"}
    assert failed["why"].str.contains("compile_error on the candidate only").all()


def test_noise_is_that_of_the_calibration_and_is_missing_without_one(
    gaps: Path, databases: Databases
) -> None:
    frame = coverage_frames.noise(compared(gaps, "1@1", "1@2").pairs)
    # n=8 has one side only, so no difference of it is judged.
    assert set(frame["bucket"]) == {"n=4"}
    warm = frame[frame["metric"] == "compiled.wall_ms"].iloc[0]
    assert (int(warm["calibrated"]), int(warm["replicas"])) == (5, 4)
    # By hand: replicas' medians 2, 4, 2 and 4 ms, so each log is log 2 / 2 from the middle: sd sqrt(4 / 3) x that.
    assert warm["between"] == pytest.approx(40.019, abs=0.001)
    assert warm["counts_from"] > 3
    other = coverage_frames.noise(compared(databases("upgrade")).pairs)
    assert other["calibrated"].isna().all() and other["between"].isna().all()
    margins = other.drop_duplicates("metric").set_index("metric")["counts_from"].to_dict()
    assert margins == pytest.approx(
        {"compiled.wall_ms": 3.0, "compile.cold_s": 10.0, "compile.warm_cache_s": 10.0}
    )


def test_what_moved_names_what_it_counts_as(gaps: Path) -> None:
    verdicts = compared(gaps, "1@1", "1@2").verdicts
    moved = coverage_frames.moved(verdicts).set_index("field")
    assert moved.loc["torch"].tolist() == ["2.13.0+cpu", "2.14.1+cpu", "torch"]
    assert moved.loc["triton", "blamed"] == "torch"
    assert coverage_frames.dependencies(verdicts) == ("torch",)


@pytest.mark.parametrize(
    "scenario", ["upgrade", "all_well", "hold", "nothing_comparable", "hostile_upgrade", "realistic"]
)
@pytest.mark.parametrize("part", ["cells", "noise", "environments"])
def test_page_opens(opens: Opener, databases: Databases, scenario: str, part: str) -> None:
    app = opens(databases(scenario), "coverage", part=part)
    assert not app.exception
    assert "Compared: " in said(app)


@pytest.mark.parametrize("choice", coverage_frames.CHOICES)
def test_every_choice_opens(opens: Opener, gaps: Path, choice: str) -> None:
    app = opens(gaps, "coverage", base="1@1", cand="1@2", only=choice)
    assert not app.exception


def test_page_counts_what_is_missing(opens: Opener, gaps: Path) -> None:
    shown = said(opens(gaps, "coverage", base="1@1", cand="1@2"))
    assert "Compared: 1 of 2 " in shown
    assert "On one side only: 1 1 base, 0 candidate" in shown
    assert "On neither side: 2 " in shown
    assert "Stale: 1 " in shown
    assert "Base: run 1 is not the newest of torch `2.13.0+cpu`" in shown
    assert "1 cell of it was evaluated again, last in run 2" in shown


def test_not_calibrated_names_the_command(opens: Opener, databases: Databases) -> None:
    database = databases("all_well")
    app = opens(database, "coverage", part="noise")
    command = next(code.value for code in app.code if "calibrate" in code.value)
    assert command.startswith("python -m evaluator calibrate")
    assert command.endswith(f" --db {database}")
    assert "Not calibrated: " in said(app)


def test_one_version_only_is_said(opens: Opener, databases: Databases) -> None:
    app = opens(databases("tiny"), "coverage")
    assert not app.exception
    assert "One torch version only" in said(app)


@pytest.mark.parametrize("part", ["cells", "noise", "environments"])
def test_names_reach_neither_markdown_nor_the_command(opens: Opener, databases: Databases, part: str) -> None:
    app = opens(databases("hostile_upgrade"), "coverage", part=part)
    assert not app.exception
    assert not any("<script>" in code.value for code in app.code)
    for text in rendered(app):
        assert not [one for one in FRAGMENTS if one in text], text
