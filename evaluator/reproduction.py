"""A stand-alone script that shows again what an evaluation recorded, from what the database holds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from evaluator.carried import LEAVES, carried, entries, registry
from evaluator.errors import UserError
from evaluator.printable import flat, printable
from evaluator.verdicts.reproducible import SHOWN_ON_CPU, why_not
from evaluator.verdicts.words import is_codegen

_WORKER: Final = Path(__file__).parent / "worker"
# The last one imports the others, which the script has no need to.
_DRIVER: Final = ("repro_float64.py", "repro_backward.py", "repro_leaves.py", "repro_trace.py", "repro.py")
_IMPORTS_DRIVER: Final = re.compile(
    r"^from evaluator\.worker\.repro_\w+ import (\([^)]*\)|.*)\n", re.MULTILINE
)
# The one variant of a plain file that says its arguments of torch.compile; a rung of it has others.
PLAIN_VARIANT: Final = "default"
_OWN_OPTIONS: Final = """if "COMPILE" in globals():
    REPRO_SPEC["options"] = dict(COMPILE)
"""
# Breaks, recompiles and graphs are the same wherever the code is generated for.
_CARD: Final = f"""Recorded for {{target}}, a card that was not there. This script compiles for the CPU:
{SHOWN_ON_CPU} show again, the card's kernels do not; those are in `python -m evaluator show`.
"""
_PACKAGE: Final = "repro_evaluator"
# A source that could not be cut out of its file brings the file whole, with its registration.
_REGISTRY: Final = """
# ---- what the workload registers itself with -------------------------------------------------------------

repro_unpack({{
{files}
}})
"""
_FUTURE: Final = re.compile(r"^from __future__ import .*\n", re.MULTILINE)

_SCRIPT: Final = '''"""{title}

Recorded: {status}{reason}
Environment: torch {torch}, Triton {triton}, Python {python}, {cpu}
{card}Needs torch{libraries}. Run it with the interpreter of the torch in question:

    python {name}
