"""What was seen to run as text: the document of a stored run, and one of a CPU."""

from __future__ import annotations

from pathlib import Path

from db.queries.show import run_document
from db.store import Store
from evaluator.describe_observed import observed_lines
from evaluator.describe_run import describe_run
from tests.db import made
from tests.db.asking import reading


def test_a_profiled_cell_has_its_launches(tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    store = Store(database)
    *records, ended = made.whole_run("first")
    store.write_many([*records, *made.profiled_cell("first"), ended])
    store.close()
    with reading(database) as connection:
        document = run_document(connection, "label-first")
    lines = list(observed_lines(document["evaluations"][-1]))
    assert lines[:2] == [
        "profiled eager, 4 calls: 8 kernel launches, 4 copies, 0 sets, bound by the host",
        "profiled compiled, 4 calls: 4 kernel launches, 0 copies, 0 sets, bound by the host",
    ]
    table = [line.split() for line in lines[2:6]]
    assert table[0] == ["mode", "kind", "name", "launches", "device", "ms", "registers", "spills"]
    assert table[1] == [
        "eager",
        "kernel",
        "vectorized_elementwise_kernel",
        "8",
        "0.200",
        "22",
        "-",
    ]
    assert table[3][:4] == ["compiled", "kernel", "triton_poi_fused_add_mul_silu_sub_0", "4"]
    assert all(line in describe_run(document) for line in lines)


def test_what_is_not_known_has_its_reason_and_no_number() -> None:
    reason = "nothing is launched on this target: the host does the work itself"
    facts = {"profile": {"eager": {"calls": 5, "batch": {}, "reason": reason, "sync_points": None}}}
    assert list(observed_lines({"facts": facts, "observed": {"kernels": [], "operators": []}})) == [
        f"profiled eager, kernels not known: {reason}"
    ]


def test_where_the_host_waits_has_a_line_each() -> None:
    point = {"file": "loop.py", "line": 12, "function": "forward", "times": 3, "through": None}
    facts = {"profile": {"compiled": {"batch": {}, "reason": None, "sync_points": [point]}}}
    assert list(observed_lines({"facts": facts})) == [
        "the host waits (compiled) at loop.py:12 in forward, 3 time(s) a call"
    ]


def test_nothing_is_said_where_nothing_was_profiled() -> None:
    assert list(observed_lines({"facts": {"graphs": 1}})) == []
    assert list(observed_lines({})) == []
