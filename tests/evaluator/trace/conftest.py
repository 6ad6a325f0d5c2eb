"""Programs compiled once for all tests that read their logs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.evaluator.trace.recording import REPOSITORY


@pytest.fixture(scope="session")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Every program walked once by the torch of this interpreter, with caches of its own."""
    folder = tmp_path_factory.mktemp("walks")
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    for variable in ("TORCH_LOGS", "TORCH_TRACE"):
        environment.pop(variable, None)
    command = [sys.executable, "-m", "tests.evaluator.trace.walker", str(folder)]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    yield folder
