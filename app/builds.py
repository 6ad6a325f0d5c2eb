"""What versions of torch were built for, where that differs: host memory differs by it alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from app import theme

# The end of a sentence on a chart of host memory.
APART: Final = "Host memory differs by that alone, so a line joins one build only."


def differ(builds: Iterable[tuple[str, str]]) -> str | None:
    """A sentence as Markdown, such as "Builds of torch differ: CUDA at `2.12.0`; CPU at `2.13.0`."; None where all have one.
    ``builds``: names of versions or runs, each with what its torch was built for."""
    found: dict[str, list[str]] = {}
    for name, build in builds:
        found.setdefault(build, []).append(theme.literal(name))
    if len(found) < 2:
        return None
    return f"Builds of torch differ: {'; '.join(f'{build} at {theme.listed(at)}' for build, at in found.items())}."
