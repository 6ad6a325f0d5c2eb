"""File names that mean the same in every environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.trace.places import REPOSITORY, places_for, user_function


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/opt/venv/lib/python3.11/site-packages/torch/optim/optimizer.py", "torch/optim/optimizer.py"),
        ("/usr/lib/python3/dist-packages/numpy/core.py", "numpy/core.py"),
        ("/usr/lib/python3.12/contextlib.py", "python/contextlib.py"),
        (f"{REPOSITORY}/workloads/pointwise.py", "workloads/pointwise.py"),
        ("/home/ada/models/net.py", "~/models/net.py"),
        ("/srv/models/net.py", "/srv/models/net.py"),
        ("<eval_with_key>.17", "<eval_with_key>"),
    ],
)
def test_a_file_is_named_from_where_it_belongs(path: str, name: str) -> None:
    assert places_for().file(path) == name


def test_a_workloads_own_files_are_named_from_its_folder(tmp_path: Path) -> None:
    places = places_for([tmp_path / "bench.py", "company.models"])
    assert places.file(str(tmp_path / "bench.py")) == "bench.py"
    assert places.file(str(tmp_path / "layers" / "norm.py")) == "layers/norm.py"
    assert places.file("/srv/code/company/models.py") == "company/models.py"
    assert places.file(str(tmp_path / "lib/python3.11/site-packages/torch/nn/f.py")) == "torch/nn/f.py"


def test_paths_inside_a_text_are_shortened() -> None:
    text = 'frame skipped: decode (/home/ada/net.py line 10), "/v/lib/python3.11/site-packages/torch/nn/a.py", 1/2'
    assert places_for().text(text) == 'frame skipped: decode (~/net.py line 10), "torch/nn/a.py", 1/2'


def test_a_resumed_function_is_the_users_own() -> None:
    assert user_function("torch_dynamo_resume_in_torch_dynamo_resume_in_forward_at_10_at_12") == "forward"
    assert user_function("forward") == "forward"
