"""What a column takes of what a record says."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from db import values


def test_numbers() -> None:
    given = [1, 2.5, 0, float("nan"), float("inf"), True, "3", None, 10**400]
    assert [values.number(one) for one in given[:-1]] == [1.0, 2.5, 0.0, None, None, None, None, None]
    assert values.number(10**400) is None
    assert [values.integer(one) for one in (0, -5, 2**63 - 1, 2**63, 1.0, True, "1")] == [
        0,
        -5,
        2**63 - 1,
    ] + [None] * 4


def test_texts() -> None:
    assert values.text("a\x00b") == "a\ufffdb"
    assert values.text("\ud800") == "?"
    assert values.text(3) == "3"
    assert values.text(None) is None and values.text(["a"]) is None


def test_moments() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert values.moment("2026-03-01T12:00:00Z") == values.moment("2026-03-01T13:00:00+01:00") == noon
    assert values.moment("2026-03-01T12:00:00") == noon
    assert values.moment("soon") is None and values.moment(None) is None and values.moment(5) is None


def test_json_holds_anything_strictly() -> None:
    given = {"a": [float("nan"), float("-inf"), 1.5, None, True], 3: {"b\x00": {1}}, "c": object}
    kept = values.json_value(given)
    assert kept["a"] == ["nan", "-inf", 1.5, None, True] and kept["3"] == {"b\ufffd": [1]}
    json.dumps(kept, allow_nan=False)
    assert values.json_object([1]) is None and values.json_list([]) is None
