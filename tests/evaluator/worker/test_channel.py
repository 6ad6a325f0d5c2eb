"""Records survive whatever else is written to their pipe."""

from __future__ import annotations

import os

from evaluator.worker.channel import RecordReader, RecordWriter, new_word


def test_records_come_back_in_order_from_chunks_of_any_size() -> None:
    read_fd, write_fd = os.pipe()
    writer = RecordWriter(write_fd, new_word())
    for number in range(3):
        writer.write({"kind": "result", "number": number, "text": "a\nb"})
    os.close(write_fd)
    reader = RecordReader(writer.word)
    found = []
    while chunk := os.read(read_fd, 7):
        found += reader.feed(chunk)
    os.close(read_fd)
    assert [record["number"] for record in found] == [0, 1, 2]
    assert found[0]["text"] == "a\nb"
    assert reader.noise_bytes == 0


def test_noise_before_between_and_within_lines_is_no_record() -> None:
    word = new_word()
    reader = RecordReader(word)
    good = f'\n{word} {{"kind": "end"}}\n'.encode()
    found = reader.feed(b'no newline {"kind": "end"}' + good + b'{"kind": "result"}\n' + b"\xff\xfe" + good)
    assert found == [{"kind": "end"}, {"kind": "end"}]
    assert reader.noise_bytes > 0


def test_a_forged_frame_is_no_record() -> None:
    reader = RecordReader(new_word())
    assert reader.feed(f'\n{new_word()} {{"kind": "result", "status": "ok"}}\n'.encode()) == []


def test_endless_noise_without_a_newline_is_not_kept() -> None:
    word = new_word()
    reader = RecordReader(word)
    for _ in range(64):
        assert reader.feed(b"x" * 65536) == []
    assert reader.noise_bytes > 60 * 65536
    assert reader.feed(f'\n{word} {{"kind": "end"}}\n'.encode()) == [{"kind": "end"}]
