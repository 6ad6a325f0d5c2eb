"""What a bucket is told to have done, from logs written by hand: every count follows from the entries above it."""

from __future__ import annotations

from evaluator.trace.evidence import FACTS, Evidence, Segment, lost_evidence, walk_evidence
from evaluator.trace.log import parse_log
from tests.evaluator.trace.generated import cpp_definition, module
from tests.evaluator.trace.writing import LogWriter

LIMIT = "Dynamo recompile limit exceeded\n  Explanation: too often"
BREAK = (
    "Graph break in user code at /home/ada/model.py:{line}\nGraph Break Reason: a reason\n\nUser code traceback:\n"
    '  File "/home/ada/model.py", line {line}, in forward\n    x\n'
)


def evidence_of(writer: LogWriter, fullgraph: bool | None = None) -> dict[str, Evidence]:
    return walk_evidence(writer.read(), writer.segments, fullgraph=fullgraph)


def facts(evidence: Evidence, *names: str) -> tuple[object, ...]:
    return tuple(evidence.facts[name] for name in names)


def one_graph(writer: LogWriter, compile_id: str, **fields: object) -> None:
    writer.graph(compile_id)
    writer.compiled(compile_id, **fields)


def test_an_entry_belongs_to_the_call_that_wrote_it() -> None:
    writer = LogWriter()
    writer.call("a")
    one_graph(writer, "0/0")
    writer.call("a", number=1)
    writer.call("b")  # neither of these two wrote anything before the next
    writer.call("b", number=1)
    one_graph(writer, "0/1")
    found = evidence_of(writer)
    assert list(found) == ["a", "b"]
    assert facts(found["a"], "compiles", "recompiles", "graphs") == (1, 0, 1)
    assert facts(found["b"], "compiles", "recompiles", "graphs") == (1, 1, 1)


def test_the_sum_over_buckets_is_the_workloads() -> None:
    writer = LogWriter()
    for number, bucket in enumerate("abc"):
        writer.call(bucket)
        one_graph(writer, f"0/{number}", graph_op_count=number + 2, guard_count=5)
    found = evidence_of(writer)
    assert [facts(item, "graphs", "ops", "guards") for item in found.values()] == [
        (1, 2, 5),
        (1, 3, 5),
        (1, 4, 5),
    ]


def test_a_graph_counts_once_its_backend_succeeded() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.graph("0/0")
    writer.failed("0/0", "BackendCompilerFailed", "backend='inductor' raised")
    found = evidence_of(writer)["a"]
    assert facts(found, "graphs", "compiles", "ops", "failed_compiles", "nothing_compiled") == (
        0,
        0,
        0,
        1,
        True,
    )
    [failure] = found.failures
    assert (failure["compile_id"], failure["type"]) == ("0/0", "BackendCompilerFailed")


def test_only_the_attempt_that_was_kept_counts() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.graph("0/0/0")
    writer.entry("create_symbol", {"symbol": "s7"}, "0/0/0")
    writer.graph("0/0/1")
    writer.entry("create_symbol", {"symbol": "s7"}, "0/0/1")
    writer.entry("create_symbol", {"symbol": "s8"}, "0/0/1")
    writer.entry("symbolic_shape_specialization", {"symbol": "s8", "value": "4"}, "0/0/1")
    writer.compiled("0/0/1")
    assert facts(evidence_of(writer)["a"], "graphs", "dynamic_symbols") == (1, 1)


def test_a_frame_with_nothing_to_compile_is_a_compile_without_a_graph() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.compiled("0/0", graph_op_count=0)
    found = evidence_of(writer)["a"]
    assert facts(found, "compiles", "graphs", "nothing_compiled", "reused_code") == (1, 0, True, False)


def test_a_bucket_that_compiled_nothing_reuses_code_and_inherits_breaks() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.artifact("dynamo_graph_break_reason", "0/0/0", BREAK.format(line=5))
    writer.graph("0/0/1")
    writer.compiled("0/0/1")
    one_graph(writer, "1/0")
    writer.call("b")
    found = evidence_of(writer)["b"]
    assert facts(found, "compiles", "graphs", "break_events", "graph_breaks") == (0, 0, 0, 1)
    assert facts(found, "reused_code", "nothing_compiled") == (True, False)
    [inherited] = found.breaks
    assert (inherited.line, inherited.inherited, inherited.events) == (5, True, 0)


def test_a_frame_compiled_anew_without_its_break_passes_none_on() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.artifact("dynamo_graph_break_reason", "0/0", BREAK.format(line=5))
    writer.compiled("0/0/1")
    writer.call("b")
    one_graph(writer, "0/1")
    assert evidence_of(writer)["b"].breaks == ()


def test_breaks_of_other_frames_stay_inherited_when_something_was_compiled() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.artifact("dynamo_graph_break_reason", "0/0", BREAK.format(line=5))
    writer.compiled("0/0")
    writer.call("b")
    writer.artifact("dynamo_graph_break_reason", "1/0", BREAK.format(line=9))
    writer.compiled("1/0")
    found = evidence_of(writer)["b"]
    assert [(item.line, item.inherited) for item in found.breaks] == [(9, False), (5, True)]
    assert facts(found, "graph_breaks", "break_events") == (2, 1)


