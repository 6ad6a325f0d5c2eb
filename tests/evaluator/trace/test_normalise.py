"""When two kernels are the same code, and when they are not."""

from __future__ import annotations

import pytest

from evaluator.trace.normalise import body_hash, launch_hash
from tests.evaluator.trace.generated import CPP_BODY, TRITON_BODY

IMPORTS = "import triton\nimport triton.language as tl\n"

SAME_TRITON = {
    "another kernel name": TRITON_BODY.replace("triton_poi_fused_mul_0", "triton_poi_fused_mul_silu_3"),
    "imports in another order": TRITON_BODY.replace(IMPORTS, "import triton.language as tl\nimport triton\n"),
    "another import": TRITON_BODY.replace(
        IMPORTS, IMPORTS + "from torch._inductor.runtime import new_helpers\n"
    ),
    "another backend hash": TRITON_BODY.replace("A1B2C3", "FFFFFF"),
    "another path": TRITON_BODY.replace("filename=__file__", "filename='/tmp/cache_ada/ab/cabc.py'"),
    "more inductor_meta": TRITON_BODY.replace(
        "'mutated_arg_names': []", "'mutated_arg_names': [], 'new_field': 3"
    ),
    "another device": TRITON_BODY.replace(
        "multi_processor_count=132, cc=90", "multi_processor_count=108, cc=80"
    ),
    "a comment and other spacing": TRITON_BODY.replace("tmp1 = 0.5", "tmp1 =  0.5  # half"),
    "another size hint": TRITON_BODY.replace("size_hints={'x': 262144}", "size_hints={'x': 131072}"),
}
OTHER_TRITON = {
    "another constant": TRITON_BODY.replace("tmp1 = 0.5", "tmp1 = 0.25"),
    "another operator": TRITON_BODY.replace("tmp0 * tmp1", "tmp0 + tmp1"),
    "another size in the body": TRITON_BODY.replace("xnumel = 262144", "xnumel = 131072"),
    "another mask": TRITON_BODY.replace("tl.load(in_ptr0 + (x0), None)", "tl.load(in_ptr0 + (x0), xmask)"),
    "another heuristic": TRITON_BODY.replace("triton_heuristics.pointwise", "triton_heuristics.reduction"),
}
SAME_CPP = {
    "another kernel name": CPP_BODY.replace("kernel(", "cpp_fused_mul_7("),
    "another path of the prefix": CPP_BODY.replace(
        "<torch/csrc/inductor/cpp_prefix.h>", '"/tmp/torchinductor_ada/2r/c2rni.h"'
    ),
    "another include": CPP_BODY.replace('extern "C"', '#include <cmath>\nextern "C"'),
    "a comment and other spacing": CPP_BODY.replace(
        "auto tmp1 = ", "// from /home/ada/model.py\n  auto  tmp1 = "
    ),
}
OTHER_CPP = {
    "another constant": CPP_BODY.replace("(0.5)", "(0.25)"),
    "another size": CPP_BODY.replace("64L", "32L"),
    "another type": CPP_BODY.replace("float(tmp0", "double(tmp0"),
    "without the pragma": CPP_BODY.replace("#pragma GCC ivdep", ""),
    "a division that looks like a path": CPP_BODY.replace("tmp0 * tmp1", "tmp0 /a/b/c"),
}


@pytest.mark.parametrize("change", SAME_TRITON)
def test_the_same_triton_body(change: str) -> None:
    assert SAME_TRITON[change] != TRITON_BODY
    assert body_hash(SAME_TRITON[change]) == body_hash(TRITON_BODY)


@pytest.mark.parametrize("change", OTHER_TRITON)
def test_another_triton_body(change: str) -> None:
    assert body_hash(OTHER_TRITON[change]) != body_hash(TRITON_BODY)


@pytest.mark.parametrize("change", SAME_CPP)
def test_the_same_cpp_body(change: str) -> None:
    assert SAME_CPP[change] != CPP_BODY
    assert body_hash(SAME_CPP[change]) == body_hash(CPP_BODY)


@pytest.mark.parametrize("change", OTHER_CPP)
def test_another_cpp_body(change: str) -> None:
    assert body_hash(OTHER_CPP[change]) != body_hash(CPP_BODY)


def test_two_divisors_are_two_bodies() -> None:
    divided = OTHER_CPP["a division that looks like a path"]
    assert body_hash(divided) != body_hash(divided.replace("/a/b/c", "/a/b/d"))


def test_a_name_in_a_profiling_record_does_not_count() -> None:
    profiled = CPP_BODY.replace(
        "{\n    {", '{\n    RECORD_FUNCTION("graph_0_cpp_fused_mul_0", {});\n    {', 1
    )
    renamed = profiled.replace("cpp_fused_mul_0", "cpp_fused_mul_9")
    assert body_hash(profiled, "cpp_fused_mul_0") == body_hash(renamed, "cpp_fused_mul_9")


def test_a_helper_function_is_part_of_the_body() -> None:
    helper = "@triton.jit\ndef _triton_helper_fn_add0(arg0, arg1):\n    return arg0 + arg1\n\n"
    with_helper = TRITON_BODY.replace("@triton_heuristics", helper + "@triton_heuristics", 1)
    other = with_helper.replace("arg0 + arg1", "arg0 * arg1")
    assert body_hash(with_helper) not in (body_hash(other), body_hash(TRITON_BODY))


def test_text_that_is_no_code_still_has_a_hash() -> None:
    assert body_hash("kernel void generated(device float* x [[buffer(0)]]) { x[0] = 1; }") != body_hash("")
    assert body_hash("word") != body_hash("another")


def test_the_launch_is_an_identity_of_its_own() -> None:
    assert launch_hash(TRITON_BODY) is not None
    assert launch_hash(SAME_TRITON["another size hint"]) != launch_hash(TRITON_BODY)
    assert launch_hash(TRITON_BODY.replace("'*fp32'", "'*bf16'")) != launch_hash(TRITON_BODY)
    for same in ("another device", "another backend hash", "another kernel name", "another path"):
        assert launch_hash(SAME_TRITON[same]) == launch_hash(TRITON_BODY)
    assert launch_hash(OTHER_TRITON["another constant"]) == launch_hash(TRITON_BODY)
    assert launch_hash(CPP_BODY) is None


def test_an_expression_too_deep_to_rewrite_is_hashed_as_text() -> None:
    deep = TRITON_BODY.replace("tmp1 = 0.5", "tmp1 = " + "+".join(["0.5"] * 5000))
    renamed = deep.replace("triton_poi_fused_mul_0", "other_name_0")
    assert body_hash(deep, "triton_poi_fused_mul_0") == body_hash(renamed, "other_name_0")
    assert body_hash(deep) != body_hash(deep.replace("0.5+0.5", "0.5+0.25", 1))
