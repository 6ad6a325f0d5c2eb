"""Our counts and tlparse's agree on the same log. tlparse is the reference reader of these logs."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from evaluator.trace.evidence import Segment, walk_evidence
from evaluator.trace.log import read_log
from tests.evaluator.trace.expectations import EXPECTED
from tests.evaluator.trace.tlparse_report import report

TLPARSE = shutil.which("tlparse", path=str(Path(sys.executable).parent)) or shutil.which("tlparse")

pytestmark = pytest.mark.slow


@pytest.mark.skipif(TLPARSE is None, reason="tlparse is not installed: pip install -r tests/requirements.txt")
@pytest.mark.parametrize("name", [*EXPECTED, "optimizer_step"])
def test_our_counts_equal_tlparses(walks: Path, tmp_path: Path, name: str) -> None:
    [log] = (walks / name).glob("*.log")
    assert TLPARSE is not None
    theirs = asdict(report(TLPARSE, log, tmp_path / "tlparse"))
    # One call that spans the log, since tlparse knows no buckets and no second walk.
    ours = walk_evidence(read_log(log), [Segment("all", 1, 0, 0)])["all"].facts
    assert {key: ours[key] for key in theirs} == theirs
