"""The process that runs one graph: its inputs, and which of their sizes stay symbols."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from evaluator.worker.ab_graph import GraphSession, Size

SYMBOLIC = """
import torch
s17 = 8
class Repro(torch.nn.Module):
    def forward(self, arg0_1, arg1_1, arg2_1, arg3_1):
        add = torch.ops.aten.add.Tensor(arg1_1, arg2_1)
        return (torch.ops.aten.mul.Tensor(add, arg0_1), torch.ops.aten.gt.Scalar(arg3_1, 0))
def load_args(reader):
    reader.symint(8, expr='s17')
    buf0 = reader.storage(None, 32*s17)
    reader.tensor(buf0, (s17, 8), is_leaf=True)
    buf1 = reader.storage(None, 32*s17)
    reader.tensor(buf1, (s17, 8), (1, s17), is_leaf=True)
    buf2 = reader.storage(None, 8*(2*s17 + 1), dtype_hint=torch.int64)
    reader.tensor(buf2, (2*s17 + 1,), dtype=torch.int64, is_leaf=True)
load_args._version = 0
"""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphSession]:
    (tmp_path / "graph_of_a_test.py").write_text(SYMBOLIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield GraphSession({"graph": "graph_of_a_test", "seed": 3, "target": "cpu", "origin": "inference"})


def test_inputs_are_as_logged_and_the_same_every_time(session: GraphSession) -> None:
    number, first, second, whole = session.inputs()
    assert number == 8
    assert (first.shape, first.stride()) == ((8, 8), (8, 1))
    assert (second.shape, second.stride()) == ((8, 8), (1, 8))
    # An integer may be an index, so all are 0.
    assert whole.dtype == torch.int64
    assert whole.tolist() == [0] * 17
    again = session.inputs()
    assert torch.equal(first, again[1])
    assert first.data_ptr() != again[1].data_ptr()


def test_a_size_stays_one_through_what_is_made_of_it() -> None:
    size = Size(8)
    for made in (2 * size + 1, size - 1, 3 - size, size // 2, size * size, -size, size % 3):
        assert isinstance(made, Size)
    assert (2 * size + 1, 20 // size, size**2) == (17, 2, 64)


def test_only_sizes_that_were_symbols_are(session: GraphSession) -> None:
    number, first, second, whole = session.symbolic_inputs()
    assert isinstance(number, torch.SymInt)
    symbol = str(number)
    # The rows are the number that is given, whose value the columns share by chance.
    assert [str(size) for size in first.shape] == [symbol, "8"]
    assert [str(size) for size in second.shape] == [symbol, "8"]
    assert isinstance(whole.shape[0], torch.SymInt)
    assert str(whole.shape[0]) != symbol


def test_the_graph_is_traced_with_its_symbols(session: GraphSession) -> None:
    graph: Any = make_fx(session.eager)(*session.symbolic_inputs())
    values = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
    assert isinstance(values[0], torch.SymInt)
    assert isinstance(values[1].shape[0], torch.SymInt)
    output = graph(*session.inputs())
    expected = session.eager(*session.inputs())
    assert torch.equal(output[0], expected[0])
