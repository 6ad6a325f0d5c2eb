"""Which graph is singled out of two evaluations' traces, and that its module runs alone."""

from __future__ import annotations

import json
import types
from typing import Any

import pytest
import torch
from torch._dynamo.debug_utils import InputReader

from evaluator.ab.changed_graph import ChangedGraph, NoGraph, changed_graph, named_graph, runnables
from evaluator.errors import UserError
from evaluator.trace.log import TraceLog, parse_log
from tests.evaluator.trace.recording import recorded

FACTS = {"graphs": 1, "break_events": 0, "recompiles": 0, "recompile_limit_hit": False}


def trained() -> TraceLog:
    """A kept log of a linear layer and a tanh, forward and backward."""
    return recorded("trained_cold")[0]


def entry(record: dict[str, Any], payload: str, compile_id: str = "0/0") -> str:
    frame, again = map(int, compile_id.split("/"))
    ids = {"frame_id": frame, "frame_compile_id": again, "attempt": 0, "has_payload": "0"}
    lines = "\n".join(f"\t{line}" for line in payload.splitlines())
    return f"V0101 00:00:00.000000 1 torch/x.py:1] {json.dumps({**record, **ids})}\n{lines}\n"


def graph_text(body: str = "return (torch.ops.aten.sin.default(arg0_1),)", symbolic: bool = False) -> str:
    mode = "symbolic" if symbolic else "real"
    return f"""
import os
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/some/where'
os.environ.pop('TORCHDYNAMO_REPRO_AFTER', None)
import torch
import torch._inductor.config
torch._inductor.config.max_fusion_size = 3
torch._inductor.config.no_such_setting.at_all = True
class Repro(torch.nn.Module):
    def forward(self, arg0_1):
        {body}
def load_args(reader):
    buf0 = reader.storage(None, 16)
    reader.tensor(buf0, (4,), is_leaf=True)  # arg0_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    run_repro(mod, load_args, tracing_mode='{mode}')
"""


def log(*graphs: tuple[str, str, str | None]) -> TraceLog:
    """A log of graphs: compile id, text, and the pass of the code made of it (None: none was made)."""
    text = ""
    for compile_id, graph, origin in graphs:
        text += entry({"artifact": {"name": "fx_graph_runnable"}}, graph, compile_id)
        if origin:
            text += entry({"inductor_output_code": {}}, f"# AOT ID: ['0_{origin}']\n", compile_id)
    return parse_log(text.encode())


def document(*kernels: tuple[str, str, str], **changes: Any) -> dict[str, Any]:
    """An evaluation with these kernels: graph, pass, hash of the source."""
    made = [
        {"graph": graph, "origin": origin, "name": "k", "source_hash": source}
        for graph, origin, source in kernels
    ]
    return {"facts": dict(FACTS), "kernels": made, "error": None, **changes}


def found(base: dict[str, Any], candidate: dict[str, Any], *logs: TraceLog) -> ChangedGraph:
    graph = changed_graph(base, candidate, *logs)
    assert isinstance(graph, ChangedGraph), graph
    return graph


def none(base: dict[str, Any], candidate: dict[str, Any], *logs: TraceLog | None) -> str:
    graph = changed_graph(base, candidate, *logs)
    assert isinstance(graph, NoGraph), graph
    return graph.why


def test_the_pass_whose_kernels_differ_is_the_graph() -> None:
    base = document(("0/0", "forward", "f"), ("0/0", "backward", "b"))
    candidate = document(("0/0", "forward", "f"), ("0/0", "backward", "other"))
    graph = found(base, candidate, trained(), trained())
    assert graph.base.name == graph.candidate.name == "0/0:backward"
    assert graph.base.computes_as(graph.candidate)
    assert "tangents_1" in graph.base.body


def test_graphs_match_by_their_order_since_ids_count_frames() -> None:
    one, two = graph_text(), graph_text("return (torch.ops.aten.cos.default(arg0_1),)")
    before = log(("0/0", one, "inference"), ("1/0", two, "inference"))
    after = log(("0/0", one, "inference"), ("4/0", two, "inference"))
    base = document(("0/0", "inference", "a"), ("1/0", "inference", "b"))
    candidate = document(("0/0", "inference", "a"), ("4/0", "inference", "c"))
    graph = found(base, candidate, before, after)
    assert (graph.base.compile_id, graph.candidate.compile_id) == ("1/0", "4/0")
    assert graph.base.computes_as(graph.candidate)


def test_two_graphs_or_none_single_out_nothing() -> None:
    base = document(("0/0", "forward", "f"), ("0/0", "backward", "b"))
    assert none(base, base, trained(), trained()) == "all graphs have the same kernels"
    both = document(("0/0", "forward", "g"), ("0/0", "backward", "c"))
    assert none(base, both, trained(), trained()) == "2 graphs have other kernels"
    more = document(("0/0", "forward", "f"), ("0/0", "backward", "b"), ("1/0", "forward", "f"))
    assert none(base, more, trained(), trained()) == "the graphs of the sides do not match up"


