"""Recorded text as it may stand in a terminal: it must not steer the reader's screen."""

from __future__ import annotations


def printable(line: str) -> str:
    """The line with control characters as spaces."""
    return "".join(sign if sign.isprintable() else " " for sign in line)


def flat(text: str) -> str:
    """Text on one line."""
    return " ".join(text.split())
