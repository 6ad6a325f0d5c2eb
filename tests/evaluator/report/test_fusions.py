"""A lost fusion in every format: what it costs, and the sources of both sides, one against two."""

from __future__ import annotations

from dataclasses import replace

from evaluator.report.diffs import fusion_sources
from evaluator.report.html import as_html
from evaluator.report.json_ import document
from evaluator.report.markdown import as_markdown
from evaluator.report.outcome import Gate
from evaluator.report.text import as_text
from evaluator.verdicts.findings import Verdicts
from evaluator.verdicts.whole import compare
from tests.evaluator.report import made
from tests.evaluator.verdicts.fused import FUSED, SPLIT, base_of, candidate_of, codegen, triton, with_build
from tests.evaluator.verdicts.given import environment

SOURCES = {
    "1" * 64: "def triton_(in_ptr0): fused_source",
    "2" * 64: "def triton_(in_ptr0): first_piece",
    "3" * 64: "def triton_(in_ptr0): second_piece",
}
KEPT = [
    replace(one, source_sha256=sha256) for one, sha256 in zip((FUSED, *SPLIT), sorted(SOURCES), strict=True)
]
CONTEXT = replace(made.CONTEXT, sources=SOURCES.get)


def lost() -> Verdicts:
    """Confirmed in one of six cells on a card that is not there; a kernel of another is built to other machine code."""
    sides = (base_of(KEPT[0]), candidate_of(*KEPT[1:]))
    other = triton("triton_poi_fused_exp_0", 2)
    rebuilt = codegen(base_of(other), candidate_of(with_build(other, sass_hash="another")), "pack.rebuilt")
    calm = [codegen(base_of(FUSED), candidate_of(FUSED), f"pack.w{place}") for place in range(4)]
    return compare(
        environment(), environment(label="x"), [codegen(*sides, "pack.lost", rerun=sides), rebuilt, *calm]
    )


def test_the_text_names_the_target_what_moved_and_why() -> None:
    text = as_text(lost(), CONTEXT)
    assert text.startswith(
        "Upgrade except pack.lost: confirmed regressions there and none elsewhere, facts only"
    )
    assert "pack.lost  n=4  default  codegen:h100" in text
    # 3 and 7 tensors of 1,048,576 bytes.
    assert "3.15 MB -> 7.34 MB" in text and "+4.19 MB moved by Inductor's estimate" in text
    assert "cause: fusion lost: 1 kernel became 2" in text
    assert "same source with other machine code (Triton or ptxas moved)" in text


def test_markdown_and_html_have_the_sources_of_both_sides() -> None:
    for report in (as_markdown(lost(), CONTEXT), as_html(lost(), CONTEXT)):
        assert all(name in report for name in ("fused_source", "first_piece", "second_piece"))
        assert report.index("fused_source") < report.index("first_piece") < report.index("second_piece")
        assert "3.15 MB" in report and "codegen:h100" in report


def test_a_source_that_is_gone_leaves_the_sentence() -> None:
    gone = replace(CONTEXT, sources={one: text for one, text in SOURCES.items() if one[0] != "3"}.get)
    report = as_markdown(lost(), gone)
    assert "fusion lost: 1 kernel became 2" in report and "fused_source" not in report


def test_long_sources_are_cut_and_say_so() -> None:
    def source(_: str) -> str:
        return "\n".join(f"line {number}" for number in range(10))

    (found,) = fusion_sources(lost().cells[0].differences, source, 4)
    assert [name for name, _ in found.base] == [FUSED.name]
    assert found.candidate[1][1].splitlines() == ["line 0", "line 1", "line 2", "line 3", "... 6 more lines"]


def test_the_json_holds_the_fusion_with_its_rows() -> None:
    (cell, *_) = document(lost(), CONTEXT, Gate())["verdicts"]["cells"]
    (fusion,) = cell["differences"]["fusions"]
    assert fusion["change"] == "lost" and fusion["more_bytes"] == 4 * 512 * 512 * 4
    assert [one["id"] for one in fusion["evidence"]] == [31, 41, 42]
