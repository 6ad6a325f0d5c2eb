"""The report as JUnit XML, which build servers read: one test case a cell."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from datetime import UTC
from typing import Final

from evaluator.report import differences, phrases
from evaluator.report.context import Context
from evaluator.report.outcome import Failing, Gate
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts

# What XML 1.0 has no way to write, not even escaped.
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(verdicts: Verdicts, context: Context, gate: Gate) -> str:
    """A document whose failures are the findings that fail the gate; a cell that was not compared is skipped.

    Findings about the environments themselves are one more test case where there are any.
    """
    failing = gate.failing(verdicts)
    cases = [
        _cell_case(cell, [one for one in failing if one.cell is cell], context) for cell in verdicts.cells
    ]
    if verdicts.environment:
        cases.append(_environment_case(verdicts, [one for one in failing if one.cell is None]))
    numbers = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "errors": "0",
    }
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": _text(f"{verdicts.base} {phrases.ARROW} {verdicts.candidate}"),
            "timestamp": context.made_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
            **numbers,
        },
    )
    suite.append(_properties(verdicts, context))
    suite.extend(cases)
    root = ElementTree.Element("testsuites", {"name": "compilewatch", **numbers})
    root.append(suite)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _properties(verdicts: Verdicts, context: Context) -> ElementTree.Element:
    found = [
        ("answer", phrases.answer_line(verdicts)),
        ("base", verdicts.base),
        ("candidate", verdicts.candidate),
        *(("moved", phrases.moved(one)) for one in verdicts.moved),
        *(("warning", warning) for warning in (*verdicts.warnings, *context.notes)),
        *(("run", one.uuid) for one in context.runs),
    ]
    properties = ElementTree.Element("properties")
    for name, value in found:
        ElementTree.SubElement(properties, "property", {"name": name, "value": _text(value)})
    return properties


def _cell_case(cell: CellVerdict, failing: Sequence[Failing], context: Context) -> ElementTree.Element:
    workload, bucket, variant, target = phrases.cell_words(cell)
    case = _case(workload, f"{bucket} {variant} {target}")
    command = phrases.repro(cell, context)
    lines: list[str] = []
    for one in failing:
        lines += [_line(one.finding), f"cause: {phrases.cause(one.finding.cause)}"]
        evidence = phrases.evidence(phrases.finding_evidence(one.finding))
        lines += [f"evidence: {evidence}"] if evidence else []
    lines += differences.difference_lines(cell.differences)
    lines += [f"to see it: {command}"] if command else []
    _failure(case, failing, lines)
    if not failing and not cell.compared:
        codes = tuple(dict.fromkeys(code for finding in cell.findings for code in finding.reasons))
        said = phrases.reasons(codes) or "; ".join(dict.fromkeys(one.text for one in cell.findings))
        ElementTree.SubElement(case, "skipped", {"message": _text(said or "not compared")})
    _output(case, cell.findings)
    return case


def _environment_case(verdicts: Verdicts, failing: Sequence[Failing]) -> ElementTree.Element:
    case = _case("environment", "the environments themselves")
    _failure(case, failing, [_line(one.finding) for one in failing])
    if not failing and all(finding.verdict == "not_compared" for finding in verdicts.environment):
        codes = tuple(dict.fromkeys(code for finding in verdicts.environment for code in finding.reasons))
        ElementTree.SubElement(case, "skipped", {"message": _text(phrases.reasons(codes) or "not compared")})
    _output(case, verdicts.environment)
    return case


def _case(class_name: str, name: str) -> ElementTree.Element:
    # Nothing is timed here, and readers of the format want a number.
    return ElementTree.Element("testcase", {"classname": _text(class_name), "name": _text(name), "time": "0"})


def _failure(case: ElementTree.Element, failing: Sequence[Failing], lines: Sequence[str]) -> None:
    """One failure for all findings, since readers of the format take one a test case; none where nothing fails."""
    if failing:
        first, *rest = (one.finding for one in failing)
        message = _line(first) + (f"; and {len(rest)} more" if rest else "")
        failure = ElementTree.SubElement(case, "failure", {"type": first.verdict, "message": _text(message)})
        failure.text = _text("\n".join(lines))


def _output(case: ElementTree.Element, findings: Sequence[Finding]) -> None:
    """Every finding, so that what did not fail can be read as well."""
    ElementTree.SubElement(case, "system-out").text = _text("\n".join(_line(one) for one in findings))


def _line(finding: Finding) -> str:
    return f"{finding.metric} {phrases.verdict_word(finding)}: {phrases.said(finding)}"


def _text(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
