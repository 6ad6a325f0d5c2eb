"""Loading: what the sources give, in which order, and what a bad one costs."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from workloads import catalog

REPO = Path(__file__).parents[2]

PLAIN = """
import torch
def build():
    return torch.sin
BUCKETS = [{"n": 2}]
def inputs(bucket):
    return (torch.randn(bucket["n"]),), {}
"""

REGISTERED = """
import torch
from workloads.registry import workload

def inputs(bucket, target):
    return (torch.randn(bucket["n"]),), {}

@workload("mine.sin", stands_for="a sine", inputs=inputs, buckets=[{"n": 2}])
def build(target):
    return torch.sin
"""


def write(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(text))
    return str(file)


def problem_of(source: str) -> catalog.Problem:
    loaded = catalog.load([source], packs=False)
    assert loaded.workloads == {}
    (problem,) = loaded.problems
    assert "\n" not in problem.message
    return problem


def test_packs_come_first_then_sources_as_given(tmp_path: Path) -> None:
    first = write(tmp_path, "zebra.py", PLAIN)
    second = write(tmp_path, "antelope.py", REGISTERED)
    loaded = catalog.load([first, second])
    assert loaded.problems == []
    assert list(loaded.workloads)[-2:] == ["zebra", "mine.sin"]
    assert "pointwise.silu_gate" in loaded.workloads


def test_loading_twice_gives_the_same(tmp_path: Path) -> None:
    source = write(tmp_path, "mine.py", REGISTERED)
    once, again = (catalog.describe(catalog.load([source])) for _ in range(2))
    assert once == again


def test_names_in_packs_start_with_their_theme() -> None:
    for name, workload in catalog.load().workloads.items():
        assert workload.place.module == f"workloads.packs.{name.split('.')[0]}"


def test_duplicate_name_costs_the_second_alone_and_names_both_places(tmp_path: Path) -> None:
    first = write(tmp_path / "a", "one.py", REGISTERED)
    second = write(
        tmp_path / "b", "two.py", REGISTERED.replace("buckets=[{", "buckets=[{'other': 1, ") + PLAIN
    )
    loaded = catalog.load([first, second], packs=False)
    assert [bucket.name for bucket in loaded.workloads["mine.sin"].buckets] == ["n=2"]
    (problem,) = loaded.problems
    assert problem.name == "mine.sin at two.py:8"
    assert "one.py:8" in problem.message and "two.py:8" in problem.message


def test_plain_files_of_one_name_are_duplicates(tmp_path: Path) -> None:
    sources = [write(tmp_path / folder, "case.py", PLAIN) for folder in ("a", "b")]
    loaded = catalog.load(sources, packs=False)
    assert list(loaded.workloads) == ["case"]
    assert [problem.name for problem in loaded.problems] == ["case at case.py:1"]


def test_a_source_given_twice_is_loaded_once(tmp_path: Path) -> None:
    source = write(tmp_path, "case.py", PLAIN)
    indirect = str(tmp_path / "x" / ".." / "case.py")
    (tmp_path / "x").mkdir()
    assert catalog.load([source, source, indirect], packs=False).problems == []


def test_bad_registration_leaves_its_neighbours(tmp_path: Path) -> None:
    source = write(tmp_path, "mixed.py", REGISTERED + REGISTERED.replace("mine.sin", "mine sin"))
    loaded = catalog.load([source], packs=False)
    assert list(loaded.workloads) == ["mine.sin"]
    (problem,) = loaded.problems
    assert problem.name == "mine sin"
    assert problem.message.startswith("mixed.py:18: the name 'mine sin' may hold")


def test_a_folder_is_its_files(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "_private.py"):
        write(tmp_path, name, PLAIN)
    assert list(catalog.load([str(tmp_path)], packs=False).workloads) == ["a", "b"]


def test_dotted_modules_register_or_are_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, "cw_pkg/__init__.py", "")
    write(tmp_path, "cw_pkg/registered.py", REGISTERED)
    write(tmp_path, "cw_pkg/simple.py", PLAIN)
    loaded = catalog.load(["cw_pkg.registered", "cw_pkg.simple"], packs=False)
    assert loaded.problems == []
    assert [w.place.origin for w in loaded.workloads.values()] == ["cw_pkg.registered", "cw_pkg.simple"]
    assert list(loaded.workloads) == ["mine.sin", "simple"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import sys; sys.exit(3)", "importing bad.py ended the program (SystemExit: 3)"),
        ("raise RuntimeError('no luck\\nat all')", "importing bad.py raised RuntimeError: no luck at all"),
        ("class Odd(BaseException): pass\nraise Odd", "importing bad.py raised Odd"),
        ("def build(:", "importing bad.py raised SyntaxError"),
        (
            "import no_such_library",
            "importing bad.py raised ModuleNotFoundError: No module named 'no_such_library'",
        ),
        ("open('/no/such/place')", "importing bad.py raised FileNotFoundError"),
        ("x = 1", "bad.py registers no workload"),
        ("", "bad.py registers no workload"),
    ],
)
def test_bad_files_are_one_line_problems(tmp_path: Path, text: str, sentence: str) -> None:
    problem = problem_of(write(tmp_path, "bad.py", text))
    assert problem.message.startswith(sentence)
    assert (problem.name, problem.source) == ("bad", "bad.py")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("no_such_folder/no_such.py", "no_such.py is no file"),
        ("cw_no_such_module.sub", "there is no module 'cw_no_such_module.sub' to import"),
        ("json.no_such_part", "there is no module 'json.no_such_part' to import"),
        ("json", "json registers no workload"),
    ],
)
def test_sources_that_are_not_there_say_so(source: str, sentence: str) -> None:
    assert problem_of(source).message.startswith(sentence)


def test_a_bad_source_leaves_the_others(tmp_path: Path) -> None:
    sources = [write(tmp_path, "bad.py", "raise SystemExit"), write(tmp_path, "good.py", PLAIN)]
    loaded = catalog.load(sources, packs=False)
    assert list(loaded.workloads) == ["good"]
    assert [problem.source for problem in loaded.problems] == ["bad.py"]


def test_neighbours_can_be_imported_while_loading_and_later(tmp_path: Path) -> None:
    write(tmp_path, "cw_neighbour.py", "VALUE = 5")
    write(tmp_path, "cw_late_neighbour.py", "def work(x):\n    return x + 1\n")
    late = "    from cw_late_neighbour import work\n    return work\n"
    source = write(tmp_path, "mine.py", "import cw_neighbour" + PLAIN.replace("    return torch.sin\n", late))
    loaded = catalog.load([source], packs=False)
    assert loaded.problems == []
    made = loaded.workloads["mine"]
    assert made.build(None)(1) == 2  # type: ignore[arg-type]
    assert sys.path[0] != str(tmp_path)
    sys.path.remove(str(tmp_path))


def test_a_file_called_like_a_library_hides_nothing(tmp_path: Path) -> None:
    source = write(tmp_path, "torch.py", PLAIN.replace("import torch", "import torch as real; torch = real"))
    before = sys.modules["torch"]
    loaded = catalog.load([source], packs=False)
    assert sys.modules["torch"] is before
    assert list(loaded.workloads) == ["torch"]


def test_load_one_imports_only_the_pack_it_needs() -> None:
    script = (
        "import sys; from workloads import catalog; w = catalog.load_one([], True, 'breaks.data_dependent');"
        "print(w.name, sorted(m for m in sys.modules if m.startswith('workloads.packs.')), 'transformers' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "breaks.data_dependent ['workloads.packs.breaks'] False"


def test_load_one_runs_no_other_plain_file(tmp_path: Path) -> None:
    fatal = write(tmp_path, "fatal.py", "import os; os._exit(1)\n" + PLAIN)
    wanted = write(tmp_path, "wanted.py", PLAIN)
    assert catalog.load_one([fatal, wanted], False, "wanted").name == "wanted"


def test_load_one_gives_what_load_gives(tmp_path: Path) -> None:
    sources = [write(tmp_path, "mine.py", REGISTERED.replace("mine.sin", "pointwise.silu_gate"))]
    from_all = catalog.load(sources).workloads["pointwise.silu_gate"]
    assert catalog.load_one(sources, True, "pointwise.silu_gate") == from_all
    assert catalog.load_one(sources, False, "pointwise.silu_gate").place.origin == "mine.py"


def test_load_one_says_why_there_is_none(tmp_path: Path) -> None:
    bad = write(tmp_path, "bad.py", "raise RuntimeError('no luck')")
    with pytest.raises(
        LookupError, match=r"there is no workload 'mine.x' \(bad.py: importing bad.py raised .*no luck"
    ):
        catalog.load_one([bad], True, "mine.x")


def test_description_is_json_and_holds_no_path_of_this_machine(tmp_path: Path) -> None:
    odd = PLAIN.replace("[{", "[{'dtype': torch.float16, 'shape': (2, 3), 'top': float('inf'), ")
    sources = [
        write(tmp_path, "odd.py", odd + "COMPILE = {'backend': build, 'options': {'x': {1, 2}}}"),
        write(tmp_path, "mine.py", REGISTERED),
        write(tmp_path, "bad.py", "raise RuntimeError"),
    ]
    described = catalog.describe(catalog.load(sources))
    text = json.dumps(described, allow_nan=False)
    assert str(tmp_path) not in text
    assert str(REPO) not in text
    by_name = {record["name"]: record for record in described}
    assert by_name["odd"]["buckets"][0]["params"] == {
        "dtype": "torch.float16",
        "shape": [2, 3],
        "top": "inf",
        "n": 2,
    }
    assert by_name["odd"]["variants"][0]["options"] == {"backend": "build", "options": {"x": ["1", "2"]}}
    assert by_name["odd"]["form"] == "plain"
    assert by_name["mine.sin"]["form"] == "registry"
    assert by_name["mine.sin"]["origin"] == "mine.py"
    assert by_name["bad"] == {
        "name": "bad",
        "source": "bad.py",
        "problem": "importing bad.py raised RuntimeError",
    }
