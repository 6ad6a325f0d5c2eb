"""``doctor``: what this machine and interpreter can measure, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from evaluator import inspection, machine, options
from evaluator.environments import start_server
from evaluator.errors import UserError
from evaluator.inspection import Finding
from evaluator.interpreters.planning import Interpreter
from evaluator.self_test import NOISE_METRICS, measure_noise, measure_planted
from evaluator.table import aligned

EXIT_FINE, EXIT_BROKEN = 0, 2


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = options.command_parser(
        subparsers,
        "doctor",
        "say what this machine and interpreter can measure, what is missing and how to get it",
        "python -m evaluator doctor --selftest",
        "Exit code 2 where something is missing without which nothing can be evaluated, or the self-test is wrong.",
    )
    options.add_database(parser)
    options.add_workloads(parser)
    options.add_pythons(parser)
    parser.add_argument(
        "--selftest",
        action="store_true",
        help="plant known delays, breaks and errors, print what is measured of them, and which effect this machine "
        "can show; takes 5 to 10 minutes",
    )


def run(arguments: argparse.Namespace) -> int:
    pythons = options.pythons(arguments.python)
    sources = list(options.sources(arguments.workloads))
    findings = [*inspection.machine_findings(options.database(arguments)), inspection.compiler_finding()]
    _print("this machine", findings)
    for python in pythons:
        found = list(_interpreter(python, sources, not arguments.no_packs))
        _print(machine.shorten(str(python)), found)
        findings += found
    good = not any(finding.state == "missing" for finding in findings)
    if arguments.selftest:
        if not good:
            raise UserError("the self-test needs what is missing above: get that first")
        for python in pythons:
            good = _self_test(python) and good
    return EXIT_FINE if good else EXIT_BROKEN


def _interpreter(python: Path, sources: list[str], packs: bool) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="compilewatch-") as folder:
        try:
            server = start_server(Interpreter(python), Path(folder) / "t", Path(folder) / "server.log")
        except UserError as error:
            yield Finding("torch", "missing", str(error))
            return
        with server:
            described = server.describe(sources, packs, "cpu")
            yield from inspection.environment_findings(server.hello, described)
            yield inspection.codegen_finding(server.prepare_codegen())


def _print(title: str, findings: list[Finding]) -> None:
    print(title)
    for line in aligned([inspection.as_row(finding) for finding in findings], 0, 0):
        print(f"  {line}")


def _self_test(python: Path) -> bool:
    rows = measure_planted(python)
    print(f"self-test under {machine.shorten(str(python))}")
    for line in aligned([["", "planted", "as", "measured"], *(row for row, _ in rows)], 0, 0):
        print(f"  {line}")
    print("the least effect that this machine shows four times in five (2.8 x sd x sqrt(2 / replicas)):")
    for noise in measure_noise(python):
        print(
            f"  {NOISE_METRICS[noise.metric]}: {noise.detectable(5):.1%} with 5 replicas a side, "
            f"{noise.detectable(8):.1%} with 8; {noise.replicas} replicas of one thing spread by {noise.sd:.1%}, and "
            f"their interleaved halves differ by {noise.difference:+.1%}"
        )
    return all(good for _, good in rows)
