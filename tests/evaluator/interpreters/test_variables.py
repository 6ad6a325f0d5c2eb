"""What a side of a comparison may set, and what only the evaluator sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.control.server_process import environment
from evaluator.interpreters.variables import problem_with


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FLAG", ""),
        ("TORCHINDUCTOR_MAX_AUTOTUNE", "1"),
        ("CUDA_VISIBLE_DEVICES", "1"),
        ("OMP_NUM_THREADS", "2"),
        ("seed", "17"),
        ("_x", "a b"),
        # In capitals it is a variable's name, and no version.
        ("NUMPY", "1"),
        ("LEVEL", "1.5"),
    ],
)
def test_a_side_may_have_variables_of_its_own(name: str, value: str) -> None:
    assert problem_with(name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PYTHONHASHSEED", "0", "set by the evaluator"),
        ("TORCH_LOGS", "+dynamo", "set by the evaluator"),
        ("TORCH_LOGS_OUT", "x", "set by the evaluator"),
        ("TORCH_COMPILE_DEBUG", "1", "set by the evaluator"),
        ("TORCH_TRACE", "/x", "set by the evaluator"),
        ("TMPDIR", "/x", "set by the evaluator"),
        ("TRITON_CACHE_DIR", "/x", "set by the evaluator"),
        ("HF_HUB_OFFLINE", "0", "set by the evaluator"),
        ("TORCH_COMPILE_JOB_ID", "7", "set by the evaluator"),
        ("TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "1", "set by the evaluator"),
        ("torch", "2.13.0", "did you mean torch==2.13.0?"),
        ("transformers", "5.20.0", "did you mean transformers==5.20.0?"),
        ("TORCH", "2.13.0", "did you mean torch==2.13.0?"),
        # Installed here, and known to no list of ours; in the spelling of its own metadata.
        ("Jinja2", "3", "did you mean jinja2==3?"),
        # Not installed here, but no variable is called so with a value like that.
        ("some_library", "1.2.3", "did you mean some-library==1.2.3?"),
        ("A=B", "1", "no name of a variable"),
        ("", "1", "no name of a variable"),
        ("A B", "1", "no name of a variable"),
        ("A", "x\0y", "zero byte"),
    ],
)
def test_others_are_refused_with_what_to_do(name: str, value: str, said: str) -> None:
    assert said in (problem_with(name, value) or "")


def test_what_the_server_sets_is_not_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_LOGS", "+dynamo")
    monkeypatch.setenv("FLAG", "user")
    own = {"TMPDIR": "/x", "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "0", "FLAG": "side", "OTHER": "1"}
    found = environment(tmp_path, own)
    assert found["TMPDIR"] == str(tmp_path)
    assert found["HF_HUB_OFFLINE"] == "1"
    assert (found["FLAG"], found["OTHER"]) == ("side", "1")
    assert not {"PYTHONHASHSEED", "TORCH_LOGS"} & set(found)
