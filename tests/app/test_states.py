"""Databases that can't be shown, and links to what is not there: each says what it is and what helps."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from db.schema import REVISIONS
from tests.app import seed
from tests.app.conftest import Opener, said

PAGES = (None, "matrix", "workload", "why", "coverage", "runs", "trends", "timeline")


@pytest.mark.parametrize("page", PAGES)
def test_absent_database_names_the_command(opens: Opener, tmp_path: Path, page: str | None) -> None:
    path = tmp_path / "none.db"
    app = opens(path, page)
    assert not app.exception
    assert f"python -m evaluator run --tag quickstart --db {path}" in [code.value for code in app.code]
    assert not path.exists()


@pytest.mark.parametrize("page", PAGES)
def test_empty_file_names_the_command(opens: Opener, tmp_path: Path, page: str | None) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    app = opens(path, page)
    assert not app.exception
    assert "No runs yet" in said(app)
    assert f"python -m evaluator run --tag quickstart --db {path}" in [code.value for code in app.code]


# Timeline is not about workloads: what it says without runs is in its own tests.
@pytest.mark.parametrize("page", [one for one in PAGES if one != "timeline"])
def test_database_without_runs(opens: Opener, tmp_path: Path, page: str | None) -> None:
    path = seed.write(tmp_path / "new.db", [])
    app = opens(path, page)
    assert not app.exception
    assert "No workload was evaluated yet" in said(app)


def revised(path: Path, revision: str) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    connection.close()
    return path


def test_newer_database_is_said(opens: Opener, tmp_path: Path) -> None:
    path = revised(seed.tiny(tmp_path / "newer.db"), "9999")
    app = opens(path)
    assert not app.exception
    assert "newer than this dashboard" in said(app)


def test_older_database_names_the_command(
    opens: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = seed.tiny(tmp_path / "older.db")
    # This code then knows one revision more than the database has.
    monkeypatch.setattr("db.schema.REVISIONS", (*REVISIONS, "later"))
    app = opens(path)
    assert not app.exception
    assert "older than this dashboard" in said(app)
    assert any(code.value.startswith("python -m db.migrate") for code in app.code)


def test_file_that_is_no_database(opens: Opener, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("no database at all, only some words in a file, and they are long enough to be a header")
    before = path.read_bytes()
    app = opens(path)
    assert not app.exception
    assert "is not a database" in said(app)
    assert path.read_bytes() == before


def test_database_of_something_else(opens: Opener, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipe (name TEXT)")
    connection.close()
    app = opens(path)
    assert not app.exception
    assert "a database of something else" in said(app)


def test_unsupported_url_is_one_sentence(opens: Opener) -> None:
    app = opens("mysql://host/name")
    assert not app.exception
    assert "mysql databases are not supported" in said(app)


def test_read_only_folder_can_be_shown(opens: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    database = seed.tiny(folder / "tiny.db")
    folder.chmod(0o555)
    try:
        app = opens(database, "runs")
        assert not app.exception
        assert "Runs: 1 " in said(app)
    finally:
        folder.chmod(0o755)


def test_run_being_written_is_said(opens: Opener, databases: Callable[[str], Path]) -> None:
    app = opens(databases("unfinished"), "runs")
    shown = said(app)
    assert "Newest run, not finished" in shown
    assert "1 not finished" in shown
    why = said(opens(databases("unfinished"), "why", w="slow.pending"))
    assert "not finished: what is shown is what is recorded so far" in why


def test_dashboard_sees_what_was_recorded_since(opens: Opener, tmp_path: Path) -> None:
    from db.store import Store
    from tests.app.records import MadeRun

    database = seed.tiny(tmp_path / "grows.db")
    app = opens(database, "runs")
    assert "Runs: 1 " in said(app)
    store = Store(str(database))
    store.write_many(list(MadeRun("2.14.1+cpu", 2, None, "quick", 1).records([seed.POINTWISE])))
    store.close()
    app.run()
    assert "Runs: 2 " in said(app)


def test_the_database_file_is_not_written(opens: Opener, tmp_path: Path) -> None:
    database = seed.tiny(tmp_path / "tiny.db")
    before = database.read_bytes()
    for page in PAGES:
        assert not opens(database, page).exception
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("page", "key", "what"),
    [
        ("runs", "run", "run"),
        ("workload", "w", "workload"),
        ("workload", "target", "target"),
        ("workload", "variant", "variant"),
        ("why", "b", "shape bucket"),
        ("why", "e", "evaluation of this cell"),
    ],
)
def test_value_of_the_url_that_is_not_there_is_said(
    opens: Opener, databases: Callable[[str], Path], page: str | None, key: str, what: str
) -> None:
    app = opens(databases("tiny"), page, **{key: "**no** <b>such</b> thing"})
    assert not app.exception
    warnings = [one.value for one in app.warning]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"No {what} `**no** <b>such</b> thing` is recorded here")


def test_default_database_is_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app import data

    monkeypatch.delenv("COMPILEWATCH_DB", raising=False)
    monkeypatch.chdir(tmp_path)
    assert data.located() == str(data.ROOT / "results" / "compilewatch.db")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "compilewatch.db").touch()
    assert data.located() == "results/compilewatch.db"


@pytest.mark.parametrize("page", [None, "matrix", "coverage"])
@pytest.mark.parametrize("key", ["base", "cand"])
def test_a_side_that_is_not_there_gets_no_verdict_of_another(
    opens: Opener, databases: Callable[[str], Path], page: str | None, key: str
) -> None:
    app = opens(databases("upgrade"), page, **{key: "9.9.9"})
    assert not app.exception
    assert [one.value for one in app.subheader] == ["Nothing is compared: a side of this link is not here"]
    assert [one.value.partition(" is recorded here")[0] for one in app.warning] == [
        f"No {'base' if key == 'base' else 'candidate'} `9.9.9`"
    ]
    assert not app.metric and not app.dataframe
    # What the reader picks instead is compared.
    known = {"base": "2.13.0+cpu", "cand": "2.14.1+cpu"}
    box = next(
        one for one in app.sidebar.selectbox if one.label == {"base": "Base", "cand": "Candidate"}[key]
    )
    assert box.value is None
    box.select(known[key]).run()
    assert not app.exception and not app.warning
    assert app.query_params[key] == known[key]
    assert app.dataframe


@pytest.mark.parametrize(
    ("page", "query", "said"),
    [
        (None, {"tgt": "cuda"}, "No target `cuda` is recorded here"),
        ("coverage", {"tgt": "cuda"}, "No target `cuda` is recorded here"),
        (None, {"rows": "zz"}, "No choice of rows `zz` is recorded here"),
        # Of these the database has one each, so that nothing is there to choose.
        ("workload", {"machine": "zz"}, "No machine `zz` is recorded here"),
        ("trends", {"host": "zz"}, "No machine `zz` is recorded here"),
        ("trends", {"on": "cuda"}, "No target `cuda` is recorded here"),
        ("trends", {"v": "zz"}, "No variant `zz` is recorded here"),
        ("trends", {"table": "zz"}, "No tab `zz` is recorded here"),
        ("why", {"w": "models.llama", "finding": "zz"}, "The finding `zz` is of a comparison"),
        ("runs", {"tab": "zz"}, "No tab `zz` is recorded here"),
        ("why", {"tab": "zz"}, "No tab `zz` is recorded here"),
        ("why", {"w": "models.llama", "e": "24", "vs": "24"}, "An evaluation is not compared with itself"),
        (
            "why",
            {"w": "models.llama", "e": "24", "vs": "9", "finding": "zz"},
            "No finding of this cell `zz` is recorded here",
        ),
    ],
)
def test_no_value_of_the_url_is_replaced_without_a_word(
    opens: Opener, databases: Callable[[str], Path], page: str | None, query: dict[str, str], said: str
) -> None:
    app = opens(databases("upgrade"), page, **query)
    assert not app.exception
    assert [one.value.startswith(said) for one in app.warning] == [True]


@pytest.mark.parametrize("metric", ["compile.cold_s", "graph_breaks", "compiled.wall_ms"])
def test_why_opens_with_the_finding_of_the_url(
    opens: Opener, databases: Callable[[str], Path], metric: str
) -> None:
    app = opens(databases("upgrade"), "why", w="models.llama", e="24", vs="9", finding=metric)
    assert not app.exception and not app.warning
    (detail,) = [one.value for one in app.code if one.value.startswith("metric")]
    assert detail.splitlines()[0].split()[-1] == metric
