"""How kernels' sources are shown to differ."""

from __future__ import annotations

from dataclasses import replace

from evaluator.report.diffs import source_diff, source_diffs
from tests.evaluator.report import made


def test_changed_lines_stand_among_their_neighbours() -> None:
    assert source_diff("a\nb\nc\n", "a\nB\nc\n", 100).splitlines() == [
        "--- base",
        "+++ candidate",
        "@@ -1,3 +1,3 @@",
        " a",
        "-b",
        "+B",
        " c",
    ]
    assert source_diff("a\n", "a\n", 100) == ""


def test_a_long_difference_is_cut_and_says_how_much_is_left() -> None:
    base, candidate = "".join(f"a{n}\n" for n in range(50)), "".join(f"b{n}\n" for n in range(50))
    lines = source_diff(base, candidate, 10).splitlines()
    # Three lines of heading, fifty lines on each side.
    assert len(lines) == 11 and lines[-1] == "... 93 more lines"


def test_sources_too_long_to_compare_say_so() -> None:
    assert "too long" in source_diff("a\n" * 5001, "b\n", 10)


def test_only_changed_kernels_whose_sources_are_kept_have_one() -> None:
    differences = made.REGRESSED.differences
    ((name, diff),) = source_diffs(differences, made.KERNELS.get, 100)
    assert name == "cpp_fused_mul_0" and "+    out0[0] = in0[0] + in0[0];" in diff
    assert list(source_diffs(differences, lambda sha256: None, 100)) == []
    renamed = [replace(one, change="renamed") for one in differences.kernels]
    assert list(source_diffs(replace(differences, kernels=tuple(renamed)), made.KERNELS.get, 100)) == []
