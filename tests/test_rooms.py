"""Who may import whom: the rooms of the design, held against every import statement."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
OURS = {"app", "evaluator", "workloads", "db", "tests"}
# What a page may take from the database room: reading, and why it may not be read.
READABLE = ("db.queries", "db.session", "db.artifacts", "db.schema", "db.failures")
# Distributions a pack may import, but only inside the function that builds a model.
MODEL_LIBRARIES = {"transformers", "diffusers"}


def sources(*rooms: str) -> list[Path]:
    return sorted(path for room in rooms for path in (REPOSITORY / room).rglob("*.py"))


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    """Dotted names that a file imports; relative imports are not used in this project."""
    found: set[str] = set()
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if not top_level_only else _top_level(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add(node.module or "")
            # `from evaluator import controller` imports a module of ours as well.
            if (node.module or "").split(".")[0] in OURS:
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _top_level(tree: ast.Module) -> list[ast.AST]:
    """Nodes outside functions."""
    found: list[ast.AST] = []
    queue: list[ast.AST] = [tree]
    while queue:
        node = queue.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            queue += ast.iter_child_nodes(node)
    return found


def is_worker(path: Path) -> bool:
    return path.is_relative_to(REPOSITORY / "evaluator" / "worker")


def under(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


@pytest.mark.parametrize(
    "path", sources("workloads", "evaluator/worker"), ids=lambda p: str(p.relative_to(REPOSITORY))
)
def test_what_runs_beside_torch_needs_torch_and_the_standard_library_only(path: Path) -> None:
    for name in imports(path):
        root = name.split(".")[0]
        if root in OURS:
            assert under(name, "workloads", "evaluator.worker") or name == "evaluator", (
                f"{path} imports {name}"
            )
        elif root in MODEL_LIBRARIES:
            assert name not in imports(path, top_level_only=True), f"{path} imports {name} outside a function"
        else:
            assert root in {"torch", "triton"} or root in sys.stdlib_module_names, f"{path} imports {name}"


@pytest.mark.parametrize(
    "path",
    [path for path in sources("app", "db", "evaluator") if not is_worker(path)],
    ids=lambda p: str(p.relative_to(REPOSITORY)),
)
def test_everything_else_never_imports_torch_or_a_workload(path: Path) -> None:
    for name in imports(path):
        if path.is_relative_to(REPOSITORY / "evaluator" / "selftest"):
            continue  # workload files, which only a worker loads
        assert not under(name, "torch", "workloads"), f"{path} imports {name}"
        assert (
            not under(name, "evaluator.worker")
            or name.startswith("evaluator.worker.protocol")
            or name == ("evaluator.worker")
        ), f"{path} imports {name}"


@pytest.mark.parametrize("path", sources("db"), ids=lambda p: p.name)
def test_the_database_knows_no_controller_and_no_page(path: Path) -> None:
    for name in imports(path):
        assert not under(name, "app", "streamlit", "altair"), f"{path} imports {name}"
        if under(name, "evaluator"):
            assert (
                under(
                    name,
                    "evaluator.worker",
                    "evaluator.errors",
                    "evaluator.trace",
                    "evaluator.sink",
                    "evaluator.verdicts",
                )
                or name == "evaluator"
            ), f"{path} imports {name}"


# Modules of the standard library that reach outside, or tell the time: a verdict follows from its numbers alone.
IMPURE = {
    "asyncio",
    "datetime",
    "io",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "shutil",
    "socket",
    "sqlite3",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "urllib",
}


@pytest.mark.parametrize(
    "path",
    sources("evaluator/verdicts", "evaluator/ordering"),
    ids=lambda p: str(p.relative_to(REPOSITORY / "evaluator")),
)
def test_verdicts_and_the_ordering_model_are_pure(path: Path) -> None:
    own = f"evaluator.{path.relative_to(REPOSITORY / 'evaluator').parts[0]}"
    for name in imports(path):
        root = name.split(".")[0]
        if root in OURS:
            assert under(name, own), f"{path} imports {name}"
        else:
            assert root in sys.stdlib_module_names and root not in IMPURE, f"{path} imports {name}"
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "exec", "eval"}, path


@pytest.mark.parametrize("path", sources("app"), ids=lambda p: p.name)
def test_the_app_reads_queries_and_pure_modules_and_holds_no_sql(path: Path) -> None:
    for name in imports(path):
        if under(name, "db"):
            assert under(name, *READABLE) or name == "db", f"{path} imports {name}"
        if under(name, "evaluator"):
            assert (
                under(
                    name,
                    "evaluator.errors",
                    "evaluator.worker.protocol",
                    "evaluator.trace",
                    "evaluator.chrome_trace",
                    "evaluator.ordering",
                    "evaluator.verdicts",
                    "evaluator.report",
                    "evaluator.worker",
                )
                or name == "evaluator"
            ), f"{path} imports {name}"
    text = path.read_text()
    assert "sqlalchemy.text" not in text
    assert "SELECT " not in text


@pytest.mark.parametrize(
    "path",
    [
        path
        for pattern in (
            "*chart*.py",
            "*frames.py",
            "*words.py",
            "cards.py",
            "axes.py",
            "intervals.py",
            "rows.py",
        )
        for path in sorted((REPOSITORY / "app").rglob(pattern))
    ],
    ids=lambda p: str(p.relative_to(REPOSITORY)),
)
def test_charts_and_what_they_draw_know_no_streamlit(path: Path) -> None:
    assert not any(under(name, "streamlit") for name in imports(path))


@pytest.mark.parametrize(
    "module",
    ["evaluator.commands.run", "evaluator.control.controller", "evaluator.trace", "evaluator.chrome_trace"],
)
def test_recording_to_a_file_needs_the_standard_library_only(module: str) -> None:
    code = (
        "import sys, importlib\n"
        f"importlib.import_module({module!r})\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "sqlalchemy", "streamlit", "pandas", "numpy", "altair", "alembic"} & set(loaded)
