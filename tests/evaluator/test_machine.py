"""What may be written down about a machine and its user."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from evaluator import machine


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home" / "alice"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


def test_the_machine_id_is_random_and_stays(home: Path) -> None:
    first = machine.machine_id()
    assert uuid.UUID(first).version == 4
    assert machine.machine_id() == first
    assert (home / ".local/share/compilewatch/machine-id").read_text().strip() == first


def test_the_users_folders_follow_their_variables(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.cache_folder() == home / ".cache/compilewatch"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    assert machine.cache_folder() == tmp_path / "c/compilewatch"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert machine.cache_folder() == home / ".cache/compilewatch"


def test_no_text_that_is_kept_names_the_user(home: Path) -> None:
    text = f'File "{home}/work/model.py", line 3; see {home}/notes and {home.parent}/bob/x'
    assert machine.shorten(text) == f'File "~/work/model.py", line 3; see ~/notes and {home.parent}/bob/x'
    # Only as a folder: another path may begin with the same letters.
    assert machine.shorten(f"{home}son/x") == f"{home}son/x"


def test_a_whole_record_is_shortened_keys_too(home: Path) -> None:
    record = {f"{home}/a": [f"{home}/b", {"c": (f"{home}/d", 1, None, True)}]}
    assert machine.without_home(record) == {"~/a": ["~/b", {"c": ["~/d", 1, None, True]}]}


def test_without_a_home_of_ones_own_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    assert machine.shorten("/a/b") == "/a/b"


def test_paths_are_kept_relative_or_from_home_on(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    assert machine.portable_path(project / "w" / "x.py") == "w/x.py"
    assert machine.portable_path("w/x.py") == "w/x.py"
    assert machine.portable_path(tmp_path / "x.py") == str(tmp_path / "x.py")
    # From above the home folder a relative path would name the user.
    monkeypatch.chdir("/")
    assert machine.portable_path(home / "x.py") == "~/x.py"


def test_arguments_are_kept_without_paths_hosts_and_passwords(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    given = ["run", "mlp*", "--python", f"{home}/v/bin/python", f"--db={home}/r.db", "--label", "a=b"]
    assert machine.portable_arguments(given) == [
        "run", "mlp*", "--python", "~/v/bin/python", "--db=~/r.db", "--label", "a=b",
    ]  # fmt: skip
    secret = machine.portable_arguments(["--db", "postgresql://alice:pw@db.example/x"])
    assert secret == ["--db", "postgresql://..."]


def test_memory_is_what_there_is_at_most() -> None:
    total_kb = int(Path("/proc/meminfo").read_text().split()[1])
    assert 0 < machine.physical_memory_mb() <= total_kb * 1.024 / 1000 + 1


def test_the_version_is_the_projects() -> None:
    assert f'version = "{machine.version()}"' in (machine.REPOSITORY / "pyproject.toml").read_text()
