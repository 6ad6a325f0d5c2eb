"""Text of torch without what moves from run to run and version to version: paths, lines, addresses, ids, hashes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from evaluator.verdicts.findings import Estimate

# What torch appends to every error, in words that change with its version and say nothing of this one.
_ADVICE: Final = re.compile(
    r"^\s*(?:Set TORCHDYNAMO_VERBOSE|Set TORCH_LOGS|Use tlparse|You can suppress this exception"
    r"|For more details about this graph break|The above exception was the direct cause).*$",
    re.MULTILINE,
)
_NUMBER_AT_END: Final = re.compile(r"_\d+$")
_CARETS: Final = re.compile(r"^[ \t]*[\^~]+[ \t]*$", re.MULTILINE)
_WEB: Final = re.compile(r"https?://[^\s)'\"]+")
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]+\b")
_OBJECT: Final = re.compile(r"(___check_(?:obj|type)_id\([^,]+, )\d+")
_FILE: Final = re.compile(r"(?<![\w.)\]])(?:~|\.\.?)?/(?:[^\s\"'`:,()<>=]+/)*([^\s\"'`:,()<>=/]*)")
_TEMPORARY: Final = re.compile(r"\btmp[a-z0-9_]{6,}\b|\btorchinductor_\w+")
# Inductor names a module after 52 base-32 digits of its text's hash, after a letter of its own.
_MODULE: Final = re.compile(r"\bc[a-z2-7]{40,}\b")
_HASH: Final = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b")
_LINE: Final = re.compile(r"\bline \d+")
_FILE_LINE: Final = re.compile(r"(\.(?:py|pyx|h|hpp|cpp|cc|cu|so)):\d+(?::\d+)?")
_GENERATED: Final = re.compile(r"(<eval_with_key>)\.\d+")
_RESUMED: Final = re.compile(r"\btorch_dynamo_resume_in_(\w+?)_at_\d+")
_COMPILE_ID: Final = re.compile(r"\[!?\d+/\d+(?:_\d+)?\]")
_PROCESS: Final = re.compile(r"\b(pid|PID|process|Process|thread|Thread)([ =]+)\d+")
_BIG: Final = re.compile(r"\b\d{12,}\b")
# Numbers that a graph gives its values: another lowering numbers them otherwise.
_GRAPH_VALUE: Final = re.compile(r"(%[A-Za-z_]+?)_?\d+\b")
_BUFFER: Final = re.compile(r"\b(buf|primals_|tangents_|arg)\d+(?:_\d+)?\b")
_SPACE: Final = re.compile(r"\s+")


# The same few texts come again in every cell, and there are twenty patterns to look for.
@lru_cache(maxsize=8192)
def normalised(text: str | None) -> str:
    """The text to compare by. A path is reduced to its file's name, so that another folder makes no difference."""
    if not text:
        return ""
    text = _CARETS.sub("", _ADVICE.sub("", text))
    text = _ADDRESS.sub("ADDRESS", _OBJECT.sub(r"\1ADDRESS", _WEB.sub("URL", text)))
    text = _MODULE.sub("MODULE", _FILE.sub(r"\1", text))
    text = _HASH.sub("HASH", _TEMPORARY.sub("TEMPORARY", text))
    text = _FILE_LINE.sub(r"\1:N", _LINE.sub("line N", text))
    text = _RESUMED.sub(r"\1", _GENERATED.sub(r"\1", text))
    text = _PROCESS.sub(r"\1\2N", _COMPILE_ID.sub("[ID]", text))
    text = _BIG.sub("N", _BUFFER.sub(r"\1", _GRAPH_VALUE.sub(r"\1", text)))
    return _SPACE.sub(" ", text).strip()


def one_line(text: str | None, limit: int = 200) -> str:
    """The first line of a text, shortened to so many characters."""
    first = next((line.strip() for line in (text or "").splitlines() if line.strip()), "")
    return first if len(first) <= limit else f"{first[: limit - 4]} ..."


def listed(names: list[str] | tuple[str, ...], most: int = 5) -> str:
    """Names as a sentence has them: ``a, b and c``; beyond ``most`` how many more."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def without_number(name: str) -> str:
    """A generated kernel's name without the number at its end, which says which one of several it is."""
    return _NUMBER_AT_END.sub("", name)


def too_few(more: int) -> str:
    """What fewer replicas than a verdict needs leave to say: without a spread no number is likely to settle it."""
    return f"at least {more} more {'replica' if more == 1 else 'replicas'} a side before anything can be said"


def interval(estimate: Estimate | None) -> str:
    """A ratio with its interval, as findings have it."""
    if estimate is None:
        return "nothing could be told"
    return f"{estimate.ratio:.3f} times ({estimate.low:.3f} to {estimate.high:.3f})"


def size(count: int) -> str:
    """Bytes in units of 1000: ``512 B``, ``3.1 MB``; below zero with its sign."""
    amount, unit = float(abs(count)), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    sign = "-" if count < 0 else ""
    return f"{sign}{amount:.0f} {unit}" if unit == "B" else f"{sign}{amount:.3g} {unit}"
