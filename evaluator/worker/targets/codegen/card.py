"""The card that code is generated for, as torch's device properties would describe it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluator.worker.errors import Unsupported


class Card:
    """A card's figures as attributes, named as torch names a device's properties.

    An attribute that no figure tells raises Unsupported: what Inductor would decide by it can't be known.
    """

    def __init__(self, figures: Mapping[str, Any]) -> None:
        self.figures = dict(figures)

    def __getattr__(self, name: str) -> Any:
        # Python's own questions (copying, pickling) are no figures.
        if name.startswith("__") or name == "figures":
            raise AttributeError(name)
        try:
            return self.figures[name]
        except KeyError:
            raise Unsupported(f"Inductor asks the card for {name}, which its figures do not tell") from None

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, for example (9, 0)."""
        return self.figures["major"], self.figures["minor"]

    @property
    def arch(self) -> int:
        """The capability in Triton's form, for example 90."""
        return int(self.figures["major"]) * 10 + int(self.figures["minor"])
