"""Reading one source, a dotted module or a Python file, into what it registers."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final

from workloads.plain import is_plain, plain_workload
from workloads.records import PATH_MODULE_PREFIX, Place
from workloads.registry import Registration, registrations

MESSAGE_LIMIT: Final = 500  # characters of an import error that go into the one-line problem


class SourceError(Exception):
    """A source that gives no workloads. `name` stands for it in tables, `source` is its module or file name."""

    def __init__(self, name: str, source: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.source = source


def read_source(source: str) -> list[Registration]:
    """What the source registers, in its order, or its one workload in the plain form.

    Raises SourceError where it can't be found or imported, or registers nothing.
    """
    is_path = source.endswith(".py") or "/" in source
    name = Path(source).stem if is_path else source
    shown = Path(source).name if is_path else source
    if is_path and not Path(source).is_file():
        raise SourceError(
            name,
            shown,
            f"{shown} is no file and no folder with one: a source is a dotted module, a file or a folder of files",
        )
    before = len(registrations())
    try:
        module = _import_path(Path(source)) if is_path else importlib.import_module(source)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a source may do anything, also exit, and must cost only itself
        absent = isinstance(error, ModuleNotFoundError) and not is_path and _leads_to(error.name, source)
        raise SourceError(name, shown, _no_module(source) if absent else _one_line(shown, error)) from error
    found = list(registrations()[before:])
    if not found and not is_path:
        # Imported before, in this process, so that its decorators didn't run again.
        own = (source, source + ".")
        found = [r for r in registrations() if r.place.module == own[0] or r.place.module.startswith(own[1])]
    if found:
        return found
    if not is_plain(module):
        raise SourceError(
            name,
            shown,
            f"{shown} registers no workload: use workloads.registry.workload, or define build(), "
            "inputs(bucket) and BUCKETS",
        )
    plain_name = name.rpartition(".")[2] if not is_path else name
    place = Place(module.__name__, str(module.__file__), 1)
    try:
        return [Registration(plain_name, place, plain_workload(module, plain_name, place), None)]
    except (TypeError, ValueError) as error:
        return [Registration(plain_name, place, None, str(error))]


def _import_path(path: Path) -> ModuleType:
    path = path.resolve()
    name = PATH_MODULE_PREFIX + path.stem
    number = 2
    while name in sys.modules:
        name, number = f"{PATH_MODULE_PREFIX}{path.stem}_{number}", number + 1
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look a class's module up by name
    try:
        with _beside(path.parent):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """The folder first on the search path, as for a script; afterwards last.

    `build` may still import the file's neighbours, but a neighbour called `random.py` no longer hides the
    library's for whatever torch imports late.
    """
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)
        if entry not in sys.path:
            sys.path.append(entry)


def _leads_to(missing: str | None, source: str) -> bool:
    """Whether the module that is missing is the source itself or a package it is said to lie in."""
    return missing is not None and f"{source}.".startswith(f"{missing}.")


def _no_module(source: str) -> str:
    return f"there is no module {source!r} to import; a file is given by its path, with .py at the end"


def _one_line(shown: str, error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"importing {shown} ended the program (SystemExit: {error.code})"
    detail = " ".join(str(error).split())[:MESSAGE_LIMIT]
    return f"importing {shown} raised {type(error).__name__}" + (f": {detail}" if detail else "")
