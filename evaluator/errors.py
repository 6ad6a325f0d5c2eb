"""The errors that reach a user as one sentence instead of a traceback."""

from __future__ import annotations


class UserError(Exception):
    """What a user can put right; the message is one sentence that says how. The command exits with 2."""


class BrokenSetUp(UserError):
    """A run that began can't go on (no server starts, the database went away). What is recorded stays."""


class NothingSelected(UserError):
    """A selection that is right in each of its parts and matches no cell."""