def test_one_place_with_two_reasons_is_one_site() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.artifact("dynamo_graph_break_reason", "0/0", BREAK.format(line=5))
    writer.artifact("dynamo_graph_break_reason", "1/0", BREAK.format(line=5).replace("a reason", "another"))
    found = evidence_of(writer)["a"]
    assert facts(found, "graph_breaks", "break_events") == (1, 2)
    assert len(found.breaks) == 2


def test_a_skipped_frame_is_a_break_and_no_failure() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.artifact("dynamo_graph_break_reason", "0/0", BREAK.format(line=5))
    writer.failed("0/0", "Unsupported", "a reason")
    found = evidence_of(writer)["a"]
    assert facts(found, "skipped_frames", "failed_compiles", "graph_breaks", "nothing_compiled") == (
        1,
        0,
        1,
        True,
    )
    assert found.failures == ()


def test_a_break_before_a_backend_that_fails_does_not_hide_the_failure() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.artifact("dynamo_graph_break_reason", "0/0", BREAK.format(line=5))
    writer.graph("0/0/1")
    writer.failed("0/0/1", "BackendCompilerFailed", "no")
    assert facts(evidence_of(writer)["a"], "skipped_frames", "failed_compiles", "break_events") == (0, 1, 1)


def test_a_refused_attempt_is_no_recompile_and_marks_what_follows() -> None:
    writer = LogWriter()
    for number in range(3):
        writer.call(f"k={number}")
        if number < 2:
            one_graph(writer, f"0/{number}")
        else:
            writer.artifact("recompile_reasons", "0/2", "0/1: k == 1")
            writer.failed("0/2", "Unsupported", LIMIT, co_name=None, has_guarded_code=None, is_forward=None)
    writer.call("k=3")
    found = evidence_of(writer, fullgraph=False)
    assert [item.facts["recompile_limit_hit"] for item in found.values()] == [False, False, True, True]
    refused = found["k=2"]
    assert facts(refused, "recompiles", "refused_compiles", "failed_compiles", "graph_breaks") == (0, 1, 0, 0)
    assert refused.recompile_reasons == ()
    [refusal] = refused.refusals
    assert (refusal.reason, refusal.frame, refusal.refused) == ("k == 1", "model", True)
    # A silent bucket after the limit ran cached code or eager: the log does not say which.
    assert found["k=3"].facts["reused_code"] is None


def test_the_limit_is_known_in_the_words_of_other_versions() -> None:
    for fail_type, reason in (
        ("RecompileLimitExceeded", "recompile_limit reached"),
        ("CacheLimitExceeded", "cache_size_limit reached"),
        ("FailOnRecompileLimitHit", "recompile_limit reached with fullgraph=True."),
        ("Unsupported", "accumulated_recompile_limit reached"),
    ):
        writer = LogWriter()
        writer.call("a")
        writer.failed("0/8", fail_type, reason)
        assert evidence_of(writer)["a"].facts["recompile_limit_hit"] is True, fail_type


def test_compiles_of_the_second_walk_are_apart_and_say_why() -> None:
    writer = LogWriter()
    writer.call("a")
    one_graph(writer, "0/0")
    writer.call("b")
    writer.call("a", walk=2)
    writer.artifact("recompile_reasons", "0/1", "0/0: self.step == 1")
    one_graph(writer, "0/1")
    found = evidence_of(writer)
    assert facts(found["a"], "compiles", "recompiles", "second_walk_compiles") == (1, 0, 1)
    assert [item.reason for item in found["a"].second_walk] == ["self.step == 1"]
    assert found["a"].recompile_reasons == ()
    # The second walk ended before it came to this bucket.
    assert found["b"].facts["second_walk_compiles"] is None


def test_backwards_are_counted_apart_also_out_of_the_cache() -> None:
    writer = LogWriter()
    writer.call("cold")
    writer.entry("aot_backward_graph", {}, "0/0", "...")
    one_graph(writer, "0/0")
    writer.backward("0/0")
    writer.call("warm")
    writer.entry("aot_backward_graph", {}, "1/0", "...")
    writer.artifact("aotautograd_cache_hit", "1/0")
    one_graph(writer, "1/0")
    writer.call("failing")
    writer.entry("aot_backward_graph", {}, "2/0", "...")
    one_graph(writer, "2/0")
    writer.backward("2/0", fail_type="InductorError", fail_reason="no such operator")
    found = evidence_of(writer)
    assert [facts(item, "graphs", "backward_graphs") for item in found.values()] == [(1, 1), (1, 1), (1, 0)]
    assert found["failing"].facts["failed_compiles"] == 1
    assert found["failing"].failures[0]["message"] == "no such operator"


