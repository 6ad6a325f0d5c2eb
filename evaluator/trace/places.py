"""Names for places in source code that are the same in every environment and on every machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[2]

_PACKAGES: Final = re.compile(r"^.*/(?:site|dist)-packages/")
_STANDARD_LIBRARY: Final = re.compile(r"^.*/lib/python3\.\d+/")
_HOME: Final = re.compile(r"^/(?:home/[^/]+|Users/[^/]+|root)/")
_PATH_IN_TEXT: Final = re.compile(r"(?<![\w.])/[^\s\"'`:,()<>]+\.(?:py|pyc|h|hpp|cpp|cc|cu|so)\b")
_RESUMED: Final = re.compile(r"^torch_dynamo_resume_in_(.+)_at_\d+$")
_GENERATED: Final = re.compile(r"^(<eval_with_key>)\.\d+$")


@dataclass(frozen=True)
class Places:
    """Shortens paths. ``sources`` are the workload sources as the user gave them: files, or dotted modules.

    A file of an installed package is named from the package on (``torch/optim/optimizer.py``), one of the standard
    library ``python/contextlib.py``, one beside a workload source relative to that source's folder, one of this
    project relative to the project; a home folder becomes ``~``. Anything else stays as it is.
    """

    sources: tuple[str, ...] = ()
    project: Path = REPOSITORY

    def file(self, path: str) -> str:
        """The stable name of this file."""
        for pattern, prefix in ((_PACKAGES, ""), (_STANDARD_LIBRARY, "python/")):
            found = pattern.match(path)
            if found:
                return prefix + path[found.end() :]
        for source in self.sources:
            named = _beside(source, path)
            if named is not None:
                return named
        if path.startswith(f"{self.project}/"):
            return path[len(str(self.project)) + 1 :]
        generated = _GENERATED.match(path)
        if generated:
            return generated[1]
        return _HOME.sub("~/", path)

    def text(self, text: str) -> str:
        """The text with every source path in it shortened the same way."""
        return _PATH_IN_TEXT.sub(lambda found: self.file(found[0]), text)


def places_for(sources: Sequence[str | Path] = ()) -> Places:
    """The places of a run with these workload sources; file sources are made absolute."""
    named = []
    for source in sources:
        text = str(source)
        is_file = text.endswith(".py") or "/" in text
        named.append(str(Path(text).resolve()) if is_file else text)
    return Places(tuple(named))


def user_function(name: str) -> str:
    """The user's function behind a name: what Dynamo generated to go on after a break is still that function."""
    while True:
        resumed = _RESUMED.match(name)
        if resumed is None:
            return name
        name = resumed[1]


def _beside(source: str, path: str) -> str | None:
    if "/" in source:
        folder = source.rsplit("/", 1)[0] + "/"
        return path[len(folder) :] if len(folder) > 1 and path.startswith(folder) else None
    module = source.replace(".", "/")
    for suffix in (f"{module}.py", f"{module}/__init__.py"):
        if path.endswith(f"/{suffix}"):
            return suffix
    return None
