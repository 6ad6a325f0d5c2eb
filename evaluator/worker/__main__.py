"""``python -m evaluator.worker``: the process server, started by the controller under the torch under test."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from evaluator.worker import server


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m evaluator.worker",
        description="The process server of the evaluator. `python -m evaluator run` starts it; it is of no use alone.",
    )
    parser.add_argument("--serve", action="store_true", required=True, help="serve requests until they end")
    parser.add_argument(
        "--requests-fd", type=int, required=True, help="open descriptor that requests come from"
    )
    parser.add_argument("--records-fd", type=int, required=True, help="open descriptor that answers go to")
    parser.add_argument("--log", type=Path, required=True, help="file for what is printed outside probes")
    parser.add_argument("--nvml", help="file of pynvml, which reads what an NVIDIA driver says of its GPU")
    return parser.parse_args(argv)


if __name__ == "__main__":
    arguments = _arguments(sys.argv[1:])
    sys.exit(server.main(arguments.requests_fd, arguments.records_fd, arguments.log, arguments.nvml))
