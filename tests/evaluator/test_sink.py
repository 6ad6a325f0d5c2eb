"""Records files: what is written is read back, and a damaged file says where."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import UserError
from evaluator.sink import BrokenRecords, FileSink, artifact, ends_cut, read_records

RECORDS: list[dict[str, Any]] = [
    {"type": "run", "uuid": "u", "label": "naïve \n label"},
    {"type": "evaluation", "uuid": "e", "bucket": "batch=8,seq=512"},
    {"type": "probe", "evaluation": "e", "samples": [{"metric": "compile.cold_s", "value": None}]},
    {"type": "run_finished", "run": "u", "status": "finished"},
]


def written(path: Path) -> Path:
    sink = FileSink(path)
    sink.write(RECORDS[0])
    sink.write_many(RECORDS[1:])
    sink.close()
    return path


def test_what_is_written_is_read_back_in_order(tmp_path: Path) -> None:
    path = written(tmp_path / "new" / "r.jsonl")
    assert [record for _, record in read_records(path)] == RECORDS
    assert [number for number, _ in read_records(path)] == [2, 3, 4, 5]
    assert not ends_cut(path)


def test_a_compressed_copy_reads_the_same(tmp_path: Path) -> None:
    plain = written(tmp_path / "r.jsonl")
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(read_records(packed)) == list(read_records(plain))


def test_an_existing_file_is_never_written_over(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl")
    before = path.read_bytes()
    with pytest.raises(UserError, match="exists already"):
        FileSink(path)
    assert path.read_bytes() == before


def test_a_place_that_cant_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is no folder: give --records another place"):
        FileSink(tmp_path / "file" / "r.jsonl")
    with pytest.raises(UserError, match="can't be written"):
        FileSink(Path("/proc/r.jsonl"))


def test_a_last_line_that_was_cut_is_left_out_and_said(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert [record for _, record in read_records(path)] == RECORDS[:-1]
    assert ends_cut(path)
    # Cut right before the newline, the record looks whole; whether it is cannot be known.
    path.write_bytes(whole[:-1])
    assert [record for _, record in read_records(path)] == RECORDS[:-1]


def test_a_compressed_file_that_was_cut_gives_what_is_whole(tmp_path: Path) -> None:
    packed = tmp_path / "r.jsonl.gz"
    # Many records, so that whole blocks come before the cut.
    lines = written(tmp_path / "r.jsonl").read_bytes()
    many = lines + b"".join(
        json.dumps(
            {"type": "artifact", "sha256": hashlib.sha256(bytes([n % 256, n // 256])).hexdigest()}
        ).encode()
        + b"\n"
        for n in range(5000)
    )
    packed.write_bytes(gzip.compress(many)[:-100])
    found = [record for _, record in read_records(packed)]
    assert found[:4] == RECORDS
    assert 1000 < len(found) < 5004
    assert ends_cut(packed)


@pytest.mark.parametrize("line", ["{not json", '{"type": "probe"', "[1, 2]", '{"type": "spaceship"}', ""])
def test_a_broken_line_in_the_middle_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    path = written(tmp_path / "r.jsonl")
    lines = path.read_text().splitlines()
    lines[2] = line
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BrokenRecords, match="line 3"):
        list(read_records(path))


@pytest.mark.parametrize("content", ["", "hello\n", '{"type": "run"}\n', "[]\n"])
def test_another_kind_of_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.txt"
    path.write_text(content)
    with pytest.raises(UserError, match="no records file"):
        list(read_records(path))


def test_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"type": "header", "format": "compilewatch-records", "version": 99}\n')
    with pytest.raises(UserError, match="version 99"):
        list(read_records(path))


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        list(read_records(tmp_path / "r.jsonl"))
    (tmp_path / "r.gz").write_text("plain text")
    with pytest.raises(UserError, match="is no records file"):
        list(read_records(tmp_path / "r.gz"))


def test_an_artifact_is_named_by_its_plain_content() -> None:
    content = b"import torch\n" * 100
    record = artifact("log", content)
    assert record["sha256"] == hashlib.sha256(content).hexdigest()
    assert record["size"] == 1300
    assert zlib.decompress(base64.b64decode(record["data"])) == content


def test_a_number_that_is_none_is_refused_rather_than_written(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "r.jsonl")
    with pytest.raises(ValueError, match="JSON"):
        sink.write({"type": "probe", "value": float("nan")})
    sink.close()
    assert list(read_records(sink.path)) == []


def test_a_file_named_gz_is_compressed_and_comes_back_whole_even_when_cut(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl.gz"
    sink = FileSink(path)
    sink.write({"type": "run", "uuid": "a"})
    sink.write_many([{"type": "probe", "run": "a"}, {"type": "probe", "run": "a"}])
    sink.close()
    assert path.read_bytes().startswith(b"\x1f\x8b")
    assert [record["type"] for _, record in read_records(path)] == ["run", "probe", "probe"]
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(path.read_bytes()[:-5])
    assert next(iter(read_records(cut)))[1] == {"type": "run", "uuid": "a"}
    assert ends_cut(cut)


def test_a_plain_file_named_gz_is_read_as_what_it_is(tmp_path: Path) -> None:
    plain = tmp_path / "r.jsonl"
    sink = FileSink(plain)
    sink.write({"type": "run", "uuid": "a"})
    sink.close()
    renamed = plain.rename(tmp_path / "r.jsonl.gz")
    assert [record["uuid"] for _, record in read_records(renamed)] == ["a"]
