"""The report as plain text, for a terminal: the answer in the first line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from evaluator.printable import flat, printable
from evaluator.report import differences, phrases
from evaluator.report.context import Context
from evaluator.report.sections import Alarm, Reason, Row, Sections, sections
from evaluator.table import aligned
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts

# What a terminal's reader looks through; the HTML report and the JSON have the rest.
MOST_ROWS: Final = 15
MOST_ALARMS: Final = 20
MOST_DIFFERENCES: Final = 8
MOST_NAMES: Final = 6
# The ratio, its replicas, and what would settle it.
MOST_KNOWN: Final = 4


def as_text(verdicts: Verdicts, context: Context) -> str:
    """The report, ending in a newline. Control characters of recorded names are shown as spaces."""
    found = sections(verdicts)
    blocks = [
        _head(verdicts, context),
        _moved(verdicts),
        _counts(verdicts),
        *_alarm_blocks(found, context),
        _table("flaky", found.flaky),
        _table("improved", found.improved),
        _table("changed", found.changed),
        _table("moved, and only explains", found.explaining),
        _table("inconclusive", found.inconclusive),
        _not_compared(found.not_compared),
        _environment(verdicts),
        _made(context),
    ]
    text = "\n\n".join("\n".join(block) for block in blocks if block)
    return "\n".join(printable(line) for line in text.split("\n")) + "\n"


def _head(verdicts: Verdicts, context: Context) -> list[str]:
    lines = [flat(phrases.answer_line(verdicts)), ""]
    lines.append(f"base       {flat(verdicts.base)}")
    lines.append(f"candidate  {flat(verdicts.candidate)}")
    if verdicts.excepted:
        lines.append(f"except     {_names(verdicts.excepted)}")
    lines += [f"! {flat(warning)}" for warning in verdicts.warnings]
    lines += [f"! {flat(note)}" for note in context.notes]
    return lines


def _moved(verdicts: Verdicts) -> list[str]:
    if not verdicts.moved:
        return ["nothing moved between the environments"]
    dependencies = phrases.dependencies(verdicts)
    lines = ["what moved" + (f" ({', '.join(dependencies)})" if dependencies else "")]
    return [*lines, *(f"  {flat(phrases.moved(one))}" for one in verdicts.moved)]


def _counts(verdicts: Verdicts) -> list[str]:
    listed = ", ".join(f"{number} {phrases.TITLES[verdict]}" for verdict, number in phrases.counts(verdicts))
    return [f"cells: {verdicts.compared} of {verdicts.total} compared" + (f"; {listed}" if listed else "")]


def _alarm_blocks(found: Sections, context: Context) -> Iterator[list[str]]:
    for title, alarms in (
        ("REGRESSIONS, confirmed", found.confirmed),
        ("regressions, unconfirmed", found.unconfirmed),
    ):
        if alarms:
            yield [f"{title} ({len(alarms)} {'cell' if len(alarms) == 1 else 'cells'})"]
        for alarm in alarms[:MOST_ALARMS]:
            yield list(_alarm(alarm, context))
        yield _rest(len(alarms) - MOST_ALARMS, "cell")


def _alarm(alarm: Alarm, context: Context) -> Iterator[str]:
    yield "  ".join(flat(word) for word in phrases.cell_words(alarm.cell))
    for finding in alarm.bad:
        yield f"  {_sentence(finding)}"
        if finding.rerun is not None:
            yield f"    rerun: {phrases.interval(finding.rerun)}, {phrases.samples(finding.rerun)}"
        for reason in finding.reasons:
            yield f"    {phrases.reasons((reason,))}"
        yield f"    cause: {flat(phrases.cause(finding.cause))}"
        evidence = phrases.evidence(phrases.finding_evidence(finding))
        if evidence:
            yield f"    evidence: {evidence}"
    for finding in alarm.beside:
        if finding.verdict != "unchanged":
            yield f"  beside it: {_sentence(finding)}"
    lines = differences.difference_lines(alarm.cell.differences)
    yield from (f"  {flat(line)}" for line in lines[:MOST_DIFFERENCES])
    yield from _rest(len(lines) - MOST_DIFFERENCES, "difference")
    command = phrases.repro(alarm.cell, context)
    if command:
        yield f"  to see it: {command}"


def _sentence(finding: Finding) -> str:
    """A finding in one line: metric, verdict, values, ratio, how sure."""
    words = (
        f"{finding.metric} {phrases.TITLES[finding.verdict]}",
        flat(phrases.said(finding)),
        phrases.confirmation(finding),
        finding.magnitude or "",
    )
    return "; ".join(word for word in words if word)


def _table(title: str, rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    shown = rows[:MOST_ROWS]
    cells = [[*_names_of(row.cell), row.finding.metric, *_columns(row.finding)] for row in shown]
    lines = aligned(cells, 0, 0)
    return [f"{title} ({len(rows)})", *(f"  {line}" for line in lines), *_rest(len(rows) - MOST_ROWS, "row")]


def _names_of(cell: CellVerdict) -> list[str]:
    """Workload, bucket and variant; beside it a target that nothing runs on, since another may have the same cell."""
    workload, bucket, variant, target = phrases.cell_words(cell)
    place = f"{variant} {target}" if cell.cell.codegen else variant
    return [flat(printable(word)) for word in (workload, bucket, place)]


def _columns(finding: Finding) -> list[str]:
    return [
        flat(printable(phrases.change(finding))),
        flat(printable("; ".join(phrases.known(finding)[:MOST_KNOWN]))),
    ]


def _not_compared(reasons: Sequence[Reason]) -> list[str]:
    lines = ["not compared"] if reasons else []
    for reason in reasons:
        lines.append(
            f"  {flat(reason.text)}: {len(reason.cells)} {'cell' if len(reason.cells) == 1 else 'cells'} "
            f"({_names(reason.workloads)}); {_names(reason.metrics)}"
        )
    return lines


def _environment(verdicts: Verdicts) -> list[str]:
    if not verdicts.environment:
        return []
    rows = [[one.metric, phrases.TITLES[one.verdict], *_columns(one)] for one in verdicts.environment]
    return ["the environments themselves", *(f"  {line}" for line in aligned(rows, 0, 0))]


def _made(context: Context) -> list[str]:
    lines = [flat(line) for line in phrases.provenance(context)]
    return [*lines, *(f"again: {command}" for command in context.commands)]


def _names(names: Iterable[str]) -> str:
    listed = [flat(name) for name in names]
    rest = len(listed) - MOST_NAMES
    return ", ".join(listed[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _rest(number: int, noun: str) -> list[str]:
    """The line that says how much is left out; none where nothing is."""
    if number <= 0:
        return []
    return [f"  and {number} more {noun}{'' if number == 1 else 's'}: --format html shows all"]