"""
{future}
import atexit as repro_atexit
import importlib as repro_importlib
import os as repro_os
import shutil as repro_shutil
import sys as repro_sys
import tempfile as repro_tempfile

# Before torch is imported: the trace that tells what the compiler did, caches of this script's own, no GPU for
# a CPU result, and no downloads. REPRO_KEEP=1 keeps the folder with the trace, which tlparse opens.
#
# What the script brings of the evaluator goes into that folder too.
REPRO_FOLDER = repro_tempfile.mkdtemp(prefix="repro-")
if not repro_os.environ.get("REPRO_KEEP"):
    repro_atexit.register(repro_shutil.rmtree, REPRO_FOLDER, True)
repro_os.environ["TORCH_TRACE"] = REPRO_FOLDER + "/trace"
repro_os.environ["TORCHINDUCTOR_CACHE_DIR"] = REPRO_FOLDER + "/cache"
repro_os.environ["TRITON_CACHE_DIR"] = REPRO_FOLDER + "/triton"
repro_os.environ["HF_HUB_OFFLINE"] = "1"
{hide_gpu}{variables}repro_sys.path.insert(0, REPRO_FOLDER + "/carried")


def repro_unpack(files):
    for name, text in files.items():
        path = repro_os.path.join(REPRO_FOLDER, "carried", name)
        repro_os.makedirs(repro_os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    repro_importlib.invalidate_caches()

{registry}
# ---- the workload, as it was evaluated -------------------------------------------------------------------

{source}

# ---- what opens its outputs and finds its state, as it was evaluated -------------------------------------

repro_unpack({{
{leaves}
}})

# ---- what runs it ----------------------------------------------------------------------------------------

{driver}

REPRO_SPEC = json.loads(r"""{spec}""")
REPRO_SPEC["trace_dir"] = REPRO_FOLDER + "/trace"
{own_options}
if __name__ == "__main__":
    repro_main(REPRO_SPEC, globals())
'''


def script(document: dict[str, Any], name: str = "repro.py") -> str:
    """The script's text for one evaluation.

    ``document``: what `db.queries.repro.evaluation` returns. Raises UserError where the workload's source was
    not kept, so that nothing can be reproduced from the database alone, or where nothing was recorded that a
    script could show again.
    """
    workload, environment = document["workload"], document["environment"]
    if not workload["source"]:
        raise UserError(
            f"evaluation {document['id']} kept no source of {workload['name']}, so there is nothing to reproduce"
        )
    why = why_not(document["target"], document["status"], (document["error"] or {}).get("type"))
    if why is not None:
        raise UserError(f"evaluation {document['id']} has nothing that a script would show again: {why}")
    spec = {
        "workload": workload["name"],
        "target": document["target"],
        "buckets": document["buckets"],
        "options": document["options"],
        "training": workload["training"],
        "grad": workload["grad"],
        "calls": workload["calls"],
        "precision": document["precision"]["set"],
        "seed": document["seed"],
        "recorded": {
            "torch": environment["torch"],
            "facts": document["facts"],
            "eager_error": _error(document["error"], eager=True),
            "compiled_error": _error(document["error"], eager=False),
            "accuracy": document["accuracy"],
            "failed": _failed(document),
        },
    }
    libraries = "".join(
        f", {library} {version}" for library, version in document["libraries"].items() if version
    )
    declared = {key: environment["variables"].get(key) for key in workload["variables"]}
    ours = registry(workload["source"])
    future = _FUTURE.findall(workload["source"])
    return _SCRIPT.format(
        # Only where the source has it: it turns annotations into text, and custom operators read theirs.
        future=f"\n{future[0].strip()}\n" if future else "",
        title=_one_line(f"{workload['name']}, bucket {document['bucket']}, variant {document['variant']}."),
        status=document["status"],
        reason=f" ({_one_line(document['reason'])})" if document["reason"] else "",
        torch=environment["torch"],
        triton=environment["triton"] or "none",
        python=environment["python"],
        cpu=environment["cpu_model"],
        card=_CARD.format(target=document["target"]) if is_codegen(document["target"]) else "",
        libraries=libraries,
        name=name,
        hide_gpu="" if document["target"] == "cuda" else 'repro_os.environ["CUDA_VISIBLE_DEVICES"] = ""\n',
        variables="".join(
            f"repro_os.environ[{key!r}] = {value!r}\n" for key, value in declared.items() if value is not None
        ),
        registry=_REGISTRY.format(files=entries(ours)) if ours else "",
        source=_without_future(workload["source"]),
        leaves=entries(_renamed(carried(LEAVES))),
        driver="\n\n\n".join(_without_future(_driver(name)) for name in _DRIVER),
        own_options=_OWN_OPTIONS if document["variant"] == PLAIN_VARIANT else "",
        spec=json.dumps(spec, indent=1, sort_keys=True),
    )


def _failed(document: dict[str, Any]) -> dict[str, Any] | None:
    """The leaf that made the accuracy fail, and what was said of it; None where it did not fail."""
    details = (document["accuracy_series"].get("default") or {}).get("details") or {}
    if document["status"] != "accuracy_failed" or not details.get("worst_leaf"):
        return None
    return {"leaf": details["worst_leaf"], "reason": details.get("reason")}


def _driver(name: str) -> str:
    return _imports_renamed(_IMPORTS_DRIVER.sub("", (_WORKER / name).read_text()))


def _renamed(files: dict[str, str]) -> dict[str, str]:
    """The files in one package of a name that no library of a workload's has."""
    found = {f"{_PACKAGE}/{Path(path).name}": _imports_renamed(text) for path, text in files.items()}
    return {f"{_PACKAGE}/__init__.py": "", **found}


def _imports_renamed(text: str) -> str:
    return text.replace("from evaluator.worker.", f"from {_PACKAGE}.")


def _without_future(text: str) -> str:
    """The text without ``from __future__`` lines: the script has one, where Python wants it."""
    return _FUTURE.sub("", text).strip()


def _error(error: dict[str, Any] | None, *, eager: bool) -> str | None:
    """A recorded error as one line, if it is eager's (which the message says) or the compiled call's."""
    message = str((error or {}).get("message") or "")
    if error is None or message.startswith("EAGER: ") is not eager:
        return None
    first = next((line for line in message.splitlines() if line.strip()), "")
    return f"{error.get('type')}: {first.removeprefix('EAGER: ').strip()}"


def _one_line(text: str) -> str:
    return printable(flat(text)).replace("\\", "\\\\").replace('"""', "'''")
