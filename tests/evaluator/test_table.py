"""The table a run ends with, and the numbers in it."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.control.tally import tally
from evaluator.describe_run import describe_run
from evaluator.table import number, speed_up, table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (1, "1.00"),
        (9.996, "10.0"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12345.6, "12346"),
        (0.5, "0.500"),
        (0.01234, "0.0123"),
        (0.09999, "0.100"),
        (-3.2, "-3.20"),
    ],
)
def test_three_digits_that_mean_something(value: float | None, text: str) -> None:
    assert number(value) == text


def evaluation(**more: Any) -> dict[str, Any]:
    return {
        "workload": "mlp",
        "bucket": "batch=8",
        "variant": "default",
        "environment": {"torch": "2.13.0"},
        "status": "ok",
        "facts": {"graphs": 1, "graph_breaks": 0, "recompiles": 0},
        "accuracy": {"verdict": "pass"},
        "metrics": {
            "compile.cold_s": {"median": 12.345},
            "compile.warm_cache_s": {"median": 0.5},
            "eager.wall_ms": {"median": 3.0},
            "compiled.wall_ms": {"median": 1.5},
        },
        **more,
    }


def test_a_table_as_it_is_shown() -> None:
    failed = evaluation(
        workload="norm", bucket="-", status="crashed", facts={"graphs": None}, accuracy=None, metrics={}
    )
    assert table([evaluation(), failed]).splitlines() == [
        "workload  bucket   variant  status   graphs  breaks  recompiles  cold s  warm-cache s  eager ms  compiled ms  speed-up  accuracy",
        "mlp       batch=8  default  ok            1       0           0    12.3         0.500      3.00         1.50     2.00x  pass",
        "norm      -        default  crashed       -       -           -       -             -         -            -         -  -",
    ]


def test_a_pass_that_leaves_something_out_does_not_look_like_one_of_all() -> None:
    said = "2 leaves not compared: out.a (a meta tensor has no values), out.b (a meta tensor has no values)"
    accuracy = {"verdict": "pass", "reason": said}
    part = evaluation(id=7, accuracy=accuracy, accuracy_series={"default": accuracy})
    assert table([part]).splitlines()[1].endswith("  pass, 2 leaves not compared")
    run = {"id": 1, "uuid": "u", "profile": "quick", "status": "finished", "started_at": None}
    assert f"  accuracy pass, {said}" in describe_run({"run": run, "evaluations": [part]}).splitlines()


def test_a_number_that_is_not_there_is_no_number() -> None:
    assert speed_up(evaluation(metrics={"eager.wall_ms": {"median": 3.0}})) is None
    nothing = {"eager.wall_ms": {"median": None}, "compiled.wall_ms": {"median": 1.0}}
    assert speed_up(evaluation(metrics=nothing)) is None
    assert speed_up(evaluation(metrics={})) is None


def test_an_evaluation_without_a_status_is_unfinished() -> None:
    assert " unfinished " in table([evaluation(status=None)])


def test_several_environments_are_told_apart_by_their_torch() -> None:
    both = table([evaluation(), evaluation(environment={"torch": "2.14.1"})]).splitlines()
    assert [line.split()[0] for line in both] == ["torch", "2.13.0", "2.14.1"]


def test_environments_of_one_torch_are_told_apart_by_their_hash() -> None:
    environments = [{"torch": "2.13.0", "hash": letter * 64} for letter in "ab"]
    rows = table([evaluation(environment=one) for one in environments]).splitlines()
    assert [line[:15] for line in rows[1:]] == ["2.13.0 aaaaaaaa", "2.13.0 bbbbbbbb"]


def test_the_recompile_limit_is_marked_and_explained() -> None:
    shown = table([evaluation(facts={"graphs": 0, "recompiles": 0, "recompile_limit_hit": True})])
    assert " 0! " in shown
    assert "the recompile limit was hit" in shown.splitlines()[-1]


def test_records_without_a_database_give_the_same_rows() -> None:
    cell = {"environment": "h", "workload": "mlp", "bucket": "b", "variant": "default", "target": "cpu"}

    def probe(replica: int, probe: str, *values: float | None, **more: Any) -> dict[str, Any]:
        samples = [{"metric": "eager.wall_ms", "round": n, "value": value} for n, value in enumerate(values)]
        return {
            "type": "probe",
            "evaluation": "e",
            "replica": replica,
            "probe": probe,
            "samples": samples,
            **more,
        }

    (found,) = tally(
        [
            {"type": "environment", "hash": "h", "fields": {"torch": "2.13.0"}},
            {"type": "evaluation", "uuid": "e", **cell},
            probe(0, "walk", facts={"graphs": 2}),
            probe(0, "timing", 1.0, 9.0, 2.0, None),
            probe(0, "accuracy", accuracy={"verdict": "pass"}),
            probe(1, "walk", facts={"regions": []}),
            probe(1, "timing", 5.0),
            probe(2, "timing", 8.0),
            {"type": "evaluation_finished", "evaluation": "e", "status": "ok", "reason": None},
        ]
    )
    # Replica medians by hand: 2, 5, 8; the median of these is 5, that of all rounds would be 5 too, of rounds' means 5.67.
    assert found["metrics"]["eager.wall_ms"] == {"unit": "ms", "median": 5.0, "flags": []}
    assert found["facts"] == {"graphs": 2}
    assert (found["status"], found["accuracy"]["verdict"]) == ("ok", "pass")
    assert found["environment"]["torch"] == "2.13.0"


def test_a_time_says_what_makes_it_other_than_its_name() -> None:
    def metric(median: float, *flags: str) -> dict[str, object]:
        return {"median": median, "flags": list(flags)}

    shown = table(
        [
            {
                "workload": "w",
                "bucket": "-",
                "variant": "default",
                "status": "ok",
                "facts": {},
                "metrics": {
                    "compile.cold_s": metric(0.0597, "nothing_compiled"),
                    "eager.wall_ms": metric(35.4, "noisy"),
                    "compiled.wall_ms": metric(0.177),
                },
            }
        ]
    ).splitlines()
    cells = shown[1].split()
    assert cells[7] == "(0.0597)"
    assert cells[9:12] == ["~35.4", "0.177", "~200x"]
    assert any(line.startswith("~ noisy") for line in shown)
    assert any(line.startswith("( ) nothing was compiled") for line in shown)


def test_a_time_says_what_qualifies_its_rounds_on_any_clock() -> None:
    metrics = {
        "eager.wall_ms": {"median": 2.0, "flags": ["throttled"]},
        "compiled.wall_ms": {"median": 1.0, "flags": ["noisy"]},
        "compiled.stream_ms": {"median": 0.5, "flags": ["host_bound"]},
    }
    one = {"workload": "w", "bucket": "-", "variant": "default", "status": "ok", "metrics": metrics}
    shown = table([one]).splitlines()
    assert shown[1].split()[9:12] == ["*2.00", "~*1.00", "~*2.00x"]
    said = [line.partition(":")[0] for line in shown[2:]]
    assert said == ["~ noisy", "* throttled", "* host_bound"]
