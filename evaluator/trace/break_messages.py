"""Takes apart the text that torch logs for a graph break. Any wording gives a record: what is not found stays empty."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from evaluator.trace.log import Frame
from evaluator.trace.places import Places, user_function

_SITE: Final = re.compile(r"^Graph break in user code at (.+):(\d+)$", re.MULTILINE)
_REASON: Final = re.compile(r"^(?:Graph Break Reason|Reason): ?", re.MULTILINE)
_STACK_STARTS: Final = re.compile(
    r"^(?:User code traceback:|The graph break occurred in the following user code:)", re.MULTILINE
)
_INTERNAL_STACK: Final = re.compile(r"^Traceback \(most recent call last\):", re.MULTILINE)
_FRAME: Final = re.compile(r'^  File "(.+)", line (\d+), in (\S+)(?:\n    (?! *File)(.*))?', re.MULTILINE)
_RAISED: Final = re.compile(r"^torch\._dynamo\.exc\.\w+: ", re.MULTILINE)
_ID: Final = re.compile(r"/(gb\d+)\.html")
_NESTED: Final = re.compile(
    r"\n*\*{3} While handling this graph break, another graph break occurred: \*{3}\n*"
)
_SKIPPED: Final = re.compile(r"Skipping the function and falling back to eager|will skip tracing the frame")
# What torch says before the reason itself, followed by an empty line.
_PREAMBLE: Final = re.compile(r"^(?:Encountered graph break when|Failed to handle graph break)[^\n]*\n\s*")
_LABEL: Final = re.compile(r"^  (Explanation|Hint|Developer debug context): ?(.*)$")
_LINK: Final = "For more details about this graph break"
# The process server's own frames stand between the interpreter's start and the workload: they explain nothing.
_HARNESS: Final = "evaluator/worker/"


@dataclass(frozen=True)
class BreakMessage:
    """A break's message taken apart: torch's headline, its explanation, hints, debug context and site id."""

    headline: str
    explanation: str | None
    hints: tuple[str, ...]
    context: str | None
    id: str | None

    @property
    def reason(self) -> str:
        """The headline and the first line of the explanation: the headline alone often names no construct."""
        first = (self.explanation or "").split("\n", 1)[0].strip()
        return f"{self.headline}: {first}" if first else self.headline


@dataclass(frozen=True)
class BreakText:
    """A logged break: where it is (empty and 0 where torch names no place), why, and how torch went on.

    ``then`` is what went wrong while torch handled the break; ``skipped_frame`` says that the frame runs eager.
    """

    message: BreakMessage
    then: BreakMessage | None
    file: str
    line: int
    function: str | None
    stack: tuple[Frame, ...]
    skipped_frame: bool


def parse_break(payload: str, places: Places) -> BreakText:
    """The payload of a ``dynamo_graph_break_reason`` artifact."""
    user_part, internal_part = _split(payload, _INTERNAL_STACK)
    head, stack_part = _split(user_part, _STACK_STARTS)
    frames = parse_stack(stack_part or head, places)
    site = _SITE.search(head)
    if site:
        file, line = places.file(site[1]), int(site[2])
    elif frames:
        file, line = frames[-1].file, frames[-1].line
    else:
        file, line = "", 0
    at_site = [frame for frame in frames if (frame.file, frame.line) == (file, line)]
    innermost = at_site[-1] if at_site else frames[-1] if frames else None
    message, then = parse_messages(_reason_text(head, internal_part), places)
    return BreakText(
        message=message,
        then=then,
        file=file,
        line=line,
        function=user_function(innermost.function) if innermost else None,
        stack=frames,
        skipped_frame=bool(_SKIPPED.search(head)),
    )


def parse_messages(text: str, places: Places) -> tuple[BreakMessage, BreakMessage | None]:
    """The break's message, and the one of the break that followed while torch handled it."""
    text = _PREAMBLE.sub("", text.lstrip("\n"))
    first, *nested = _NESTED.split(text)
    return _message(first, places), _message(nested[0], places) if nested else None


def parse_stack(text: str, places: Places) -> tuple[Frame, ...]:
    """The frames of a formatted Python stack, outermost first, without the process server's own."""
    frames = [
        Frame(places.file(file), int(line), function, code.strip() or None)
        for file, line, function, code in _FRAME.findall(text)
    ]
    harness = [index for index, frame in enumerate(frames) if frame.file.startswith(_HARNESS)]
    return tuple(frames[harness[-1] + 1 :] if harness else frames)


def _message(text: str, places: Places) -> BreakMessage:
    """A headline, then ``Explanation``, ``Hint`` and ``Developer debug context`` with deeper indented lines after."""
    text = places.text(text.strip("\n"))
    identity = _ID.search(text)
    parts: dict[str, list[str]] = {"": [], "Explanation": [], "Hint": [], "Developer debug context": []}
    current = ""
    for line in text.split("\n"):
        if line.strip().startswith(_LINK):
            break
        label = _LABEL.match(line)
        if label:
            current = label[1]
            parts[current].append(label[2])
        elif parts[current]:
            parts[current][-1] += f"\n{line.strip()}"
        else:
            parts[current].append(line.strip())
    headline = "\n".join(parts[""]).strip().split("\n", 1)[0]
    return BreakMessage(
        headline=headline or "unknown reason",
        explanation=_joined(parts["Explanation"]),
        hints=tuple(hint.strip() for hint in parts["Hint"] if hint.strip()),
        context=_joined(parts["Developer debug context"]),
        id=identity[1] if identity else None,
    )


def _reason_text(head: str, internal_part: str) -> str:
    reason = _REASON.search(head)
    if reason:
        return head[reason.end() :]
    raised = list(_RAISED.finditer(internal_part))
    return internal_part[raised[-1].end() :] if raised else ""


def _split(text: str, at: re.Pattern[str]) -> tuple[str, str]:
    found = at.search(text)
    return (text[: found.start()], text[found.end() :]) if found else (text, "")


def _joined(parts: list[str]) -> str | None:
    return "\n".join(parts).strip() or None
