"""What the README of the evaluator promises is what the code declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.__main__ import command_modules
from evaluator.trace.evidence import FACTS
from evaluator.verdicts.words import REASONS, VERDICTS
from evaluator.worker.protocol import METRICS, SEVERITY

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "evaluator" / "README.md").read_text()


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_documented_with_its_unit_and_meaning(metric: str) -> None:
    unit, meaning = METRICS[metric]
    assert f"| `{metric}` | {unit} | {meaning} |" in README


@pytest.mark.parametrize("status", SEVERITY)
def test_every_status_is_documented(status: str) -> None:
    assert f"`{status}`" in README


@pytest.mark.parametrize("fact", FACTS)
def test_every_fact_of_the_trace_is_documented(fact: str) -> None:
    assert f"`{fact}`" in README or fact.startswith(("aot_cache_", "cache_"))


@pytest.mark.parametrize("command", sorted(command_modules()))
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"python -m evaluator {command}" in (REPOSITORY / "README.md").read_text()


@pytest.mark.parametrize("code", REASONS)
def test_every_reason_code_is_documented_with_its_meaning(code: str) -> None:
    assert f"| `{code}` | {REASONS[code]} |" in README


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_is_documented(verdict: str) -> None:
    assert f"`{verdict}`" in README