def test_a_backward_compiled_with_its_forward_writes_no_row_of_its_own() -> None:
    writer = LogWriter()
    for number, (saved, failure) in enumerate(((2, False), (0, False), (2, True))):
        writer.call(str(number))
        metadata = f"ViewAndMutationMeta(is_train=True, num_symints_saved_for_bw={saved}, tokens={{}})"
        writer.artifact("aot_forward_graph_fw_metadata", f"{number}/0", metadata)
        writer.entry("aot_backward_graph", {}, f"{number}/0", "...")
        if failure:
            writer.artifact("eager_compile_backwards_failure", f"{number}/0", "Traceback")
        one_graph(writer, f"{number}/0")
    # Sizes saved: compiled at once. None saved: only traced, and never run. The third failed and waits.
    assert [item.facts["backward_graphs"] for item in evidence_of(writer).values()] == [1, 0, 0]


def test_backwards_in_the_way_another_version_writes_them() -> None:
    writer = LogWriter()
    writer.call("a")
    one_graph(writer, "0/0")
    writer.entry("compilation_metrics", {"is_forward": False, "has_guarded_code": None}, "0/0")
    assert facts(evidence_of(writer)["a"], "compiles", "backward_graphs", "failed_compiles") == (1, 1, 0)


def test_cache_lookups_are_counted_by_cache() -> None:
    writer = LogWriter()
    writer.call("a")
    for name, times in (
        ("fx_graph_cache_hit", 3),
        ("fx_graph_cache_miss", 2),
        ("fx_graph_cache_bypass", 1),
        ("aotautograd_cache_hit", 1),
    ):
        for _ in range(times):
            writer.artifact(name, "0/0")
    found = evidence_of(writer)["a"]
    assert facts(found, "cache_hits", "cache_misses", "cache_bypasses") == (3, 2, 1)
    assert facts(found, "aot_cache_hits", "aot_cache_misses", "aot_cache_bypasses") == (1, 0, 0)


def test_kernels_carry_their_graph_and_pass() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.graph("0/0")
    writer.entry(
        "inductor_output_code",
        {},
        "0/0",
        module(cpp_definition("cpp_fused_mul_0"), "cpp_fused_mul_0(a)", "0_forward"),
    )
    writer.compiled("0/0")
    writer.entry("inductor_output_code", {}, "0/0", module("", "extern_kernels.mm(a)", "0_backward"))
    writer.backward("0/0")
    found = [(use.kernel.name, use.graph, use.origin) for use in evidence_of(writer)["a"].kernels]
    assert found == [("cpp_fused_mul_0", "0/0", "forward"), ("extern_kernels.mm", "0/0", "backward")]


def test_code_that_does_not_name_its_pass_is_placed_by_order() -> None:
    nameless = module("", "extern_kernels.mm(a)").split("\n", 1)[1]
    writer = LogWriter()
    writer.call("a")
    writer.entry("inductor_output_code", {}, "0/0", nameless)
    one_graph(writer, "0/0")
    writer.entry("inductor_output_code", {}, "0/0", nameless)
    writer.backward("0/0")
    writer.entry("aot_inference_graph", {}, "1/0", "...")
    writer.entry("inductor_output_code", {}, "1/0", nameless)
    one_graph(writer, "1/0")
    assert [use.origin for use in evidence_of(writer)["a"].kernels] == ["forward", "backward", "inference"]


def test_code_of_a_compile_that_failed_is_no_kernel() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.entry("inductor_output_code", {}, "0/0", module(cpp_definition("cpp_fused_mul_0"), "pass"))
    writer.failed("0/0", "InductorError", "no working C++ compiler found")
    assert evidence_of(writer)["a"].kernels == ()


def test_what_happened_before_the_walk_belongs_to_no_bucket() -> None:
    writer = LogWriter()
    one_graph(writer, "0/0")
    writer.call("a")
    assert facts(evidence_of(writer)["a"], "compiles", "graphs") == (0, 0)


def test_an_empty_log_says_that_nothing_was_compiled() -> None:
    found = walk_evidence(parse_log(b""), [Segment("a", 1, 0, 0)])["a"]
    assert facts(found, "graphs", "compiles", "nothing_compiled", "reused_code") == (0, 0, True, False)
    assert tuple(found.facts) == FACTS


def test_lost_evidence_is_unknown_and_not_zero() -> None:
    found = lost_evidence("a")
    assert tuple(found.facts) == FACTS
    assert set(found.facts.values()) == {None}


def test_a_bucket_the_walk_never_reached_has_no_evidence() -> None:
    writer = LogWriter()
    writer.call("a")
    one_graph(writer, "0/0")
    assert list(evidence_of(writer)) == ["a"]


def test_evidence_becomes_plain_data() -> None:
    writer = LogWriter()
    writer.call("a")
    writer.artifact("dynamo_graph_break_reason", "0/0", BREAK.format(line=5))
    writer.graph("0/0/1")
    writer.compiled(
        "0/0/1", dynamo_cumulative_compile_time_us=1_500_000, cudagraph_skip_reason="mutated inputs"
    )
    record = evidence_of(writer)["a"].as_dict()
    assert record["facts"]["graphs"] == 1
    assert record["breaks"][0]["file"] == "~/model.py"
    assert record["breaks"][0]["stack"][0]["function"] == "forward"
    assert record["phases"]["dynamo_s"] == 1.5
    assert record["cudagraph_skips"] == ["mutated inputs"]
