"""The first bad version of a workload: which step it is, what counts as bad, and what is said where it is not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.workload.first_bad import FirstBad, first_bad, said
from db.queries import history
from db.queries.steps import Step, steps
from db.session import open_reader
from evaluator.verdicts.sides import Side
from tests.app import seed, upgrades
from tests.app.conftest import Opener
from tests.app.conftest import said as page_says
from tests.app.records import MadeRun
from tests.evaluator.verdicts import given

Databases = Callable[[str], Path]
CALL = "compiled.wall_ms"
SLOW = given.series(compiled__wall_ms=1.3)


def step(base: str, candidate: str, other: Side | None = None, own: Side | None = None, **pair: Any) -> Step:
    """A step whose sides are of two runs, unless told otherwise."""
    sides = own or given.side(), other or given.candidate()
    made = given.pair(*sides, **({"interleaved": False} | pair))
    return Step(base, candidate, made, made if made.interleaved else None)


def in_one_run(factor: float, again: float | None) -> Step:
    """A step measured in turns in which the call takes ``factor`` times as long, and ``again`` times in a rerun."""
    base = given.side(series=given.series(compiled__wall_ms=1))
    slower = given.candidate(series=given.series(compiled__wall_ms=factor))
    rerun = None
    if again is not None:
        rerun = (
            given.side(3, series=given.series(compiled__wall_ms=1)),
            given.candidate(series=given.series(compiled__wall_ms=again)),
        )
    return step("1.0", "2.0", slower, base, interleaved=True, rerun=rerun)


BREAK = given.candidate({"graph_breaks": 1}, breaks=(given.site(),))


def test_the_first_of_two_bad_versions_is_said_with_what_it_rests_on() -> None:
    found = first_bad([step("1.0", "2.0"), step("2.0", "3.0", BREAK), step("3.0", "4.0", BREAK)])
    (worse,) = found.worse
    assert (worse.base, worse.candidate, worse.bucket) == ("2.0", "3.0", "n=4")
    assert (worse.base_evaluation, worse.evaluation) == (given.BASE_ID, given.CANDIDATE_ID)
    assert worse.text == "graph breaks: 0 -> 1"
    assert said(found, 4) == "**✗ First bad version: `3.0`**, against `2.0`: `graph breaks: 0 -> 1` at `n=4`."


def test_of_several_buckets_the_worst_comes_first_and_the_others_are_counted() -> None:
    found = first_bad([step("1.0", "2.0", BREAK), step("1.0", "2.0", given.failing())])
    assert [one.text.split(" on ")[0] for one in found.worse] == ["compile_error", "graph breaks: 0 -> 1"]
    assert said(found, 2).endswith("and 1 more bucket.")


def test_a_time_of_two_runs_is_never_what_went_bad() -> None:
    slower = given.candidate(series=SLOW)
    found = first_bad([step("1.0", "2.0", slower, given.side(series=given.series(compiled__wall_ms=1)))])
    assert (found.worse, found.known, found.timed) == ((), 1, 0)
    assert "none" in said(found, 2)
    assert said(found, 2).endswith(
        "Their times are not settled, from two runs at 1, which settle nothing (one run of both versions does)."
    )


@pytest.mark.parametrize(("again", "bad"), [(1.3, True), (1.0, False), (None, False)])
def test_a_time_of_one_run_counts_once_a_rerun_confirms_it(again: float | None, bad: bool) -> None:
    found = first_bad([in_one_run(1.3, again)])
    assert bool(found.worse) == bad
    if bad:
        assert found.worse[0].text.startswith("Compiled call: ")
    # Without a rerun it is neither bad nor none; one that did not show it again settles that it is not bad.
    assert [one.text.endswith("which no rerun confirmed") for one in found.gaps] == [True] * (again is None)


def test_equal_times_of_one_run_are_settled() -> None:
    found = first_bad([in_one_run(1.0, None)])
    assert (found.known, found.timed) == (1, 1)
    assert said(found, 2).endswith("Their times are settled as well.")


def test_what_was_wrong_before_or_never_compiled_is_not_called_good() -> None:
    wrong = given.accuracy("fail")
    both = step("1.0", "2.0", given.candidate(accuracy=wrong), given.side(accuracy=wrong))
    idle = {"graphs": 0, "operators": 0, "compiles": 0, "nothing_compiled": True}
    nothing = step("1.0", "2.0", given.candidate(idle), given.side(facts=idle))
    for one, why in (
        (both, "results are wrong on both sides"),
        (nothing, "nothing compiled ran on either side"),
    ):
        found = first_bad([one, step("2.0", "3.0")])
        assert [gap.text for gap in found.gaps] == [why]
        assert said(found, 3).startswith(
            "**? First bad version: not known**: nothing got worse at 1 of 2 steps"
        )


def test_times_of_an_older_run_in_turns_stay_settled_beside_newer_facts() -> None:
    in_turns = in_one_run(1.0, None)
    newer = step("1.0", "2.0")
    found = first_bad([replace(newer, in_turns=in_turns.pair)])
    assert (found.known, found.timed, found.apart) == (1, 1, 0)
    # What the newer runs found of the facts counts.
    (worse,) = first_bad([replace(step("1.0", "2.0", BREAK), in_turns=in_turns.pair)]).worse
    assert worse.text == "graph breaks: 0 -> 1"


def test_times_that_too_few_replicas_leave_open_are_not_blamed_on_the_runs() -> None:
    few = given.series((10.0, 10.1), compiled__wall_ms=1)
    one = step("1.0", "2.0", given.candidate(series=few), given.side(series=few), interleaved=True)
    assert said(first_bad([one]), 2).endswith(
        "at 1 step from version to version. Their times are not settled, measured in turns and open at 1."
    )


def test_steps_are_told_with_the_buckets_that_they_are_of() -> None:
    pair = step("1.0", "2.0").pair
    found = first_bad(
        [step("1.0", "2.0"), Step("1.0", "2.0", replace(pair, cell=replace(pair.cell, bucket="n=8")))]
    )
    assert "no exact fact got worse at 2 steps from version to version of 2 buckets." in said(found, 2)


def test_steps_that_are_not_known_leave_the_answer_open_and_are_named() -> None:
    lost = replace(given.candidate(), facts=None)
    found = first_bad([step("1.0", "2.0", lost), step("2.0", "3.0")])
    assert (found.worse, found.known, len(found.gaps)) == ((), 1, 1)
    text = said(found, 3)
    assert text.startswith("**? First bad version: not known**: nothing got worse at 1 of 2 steps")
    assert "`1.0` to `2.0` at `n=4` (`the trace of a side was lost" in text


def test_what_is_not_known_before_a_bad_version_is_said_and_what_comes_after_it_is_not() -> None:
    broken = given.failing(given.BASE_ID), given.failing()
    both = step("1.0", "2.0", broken[1], broken[0])
    found = first_bad([both, step("2.0", "3.0", BREAK), replace(both, base="3.0", candidate="4.0")])
    assert [one.candidate for one in found.gaps] == ["2.0"]
    assert "Before it not known: `1.0` to `2.0`" in said(found, 4)


@pytest.mark.parametrize(
    ("versions", "why"), [(1, "one torch version only"), (2, "no bucket was evaluated under two versions")]
)
def test_without_a_step_it_says_why_nothing_is_known(versions: int, why: str) -> None:
    assert said(FirstBad((), 0, (), 0), versions) == f"**? First bad version: not known**: {why}."


def test_a_long_error_is_cut_and_stays_a_literal() -> None:
    other = given.failing(failure=given.Failure("E", "`x` <b>" * 100))
    text = said(first_bad([step("1.0", "2.0", other)]), 2)
    assert len(text) < 400
    assert "…" in text


def steps_of(path: Path, workload: str) -> tuple[Step, ...]:
    with open_reader(str(path)).connect() as reads:
        found = history.choices(reads, workload)
        assert found is not None
        machine = str(history.machines(reads)["machine"].iloc[0])
        return steps(reads, found.definition, target="cpu", variant="default", machine=machine)


def test_steps_go_from_version_to_version_between_newest_evaluations(databases: Databases) -> None:
    found = steps_of(databases("realistic"), "models.bert")
    order = ["2.9.1+cpu", "2.12.0+cpu", "2.13.0+cpu", "2.14.1+cpu"]
    # Two buckets, each from version to version.
    assert [(one.base, one.candidate) for one in found] == [
        pair for pair in pairwise(order) for _ in range(2)
    ]
    # Each version has a run of its own, and of 2.13.0's two the later counts.
    assert {
        (one.pair.base.run, one.pair.candidate.run) for one in found if one.pair.base and one.pair.candidate
    } == {
        (2, 3),
        (3, 4),
        (4, 5),
    }
    assert not any(one.pair.interleaved or one.pair.rerun for one in found)


def test_steps_skip_a_version_that_did_not_evaluate_the_workload(tmp_path: Path) -> None:
    runs = [
        (MadeRun("2.9.0", 1, replicas=1), [seed.MATMUL]),
        (MadeRun("2.10.0", 2, replicas=1), [seed.NORM]),
        (MadeRun("2.11.0", 3, replicas=1), [seed.MATMUL]),
    ]
    found = steps_of(seed.write(tmp_path / "s.db", runs), seed.MATMUL.name)
    assert {(one.base, one.candidate) for one in found} == {("2.9.0", "2.11.0")}


def test_an_upgrade_is_a_step_in_one_run_with_its_rerun(databases: Databases) -> None:
    found = steps_of(databases("upgrade"), "models.llama")
    assert len(found) == len(seed.LLAMA.buckets)
    for one in found:
        assert one.pair is one.in_turns or one.pair == one.in_turns
        assert one.pair.interleaved and one.pair.rerun is not None
        base, candidate = one.pair.rerun
        assert (base.run, candidate.run) == (2, 2)
        assert (base.torch, candidate.torch) == ("2.13.0+cpu", "2.14.1+cpu")
    # No other workload but the changed ones was measured again.
    assert all(one.pair.rerun is None for one in steps_of(databases("upgrade"), "pointwise.silu"))


def test_a_newer_run_of_one_version_leaves_the_older_run_of_both(tmp_path: Path) -> None:
    path = upgrades.upgrade(tmp_path / "more.db")
    before = steps_of(path, "models.llama")
    seed.write(path, [(MadeRun("2.14.1+cpu", 9, replicas=1), [seed.LLAMA])])
    after = steps_of(path, "models.llama")
    assert [one.in_turns for one in after] == [one.in_turns for one in before]
    for one in after:
        assert (
            one.in_turns is not None and one.pair.candidate is not None and one.in_turns.candidate is not None
        )
        assert one.pair.candidate.evaluation > one.in_turns.candidate.evaluation
        assert not one.pair.interleaved and one.pair.rerun is None


def test_the_page_says_it_and_leads_to_both_evaluations(opens: Opener, databases: Databases) -> None:
    app = opens(databases("hold"), "workload", w="models.bert")
    assert "First bad version: `2.14.1+cpu`" in page_says(app)
    (worse, *_) = first_bad(steps_of(databases("hold"), "models.bert")).worse
    app.button(key="first-bad").click().run()
    assert not app.exception
    assert app.query_params["e"] in (str(worse.evaluation), [str(worse.evaluation)])
    assert app.query_params["vs"] in (str(worse.base_evaluation), [str(worse.base_evaluation)])


@pytest.mark.parametrize(
    ("scenario", "workload", "expected"),
    [
        ("all_well", "models.llama", "First bad version: none"),
        ("tiny", "pointwise.silu", "First bad version: not known**: one torch version only"),
        ("all_failed", "models.llama", "First bad version: not known"),
        ("unfinished", "slow.pending", "First bad version: not known"),
    ],
)
def test_the_page_says_plainly_where_there_is_none(
    opens: Opener, databases: Databases, scenario: str, workload: str, expected: str
) -> None:
    app = opens(databases(scenario), "workload", w=workload)
    assert not app.exception
    assert expected in page_says(app)
    assert not [one for one in app.button if one.key == "first-bad"]
