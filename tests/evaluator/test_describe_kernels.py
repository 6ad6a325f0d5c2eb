"""What `show` says of kernels: names alone, or what Inductor and ptxas say of them."""

from __future__ import annotations

from evaluator.describe_kernels import kernel_lines
from evaluator.describe_run import describe_run
from tests.db import made


def test_kernels_of_which_nothing_more_is_known_are_named_once() -> None:
    named = [{"name": "cpp_fused_abs_0", "kind": "cpp"}, {"name": "cpp_fused_abs_0", "kind": "cpp"}]
    assert list(kernel_lines({"kernels": named})) == ["kernels: cpp_fused_abs_0"]
    assert list(kernel_lines({"kernels": []})) == []


def test_the_tables_of_a_card_that_is_not_there() -> None:
    extern = {"name": "extern_kernels.mm", "kind": "extern"}
    document = {"kernels": [made.TRITON_KERNEL, extern], "builds": [made.BUILD, made.REFUSED]}
    lines = list(kernel_lines(document))
    assert [line.split() for line in lines[:3]] == [
        ["kernel", "kind", "form", "loads", "stores", "reductions", "bytes"],
        [made.BUILD["name"], "triton", "pointwise", "2", "1", "0", "3145728"],
        # A library call has no numbers, which are not zero.
        ["extern_kernels.mm", "extern", "-", "-", "-", "-", "-"],
    ]
    assert [line.split() for line in lines[4:6]] == [
        ["built", "arch", "registers", "spilled", "reloaded", "stack", "shared", "static", "cubin"],
        [made.BUILD["name"], "sm_90a", "22", "0", "0", "0", "0", "0", "9800"],
    ]
    assert lines[6:] == [
        f"{made.BUILD['name']}: in its first configuration it needs 300000 bytes of shared memory, the card has 232448",
        "refused: triton_tem_fused_mm_1 for sm_90a: "
        "ptxas: uses too much shared data (0x40000 bytes, 0x38c00 max)",
    ]


def test_the_card_and_what_attention_became_are_said() -> None:
    facts = {
        "card": {"name": "h100", "capability": [9, 0]},
        "attention": [{"backend": "flash", "why": "bfloat16, head size 64"}],
        "card_notes": ["a cast that is none"],
    }
    evaluation = {
        "id": 3,
        "workload": "w",
        "bucket": "b",
        "variant": "v",
        "status": "ok",
        "facts": facts,
        "probes": {},
        "metrics": {},
        "environment": {},
    }
    run = {"id": 1, "uuid": "u", "profile": "quick", "status": "finished", "started_at": "2026-03-01"}
    text = describe_run({"run": run, "evaluations": [evaluation]})
    assert (
        "generated for a card that is not there, so nothing ran on it: name h100, capability [9, 0]" in text
    )
    assert "attention: flash (bfloat16, head size 64)" in text
    assert "not as on the card: a cast that is none" in text
