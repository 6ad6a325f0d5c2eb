"""How a variant is stored: what it sets of torch's stands beside the arguments of torch.compile, in one JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

# Named as torch names it; torch.compile has no such argument.
PRECISION: Final = "fp32_precision"


class Compiling(NamedTuple):
    """``options``: keyword arguments of torch.compile; ``precision``: of float32 ("ieee", "tf32"), None: the workload's."""

    options: dict[str, Any]
    precision: str | None

    @classmethod
    def stored(cls, column: Mapping[str, Any]) -> Compiling:
        """What the column `variant.options` holds."""
        return cls(
            {name: value for name, value in column.items() if name != PRECISION}, column.get(PRECISION)
        )

    def column(self) -> dict[str, Any]:
        """What is stored in `variant.options`."""
        return {**self.options, **({} if self.precision is None else {PRECISION: self.precision})}