def test_what_differs_before_inductor_is_shown_by_no_graph() -> None:
    base = document(("0/0", "forward", "f"))
    candidate = document(("0/0", "forward", "g"), facts={**FACTS, "break_events": 2})
    assert none(base, candidate, trained(), trained()) == "break events differ, 0 and 2"
    assert none(base, base, None, trained()) == "a side kept no trace"


def test_a_graph_that_fails_to_compile_is_the_graph() -> None:
    text = graph_text()
    error = {"type": "InductorError", "message": "no"}
    before, after = log(("0/0", text, "inference")), log(("0/0", text, None))
    graph = found(document(), document(error=error), before, after)
    assert graph.why == "it fails to compile"
    assert (graph.base.origin, graph.candidate.origin) == ("inference", None)
    # Where it never came to be on the other side, that one is given the same.
    graph = found(document(), document(error=error), log(), after)
    assert graph.base is graph.candidate
    assert (
        none(document(), document(error=error), before, log()) == "a side failed before Inductor had a graph"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (graph_text("return (torch.ops.mine.op.default(arg0_1),)"), "calls torch.ops.mine"),
        (
            graph_text().replace("buf0 = reader.storage(None, 16)", "reader.unsupported('x')"),
            "can't make anew",
        ),
    ],
)
def test_a_graph_that_needs_what_its_log_has_not_does_not_run_alone(text: str, reason: str) -> None:
    logs = [log(("0/0", text, "inference"))] * 2
    base, candidate = document(("0/0", "inference", "a")), document(("0/0", "inference", "b"))
    assert reason in none(base, candidate, *logs)
    with pytest.raises(UserError, match="leave --graph out"):
        named_graph(*logs, "0/0")


def test_a_graph_can_be_asked_for_by_name() -> None:
    assert named_graph(trained(), trained(), "0/0:forward").base.origin == "forward"
    with pytest.raises(UserError, match="there is 0/0:backward, 0/0:forward"):
        named_graph(trained(), trained(), "0/0")
    with pytest.raises(UserError, match="hold none"):
        named_graph(None, None, "0/0")


def test_other_names_of_values_make_no_other_graph() -> None:
    def graph(body: str) -> Any:
        (made,) = runnables(log(("0/0", graph_text(body), "inference"))).values()
        return made

    one = graph("add = torch.ops.aten.add.Tensor(arg0_1, 1)\n        return (add,)")
    renamed = graph("add_3 = torch.ops.aten.add.Tensor(arg0_1, 1)\n        return (add_3,)")
    other = graph("add = torch.ops.aten.add.Tensor(arg0_1, 2)\n        return (add,)")
    assert one.computes_as(renamed)
    assert not one.computes_as(other)


def test_the_last_attempt_counts_and_sizes_that_stayed_symbols_are_known() -> None:
    first, last = graph_text(), graph_text("return (arg0_1,)", symbolic=True)
    (made,) = runnables(log(("0/0", first, None), ("0/0", last, "inference"))).values()
    assert "return (arg0_1,)" in made.body
    assert made.symbolic


def run_module(source: str) -> Any:
    module = types.ModuleType("graph")
    exec(compile(source, "graph.py", "exec"), module.__dict__)
    return module


def test_the_module_runs_without_the_logging_process_s_paths() -> None:
    (made,) = runnables(log(("0/0", graph_text(), "inference"))).values()
    assert "environ" not in made.source
    assert "run_repro" not in made.source
    with torch._inductor.config.patch(max_fusion_size=64):
        module = run_module(made.source)
        assert torch._inductor.config.max_fusion_size == 3
    # A setting that this torch does not know is said, and stops nothing.
    assert module.IGNORED == ["torch._inductor.config.no_such_setting.at_all = True"]
    reader = InputReader(save_dir=None)
    module.load_args(reader)
    (output,) = module.Repro()(*reader.args)
    assert torch.equal(output, reader.args[0].sin())


def test_the_kept_log_s_forward_is_the_layer_that_was_trained() -> None:
    graph = runnables(trained())["0/0", "forward"]
    saved = torch._functorch.config.save_config()
    try:
        module = run_module(graph.source)
    finally:
        torch._functorch.config.load_config(saved)
    reader = InputReader(save_dir=None)
    module.load_args(reader)
    weight, bias, x = reader.args
    output, *_ = module.Repro()(weight, bias, x)
    torch.testing.assert_close(output, torch.tanh(torch.nn.functional.linear(x, weight, bias)))
