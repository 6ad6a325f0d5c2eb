"""Whether what a run recorded agrees with what tlparse, the reference reader of torch's trace, makes of the same traces.

    python -m evaluator show RUN --json --db DATABASE > run.json
    python -m tests.benchmarks.tlparse_agreement run.json [--torch 2.13.0]

Reads each traced walk that the run kept, and compares tlparse's counts with the recorded facts, added up over the
buckets of the walk. Prints one line for each workload, then how many agree; exit code 1 where one does not.
tlparse knows nothing of a walk: what a second walk compiled again, what a process that went on after another had died
compiled a second time, and what eager compiled by itself while it was timed (`torch.cond`), is in its counts and not in
the recorded ones. Such a workload is listed apart if our reader agrees with tlparse about the whole logs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluator.trace.evidence import Segment, walk_evidence
from evaluator.trace.log import read_log
from tests.evaluator.trace.tlparse_report import report

Record = dict[str, Any]
Counts = dict[str, int]


def walks(document: Record, torch: str | None) -> dict[tuple[str, ...], list[Record]]:
    """Evaluations by the walk they belong to: workload, variant, torch."""
    found: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for one in document["evaluations"]:
        version = str(one["environment"].get("torch"))
        if torch is None or version.partition("+")[0] == torch:
            found[one["workload"], one["variant"], version].append(one)
    return found


def traces(evaluations: list[Record]) -> list[Path]:
    """The traces of the walk that the facts come from: one, and one more for each process that died in it."""
    paths = [
        artifact["path"]
        for one in evaluations
        for artifact in one["artifacts"]
        if artifact["kind"] == "trace" and artifact["replica"] == 0
    ]
    return [Path(path) for path in dict.fromkeys(paths)]


def compared(tlparse: str, packed: list[Path], folder: Path) -> tuple[Counts, Counts]:
    """tlparse's counts over the traces, and ours of the same whole logs."""
    theirs: Counts = defaultdict(int)
    whole: Counts = defaultdict(int)
    for number, path in enumerate(packed):
        log = folder / f"{number}.log"
        log.write_bytes(gzip.decompress(path.read_bytes()))
        for name, count in asdict(report(tlparse, log, folder / f"{number}")).items():
            theirs[name] += count
        facts = walk_evidence(read_log(log), [Segment("all", 1, 0, 0)])["all"].facts
        for name in theirs:
            whole[name] += int(facts[name] or 0)
    return dict(theirs), dict(whole)


def differing(theirs: Counts, ours: Counts) -> str:
    return ", ".join(
        f"{name} {ours[name]} (tlparse {count})" for name, count in theirs.items() if ours[name] != count
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("document", type=Path, help="what `show --json` printed")
    parser.add_argument("--torch", help="only this version of torch")
    arguments = parser.parse_args()
    beside = str(Path(sys.executable).parent)
    tlparse = shutil.which("tlparse", path=beside) or shutil.which("tlparse")
    if tlparse is None:
        parser.error("tlparse is not installed: pip install -r tests/requirements.txt")
    agree, apart, disagree, without = 0, 0, 0, 0
    for key, evaluations in walks(json.loads(arguments.document.read_text()), arguments.torch).items():
        name = " ".join(key)
        packed = traces(evaluations)
        if not packed:
            without += 1
            print(f"{name}: no trace was kept: {evaluations[0]['status']}")
            continue
        with tempfile.TemporaryDirectory(prefix="compilewatch-") as folder:
            theirs, whole = compared(tlparse, packed, Path(folder))
        ours = {each: sum(int(one["facts"].get(each) or 0) for one in evaluations) for each in theirs}
        again = sum(int(one["facts"].get("second_walk_compiles") or 0) for one in evaluations)
        beyond = differing(theirs, ours)
        wrong = differing(theirs, whole) if beyond else ""
        if wrong:
            disagree += 1
        elif beyond:
            apart += 1
        else:
            agree += 1
        counts = ", ".join(f"{each} {theirs[each]}" for each in ("graphs", "break_events", "recompiles"))
        more = (
            f"; recorded {beyond}: {again} compiles in the second walk, {len(packed)} processes"
            if beyond
            else ""
        )
        print(f"{name}: {f'differs: {wrong}' if wrong else 'agrees'}; {counts}{more}")
    print(f"{agree} agree, {apart} agree in whole logs only, {disagree} differ, {without} have no trace")
    return 1 if disagree else 0


if __name__ == "__main__":
    raise SystemExit(main())
