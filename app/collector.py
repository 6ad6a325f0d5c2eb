"""Python's garbage collector in a process that shows pages: what was imported stays, and a page makes much at once."""

from __future__ import annotations

import gc
import sys
from typing import Final

# Python's own first threshold, 700, walks through a comparison's records a hundred times while it is read, and through all
# that was ever made once or twice, which takes longer than to read them. Most of a page has no cycles and needs no walk.
_YOUNG: Final = 50_000
_OLDER: Final = (20, 20)

_imported = 0


def settle() -> None:
    """Tell the collector that what was imported stays; again once more was imported."""
    global _imported
    if len(sys.modules) != _imported:
        gc.set_threshold(_YOUNG, *_OLDER)
        gc.freeze()
        _imported = len(sys.modules)
