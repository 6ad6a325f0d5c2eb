"""Guards that failed, in the wordings torch uses."""

from __future__ import annotations

import json

import pytest

from evaluator.trace.compiles import compiles_of
from evaluator.trace.places import places_for
from evaluator.trace.recompiles import Recompile, guard_subject, logged_reasons, recompiles_of
from tests.evaluator.trace.writing import LogWriter


@pytest.mark.parametrize(
    ("expression", "subject"),
    [
        ("k == 2", "k"),
        ("2 <= x.size()[0] <= 4096", "x.size()[0]"),
        ("tensor 'L['x']' size mismatch at index 0. expected 4, actual 6", "L['x']"),
        ("tensor 'x' size mismatch at index 0. expected 4, actual 6", "x"),
        ("tensor 'x' requires_grad mismatch. expected requires_grad=0", "x"),
        ("GLOBAL_STATE changed: grad_mode", "GLOBAL_STATE"),
        ("Cache line invalidated because L['box']['opt'] got deallocated", "L['box']['opt']"),
        ("len(opt.param_groups[0]) == 10", "opt.param_groups[0]"),
        ("opt.param_groups[0]['lr'] == 0.2", "opt.param_groups[0]['lr']"),
        ("___check_type_id(self.mode, <address>), type=<class 'str'>", "self.mode"),
        ("not x.training", "x.training"),
        ("x.is_contiguous()", "x"),
        ("3 == 4", None),
        ("something torch says in words", None),
    ],
)
def test_a_guard_is_about_a_value(expression: str, subject: str | None) -> None:
    assert guard_subject(expression) == subject


def recompile(payload: str, **fields: object) -> Recompile:
    writer = LogWriter()
    writer.artifact("recompile_reasons", "0/1", payload)
    writer.graph("0/1")
    writer.compiled("0/1", **fields)
    log = writer.read()
    [found] = recompiles_of(compiles_of(log, places_for()), logged_reasons(log), places_for())
    return found


def test_one_reason_carries_its_guard_and_the_users_line() -> None:
    found = recompile(
        "0/0: k == 2            # return x * k  # ada/model.py:7 in scale\n"
        'User stack trace:\n  File "/home/ada/model.py", line 4, in forward\n    return scale(x, 2)\n'
        '  File "/home/ada/layers.py", line 7, in scale\n    return x * k'
    )
    assert (found.reason, found.guard, found.guards) == ("k == 2", "k", ("k == 2",))
    assert (found.file, found.line, found.function) == ("~/layers.py", 7, "scale")
    assert (found.frame, found.compile_id, found.refused) == ("model", "0/1", False)


def test_several_entries_that_failed_are_all_kept_and_the_first_is_the_reason() -> None:
    found = recompile(
        json.dumps(["0/1: tensor 'x' size mismatch at index 0. expected 2, actual 3", "0/0: k == 2"])
    )
    assert found.reason == "tensor 'x' size mismatch at index 0. expected 2, actual 3"
    assert found.guards == (found.reason, "k == 2")
    assert (found.file, found.line) == ("~/model.py", 3)  # no user stack: where the frame starts


def test_addresses_do_not_make_two_runs_differ() -> None:
    one = recompile("0/0: ___check_obj_id(w, 139814703482272), type=<class 'Parameter'>  # return w")
    two = recompile("0/0: ___check_obj_id(w, 94206150), type=<class 'Parameter'>  # return w")
    assert one.reason == two.reason == "___check_obj_id(w, <address>), type=<class 'Parameter'>"
    assert one.guard == "w"


def test_the_metrics_row_serves_where_no_reason_was_logged() -> None:
    writer = LogWriter()
    writer.compiled("0/1", recompile_reason="0/0: k == 2     # x * k")
    log = writer.read()
    [found] = recompiles_of(compiles_of(log, places_for()), logged_reasons(log), places_for())
    assert found.reason == "k == 2"


def test_no_reason_at_all_is_said() -> None:
    writer = LogWriter()
    writer.compiled("0/1")
    log = writer.read()
    [found] = recompiles_of(compiles_of(log, places_for()), {}, places_for())
    assert (found.reason, found.guard, found.guards) == ("unknown reason", None, ())


def test_first_compiles_and_failed_ones_are_no_recompiles() -> None:
    writer = LogWriter()
    writer.compiled("0/0")
    writer.failed("1/1", "Unsupported", "whatever")
    writer.backward("0/1")
    log = writer.read()
    assert recompiles_of(compiles_of(log, places_for()), {}, places_for()) == ()
