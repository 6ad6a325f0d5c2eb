"""What is made ready before a compile's clock: on the CPU, since what calls it is the same there."""

from __future__ import annotations

import pytest
import torch

from evaluator.worker.targets.cuda import starting

FLOATS = [torch.ones(1, dtype=dtype) for dtype in (torch.float32, torch.bfloat16)]


@pytest.mark.parametrize("training", [False, True])
def test_each_float_type_that_a_call_computes_in_is_made_ready_once(training: bool) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with torch.no_grad():
        found = starting.make_handles([*FLOATS, *FLOATS, torch.ones(1, dtype=torch.int64)], training=training)
        assert not torch.is_grad_enabled()
    assert found == {
        "warmed": [
            "product bfloat16",
            "convolution bfloat16",
            "product float32",
            "convolution float32",
        ],
        "refused": [],
    }
    assert torch.equal(torch.get_rng_state(), before)


def test_what_a_library_refuses_is_no_fault_of_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("GET was unable to find an engine to execute this computation")

    monkeypatch.setattr(torch.nn.functional, "conv2d", refuse)
    found = starting.make_handles(FLOATS[:1], training=False)
    assert found == {"warmed": ["product float32"], "refused": ["convolution float32"]}


def test_no_context_is_made_without_a_device() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a device here")
    with pytest.raises((RuntimeError, AssertionError)):
        starting.make_context()
    with pytest.raises(RuntimeError, match="active drivers"):
        starting.make_triton()
