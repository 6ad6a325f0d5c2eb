"""Kernels that need more shared memory than a block can have on a card."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch._inductor.runtime.triton_heuristics import CachingAutotuner

from evaluator.cards import KNOWN
from evaluator.worker.targets.codegen.build import Refused, build
from evaluator.worker.targets.codegen.card import Card
from tests.evaluator.worker.codegen.test_build import crowded


def with_shared(limit: int) -> Card:
    return Card({**KNOWN["h100"], "shared_memory_per_block_optin": limit})


# All 8192 floats change places between warps at once: 4 bytes each.
NEEDED = 8192 * 4


@pytest.mark.slow
def test_a_kernel_that_needs_more_shared_memory_than_a_block_can_have_is_refused(tmp_path: Path) -> None:
    fits = build("crowded", crowded(32), with_shared(NEEDED), tmp_path / "fits")
    assert fits["shared"] == NEEDED
    assert "note" not in fits
    with pytest.raises(Refused) as caught:
        build("crowded", crowded(32), with_shared(NEEDED - 1), tmp_path / "large")
    assert str(caught.value) == "needs 32768 bytes of shared memory, the card has 32767"


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(CachingAutotuner, "compile_by_disabling_pipelining"), reason="since torch 2.13"
)
def test_a_configuration_that_does_not_fit_is_left_out_as_inductor_does(tmp_path: Path) -> None:
    # One warp has all values in its own registers, and needs no shared memory to exchange them.
    more = "\nimport copy\nother = copy.deepcopy(crowded.configs[0])\nother.CHANGE\ncrowded.configs.append(other)\n"
    small = build(
        "crowded", crowded(32) + more.replace("CHANGE", "num_warps = 1"), with_shared(1024), tmp_path
    )
    assert (small["config"]["num_warps"], small["configs"], small["shared"]) == (1, 2, 0)
    assert (
        small["note"] == "in its first configuration it needs 32768 bytes of shared memory, the card has 1024"
    )
    # Where none fits the last is tried without a pipeline, which does not help here.
    staged = crowded(32) + more.replace("CHANGE", "num_stages = 3")
    with pytest.raises(Refused, match="needs 32768 bytes of shared memory at the least, in 3 configurations"):
        build("crowded", staged, with_shared(1024), tmp_path)
