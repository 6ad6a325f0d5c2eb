"""What the facts say in sentences: no clean bill for what was not compiled, not reached or not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest

from app.findings import findings, note
from db.queries.why import EvaluationRecord

FACTS: dict[str, Any] = {
    "graphs": 1,
    "ops": 12,
    "graph_breaks": 0,
    "break_events": 0,
    "compiles": 1,
    "recompiles": 0,
    "recompile_limit_hit": False,
    "ran_eager": "none",
    "second_walk_compiles": 0,
    "dynamic_symbols": 0,
    "nothing_compiled": False,
}


def record(status: str | None = "ok", *, verdict: str | None = "pass", **facts: Any) -> EvaluationRecord:
    empty = pd.DataFrame()
    breaks = pd.DataFrame({"inherited": []}, dtype=object)
    return EvaluationRecord(
        id=1,
        uuid="1",
        run=1,
        run_label=None,
        started_at=datetime(2026, 3, 2, tzinfo=UTC),
        workload="w",
        stands_for=None,
        definition_hash="d",
        source_sha256=None,
        training=False,
        bucket="-",
        variant="default",
        options={},
        evidence_only=False,
        target="cpu",
        torch="2.13.0",
        environment="e",
        environment_fields={},
        status=status,
        reason=None,
        facts={**FACTS, **facts},
        probes=empty,
        breaks=breaks,
        recompiles=empty,
        kernels=empty,
        accuracy=series({"default": verdict} if verdict else {}),
        differences=empty,
        summaries=empty,
        artifacts=empty,
    )


def series(verdicts: dict[str, str]) -> pd.DataFrame:
    rows = [{"series": name, "verdict": verdict, "reason": None} for name, verdict in verdicts.items()]
    return pd.DataFrame(rows, columns=["series", "verdict", "reason"], dtype=object)


def test_eagers_random_numbers_tell_where_others_can_t_be_judged() -> None:
    for verdict, tone in (("pass", "good"), ("fail", "bad")):
        both = series({"default": "not_comparable", "fallback_random": verdict})
        said = sentences(replace(record(), accuracy=both))
        assert [said[one] for one in said if "draws eager's random numbers" in one] == [tone]


def sentences(one: EvaluationRecord) -> dict[str, str]:
    return {finding.sentence: finding.tone for finding in findings(one)}


def test_a_clean_cell_says_so() -> None:
    assert sentences(record()) == {
        "No graph breaks.": "good",
        "The compiled outputs are within tolerance.": "good",
    }


def test_nothing_compiled_is_no_clean_bill() -> None:
    said = sentences(record(graphs=0, compiles=0, nothing_compiled=True))
    assert said["Nothing was compiled: not one graph was captured in the whole walk."] == "bad"
    assert "No graph breaks." not in said


@pytest.mark.parametrize(
    ("how_many", "start"),
    [
        ("all", "All compiled regions ran eager"),
        ("some", "Some compiled regions ran eager"),
        (None, "Some code may have run eager"),
    ],
)
def test_code_that_ran_eager_is_bad_news(how_many: str | None, start: str) -> None:
    said = sentences(record(graphs=0, compiles=0, recompile_limit_hit=True, ran_eager=how_many))
    found = [sentence for sentence in said if sentence.startswith(start)]
    assert len(found) == 1
    assert said[found[0]] == "bad"
    assert "not the time of compiled code" in found[0]


def test_what_qualifies_rounds_is_said_of_a_cell_and_in_its_note() -> None:
    flagged = pd.DataFrame({"round_flags": [["shared_gpu"], [], ["throttled", "shared_gpu"]]})
    said = sentences(replace(record(), summaries=flagged))
    assert said["Of its times: heat or power held the GPU's clocks down in some rounds."] == "note"
    assert said["Of its times: another process was on the GPU in some rounds."] == "note"
    row = {"nothing_compiled": False, "recompile_limit_hit": False, "ran_eager": "none", "status": "ok"}
    assert note({**row, "round_flags": ["noisy", "shared_gpu"]}) == (
        "rounds within a process spread widely; another process was on the GPU in some rounds"
    )
    assert note({**row, "round_flags": []}) is None


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"captured": True, "skipped": 0, "rerecorded": 0}, {"Its calls are in CUDA graphs.": "good"}),
        (
            {"captured": False, "skipped": 2, "rerecorded": 1},
            {
                "Not all of its calls are in CUDA graphs: 2 graphs skipped; Environment has why.": "note",
                "1 CUDA graph recorded again, in the place of one that no longer held.": "note",
            },
        ),
        ({"captured": None, "skipped": 0, "rerecorded": None}, {}),
        ({"captured": False, "why": ["this variant does not ask for CUDA graphs"]}, {}),
        (None, {}),
    ],
)
def test_cuda_graphs_are_told_where_they_were_asked_for(
    told: dict[str, Any] | None, expected: dict[str, str]
) -> None:
    said = sentences(record(extra={"cuda_graphs": told} if told else None))
    assert {one: tone for one, tone in said.items() if "CUDA" in one} == expected


def test_a_bucket_that_compiled_nothing_reused_code() -> None:
    said = sentences(record(graphs=0, compiles=0))
    assert "This bucket compiled nothing: it reused code of earlier buckets." in said


def test_inherited_breaks_are_counted_apart() -> None:
    one = record(graphs=0, compiles=0, graph_breaks=2)
    one = replace(one, breaks=pd.DataFrame({"inherited": [True, True]}))
    assert "2 graph break sites, 2 of them in reused code." in sentences(one)


def test_sites_and_events_are_both_said() -> None:
    one = record(graph_breaks=1, break_events=3)
    assert "1 graph break site; 3 breaks happened." in sentences(one)


def test_a_failed_cell_has_no_good_news_about_breaks() -> None:
    said = sentences(record("compile_error", verdict=None, graphs=0, compiles=0))
    assert said["Failed: compile error."] == "bad"
    assert "good" not in said.values()
    assert not [sentence for sentence in said if "reused" in sentence]


@pytest.mark.parametrize("facts", [None, {"graphs": None}])
def test_lost_evidence_is_not_known(facts: dict[str, Any] | None) -> None:
    said = sentences(replace(record(), facts=facts))
    assert "No trace of the walk is kept, so what was compiled is not known." in said
    assert "No graph breaks." not in said


def test_what_was_refused_is_not_said_to_have_lost_its_trace() -> None:
    said = sentences(replace(record("unsupported", verdict=None), facts={"graphs": None}))
    assert "It is unsupported here, so what would be compiled is not known." in said
    assert not [sentence for sentence in said if "trace" in sentence]


def test_instability_is_bad_news() -> None:
    said = sentences(record(second_walk_compiles=2))
    assert said["Unstable: the second walk over the same buckets needed 2 compiles more."] == "bad"


def test_bad_news_comes_first() -> None:
    tones = [finding.tone for finding in findings(record("accuracy_failed", verdict="fail", recompiles=1))]
    assert tones == sorted(tones, key=["bad", "note", "good"].index)


@pytest.mark.parametrize(
    ("verdict", "tone"), [("pass", "good"), ("fail", "bad"), ("not_comparable", "note"), (None, "note")]
)
def test_accuracy_is_never_silent(verdict: str | None, tone: str) -> None:
    said = sentences(record(verdict=verdict))
    about = [sentence for sentence in said if "outputs" in sentence or "Accuracy" in sentence]
    assert len(about) == 1
    assert said[about[0]] == tone


def test_a_pass_that_leaves_something_out_is_no_good_news() -> None:
    whole = record(verdict="pass")
    left_out = "1 leaf not compared: out['<b>'] (a meta tensor has no values)"
    said = sentences(replace(whole, accuracy=whole.accuracy.assign(reason=left_out)))
    # The leaf's name is the workload's: it stands in the table, as text.
    assert said["The compiled outputs are within tolerance, but 1 leaf not compared; see Accuracy."] == "note"


def test_unfinished_evaluation_says_so() -> None:
    assert any("not finished" in sentence for sentence in sentences(record(None, verdict=None)))


def test_evidence_only_makes_no_claim() -> None:
    said = sentences(replace(record(verdict=None), evidence_only=True))
    assert "This variant only shows what was captured: no kernels and no claim of speed." in said
    assert "Accuracy was not measured." not in said


def test_a_build_that_came_to_no_end_is_no_refusal_and_no_clean_bill() -> None:
    def said(*errors: str | None) -> list[tuple[str, str]]:
        builds = pd.DataFrame({"error": list(errors), "spill_stores": 0, "spill_loads": 0})
        shown = findings(replace(record(), builds=builds))
        return [
            (one.tone, one.sentence) for one in shown if "uil" in one.sentence or "refused" in one.sentence
        ]

    assert said(None, None) == [("good", "Every kernel was built, and none spills.")]
    ((tone, sentence),) = said(None, "not built: no end within 120 s")
    assert tone == "note" and "1 kernel crashed or came to no end" in sentence
    assert [tone for tone, _ in said("not built: ptxas crashed (signal 11)", "PTXASError: no")] == [
        "bad",
        "note",
    ]
