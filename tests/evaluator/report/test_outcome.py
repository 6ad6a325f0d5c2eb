"""What fails a gate, and what never does."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.report.outcome import CHOICES, KNOWN_METRICS, Gate, exit_code, gate_text, parse_gate
from evaluator.verdicts.findings import Verdicts
from tests.evaluator.report import made

EAGER = made.cell(
    "eager.slower",
    made.finding("eager.wall_ms", "regressed", gating=False, confirmed=True),
    made.finding("compiled.wall_ms", "unchanged"),
)
KERNELS = made.cell(
    "other.kernels",
    made.finding("kernels", "changed", kind="set", gating=False),
    made.finding("compiled.wall_ms", "unchanged"),
)
BREAKS = made.cell("more.breaks", made.finding("graph_breaks", "regressed", kind="count", confirmed=True))


def gated(fail_on: str, *cells: made.CellVerdict) -> int:
    return exit_code(made.verdicts(*cells), parse_gate(fail_on))


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        (made.REGRESSED, 1),
        (made.FAILING, 1),
        (made.UNCONFIRMED, 0),
        (made.DISAGREED, 0),
        (made.UNDECIDED, 0),
        (made.ABSENT, 0),
        (made.FASTER, 0),
        (made.SAME, 0),
        (EAGER, 0),
        (KERNELS, 0),
    ],
    ids=lambda one: one.cell.workload if isinstance(one, made.CellVerdict) else str(one),
)
def test_by_default_only_what_is_confirmed_and_gates_fails(cell: made.CellVerdict, code: int) -> None:
    assert exit_code(made.verdicts(made.SAME, cell)) == code


@pytest.mark.parametrize(
    ("fail_on", "cell", "code"),
    [
        # Verdicts.
        ("newly_failing", made.REGRESSED, 0),
        ("newly_failing", made.FAILING, 1),
        ("flaky", made.DISAGREED, 1),
        ("flaky", made.REGRESSED, 0),
        ("inconclusive", made.UNDECIDED, 1),
        ("not_compared", made.ABSENT, 1),
        ("changed", KERNELS, 1),
        ("regressed, changed", KERNELS, 1),
        # Metrics: the default verdicts about those.
        ("compiled.wall_ms", made.REGRESSED, 1),
        ("compile.*", made.REGRESSED, 0),
        ("graph_breaks", BREAKS, 1),
        ("graph_breaks", made.REGRESSED, 0),
        ("compile.*,graph_*", BREAKS, 1),
        # Both: those verdicts about those metrics.
        ("flaky,graph_breaks", made.DISAGREED, 1),
        ("flaky,graph_breaks", BREAKS, 0),
        ("flaky,recompiles", made.DISAGREED, 0),
        # What only explains fails where it is asked for by name.
        ("eager.wall_ms", EAGER, 1),
        ("regressed", EAGER, 0),
        # What no rerun confirmed.
        ("unconfirmed", made.UNCONFIRMED, 1),
        ("unconfirmed", made.REGRESSED, 1),
        ("unconfirmed,compile.*", made.UNCONFIRMED, 0),
        ("regressed", made.UNCONFIRMED, 0),
        ("none", made.FAILING, 0),
    ],
)
def test_the_gate_can_be_chosen(fail_on: str, cell: made.CellVerdict, code: int) -> None:
    assert gated(fail_on, cell) == code


@pytest.mark.parametrize("fail_on", [*CHOICES, "unconfirmed", "*", ",".join((*CHOICES, "unconfirmed"))])
def test_an_improvement_never_fails(fail_on: str) -> None:
    fixed = made.cell("fixed.one", made.finding("status", "fixed", kind="status", confirmed=True))
    assert gated(fail_on, made.FASTER, fixed, made.SAME) == 0


@pytest.mark.parametrize(
    ("fail_on", "words"),
    [
        ("", "empty"),
        (" , ", "empty"),
        ("none,regressed", "stands alone"),
        ("improved", "no reason to fail"),
        ("unchanged", "no reason to fail"),
        # A gate with a typing error would pass for ever.
        ("regresed", "no verdict and no metric is called so"),
        ("compiled.wal_ms", "no verdict and no metric is called so"),
    ],
)
def test_a_word_that_means_nothing_is_refused(fail_on: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        parse_gate(fail_on)
    assert "\n" not in str(raised.value)


def test_findings_of_the_environments_count_where_they_gate() -> None:
    slower = made.finding("import.torch_s", "regressed", confirmed=True, gating=False)
    verdicts = made.verdicts(made.SAME, environment=(slower,))
    assert exit_code(verdicts) == 0
    assert exit_code(verdicts, parse_gate("import.*")) == 1
    (failing,) = parse_gate("import.*").failing(verdicts)
    assert failing.cell is None and failing.finding is slower


def test_what_fails_is_named_cell_by_cell() -> None:
    failing = Gate().failing(made.ONE_OF_EVERYTHING)
    assert [(one.cell and one.cell.cell.workload, one.finding.metric) for one in failing] == [
        ("models.vit", "status"),
        ("models.bert", "compiled.wall_ms"),
    ]


def test_nothing_compared_fails_nothing() -> None:
    empty: Verdicts = made.verdicts()
    assert exit_code(empty) == 0


def test_every_metric_that_a_verdict_can_be_about_can_be_gated_on() -> None:
    folder = Path(__file__).parents[3] / "evaluator" / "verdicts"
    source = "\n".join(path.read_text() for path in folder.glob("*.py"))
    for metric in (
        "graph_breaks",
        "recompiles",
        "second_walk_compiles",
        "recompile_limit_hit",
        "kernels",
        "drift",
    ):
        assert metric in KNOWN_METRICS and f'"{metric}"' in source


@pytest.mark.parametrize(
    "fail_on",
    [
        "none",
        "regressed,newly_failing",
        "flaky",
        "unconfirmed",
        "compile.*",
        "changed,graph_breaks,compiled.wall_ms,unconfirmed",
    ],
)
def test_a_gate_can_be_written_down(fail_on: str) -> None:
    gate = parse_gate(fail_on)
    assert parse_gate(gate_text(gate)) == gate
    assert parse_gate(gate_text(Gate())) == Gate()
