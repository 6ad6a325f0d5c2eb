"""Files of two evaluations as pairs, and what a saved file is called."""

from __future__ import annotations

import pandas as pd
import pytest

from app.files import saved_as
from app.pair import kept

KERNELS = pd.DataFrame(
    [("cpp_fused_add_0", "a1"), ("cpp_fused_mul_1", "b1"), ("extern.mm", None)],
    columns=["name", "source_sha256"],
)


def files(*rows: tuple[str, str, int, int | None]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["kind", "sha256", "size", "replica"])
    return frame.assign(probe="walk", cache=None)


def told(found: pd.DataFrame) -> list[tuple[str, ...]]:
    names = ["change", "kind", "name", "base_sha256", "candidate_sha256"]
    return [tuple(row) for row in found[names].to_numpy().tolist()]


def test_sources_of_one_kernel_are_a_pair_whatever_the_order() -> None:
    base = kept.named(files(("kernel_source", "a1", 1, 0), ("kernel_source", "b1", 2, 0)), KERNELS)
    newer = pd.DataFrame(
        [("cpp_fused_mul_1", "b1"), ("cpp_fused_add_0", "a2"), ("cpp_fused_sum_2", "c2")],
        columns=["name", "source_sha256"],
    )
    rows = [("kernel_source", sha256, 3, 0) for sha256 in ("c2", "b1", "a2")]
    found = kept.pairs(base, kept.named(files(*rows), newer))
    assert told(found) == [
        ("≠ changed", "kernel_source", "cpp_fused_add_0", "a1", "a2"),
        ("+ added", "kernel_source", "cpp_fused_sum_2", None, "c2"),
        ("= the same", "kernel_source", "cpp_fused_mul_1", "b1", "b1"),
    ]


def test_other_files_are_pairs_of_one_probe() -> None:
    base = kept.named(files(("log", "l1", 1, 0), ("log", "l2", 1, 1), ("trace", "t1", 1, 0)), KERNELS)
    candidate = kept.named(files(("log", "l3", 1, 1), ("log", "l1", 1, 0)), KERNELS)
    assert told(kept.pairs(base, candidate)) == [
        ("≠ changed", "log", "walk, replica 1", "l2", "l3"),
        ("− removed", "trace", "walk, replica 0", "t1", None),
        ("= the same", "log", "walk, replica 0", "l1", "l1"),
    ]


def test_a_source_of_two_kernels_stands_at_both_and_a_file_is_there_once() -> None:
    twice = pd.DataFrame([("k0", "a1"), ("k1", "a1")], columns=["name", "source_sha256"])
    found = kept.named(files(("kernel_source", "a1", 1, 0), ("kernel_source", "a1", 1, 1)), twice)
    assert found["name"].tolist() == ["k0", "k1"]


def test_no_file_is_no_pair() -> None:
    empty = kept.named(files(), KERNELS)
    assert kept.pairs(empty, empty).empty


SHA = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("cpp_fused_add_0", "cpp_fused_add_0-0123456789ab.txt"),
        ("", "0123456789ab.txt"),
        ("../../etc/passwd", "etc_passwd-0123456789ab.txt"),
        (".bashrc", "bashrc-0123456789ab.txt"),
        ("a\x00\n<b>\u202etxt.exe", "a_b_txt.exe-0123456789ab.txt"),
        ("C:\\x", "C_x-0123456789ab.txt"),
        ("…", "0123456789ab.txt"),
    ],
)
def test_saved_names_are_readable_and_no_paths(name: str, shown: str) -> None:
    assert saved_as("kernel_source", SHA, name) == shown


def test_a_long_name_is_cut() -> None:
    assert len(saved_as("log", SHA, "n" * 500)) < 120
