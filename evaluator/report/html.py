"""The report as one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluator.printable import printable
from evaluator.report import differences, phrases
from evaluator.report.context import Context
from evaluator.report.diffs import fusion_sources, source_diff
from evaluator.report.plots import Drawing, Scale, draw, scale_of
from evaluator.report.sections import sections
from evaluator.verdicts.findings import CellVerdict, Estimate, Finding, KernelChange, Verdicts
from evaluator.verdicts.words import REASONS

MOST_DIFF_LINES: Final = 200
# Each is a few kilobytes; the cells that regressed come first.
MOST_DIFFS: Final = 100

# answer -> how it looks; colour is never alone, the sign says the same.
_TONES: Final = {
    "Upgrade": ("good", "✓"),
    "Upgrade except": ("careful", "!"),
    "Hold": ("bad", "✗"),
    "Not enough evidence": ("neutral", "?"),
}
_VERDICT_SIGNS: Final = {
    "newly_failing": "✗",
    "regressed": "▲",
    "flaky": "≈",
    "inconclusive": "?",
    "not_compared": "○",
    "changed": "≠",
    "improved": "▼",
    "fixed": "✓",
    "unchanged": "=",
}


def as_html(verdicts: Verdicts, context: Context) -> str:
    """The report as one document. Everything recorded is escaped, and control characters are shown as spaces."""
    drawn, parts = _Drawings(verdicts), sections(verdicts)
    alarmed = {alarm.cell.cell for alarm in parts.alarms}
    template = _templates().get_template("report.html.j2")
    return template.render(
        verdicts=verdicts,
        context=context,
        parts=parts,
        phrases=phrases,
        lines=differences,
        tone=_TONES[verdicts.answer],
        signs=_VERDICT_SIGNS,
        drawn=drawn,
        columns=drawn.columns,
        several_targets=len({cell.cell.target for cell in verdicts.cells}) > 1,
        others=_others,
        evidence_cells=[
            cell
            for cell in verdicts.cells
            if cell.cell not in alarmed and differences.difference_lines(cell.differences)
        ],
        diffs=_Diffs(context),
        fused=lambda found: list(fusion_sources(found, context.sources, MOST_DIFF_LINES)),
        used_reasons=_used_reasons(verdicts),
    )


def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["by_metric"] = _by_metric
    return environment


def _finalize(value: Any) -> Any:
    """A value as it goes into the page: recorded text without what would steer a reader's screen."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


class _Drawings:
    """Drawings of estimates, all of one metric on one scale."""

    def __init__(self, verdicts: Verdicts) -> None:
        findings = [one for cell in verdicts.cells for one in cell.findings] + list(verdicts.environment)
        by_metric: dict[str, list[Estimate]] = {}
        for finding in findings:
            by_metric.setdefault(finding.metric, []).extend(_estimates(finding))
        self.scales: dict[str, Scale] = {
            metric: scale_of(estimates) for metric, estimates in by_metric.items() if estimates
        }
        gating = {one.metric for cell in verdicts.cells for one in cell.findings if one.gating}
        # Warm times first: they are what users wait for most often.
        self.columns = sorted(
            gating & set(self.scales), key=lambda name: (not name.startswith("compiled."), name)
        )

    def of(self, metric: str, estimate: Estimate) -> Drawing:
        return draw(estimate, self.scales[metric])


def _estimates(finding: Finding) -> Iterable[Estimate]:
    return (one for one in (finding.estimate, finding.rerun) if one is not None)


def _by_metric(cell: CellVerdict) -> dict[str, Finding]:
    return {finding.metric: finding for finding in cell.findings}


def _others(cell: CellVerdict, columns: Iterable[str]) -> list[Finding]:
    """What a cell's row says in words: what gates or moved, and is not drawn in a column."""
    drawn = set(columns)
    return [
        one
        for one in cell.findings
        if one.verdict != "unchanged"
        and (one.gating or one.verdict not in ("not_compared", "inconclusive"))
        and not (one.metric in drawn and one.estimate is not None)
    ]


class _Diffs:
    """How kernels' sources differ, each pair of sources shown once."""

    def __init__(self, context: Context) -> None:
        self._sources = context.sources
        self._shown: dict[tuple[str, str], str] = {}

    def of(self, kernel: KernelChange) -> tuple[str, list[tuple[str, str]]] | None:
        """The anchor and the lines (class, text) of a changed kernel; no lines where the anchor was shown before.

        None where there is nothing to show.
        """
        if kernel.change != "changed" or kernel.base_source is None or kernel.candidate_source is None:
            return None
        key = (kernel.base_source, kernel.candidate_source)
        if key in self._shown:
            return self._shown[key], []
        if len(self._shown) >= MOST_DIFFS:
            return None
        base, candidate = self._sources(key[0]), self._sources(key[1])
        if base is None or candidate is None:
            return None
        text = source_diff(base, candidate, MOST_DIFF_LINES)
        if not text:
            return None
        self._shown[key] = f"source-{len(self._shown) + 1}"
        return self._shown[key], [(_line_class(line), line.expandtabs(4)) for line in text.splitlines()]


def _line_class(line: str) -> str:
    if line.startswith(("---", "+++", "@@")):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "same")


def _used_reasons(verdicts: Verdicts) -> list[tuple[str, str]]:
    """Code and sentence of each reason that some finding or cause gives."""
    findings = [one for cell in verdicts.cells for one in cell.findings] + list(verdicts.environment)
    codes = {code for finding in findings for code in finding.reasons}
    codes |= {one.cause.code for one in findings if one.cause is not None and one.cause.code is not None}
    return [(code, text) for code, text in REASONS.items() if code in codes]
