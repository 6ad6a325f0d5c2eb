"""The report as one strict JSON object, for programs."""

from __future__ import annotations

import json
import math
from datetime import UTC
from typing import Any, Final

from evaluator.report.context import Context
from evaluator.report.outcome import Gate, exit_code
from evaluator.verdicts.findings import Verdicts, as_json

FORMAT: Final = "compilewatch.comparison"
# Raised when a field changes its meaning or goes; new fields do not raise it.
FORMAT_VERSION: Final = 1


def document(verdicts: Verdicts, context: Context, gate: Gate) -> dict[str, Any]:
    """``verdicts`` as the records are (``evaluator/verdicts/findings.py``), where they come from, and what the gate says.

    ``gate.failing`` names each finding that fails by its cell (null for the environment) and metric. What is no
    finite number is null.
    """
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "made_at": context.made_at.astimezone(UTC).isoformat(),
        "machine": context.machine,
        "runs": [as_json(run) for run in context.runs],
        "commands": list(context.commands),
        "notes": list(context.notes),
        "wall_s": context.wall_s,
        "gate": {
            "verdicts": sorted(gate.verdicts),
            "metrics": list(gate.metrics),
            "unconfirmed": gate.unconfirmed,
            "exit_code": exit_code(verdicts, gate),
            "failing": [
                {
                    "cell": None if one.cell is None else as_json(one.cell.cell),
                    "metric": one.finding.metric,
                    "verdict": one.finding.verdict,
                }
                for one in gate.failing(verdicts)
            ],
        },
        "verdicts": _finite(as_json(verdicts)),
    }


def as_json_text(verdicts: Verdicts, context: Context, gate: Gate) -> str:
    """``document`` as text, ending in a newline."""
    return json.dumps(document(verdicts, context, gate), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """The value with NaN and infinities as null: JSON has no words for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
