"""The report as GitHub-flavoured Markdown. Whatever a record holds is shown as characters, never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from evaluator.printable import flat, printable
from evaluator.report import differences, phrases
from evaluator.report.context import Context
from evaluator.report.diffs import fusion_sources, source_diffs
from evaluator.report.sections import Alarm, Reason, Row, sections
from evaluator.verdicts.findings import CellVerdict, Finding, Verdicts

# A forge shows no file beyond about a megabyte; the HTML report has the rest.
MOST_ROWS: Final = 100
MOST_DIFF_LINES: Final = 120
MOST_SOURCE_LINES: Final = 60

# Signs that begin markup. A comment splits "@name", which forges turn into a mention after all escapes are read.
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>#|~!&$^]|(?<=\w):(?=//)|(?<=www)\.")
# What begins a list or underlines a heading at the start of a line.
_LEADING: Final = re.compile(r"^(\d*)([-+.)])(?=\s|$)|^()([-=])(?=[-=]*$)")


def as_markdown(verdicts: Verdicts, context: Context) -> str:
    """The report, ending in a newline."""
    found = sections(verdicts)
    blocks = [
        *_head(verdicts, context),
        *_alarms("Confirmed regressions", found.confirmed, context),
        *_alarms("Regressions that no rerun confirmed", found.unconfirmed, context),
        *_rows("Flaky", found.flaky),
        *_rows("Improved", found.improved),
        *_rows("Inconclusive", found.inconclusive),
        *_folded(_rows("Changed", found.changed)),
        *_folded(_rows("Moved, and only explains", found.explaining)),
        *_not_compared(found.not_compared),
        *_environment(verdicts),
        *_made(context),
    ]
    return "\n\n".join(blocks) + "\n"


def prose(text: str) -> str:
    """A sentence that may hold recorded text, on one line, with every sign of markup escaped."""
    line = flat(printable(flat(text)))
    escaped = _MARKUP.sub(lambda match: f"\\{match.group()}", line).replace("@", "@<!-- -->")
    return _LEADING.sub(lambda match: f"{match[1] or ''}\\{match[2] or match[4]}", escaped)


def code(text: str) -> str:
    """Recorded text as a code span; in a table ``table_code`` is needed."""
    line = flat(printable(flat(text)))
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line or ' '}{pad}{fence}"


def table_code(text: str) -> str:
    """Recorded text as code in a table, which is split at its bars before code spans are read."""
    if "|" not in text:
        return code(text)
    line = flat(printable(flat(text)))
    # No escape holds for a bar after a backslash; a character's number is never markup.
    return f"<code>{''.join(sign if sign.isalnum() or sign == ' ' else f'&#{ord(sign)};' for sign in line)}</code>"


def block(text: str, language: str) -> str:
    """Lines as a fenced block that no line of theirs can end."""
    lines = "\n".join(printable(line.replace("\t", "    ")) for line in text.splitlines())
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", lines)), default=0))
    return f"{fence}{language}\n{lines}\n{fence}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _head(verdicts: Verdicts, context: Context) -> Iterator[str]:
    yield f"# {prose(phrases.answer_line(verdicts))}"
    yield f"{code(verdicts.base)} {phrases.ARROW} {code(verdicts.candidate)}"
    if verdicts.excepted:
        yield f"Except: {', '.join(code(name) for name in verdicts.excepted)}"
    for warning in (*verdicts.warnings, *context.notes):
        yield f"> **Note:** {prose(warning)}"
    yield "## What moved"
    if verdicts.moved:
        rows = [
            [
                table_code(one.field),
                *(table_code(side or phrases.MISSING) for side in (one.base, one.candidate)),
                prose(one.dependency or ""),
            ]
            for one in verdicts.moved
        ]
        yield table(("field", "base", "candidate", "dependency"), rows)
    else:
        yield "Nothing moved between the environments."
    yield "## Cells"
    yield f"{verdicts.compared} of {verdicts.total} cells compared."
    found = phrases.counts(verdicts)
    if found:
        yield table([phrases.TITLES[verdict] for verdict, _ in found], [[str(number) for _, number in found]])


def _alarms(title: str, alarms: Sequence[Alarm], context: Context) -> Iterator[str]:
    if alarms:
        yield f"## {title}"
    for alarm in alarms[:MOST_ROWS]:
        yield from _alarm(alarm, context)
    yield from _rest(len(alarms) - MOST_ROWS)


def _alarm(alarm: Alarm, context: Context) -> Iterator[str]:
    workload, *place = phrases.cell_words(alarm.cell)
    yield f"### {code(workload)} {' '.join(code(word) for word in place)}"
    yield table(
        ("metric", "verdict", "values", "difference", "rerun", "likely cause", "evidence"),
        [_alarm_row(finding) for finding in alarm.bad],
    )
    beside = [finding for finding in alarm.beside if finding.verdict != "unchanged"]
    lines = [f"beside it: {code(one.metric)} {prose(_what(one))}" for one in beside]
    lines += [prose(line) for line in differences.difference_lines(alarm.cell.differences)]
    if lines:
        yield "\n".join(f"- {line}" for line in lines)
    for name, diff in source_diffs(alarm.cell.differences, context.sources, MOST_DIFF_LINES):
        yield f"Source of {code(name)}, base and candidate:"
        yield block(diff, "diff")
    for fusion in fusion_sources(alarm.cell.differences, context.sources, MOST_SOURCE_LINES):
        yield f"{prose(fusion.title)}:"
        for side, kernels in (("base", fusion.base), ("candidate", fusion.candidate)):
            for name, text in kernels:
                yield f"Source of {code(name)} on the {side}:"
                yield block(text, "python")
    command = phrases.repro(alarm.cell, context)
    if command:
        yield "To see it:"
        yield block(command, "sh")


def _alarm_row(finding: Finding) -> list[str]:
    said = phrases.interval(finding.estimate) if finding.estimate else finding.text
    also = f"; {phrases.samples(finding.estimate)}" if finding.estimate else ""
    return [
        table_code(finding.metric),
        f"**{phrases.verdict_word(finding)}**" + (f" ({finding.magnitude})" if finding.magnitude else ""),
        prose(phrases.change(finding)),
        prose(f"{said}{also}"),
        prose(phrases.interval(finding.rerun)) if finding.rerun else phrases.confirmation(finding),
        prose(phrases.cause(finding.cause)),
        prose(phrases.evidence(phrases.finding_evidence(finding))),
    ]


def _what(finding: Finding) -> str:
    """Verdict and size of a finding in a few words."""
    return f"{phrases.verdict_word(finding)}: {phrases.said(finding)}"


def _rows(title: str, rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    yield f"## {title}"
    yield table(
        ("workload", "bucket", "variant", "target", "metric", "verdict", "values", "what is known"),
        [
            [*_place(row.cell), table_code(row.finding.metric), *_columns(row.finding)]
            for row in rows[:MOST_ROWS]
        ],
    )
    yield from _rest(len(rows) - MOST_ROWS)


def _folded(blocks: Iterator[str]) -> Iterator[str]:
    """A section whose heading unfolds it: between two versions of torch nearly every cell has something there."""
    title = next(blocks, None)
    if title is not None:
        yield f"<details><summary>{title.removeprefix('## ')}</summary>"
        yield from blocks
        yield "</details>"


def _place(cell: CellVerdict) -> list[str]:
    return [table_code(word) for word in phrases.cell_words(cell)]


def _columns(finding: Finding) -> list[str]:
    return [
        phrases.verdict_word(finding),
        prose(phrases.change(finding)),
        prose("; ".join(phrases.known(finding))),
    ]


def _not_compared(reasons: Sequence[Reason]) -> Iterator[str]:
    if not reasons:
        return
    yield "## Not compared"
    yield table(
        ("reason", "cells", "workloads", "metrics"),
        [
            [
                prose(reason.text),
                str(len(reason.cells)),
                ", ".join(table_code(name) for name in reason.workloads),
                ", ".join(table_code(metric) for metric in reason.metrics),
            ]
            for reason in reasons
        ],
    )


def _environment(verdicts: Verdicts) -> Iterator[str]:
    if verdicts.environment:
        yield "## The environments themselves"
        yield table(
            ("metric", "verdict", "values", "what is known"),
            [[table_code(one.metric), *_columns(one)] for one in verdicts.environment],
        )


def _made(context: Context) -> Iterator[str]:
    yield "## Where this comes from"
    yield "\n".join(f"- {prose(line)}" for line in phrases.provenance(context))
    if context.commands:
        yield "To make it again:"
        yield block("\n".join(context.commands), "sh")


def _rest(number: int) -> Iterator[str]:
    if number > 0:
        yield f"And {number} more, which the HTML and JSON reports hold."
