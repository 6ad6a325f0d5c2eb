"""What a night leaves: one page, a report of each comparison beside it, a line in the log, and an exit code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from evaluator import machine
from evaluator.errors import UserError
from evaluator.estimate import duration
from evaluator.nights.comparisons import Comparison
from evaluator.nights.night import PAGE
from evaluator.printable import flat, printable
from evaluator.report import Gate, context_of, write_reports
from evaluator.report.files import file_name, write_file
from evaluator.report.markdown import code, prose, table
from evaluator.report.outcome import Failing
from evaluator.report.phrases import answer_line, cause, cell_words, change

EXIT_FINE: Final = 0
EXIT_REGRESSED: Final = 1
EXIT_BROKEN: Final = 2

LOG: Final = "nightly.log"
# The page is read in the morning; each report has the rest.
_MOST_FINDINGS: Final = 20


@dataclass(frozen=True)
class NightDone:
    """A night that ran. ``runs``: uuids of its runs; ``cells``: evaluations in them; ``problems``: what kept an
    interpreter or a suite from being measured."""

    began_at: datetime
    wall_s: float
    runs: tuple[str, ...]
    cells: int
    comparisons: tuple[Comparison, ...]
    problems: tuple[str, ...] = ()


def night_exit_code(night: NightDone, gate: Gate) -> int:
    """1 where a comparison fails the gate; else 2 where something could not be measured or compared; else 0."""
    if any(one.verdicts is not None and gate.failing(one.verdicts) for one in night.comparisons):
        return EXIT_REGRESSED
    if night.problems or any(_broken(one) for one in night.comparisons):
        return EXIT_BROKEN
    return EXIT_FINE


def _broken(one: Comparison) -> bool:
    return one.broken or (one.verdicts is not None and not one.verdicts.compared)


def write_night(
    night: NightDone, gate: Gate, folder: Path, database: str, database_option: str | None
) -> Path:
    """Write the night's page and, beside it, each comparison's Markdown and HTML report; the page's path.

    Raises UserError where the folder can't be written.
    """
    place = folder / f"{night.began_at.astimezone():%Y-%m-%d}-{_mark(night)}"
    reports: dict[str, tuple[Path, Path]] = {}
    for number, one in enumerate(night.comparisons, 1):
        if one.verdicts is not None:
            context = context_of(
                database,
                database_option,
                *one.runs,
                made_at=night.began_at,
                wall_s=night.wall_s,
                notes=(one.title,),
            )
            reports[one.name] = write_reports(one.verdicts, context, place, f"{number}-{file_name(one.name)}")
    page = place / PAGE
    write_file(page, night_page(night, gate, reports))
    return page


def _mark(night: NightDone) -> str:
    """What tells nights of one day apart: the first run, or the time where nothing was measured."""
    return night.runs[0][:8] if night.runs else f"{night.began_at.astimezone():%H%M%S}"


def night_page(night: NightDone, gate: Gate, reports: dict[str, tuple[Path, Path]]) -> str:
    """The page as Markdown; ``reports``: the files of each comparison, in the page's folder, by its name."""
    failing = [
        (one, found) for one in night.comparisons if one.verdicts and (found := gate.failing(one.verdicts))
    ]
    blocks = [
        f"# Night of {night.began_at.astimezone():%Y-%m-%d}",
        f"**{_headline(night, len(failing))}**",
        f"{night.cells} cells evaluated in {duration(night.wall_s)}, "
        f"{'run' if len(night.runs) == 1 else 'runs'} {', '.join(run[:8] for run in night.runs) or 'none'}.",
        *(f"Went wrong: {prose(problem)}" for problem in night.problems),
    ]
    rows = [[prose(one.title), _said(one), _links(reports.get(one.name))] for one in night.comparisons]
    if rows:
        blocks.append(table(("compared", "answer", "report"), rows))
    for one, found in failing:
        blocks.append(f"## {prose(one.title)}")
        lines = [_finding(each) for each in found[:_MOST_FINDINGS]]
        if len(found) > _MOST_FINDINGS:
            lines.append(f"- and {len(found) - _MOST_FINDINGS} more, in the report")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _headline(night: NightDone, failing: int) -> str:
    count = sum(one.verdicts is not None for one in night.comparisons)
    if failing:
        return f"{failing} of {count} comparisons fail the gate"
    if night.problems or any(_broken(one) for one in night.comparisons):
        return "not everything could be measured and compared"
    if not count:
        return "nothing to compare with yet"
    return f"nothing fails the gate in {count} {'comparison' if count == 1 else 'comparisons'}"


def _said(one: Comparison) -> str:
    return prose(answer_line(one.verdicts) if one.verdicts is not None else one.note or "not compared")


def _links(paths: tuple[Path, Path] | None) -> str:
    return ", ".join(f"[{path.suffix[1:]}]({path.name})" for path in paths or ())


def _finding(found: Failing) -> str:
    where = "the environment" if found.cell is None else code(" ".join(cell_words(found.cell)))
    moved = change(found.finding)
    detail = f" ({prose(moved)})" if moved else ""
    return (
        f"- {where}: {prose(found.finding.metric)} {found.finding.verdict.replace('_', ' ')}{detail}: "
        f"{prose(found.finding.text)}; cause: {prose(cause(found.finding.cause))}"
    )


def summary_line(night: NightDone, exit_code: int, page: Path | None) -> str:
    """The night on one line, for the log and for cron's mail."""
    said = [
        *night.problems,
        *(
            f"{one.title}: {answer_line(one.verdicts) if one.verdicts is not None else one.note}"
            for one in night.comparisons
        ),
    ]
    runs = ",".join(run[:8] for run in night.runs) or "none"
    line = (
        f"{night.began_at.astimezone():%Y-%m-%dT%H:%M:%S%z} exit {exit_code}, run {runs}, {night.cells} cells, "
        f"{duration(night.wall_s)} | {' | '.join(said) or 'nothing to compare with yet'}"
    )
    return _one_line(line + (f" | {machine.portable_path(page)}" if page is not None else ""))


def failure_line(began_at: datetime, exit_code: int, why: str) -> str:
    """A night that did not come to its end, on one line."""
    return _one_line(f"{began_at.astimezone():%Y-%m-%dT%H:%M:%S%z} exit {exit_code}, {why}")


def append_to_log(folder: Path, line: str) -> None:
    """Add a line to the log. Raises UserError where it can't be written."""
    path = folder / LOG
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"{line}\n")
    except OSError as error:
        raise UserError(
            f"{path} can't be written ({error.strerror}): choose another folder for `reports`"
        ) from None


def _one_line(text: str) -> str:
    return printable(flat(text))
