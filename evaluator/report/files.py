"""A comparison's report in the format that is asked for, and the files that an upgrade or a night leaves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from evaluator.errors import UserError
from evaluator.report.context import Context
from evaluator.report.outcome import Gate
from evaluator.verdicts.findings import Verdicts

# Of a side in a file's name.
_MOST_CHARACTERS: Final = 60
_HASH_CHARACTERS: Final = 8
FORMATS: Final = ("text", "markdown", "json", "junit", "html")


def render(form: str, verdicts: Verdicts, context: Context, gate: Gate | None = None) -> str:
    """The report in one of ``FORMATS``. ``gate``: which findings count as failures (JUnit, JSON)."""
    return _writer(form)(verdicts, context, gate or Gate())


def _writer(form: str) -> Callable[[Verdicts, Context, Gate], str]:
    # Only the format that is meant is imported: HTML needs a template library that a machine with torch alone lacks.
    if form == "text":
        from evaluator.report.text import as_text

        return lambda verdicts, context, gate: as_text(verdicts, context)
    if form == "markdown":
        from evaluator.report.markdown import as_markdown

        return lambda verdicts, context, gate: as_markdown(verdicts, context)
    if form == "html":
        from evaluator.report.html import as_html

        return lambda verdicts, context, gate: as_html(verdicts, context)
    if form == "json":
        from evaluator.report.json_ import as_json_text

        return as_json_text
    if form == "junit":
        from evaluator.report.junit import as_junit

        return as_junit
    raise ValueError(form)


def write_file(path: Path, text: str) -> None:
    """Write a report. Raises UserError where that can't be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What a torch version prints may hold half a surrogate pair, which UTF-8 has no form for.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(
            f"{path} can't be written ({error.strerror}): choose another place for the report"
        ) from None


def write_reports(
    verdicts: Verdicts, context: Context, folder: Path, name: str | None = None
) -> tuple[Path, Path]:
    """Write the Markdown and the HTML report; their paths. ``name``: of the files, by default after the two sides.

    Raises UserError where the folder can't be written. Reports of the same name are replaced.
    """
    stem = name or report_name(verdicts)
    paths = (folder / f"{stem}.md", folder / f"{stem}.html")
    for path, form in zip(paths, ("markdown", "html"), strict=True):
        write_file(path, render(form, verdicts, context))
    return paths


def report_name(verdicts: Verdicts) -> str:
    """What the files of a report are called after its two sides."""
    return f"{file_name(verdicts.base)}-to-{file_name(verdicts.candidate)}"


def file_name(label: str) -> str:
    """A label as a part of a file name that every file system takes; a long one is cut, and ends in a hash of it all."""
    name = re.sub(r"[^A-Za-z0-9.+=]+", "-", label).strip("-.") or "side"
    if len(name) <= _MOST_CHARACTERS:
        return name
    digest = hashlib.sha256(label.encode(errors="backslashreplace")).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _MOST_CHARACTERS - _HASH_CHARACTERS - 1].rstrip('-.')}-{digest}"
