"""What a command repeats of its own options: a database without anything that opens it."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from db.failures import place
from db.session import database_url
from db.store import Store
from evaluator import options
from evaluator.errors import UserError
from evaluator.report import context_of, render
from evaluator.report.files import FORMATS
from tests.db import made as records
from tests.evaluator.report import made


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("results/r.db", "results/r.db"),
        ("/home/x@y/r.db", "/home/x@y/r.db"),
        ("postgresql://host/name", "postgresql://host/name"),
        ("postgresql:///name", "postgresql:///name"),
        ("postgresql://host:5433/name?sslmode=require", "postgresql://host:5433/name?sslmode=require"),
        ("postgresql://alice@host/name", "postgresql://host/name"),
        ("postgresql+psycopg://alice:pw@host/name", "postgresql+psycopg://host/name"),
        # A password with signs that nobody escaped.
        ("postgresql://alice:p@w/x?y@host/name", "postgresql://host/name"),
        ("postgresql://host/name?user=alice&password=pw&sslmode=require", "postgresql://host/name?sslmode=require"),
        ("postgresql://host/name?sslpassword=pw", "postgresql://host/name"),
    ],
)  # fmt: skip
def test_a_database_is_shown_without_user_and_password(given: str, shown: str) -> None:
    assert options.shown_database(given) == shown
    said = options.again(Namespace(db=given)) + options.credentials(Namespace(db=given))
    assert "alice" not in said and "pw" not in said
    assert ("PGPASSWORD" in said) == (given != shown)


def test_a_database_that_was_not_given_is_not_repeated() -> None:
    assert options.again(Namespace(db=None)) == options.credentials(Namespace(db=None)) == ""


def test_a_repeated_path_is_a_word_of_the_shell() -> None:
    assert options.again(Namespace(db="my runs.db")) == " --db 'my runs.db'"
    assert options.again(Namespace(db="~/my runs.db")) == " --db ~/'my runs.db'"


@pytest.mark.parametrize("form", FORMATS)
def test_no_report_holds_a_password(tmp_path: Path, form: str) -> None:
    database = tmp_path / "runs.db"
    store = Store(str(database))
    store.write_many(records.whole_run("one", argv=["run", "--db", "postgresql://...", "--label", "x"]))
    store.close()
    url = "postgresql://alice:hunter2@host/name"
    context = context_of(str(database), url, 1, made_at=datetime(2026, 3, 1, tzinfo=UTC))
    text = render(form, made.ONE_OF_EVERYTHING, context)
    assert "hunter2" not in text and "alice" not in text
    if form in ("text", "markdown", "html"):
        assert "evaluator run --db postgresql://host/name --label x" in text
        assert text.count("--db postgresql://host/name") > 1
        assert "PGPASSWORD" in text


def test_no_error_holds_a_password() -> None:
    with pytest.raises(UserError) as raised:
        database_url("post gresql://alice:hunter2@host:port/name")
    assert "hunter2" not in str(raised.value)
    for url in ("postgresql://alice:hunter2@host/name", "postgresql://host/name?user=alice&password=hunter2"):
        assert place(database_url(url)) == options.shown_database(url) == "postgresql://host/name"
