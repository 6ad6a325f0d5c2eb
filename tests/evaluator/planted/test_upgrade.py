"""One real upgrade over the workloads of ``facts.py``: what changed is found and explained, what did not stays quiet.

One replica shows every exact fact; its times can't be judged, and must be said to be undecided.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluator.planted.upgrading import CHANGED, CLAIMS, HERE, VARIABLE, Upgraded, upgrade

# Some 9 minutes on two busy processors: the first stage takes half of it, its reruns and the ladder the rest.
LIMIT_S = 3000
pytestmark = [pytest.mark.slow, pytest.mark.timeout(LIMIT_S + 60)]

CELLS = [
    ("alder", "-"),
    ("birch", "rows=8"),
    ("birch", "rows=12"),
    ("birch", "rows=20"),
    ("cedar", "-"),
    ("elder", "-"),
    ("hazel", "-"),
    ("juniper", "rows=8"),
    ("juniper", "rows=12"),
    ("larch", "rows=8"),
    ("larch", "rows=12"),
    ("maple", "-"),
]
# Written to a file of another name, moved down by nine lines, and not touched at all.
QUIET = [cell for cell in CELLS if cell[0] in ("juniper", "larch", "maple")]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    found = upgrade(
        tmp_path_factory.mktemp("upgrade"),
        *("--workloads", str(HERE / "facts.py"), "--no-packs", "--profile", "quick"),
        timeout=LIMIT_S,
    )
    assert found.done.returncode in (0, 1), found.done.stdout + found.done.stderr
    return found


def test_the_sides_differ_as_they_were_made_to(upgraded: Upgraded) -> None:
    # What the rest rests on, read from the records alone: a verdict on a difference that is not there is no verdict.
    before, after = upgraded.recorded[False], upgraded.recorded[True]
    assert set(before) == set(after) == set(CELLS)

    def facts(name: str, workload: str, bucket: str = "-") -> tuple[Any, Any]:
        return before[workload, bucket]["facts"][name], after[workload, bucket]["facts"][name]

    assert facts("graph_breaks", "alder") == (0, 1)
    assert [facts("recompiles", "birch", f"rows={rows}") for rows in (8, 12, 20)] == [(0, 0), (1, 1), (0, 1)]
    assert (before["cedar", "-"]["status"], after["cedar", "-"]["status"]) == ("ok", "accuracy_failed")
    assert 1e-2 < after["cedar", "-"]["accuracy"]["max_abs"] < 3e-2
    bodies = [{kernel["source_hash"] for kernel in side["elder", "-"]["kernels"]} for side in (before, after)]
    assert all(bodies)
    assert bodies[0] != bodies[1]
    assert (before["hazel", "-"]["status"], after["hazel", "-"]["status"]) == ("ok", "compile_error")
    for rows in (8, 12):
        places = [
            {(one["file"], one["line"]) for one in side[workload, f"rows={rows}"]["breaks"]}
            for workload in ("juniper", "larch")
            for side in (before, after)
        ]
        assert all(places)
        assert not places[0] & places[1]
        assert not {line for _, line in places[2]} & {line for _, line in places[3]}


def test_what_moved_is_the_variable_and_is_said(upgraded: Upgraded) -> None:
    moved = [one for one in upgraded.verdicts["moved"] if one["dependency"]]
    assert [(one["field"], one["base"], one["candidate"]) for one in moved] == [
        (f"variables.{VARIABLE}", None, CHANGED)
    ]
    assert VARIABLE in upgraded.done.stdout


def test_a_new_break_is_found_with_its_site(upgraded: Upgraded) -> None:
    found = upgraded.finding("graph_breaks", "alder")
    assert (found["verdict"], found["base"], found["candidate"]) == ("regressed", 0, 1)
    assert found["confirmed"] is True
    assert found["cause"]["code"] == "new_break"
    assert found["cause"]["evidence"]
    (change,) = upgraded.cell("alder")["differences"]["breaks"]
    assert (change["change"], change["function"], change["base"]) == ("added", "brightness", None)
    assert "Tensor.item()" in change["reason"]
    assert "facts.py" in change["candidate"]


def test_a_new_recompile_is_found_in_its_bucket_alone(upgraded: Upgraded) -> None:
    found = upgraded.finding("recompiles", "birch", "rows=20")
    assert (found["verdict"], found["base"], found["candidate"]) == ("regressed", 0, 1)
    assert found["confirmed"] is True
    assert found["cause"]["code"] == "new_recompile"
    (change,) = upgraded.cell("birch", "rows=20")["differences"]["guards"]
    assert (change["change"], change["function"]) == ("added", "mixed")
    assert "size mismatch" in change["guard"]
    for bucket in ("rows=8", "rows=12"):
        assert upgraded.finding("recompiles", "birch", bucket)["verdict"] == "unchanged"


def test_lost_accuracy_is_found_and_its_layer_named(upgraded: Upgraded) -> None:
    (found,) = [one for one in upgraded.findings("cedar", "-", "accuracy") if one["verdict"] == "regressed"]
    assert found["confirmed"] is True
    assert found["gating"] is True
    # The other formula is in the captured graph: the layer that captures is where it shows first.
    assert found["cause"]["layer"] == "dynamo"
    assert upgraded.cell("cedar")["verdict"] == "regressed"


def test_outputs_that_drifted_are_said_and_fail_nothing_by_themselves(upgraded: Upgraded) -> None:
    drifted = [one for one in upgraded.findings("cedar", "-", "drift") if one["verdict"] == "changed"]
    assert drifted
    assert not any(one["gating"] for one in drifted)
    for workload, bucket in QUIET:
        assert [one["verdict"] for one in upgraded.findings(workload, bucket, "drift")] == ["unchanged"]


def test_other_kernels_are_shown_with_both_sources(upgraded: Upgraded) -> None:
    sets = [one for one in upgraded.findings("elder", "-", "set") if one["verdict"] == "changed"]
    assert sets
    assert not any(one["gating"] for one in sets)
    (change,) = upgraded.cell("elder")["differences"]["kernels"]
    assert change["change"] == "changed"
    assert change["base_source"] and change["candidate_source"]
    assert change["base_source"] != change["candidate_source"]
    # The option splits one loop nest in several: the diff of the sources is in the report, as text.
    (page,) = upgraded.reports.glob("*.html")
    assert "for(int64_t" in page.read_text(encoding="utf-8")


def test_a_failing_compile_is_found_with_its_error(upgraded: Upgraded) -> None:
    found = upgraded.finding("status", "hazel")
    assert found["verdict"] == "newly_failing"
    assert found["confirmed"] is True
    before, after = upgraded.cell("hazel")["differences"]["error"]
    assert before is None
    assert "no lowering of relu for this layout" in after
    assert found["cause"]["evidence"]
    assert found["cause"]["layer"] == "inductor"


@pytest.mark.parametrize(("workload", "bucket"), QUIET)
def test_what_only_looks_different_stays_quiet(upgraded: Upgraded, workload: str, bucket: str) -> None:
    findings = upgraded.findings(workload, bucket)
    assert [one["metric"] for one in findings if one["verdict"] in CLAIMS] == []
    exact = upgraded.findings(workload, bucket, "count", "set", "status", "accuracy", "drift")
    assert exact
    assert [one["metric"] for one in exact if one["verdict"] != "unchanged"] == []
    differences = upgraded.cell(workload, bucket)["differences"]
    assert {one["change"] for one in differences["breaks"]} <= {"moved"}
    assert (differences["guards"], differences["kernels"], differences["error"]) == ([], [], None)


def test_one_replica_decides_no_time(upgraded: Upgraded) -> None:
    times = [one for cell in CELLS for one in upgraded.findings(*cell, "time")]
    assert times
    assert {one["verdict"] for one in times} <= {"inconclusive", "not_compared"}
    assert all("too_few_replicas" in one["reasons"] for one in times if one["verdict"] == "inconclusive")


def test_the_answer_is_to_hold_and_says_how_much_was_compared(upgraded: Upgraded) -> None:
    # A confirmed loss of accuracy outranks whatever else was found.
    assert upgraded.verdicts["answer"] == "Hold"
    assert upgraded.verdicts["total"] == len(CELLS)
    assert f"of {len(CELLS)} cells compared" in upgraded.verdicts["answer_text"]
    assert "Hold" in upgraded.done.stdout.splitlines()[0]
    assert upgraded.done.returncode == 1


def test_both_reports_tell_what_was_found(upgraded: Upgraded) -> None:
    (markdown,) = upgraded.reports.glob("*.md")
    (page,) = upgraded.reports.glob("*.html")
    for text in (markdown.read_text(encoding="utf-8"), page.read_text(encoding="utf-8")):
        assert "Hold" in text
        for workload in ("alder", "birch", "cedar", "hazel"):
            assert workload in text
        assert "repro --ab" in text
