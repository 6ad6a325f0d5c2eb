"""The files that an upgrade leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.report.files import FORMATS, file_name, render, write_reports
from tests.evaluator.report import made


def test_an_upgrade_leaves_markdown_and_html(tmp_path: Path) -> None:
    paths = write_reports(made.ONE_OF_EVERYTHING, made.CONTEXT, tmp_path / "reports" / "first")
    assert [path.name for path in paths] == [
        "torch-2.13.0+cpu-to-torch-2.14.1+cpu.md",
        "torch-2.13.0+cpu-to-torch-2.14.1+cpu.html",
    ]
    markdown, html = (path.read_text() for path in paths)
    assert markdown == render("markdown", made.ONE_OF_EVERYTHING, made.CONTEXT)
    assert html.startswith("<!doctype html>") and html.rstrip().endswith("</html>")


def test_names_of_sides_make_no_paths(tmp_path: Path) -> None:
    verdicts = made.verdicts(made.SAME, base="../../etc/passwd", candidate="\0/\n")
    paths = write_reports(verdicts, made.CONTEXT, tmp_path)
    assert {path.parent for path in paths} == {tmp_path}
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_long_names_stay_apart_and_short_enough() -> None:
    # Equal in all that fits into a name.
    long = [f"torch 2.14.1 (FLAG={'x' * 80}{end})" for end in "ab"]
    names = [file_name(one) for one in long]
    assert len(set(names)) == 2
    assert {len(name) for name in names} == {60}
    assert names[0] == file_name(long[0])
    assert file_name("torch 2.14.1 (FLAG=1)") == "torch-2.14.1-FLAG=1"
    assert file_name("x" * 60) == "x" * 60


def test_text_that_has_no_encoding_is_written_all_the_same(tmp_path: Path) -> None:
    cell = made.cell("half \ud800 a pair", made.slower())
    for path in write_reports(made.verdicts(cell), made.CONTEXT, tmp_path, "odd"):
        path.read_text(encoding="utf-8")


def test_a_folder_that_is_a_file_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match="choose another place for the report"):
        write_reports(made.ONE_OF_EVERYTHING, made.CONTEXT, tmp_path / "taken")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("verdicts", [made.verdicts(), made.ONE_OF_EVERYTHING, made.hostile()])
def test_every_format_ends_with_one_newline(form: str, verdicts: made.Verdicts) -> None:
    text = render(form, verdicts, made.CONTEXT)
    assert text.endswith("\n") and not text.endswith("\n\n")
