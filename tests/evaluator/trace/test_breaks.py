"""Graph-break messages in the wordings torch has used, and what counts as one break."""

from __future__ import annotations

from evaluator.trace.break_messages import parse_break
from evaluator.trace.breaks import break_events, distinct_breaks
from evaluator.trace.compiles import compiles_of
from evaluator.trace.places import places_for
from tests.evaluator.trace.writing import LogWriter

STACK = """User code traceback:
  File "/home/ada/run.py", line 30, in <module>
    model(x)
  File "/home/ada/model.py", line 7, in torch_dynamo_resume_in_forward_at_5
    y = x.item()
        ^^^^^^^^
"""
INTERNAL = """
Traceback (most recent call last):
  File "/v/lib/python3.11/site-packages/torch/_dynamo/symbolic_convert.py", line 1076, in wrapper
    return inner_fn(self, inst)
torch._dynamo.exc.Unsupported: Unsupported Tensor.item() call
  Explanation: internal wording
"""
LINK = " For more details about this graph break, please visit: https://example.org/gb/gb0124.html"
ITEM = f"""Unsupported Tensor.item() call
  Explanation: Dynamo does not support tracing `Tensor.item()`.
    A second line about /home/ada/model.py.
  Hint: Set a flag.
  Hint: Or do
    something else.

  Developer debug context: call_method item

{LINK}
"""
LOOP = """
*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: Breaks in loops are not supported.
  Hint: Resolve the earlier one.

  Developer debug context: frame skipped: decode
"""


def test_a_break_is_taken_apart() -> None:
    payload = (
        "Graph break in user code at /home/ada/model.py:7\n"
        "Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\n"
        f"{ITEM}\n{STACK}{INTERNAL}"
    )
    found = parse_break(payload, places_for())
    assert (found.file, found.line, found.function) == ("~/model.py", 7, "forward")
    assert found.message.headline == "Unsupported Tensor.item() call"
    assert (
        found.message.explanation
        == "Dynamo does not support tracing `Tensor.item()`.\nA second line about ~/model.py."
    )
    assert found.message.reason == (
        "Unsupported Tensor.item() call: Dynamo does not support tracing `Tensor.item()`."
    )
    assert found.message.hints == ("Set a flag.", "Or do\nsomething else.")
    assert found.message.context == "call_method item"
    assert found.message.id == "gb0124"
    assert (found.then, found.skipped_frame) == (None, False)
    assert [(frame.line, frame.code) for frame in found.stack] == [(30, "model(x)"), (7, "y = x.item()")]


def test_a_break_that_torch_could_not_handle_is_one_break_with_what_followed() -> None:
    payload = (
        "Graph break in user code at /home/ada/model.py:7\n"
        "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to "
        f"eager. Graph break encountered:\n\n{ITEM}\n{LOOP}\n{STACK}{INTERNAL}"
    )
    found = parse_break(payload, places_for())
    assert (found.message.headline, found.message.id) == ("Unsupported Tensor.item() call", "gb0124")
    assert found.then is not None
    assert found.then.reason == "graph break in loop: Breaks in loops are not supported."
    assert found.skipped_frame is True


def test_a_break_found_outside_the_tracer_has_its_reason_in_the_exception() -> None:
    payload = (
        "Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.\n"
        "torch.compile will skip tracing the frame forward (/home/ada/model.py line 3) and fall back to eager.\n"
        "The graph break occurred in the following user code:\n" + STACK.split("\n", 1)[1] + INTERNAL
    )
    found = parse_break(payload, places_for())
    assert (found.file, found.line, found.skipped_frame) == ("~/model.py", 7, True)
    assert found.message.reason == "Unsupported Tensor.item() call: internal wording"


