"""The cards that code is generated for: built-in ones, and a user's own from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.cards import FIGURES, KNOWN, resolve
from evaluator.errors import UserError

OWN = """
id = "half-h100"
name = "Half an H100"
major = 9
minor = 0
multi_processor_count = 66
regs_per_multiprocessor = 65536
max_threads_per_multi_processor = 2048
shared_memory_per_multiprocessor = 233472
shared_memory_per_block_optin = 232448
total_memory = 40000000000
"""


def test_devices_have_no_figures() -> None:
    assert resolve("cpu") == ("cpu", None)
    assert resolve("cuda") == ("cuda", None)


# Compute capability, multiprocessors, threads and shared memory of one (KiB): NVIDIA's data sheets, and the table of
# technical specifications in the CUDA C++ Programming Guide.
@pytest.mark.parametrize(
    ("card", "capability", "processors", "threads", "shared"),
    [
        ("a100", (8, 0), 108, 2048, 164),
        ("h100", (9, 0), 132, 2048, 228),
        ("h200", (9, 0), 132, 2048, 228),
        ("b200", (10, 0), 148, 2048, 228),
        ("l4", (8, 9), 58, 1536, 100),
        ("rtx4090", (8, 9), 128, 1536, 100),
    ],
)
def test_a_known_card_has_the_figures_of_its_data_sheet(
    card: str, capability: tuple[int, int], processors: int, threads: int, shared: int
) -> None:
    name, figures = resolve(f"codegen:{card}")
    assert name == f"codegen:{card}"
    assert figures is not None
    assert set(FIGURES) <= set(figures)
    assert (figures["major"], figures["minor"]) == capability
    assert figures["multi_processor_count"] == processors
    assert figures["max_threads_per_multi_processor"] == threads
    assert figures["shared_memory_per_multiprocessor"] == shared * 1024
    # One KiB of a block's is the system's.
    assert figures["shared_memory_per_block_optin"] == (shared - 1) * 1024


def test_every_known_card_is_in_the_table_above() -> None:
    assert set(KNOWN) == {"a100", "h100", "h200", "b200", "l4", "rtx4090"}


def test_a_card_of_ones_own_is_named_by_its_figures_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(OWN)
    name, figures = resolve(f"codegen:{file}")
    assert figures is not None
    assert figures["multi_processor_count"] == 66
    assert figures["warp_size"] == 32
    assert name.startswith("codegen:half-h100@")
    # Another card under the same name is another target; a comment or another order of lines is not.
    file.write_text(OWN.replace("= 66", "= 67"))
    assert resolve(f"codegen:{file}")[0] != name
    lines = OWN.strip().splitlines()
    file.write_text("\n".join(["# mine", *reversed(lines)]))
    assert resolve(f"codegen:{file}")[0] == name


def test_without_an_id_the_file_names_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(OWN.replace('id = "half-h100"\n', ""))
    assert resolve(f"codegen:{file}")[0].startswith("codegen:mine@")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("multi_processor_count = 66\n", ""), "lacks multi_processor_count (streaming multiprocessors)"),
        (("= 66", "= -1"), "must be a whole number above 0, not -1"),
        (("= 66", "= true"), "must be a whole number above 0, not True"),
        (("= 66", '= "66"'), "must be a whole number above 0, not '66'"),
        (("major = 9", "major = 7"), "compute capability 7.0: Triton generates code for 8.0 to 12.x"),
        (("major = 9", "major = 99"), "compute capability 99.0: Triton generates code for 8.0 to 12.x"),
        (("minor = 0", "minor = 10"), "has compute capability 9.10"),
        (("minor = 0", "minor = 0\nwarp_size = 64"), "warp_size is 32 on every card"),
        (("minor = 0", "minor = 0\ncolour = 3"), "'colour', which is no figure"),
        (('"half-h100"', '"Half H100"'), "give it an `id` of lower-case letters"),
        (("= 66", "= = 66"), "is not TOML"),
    ],
)
def test_a_card_with_a_mistake_says_which(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(OWN.replace(*change))
    with pytest.raises(UserError) as caught:
        resolve(f"codegen:{file}")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("codegen:h1000", "no card is called 'h1000': take a100, h100"),
        ("codegen:nowhere.toml", "can't read the card nowhere.toml: No such file"),
        ("gpu", "no target is called 'gpu': take cpu, cuda or codegen:CARD"),
    ],
)
def test_what_is_no_target_is_said(target: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve(target)
    assert said in str(caught.value)
