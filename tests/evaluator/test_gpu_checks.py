"""What the checks for a GPU make of kernels, told by real builds without one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evaluator.cards import KNOWN
from evaluator.sink import read_records
from evaluator.trace.kernels import kernels_of
from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.build import build
from evaluator.worker.targets.codegen.card import Card
from tests.evaluator.commandline import evaluator
from tests.evaluator.worker.codegen.generating import generated, modules
from tests.gpu.made import Made, compared, recorded, triton_kernels, with_binaries

# Squares summed over a row: one kernel of two operators, in which the order of instructions depends on the card.
WORKLOAD = """
import torch

BUCKETS = [{"rows": 64}]


def build():
    def weighed(x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)

    return weighed


def inputs(bucket):
    return (torch.ones(bucket["rows"], 1024),), {}
"""


def weighed(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def held_of(here: dict[str, Made], there: dict[str, Made]) -> list[bool]:
    return [one.good for one in compared("weighed", here, there)]


@pytest.mark.slow
@pytest.mark.skipif(internals.unsupported() is not None, reason="this torch generates for no card")
def test_a_run_s_build_is_found_again_among_what_triton_left_in_a_cache(tmp_path: Path) -> None:
    (tmp_path / "weighed.py").write_text(WORKLOAD)
    done = evaluator(
        tmp_path,
        *("run", "--no-packs", "--workloads", "weighed.py", "--target", "codegen:h200"),
        *("--records", str(tmp_path / "r.jsonl")),
    )
    assert done.returncode == 0, done.stderr
    there = recorded([one for _, one in read_records(tmp_path / "r.jsonl")])["weighed"]

    def cached(card: str) -> dict[str, Made]:
        """The same kernel generated and built here for a card, read from Triton's own cache folder."""
        with torch.no_grad(), modules() as texts:
            generated(weighed, torch.ones(64, 1024), card=card)
        sources = [one for text in texts for one in kernels_of(text) if one.source is not None]
        for one in sources:
            build(one.name, str(one.source), Card(KNOWN[card]), tmp_path / card)
        kernels = [{"name": one.name, "kind": one.kind, "source_hash": one.source_hash} for one in sources]
        return with_binaries(triton_kernels(kernels), tmp_path / card / "triton")

    here = cached("h200")
    assert len(here) == 1
    assert [len(one.binaries) for one in here.values()] == [1]
    assert held_of(here, there) == [True, True, True]
    # The machine code of another card is no such build, whatever its source is.
    other = {name: Made(there[name].body, one.binaries) for name, one in cached("a100").items()}
    assert held_of(other, there) == [True, True, False]


ONE = Made("body", frozenset({"a"}))


@pytest.mark.parametrize(
    ("here", "there", "held", "said"),
    [
        ({"k": ONE}, {"k": ONE}, [True, True, True], ""),
        # A card tries several configurations of a kernel; the one that was built without it is one of them.
        ({"k": Made("body", frozenset("abc"))}, {"k": ONE}, [True, True, True], ""),
        (
            {"k": Made("body", frozenset("xyz"))},
            {"k": ONE},
            [True, True, False],
            "none of the card's 3 builds",
        ),
        ({"k": Made("other", frozenset("a"))}, {"k": ONE}, [True, False, True], ""),
        ({"k": ONE, "m": ONE}, {"k": ONE}, [False, True, True], ""),
        ({"k": Made("body")}, {"k": ONE}, [True, True, False], "cache has no machine code"),
        ({"k": ONE}, {"k": Made("body", unbuilt="too much shared memory")}, [True, True, False], "too much"),
        ({"k": ONE}, {"k": Made("body")}, [True, True, False], "nothing is recorded"),
        # With no name in common nothing was compared; and with no kernel at all nothing had to be.
        ({"k": ONE}, {"m": ONE}, [False, False, False], ""),
        ({}, {"k": ONE}, [False, False, False], ""),
        ({}, {}, [True], ""),
    ],
)
def test_names_bodies_and_machine_code_are_checks_of_their_own(
    here: dict[str, Made], there: dict[str, Made], held: list[bool], said: str
) -> None:
    checks = compared("w", here, there)
    assert [one.good for one in checks] == held
    assert said in str(checks[-1].value)
