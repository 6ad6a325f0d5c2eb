"""Which texts are one text: what moves between runs and versions makes no difference, what was said does."""

from __future__ import annotations

import pytest

from evaluator.verdicts.wording import listed, normalised, one_line

# As torch 2.13.0 and 2.14.1 raise them for one function whose file lies elsewhere and is longer above it.
BRANCH = """torch._dynamo.exc.Unsupported: Data-dependent branching
  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).

      The branch condition involves a tensor computed as follows:
        # File "{folder}/m.py", line {line}, in branch, code: if x.sum() > 0:
        gt = gt(sum_1, 0)

  Developer debug context: attempted to jump with TensorVariable()

 For more details about this graph break, please visit: https://meta-pytorch.github.io/site/gb/gb0170.html

from user code:
   File "{folder}/m.py", line {line}, in branch
    if x.sum() > 0:

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace ({advice}).
"""
CPP = (
    "CppCompileError: C++ compile error\nCommand:\ng++ {tmp}/torchinductor_user/{short}/{module}.main.cpp -o {tmp}/x.so"
    "\n\nOutput:\n{tmp}/torchinductor_user/{short}/{module}.main.cpp:{line}:7: error: 'foo' was not declared"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            BRANCH.format(folder="/opt/a/tmp8wyqzdsq", line=6, advice="please do this"),
            BRANCH.format(folder="/home/someone/b", line=12, advice="in other words"),
        ),
        (
            CPP.format(tmp="/tmp/tmpab12cd34", short="6x", module="c6x" + "ab2c7d" * 8, line=5),
            CPP.format(tmp="/var/tmp/tmpzz99yy88", short="kq", module="ckq" + "xy7z3w" * 8, line=9),
        ),
        ("object at 0x7f3a2b1c0d10", "object at 0x55d0c0ffee00"),
        ("___check_obj_id(w, 139872139872)", "___check_obj_id(w, 94873249732)"),
        ("backend hash 9f86d081884c7d65 of", "backend hash 60303ae22b998861 of"),
        ("<eval_with_key>.12 in forward", "<eval_with_key>.345 in forward"),
        ("in torch_dynamo_resume_in_step_at_14", "in torch_dynamo_resume_in_step_at_29"),
        ("[0/1] Process 4711 died", "[2/0_1] Process 12 died"),
        ("While executing %add_3 : [num_users=1]", "While executing %add_12 : [num_users=1]"),
        ("size of buf12 and primals_3", "size of buf7 and primals_4"),
        ("see https://docs.pytorch.org/docs/2.13/x.html", "see https://docs.pytorch.org/docs/2.14/x.html"),
        ("    return f(x)\n           ^^^^", "    return f(x)"),
        (None, ""),
    ],
)
def test_equal_but_for_what_moves(one: str | None, other: str | None) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "tensor 'x' size mismatch at index 0. expected 128, actual 512",
            "tensor 'x' size mismatch at index 1. expected 128, actual 512",
        ),
        (
            "tensor 'x' size mismatch at index 0. expected 128, actual 512",
            "tensor 'x' size mismatch at index 0. expected 128, actual 256",
        ),
        ("k == 2", "k == 3"),
        ("x.size()[0] // 2 == 4", "x.size()[0] // 4 == 2"),
        ("dtype float32 is not supported", "dtype float64 is not supported"),
        (
            CPP.format(tmp="/tmp", short="a", module="c" * 52, line=1),
            CPP.format(tmp="/tmp", short="a", module="c" * 52, line=1).replace("foo", "bar"),
        ),
        ("/a/one.py", "/a/two.py"),
        ("int16", "int32"),
    ],
)
def test_what_was_said_stays(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_a_name_that_looks_like_a_hash_needs_a_digit_and_a_letter() -> None:
    assert normalised("deadbeef 12345678 defaced") == "deadbeef 12345678 defaced"


def test_lists_are_sentences() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert listed([]) == ""


def test_one_line_is_the_first_that_says_something() -> None:
    assert one_line("\n  no such thing  \nmore") == "no such thing"
    assert len(one_line("x" * 500)) == 200
    assert one_line(None) == ""
