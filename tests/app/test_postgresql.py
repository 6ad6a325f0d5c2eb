"""The dashboard over PostgreSQL: every page says and lists what it does over SQLite, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from streamlit.testing.v1 import AppTest

from db.artifacts import FOLDER_VARIABLE
from db.failures import place
from db.session import database_url
from db.store import Store
from tests.app import seed, upgrades
from tests.app.conftest import Opener, said
from tests.app.records import MadeRun
from tests.db import postgres

SEEN = (
    ("verdict", {}),
    ("matrix", {}),
    ("workload", {"w": "models.bert"}),
    ("workload", {"w": "models.llama", "see": "Graphs"}),
    ("workload", {"w": "norm.layer_norm", "see": "Accuracy"}),
    ("why", {"w": "models.bert", "tab": "Files"}),
    ("why", {"w": "models.bert", "tab": "Environment"}),
    ("trends", {}),
    ("trends", {"over": "runs", "table": "Pass rate"}),
    ("coverage", {}),
    ("coverage", {"part": "environments"}),
    ("runs", {"run": "3", "tab": "Environment"}),
    ("runs", {"run": "3", "tab": "Files"}),
    ("runs", {"run": "3", "tab": "Samples"}),
)


def fill(database: str) -> None:
    """An upgrade with its rerun, and a later run in which as many evaluations failed in one way as in another."""
    store = Store(database)
    first = upgrades.made(10)
    again = upgrades.made(20, purpose="confirm", parent=first.uuid)
    late = MadeRun("2.14.1+cpu", 40, replicas=1)
    try:
        store.write_many(list(first.records([seed.BERT, seed.LLAMA], [seed.BERT, seed.LLAMA])))
        store.write_many(list(again.records([seed.LLAMA], [seed.LLAMA])))
        store.write_many(list(late.records([seed.NORM, seed.CRASH, seed.BERT, seed.LLAMA])))
    finally:
        store.close()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The same records in a file and in a PostgreSQL database."""
    folder = tmp_path_factory.mktemp("both")
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv(FOLDER_VARIABLE, str(folder / "kept"))
        url = stack.enter_context(postgres.fresh_database(stack.enter_context(postgres.server())))
        for database in (str(folder / "runs.db"), url):
            fill(database)
        yield str(folder / "runs.db"), url


def shown(app: AppTest, database: str) -> tuple[list[str], list[str]]:
    """The lines and the tables of a page, without where its database is and the random ids of rows."""
    assert not app.exception
    where = place(database_url(database))
    lines = [line for line in said(app).splitlines() if where not in line]
    return lines, [one.value.to_csv() for one in app.dataframe]


@pytest.mark.parametrize(
    ("page", "query"), SEEN, ids=lambda one: one if isinstance(one, str) else "-".join(one.values())
)
def test_a_page_is_the_same_over_both(
    opens: Opener, both: tuple[str, str], page: str, query: dict[str, str]
) -> None:
    ours, theirs = (shown(opens(database, page, **query), database) for database in both)
    assert ours == theirs
    assert ours[0] and len(ours[0]) > 3


def test_the_fields_of_an_environment_begin_with_torch_whatever_order_they_are_kept_in() -> None:
    def page() -> None:
        from app import files

        files.fields(
            {"zeta": 1, "libraries": {"b": "2", "a": "1"}, "os": "Linux", "torch": "2.13.0"}, key="k"
        )

    app = AppTest.from_function(page).run()
    assert list(app.dataframe[0].value["field"]) == ["torch", "os", "libraries.a", "libraries.b", "zeta"]
