"""Exceptions as records: nothing that explains them may get lost, and each has its status."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evaluator.worker.errors import MESSAGE_LIMIT, describe_error, status_of


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001 - whatever was given
        return caught


def wrapped(outer: Exception, inner: Exception) -> BaseException:
    try:
        raise outer from inner
    except Exception as caught:  # noqa: BLE001 - whatever was given
        return caught


def test_the_innermost_reason_is_in_the_message() -> None:
    middle = wrapped(RuntimeError("the backend failed"), OSError("no working compiler found"))
    info = describe_error(wrapped(ValueError("compiling failed"), middle))  # type: ignore[arg-type]
    assert info["type"] == "ValueError"
    assert "compiling failed" in info["message"]
    assert "no working compiler found" in info["message"]
    assert [link.split(":")[0] for link in info["chain"]] == ["ValueError", "RuntimeError", "OSError"]
    assert "Traceback" in info["traceback"]


def test_a_wrapper_that_cuts_the_chain_and_carries_the_cause_keeps_it() -> None:
    class Wrapper(Exception):
        def __init__(self, inner: Exception) -> None:
            super().__init__("wrapped")
            self.inner_exception = inner

    assert "the inner reason" in describe_error(raised(Wrapper(KeyError("the inner reason"))))["message"]


def test_a_long_message_keeps_both_ends_and_the_compilers_diagnostics() -> None:
    noise = "x" * 100_000
    text = f"first words\n{noise}\nmain.cpp:7:3: error: expected ';' before '}}'\n{noise}\nlast words"
    message = describe_error(raised(RuntimeError(text)))["message"]
    assert len(message) <= MESSAGE_LIMIT
    assert message.startswith("first words")
    assert message.endswith("last words")
    assert "expected ';' before" in message


def test_the_users_home_folder_is_not_recorded() -> None:
    info = describe_error(raised(RuntimeError(f"{Path.home()}/models/big.pt is missing")))
    assert info["message"] == "~/models/big.pt is missing"


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError


def test_an_exception_that_can_not_be_printed_is_still_a_record() -> None:
    assert "Unprintable" in describe_error(raised(Unprintable()))["message"]


@pytest.mark.parametrize(
    ("error", "stage", "status"),
    [
        (ValueError("x"), "build", "setup_error"),
        (ValueError("x"), "inputs", "setup_error"),
        (ValueError("x"), "eager", "runtime_error"),
        (ValueError("x"), "call", "runtime_error"),
        (MemoryError(), "build", "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "eager", "out_of_memory"),
        (torch.cuda.OutOfMemoryError("CUDA out of memory"), "call", "out_of_memory"),
        (SystemExit(3), "call", "runtime_error"),
        (KeyboardInterrupt(), "eager", "runtime_error"),
    ],
)
def test_statuses(error: BaseException, stage: str, status: str) -> None:
    assert status_of(raised(error), stage) == status


def test_what_ends_the_process_is_said_in_words() -> None:
    assert describe_error(raised(SystemExit(3)))["message"] == "the workload called sys.exit(3)"
    assert "KeyboardInterrupt" in describe_error(raised(KeyboardInterrupt()))["message"]


def test_a_compilers_exception_anywhere_in_the_chain_is_a_compile_error() -> None:
    def broken(graph: object, inputs: object) -> None:
        raise ZeroDivisionError("the backend divides by zero")

    try:
        torch.compile(torch.sin, backend=broken)(torch.ones(1))
    except Exception as error:  # noqa: BLE001 - the compiler's own choice of exception
        assert status_of(error, "compile") == "compile_error"
        assert status_of(wrapped(ValueError("outer"), error), "call") == "compile_error"
        assert "the backend divides by zero" in describe_error(error)["message"]
    else:
        pytest.fail("the backend's error was swallowed")


def test_what_the_compiled_code_raises_is_a_runtime_error() -> None:
    def indexing(x: torch.Tensor) -> torch.Tensor:
        raise IndexError("only when called")

    try:
        torch.compile(indexing, backend="eager")(torch.ones(1))
    except IndexError as error:
        assert status_of(error, "compile") == "runtime_error"
