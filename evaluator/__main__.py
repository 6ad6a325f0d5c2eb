"""``python -m evaluator COMMAND``: one module a command, imported only when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Final

from evaluator import commands
from evaluator.errors import UserError
from evaluator.printable import printable

EXIT_FINE: Final = 0
EXIT_MISUSE: Final = 2
EXIT_INTERRUPTED: Final = 130


def command_modules() -> dict[str, str]:
    """Command name -> module name; a module whose name would shadow a keyword or builtin ends in ``_``."""
    found = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    return {name.rstrip("_").replace("_", "-"): f"{commands.__name__}.{name}" for name in found}


def build_parser(names: Sequence[str]) -> tuple[argparse.ArgumentParser, dict[str, ModuleType]]:
    """A parser that knows these commands, and their modules."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluator",
        description="Evaluates workloads under torch.compile and keeps what the compiler did.",
        epilog="example: python -m evaluator run --tag smoke; each command has its own --help",
        allow_abbrev=False,
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    modules = {}
    for name in names:
        modules[name] = importlib.import_module(command_modules()[name])
        modules[name].add_parser(subparsers)
    return parser, modules


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code. Misuse that argparse finds exits with 2 from here."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    known = command_modules()
    # Only the command that is meant is imported: others may need libraries this interpreter lacks.
    wanted = [arguments[0]] if arguments and arguments[0] in known else list(known)
    parser, modules = build_parser(wanted)
    parsed = parser.parse_args(arguments)
    try:
        return int(modules[parsed.command].run(parsed))
    except UserError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return EXIT_MISUSE
    except ModuleNotFoundError as error:
        print(
            f"error: `{parsed.command}` needs {error.name}: {sys.executable} -m pip install -r requirements.txt",
            file=sys.stderr,
        )
        return EXIT_MISUSE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough.
        sys.stderr.close()
        return EXIT_FINE


if __name__ == "__main__":
    sys.exit(main())
