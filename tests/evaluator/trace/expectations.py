"""What each program of ``programs.py`` does, bucket by bucket, reasoned from its code and torch's rules.

A break site is given by the text of its line. Counts that are not named are zero.
"""

from __future__ import annotations

from typing import Any

BREAK_LINE = "torch._dynamo.graph_break()"

# Three frames: up to the first break, between the two, after the second. Another size is one recompile a frame, and
# the frames that end in a break break again; a third size runs the dynamic code.
TWO_BREAKS = {
    "4": {"graphs": 3, "ops": 3, "compiles": 3, "graph_breaks": 2, "break_events": 2},
    "7": {
        "graphs": 3,
        "ops": 3,
        "compiles": 3,
        "recompiles": 3,
        "graph_breaks": 2,
        "break_events": 2,
        "dynamic_symbols": 3,
    },
    "9": {"graph_breaks": 2, "reused_code": True},
}

# Eight entries a frame by torch's default limit: the ninth value is refused, and those after it are silent.
INTEGER_ARGUMENT: dict[str, dict[str, Any]] = {
    "2": {"graphs": 1, "ops": 2, "compiles": 1},
    **{str(k): {"graphs": 1, "ops": 2, "compiles": 1, "recompiles": 1} for k in range(3, 10)},
    "10": {"recompile_limit_hit": True, "refused_compiles": 1},
    "11": {"recompile_limit_hit": True, "reused_code": None},
    "12": {"recompile_limit_hit": True, "reused_code": None},
}

EXPECTED: dict[str, dict[str, dict[str, Any]]] = {
    "two_breaks": TWO_BREAKS,
    # A loop cannot be resumed from its middle: the frame runs eager.
    "break_in_loop": {
        "5": {"graph_breaks": 1, "break_events": 1, "skipped_frames": 1, "nothing_compiled": True}
    },
    "item_break": {"16": {"graphs": 2, "ops": 4, "compiles": 2, "graph_breaks": 1, "break_events": 1}},
    # The other branch is a new resume function, not a recompile; the condition's frame is reused with its break.
    "branch_on_data": {
        "1": {"graphs": 2, "ops": 3, "compiles": 2, "graph_breaks": 1, "break_events": 1},
        "-1": {"graphs": 1, "ops": 2, "compiles": 1, "graph_breaks": 1},
    },
    "integer_argument": INTEGER_ARGUMENT,
    # Static, then dynamic, then reuse; size 1 is never dynamic.
    "goes_dynamic": {
        "4": {"graphs": 1, "ops": 3, "compiles": 1},
        "6": {"graphs": 1, "ops": 3, "compiles": 1, "recompiles": 1, "dynamic_symbols": 1},
        "9": {"reused_code": True},
        "1": {"graphs": 1, "ops": 3, "compiles": 1, "recompiles": 1},
    },
    "talkative": {
        "2": {"graphs": 2, "ops": 3, "compiles": 2, "graph_breaks": 1, "break_events": 1},
        "5": {
            "graphs": 2,
            "ops": 3,
            "compiles": 2,
            "recompiles": 2,
            "graph_breaks": 1,
            "break_events": 1,
            "dynamic_symbols": 2,
        },
    },
    # Two calls, each with another value of the attribute, and two more in the second walk.
    "counting": {"3": {"graphs": 2, "ops": 2, "compiles": 2, "recompiles": 1, "second_walk_compiles": 2}},
    "grad_mode": {
        "without": {"graphs": 1, "ops": 1, "compiles": 1},
        "with": {"graphs": 1, "ops": 1, "compiles": 1, "recompiles": 1},
    },
    "whole_graph": {"5": {"failed_compiles": 1, "nothing_compiled": True}},
    "backend_error": {
        "5": {"graph_breaks": 1, "break_events": 1, "failed_compiles": 1, "nothing_compiled": True},
    },
    # The backward of the dynamic graph is compiled with its forward, and writes no row of its own.
    "training": {
        "2": {"graphs": 1, "ops": 2, "compiles": 1, "backward_graphs": 1},
        "5": {
            "graphs": 1,
            "ops": 2,
            "compiles": 1,
            "recompiles": 1,
            "backward_graphs": 1,
            "dynamic_symbols": 1,
        },
    },
    "generated_cold": {
        "64": {"graphs": 1, "ops": 4, "compiles": 1, "cache_misses": 1, "aot_cache_misses": 1}
    },
    "generated_warm": {"64": {"graphs": 1, "ops": 4, "compiles": 1, "cache_hits": 1, "aot_cache_hits": 1}},
    "trained_cold": {
        "4": {
            "graphs": 1,
            "ops": 2,
            "compiles": 1,
            "backward_graphs": 1,
            "cache_misses": 2,
            "aot_cache_misses": 1,
        }
    },
    "trained_warm": {
        "4": {
            "graphs": 1,
            "ops": 2,
            "compiles": 1,
            "backward_graphs": 1,
            "cache_hits": 2,
            "aot_cache_hits": 1,
        }
    },
}

SITES: dict[str, list[str]] = {
    "two_breaks": [BREAK_LINE, BREAK_LINE],
    "break_in_loop": ["if x.max() > 1e6:"],
    "item_break": ["largest = x.abs().max().item()"],
    "branch_on_data": ["if x.sum() > 0:"],
    "talkative": ['print("hidden is", tuple(hidden.shape))'],
    "backend_error": ["largest = x.abs().max().item()"],
}
