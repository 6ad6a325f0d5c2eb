"""Does an upgrade find what got slower, and nothing else?

    python -m tests.benchmarks.upgrades [--profile standard] [--workload GLOB ...] [--keep FOLDER]

Compares this interpreter's torch with itself over a dozen workloads. A variable that differs between the sides makes
two of them take 10% more warm time and one a quarter more compile time; all else is equal. Prints what was found of
these, what was said of the others, the shares that are unchanged and inconclusive, and the time it took (about an
hour on two idle processors; beside other work nothing can be told). Exit code 1 where one was missed, or anything else
was called a regression.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.evaluator.planted.upgrading import HERE, Upgraded, upgrade

# One cell each of what comes with this project and takes little time, beside those of ``planted/times.py``.
USUAL = (
    "pointwise.silu_gate",
    "matmul.fp32_ieee_1024",
    "normalisation.layer_norm",
    "reduction.softmax_sum",
    "attention.sdpa",
    "conv.conv_bn",
    "embedding.bag",
    "training.mlp_step",
)
TREES = ("osier", "poplar", "rowan", "sorrel")
# Workload -> metric that got slower, by how much, and what explains it.
PLANTED = {
    "osier": ("compiled.wall_ms", "10%, in an operator that eager calls as well"),
    "poplar": ("compiled.wall_ms", "10%, in what is captured only"),
    "rowan": ("compile.cold_s", "about a quarter, in a pass of Inductor"),
}

Found = tuple[dict[str, Any], dict[str, Any]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile", default="standard", choices=("standard", "thorough"))
    parser.add_argument(
        "--workload", action="append", metavar="GLOB", help="beside the slower ones; default eight"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the database and the reports here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="upgrades-") as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        upgraded = upgrade(
            folder,
            *("--workloads", str(HERE / "times.py"), "--profile", arguments.profile, "--max-buckets", "1"),
            *(word for name in (*TREES, *(arguments.workload or USUAL)) for word in ("--workload", name)),
            timeout=None,
            quiet=False,
        )
        took_s = time.monotonic() - begun
        if upgraded.done.returncode not in (0, 1):
            raise SystemExit(f"the upgrade ended with {upgraded.done.returncode}: {upgraded.done.stdout}")
        missed, false = show(upgraded)
    print(f"took {took_s / 60:.0f} min; missed {missed} of {len(PLANTED)}, {false} false")
    return 1 if missed or false else 0


def show(upgraded: Upgraded) -> tuple[int, int]:
    """Print what was found; (planted ones missed, other regressions that were called confirmed)."""
    print(upgraded.verdicts["answer_text"])
    times = list(gating_times(upgraded.verdicts["cells"]))
    planted = [one for one in times if is_planted(*one)]
    others = [one for one in times if not is_planted(*one)]
    print("\nmade slower:")
    for cell, finding in planted:
        _, made = PLANTED[cell["cell"]["workload"]]
        print(f"  {line(cell, finding)}; made: {made}")
    print("\nnot touched:")
    for cell, finding in others:
        print(f"  {line(cell, finding)}")
    counts = Counter(finding["verdict"] for _, finding in others)
    print(
        f"\nof {len(others)} times that were not touched: "
        + ", ".join(
            f"{count} {verdict} ({count / len(others):.0%})" for verdict, count in counts.most_common()
        )
    )
    unsure = [finding for _, finding in others if "rerun_disagreed" in finding["reasons"]]
    print(f"{len(unsure)} of them looked different in the first stage only")
    found = sum(1 for _, finding in planted if confirmed(finding))
    return len(PLANTED) - found, sum(1 for _, finding in others if confirmed(finding)) + other_claims(
        upgraded
    )


def gating_times(cells: Sequence[dict[str, Any]]) -> Iterator[Found]:
    """Each finding about a time that counts for the answer, with its cell."""
    for cell in sorted(cells, key=lambda one: str(one["cell"]["workload"])):
        for finding in cell["findings"]:
            if finding["kind"] == "time" and finding["gating"]:
                yield cell, finding


def is_planted(cell: dict[str, Any], finding: dict[str, Any]) -> bool:
    metric, _ = PLANTED.get(cell["cell"]["workload"], ("", ""))
    return bool(finding["metric"] == metric)


def confirmed(finding: dict[str, Any]) -> bool:
    return finding["verdict"] == "regressed" and finding["confirmed"] is True


def other_claims(upgraded: Upgraded) -> int:
    """Confirmed regressions that are not about a time: there is none to be found."""
    return sum(
        finding["verdict"] in ("regressed", "newly_failing") and finding["confirmed"] is True
        for cell in upgraded.verdicts["cells"]
        for finding in cell["findings"]
        if finding["kind"] != "time" and finding["gating"]
    )


def line(cell: dict[str, Any], finding: dict[str, Any]) -> str:
    """One finding on one line: verdict, ratio with its interval, and why."""
    words = [f"{cell['cell']['workload']:26} {finding['metric']:22} {finding['verdict']}"]
    estimate = finding["rerun"] or finding["estimate"]
    if estimate:
        words.append(
            f"{estimate['ratio']:.3f} ({estimate['low']:.3f} to {estimate['high']:.3f} at {estimate['confidence']:.0%})"
        )
    if finding["more_replicas"]:
        words.append(f"{finding['more_replicas']} more replicas")
    cause = finding["cause"]
    if cause:
        words.append(f"{cause['code'] or 'cause unknown'}, layer {cause['layer'] or 'unknown'}")
    words += finding["reasons"]
    return ", ".join(words)


if __name__ == "__main__":
    raise SystemExit(main())
