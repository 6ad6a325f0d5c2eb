"""The log reader: what it finds, and what it survives."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from evaluator.trace.log import CompileId, Frame, parse_log, read_log
from tests.evaluator.trace.writing import PREFIX, LogWriter


def test_entries_keep_their_offset_kind_and_payload() -> None:
    writer = LogWriter()
    writer.entry("dynamo_start", {"stack": []}, "0/0")
    second = len(writer.text)
    writer.artifact("recompile_reasons", "2/1", "first line\n\n  third line")
    log = writer.read()
    start, artifact = log.events
    assert (start.kind, start.offset, log.payload(start)) == ("dynamo_start", 0, None)
    assert (artifact.name, artifact.offset) == ("recompile_reasons", second)
    assert artifact.compile_id == CompileId(2, 1)
    assert log.payload(artifact) == "first line\n\n  third line"


def test_a_compile_id_reads_as_torch_writes_it() -> None:
    assert CompileId(0, 3, attempt=2).text == "0/3"
    assert CompileId(1, 0, compiled_autograd=4).text == "!4/1/0"


def test_stacks_are_looked_up_in_the_string_table() -> None:
    writer = LogWriter()
    writer.entry("str", ["/home/ada/model.py", 7])
    writer.entry(
        "dynamo_start", {"stack": [{"filename": 7, "line": 12, "name": "forward", "loc": "x = 1"}]}, "0/0"
    )
    log = writer.read()
    assert log.stack(log.events[0].data["stack"]) == (Frame("/home/ada/model.py", 12, "forward", "x = 1"),)
    assert log.stack([{"filename": 99, "line": 1, "name": "f"}])[0].file == "<string 99>"
    assert log.stack(None) == ()


def test_what_is_unknown_is_counted_and_kept() -> None:
    writer = LogWriter()
    writer.entry("quantum_graph", {}, "0/0")
    writer.entry("quantum_graph", {}, "0/0")
    writer.compiled("0/0")
    log = writer.read()
    assert log.unknown == {"quantum_graph": 2}
    assert [event.kind for event in log.events] == ["quantum_graph", "quantum_graph", "compilation_metrics"]
    assert log.damaged == 0


@pytest.mark.parametrize(
    "line",
    [
        "a line that something printed",
        PREFIX + '{"artifact": {"name"',
        PREFIX + '{"rank": 0}',
        PREFIX + "[1]",
    ],
)
def test_a_line_that_is_no_event_is_counted_and_skipped(line: str) -> None:
    writer = LogWriter()
    writer.compiled("0/0")
    writer.text += line + "\n"
    writer.compiled("0/1")
    log = writer.read()
    assert [event.kind for event in log.events] == ["compilation_metrics"] * 2
    assert (log.damaged, log.truncated) == (1, False)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_writer_that_was_killed_leaves_all_but_its_last_entry(cut: int) -> None:
    writer = LogWriter()
    writer.compiled("0/0")
    whole = writer.text.encode()
    writer.compiled("0/1")
    log = parse_log(writer.text.encode()[:-cut])
    assert len(log.events) == (1 if cut > 1 else 2)  # cutting the newline alone loses nothing
    assert log.truncated is (cut > 1)
    assert log.damaged == 0
    assert parse_log(whole).truncated is False


def test_a_cut_payload_still_reads() -> None:
    writer = LogWriter()
    writer.artifact("dynamo_graph_break_reason", "0/0", "one\ntwo")
    log = parse_log(writer.text.encode()[:-3])
    assert log.payload(log.events[0]) == "one\nt"


def test_ranks_and_other_logs_in_the_file_are_no_trouble() -> None:
    writer = LogWriter()
    writer.compiled("0/0")
    log = parse_log(b"[rank3]:" + writer.text.encode())
    assert [event.kind for event in log.events] == ["compilation_metrics"]


def test_an_empty_log_is_a_log() -> None:
    assert parse_log(b"").events == ()
    assert parse_log(b"\n\n").damaged == 0


def test_a_packed_log_is_read_like_a_plain_one(tmp_path: Path) -> None:
    writer = LogWriter()
    writer.artifact("recompile_reasons", "0/1", "é\nü")
    plain, packed = tmp_path / "plain.log", tmp_path / "packed.log"
    plain.write_bytes(writer.text.encode())
    packed.write_bytes(gzip.compress(writer.text.encode()))
    assert read_log(plain) == read_log(packed)
    assert read_log(packed).payload(read_log(packed).events[0]) == "é\nü"


def test_a_missing_log_is_an_error_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_log(tmp_path / "none.log")