def test_an_older_wording_gives_what_it_has() -> None:
    payload = (
        "Graph break in user code at /home/ada/model.py:7\n"
        f"Reason: Unsupported: builtin: print [<class 'str'>] False\n{STACK}"
    )
    found = parse_break(payload, places_for())
    assert found.message.headline == "Unsupported: builtin: print [<class 'str'>] False"
    assert (found.message.id, found.message.explanation, found.message.hints) == (None, None, ())
    assert found.message.reason == found.message.headline


def test_a_wording_from_nowhere_is_still_a_break() -> None:
    found = parse_break("the flux capacitor broke the graph", places_for())
    assert (found.file, found.line, found.function) == ("", 0, None)
    assert found.message.reason == "unknown reason"


def test_the_process_servers_own_frames_are_left_out() -> None:
    payload = STACK.replace("/home/ada/run.py", f"{places_for().project}/evaluator/worker/probes/walk.py")
    assert [frame.file for frame in parse_break(payload, places_for()).stack] == ["~/model.py"]


def broken(line: int, reason: str = ITEM) -> str:
    return (
        f"Graph break in user code at /home/ada/model.py:{line}\nGraph Break Reason: {reason}\n"
        f'User code traceback:\n  File "/home/ada/model.py", line {line}, in forward\n    x = y\n'
    )


def test_a_restart_that_breaks_again_is_one_event_at_its_last_word() -> None:
    writer = LogWriter()
    writer.artifact("dynamo_graph_break_reason", "0/0/0", broken(5))
    writer.artifact("dynamo_graph_break_reason", "0/0/1", broken(9))
    writer.artifact("dynamo_graph_break_reason", "0/1/0", broken(5))
    log = writer.read()
    assert [event.site[1] for event in break_events(log, (), places_for())] == [9, 5]


def test_a_site_is_one_break_however_often_it_happens() -> None:
    writer = LogWriter()
    for compile_id, line in (("0/0", 5), ("1/0", 9), ("0/1", 5), ("1/1", 9), ("2/0", 5)):
        writer.artifact("dynamo_graph_break_reason", compile_id, broken(line))
    events = break_events(writer.read(), (), places_for())
    first, second = distinct_breaks(events, ())
    assert (first.line, first.events, second.line, second.events) == (5, 3, 9, 2)
    assert (first.compile_id, first.inherited) == ("0/0", False)
    assert first.as_dict()["hints"] == ["Set a flag.", "Or do\nsomething else."]


def test_inherited_sites_follow_the_buckets_own_and_have_no_events() -> None:
    writer = LogWriter()
    for compile_id, line in (("0/0", 5), ("1/0", 9)):
        writer.artifact("dynamo_graph_break_reason", compile_id, broken(line))
    early, late = break_events(writer.read(), (), places_for())
    own, inherited = distinct_breaks([late], [early, late])
    assert (own.line, own.inherited, own.events) == (9, False, 1)
    assert (inherited.line, inherited.inherited, inherited.events) == (5, True, 0)


def test_a_refusal_at_the_limit_is_no_break() -> None:
    refusal = (
        "Dynamo recompile limit exceeded\n  Explanation: Too often.\n\n https://example.org/gb/gb0039.html"
    )
    writer = LogWriter()
    writer.artifact(
        "dynamo_graph_break_reason", "0/8", broken(5, refusal).replace(" https", f"{LINK[:60]} https")
    )
    assert break_events(writer.read(), (), places_for()) == ()


def test_a_frame_given_up_in_silence_is_a_break_unless_the_call_raised() -> None:
    writer = LogWriter()
    writer.failed(
        "0/0", "Unsupported", ITEM, fail_user_frame_filename="/home/ada/model.py", fail_user_frame_lineno=7
    )
    log = writer.read()
    compiles = compiles_of(log, places_for())
    [event] = break_events(log, compiles, places_for(), fullgraph=False)
    assert (event.site, event.text.message.id, event.text.skipped_frame) == (
        ("~/model.py", 7),
        "gb0124",
        True,
    )
    assert break_events(log, compiles, places_for(), fullgraph=True) == ()
    assert break_events(log, compiles, places_for()) == ()
