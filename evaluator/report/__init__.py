"""Reports of a comparison: text, Markdown, HTML, JSON and JUnit from the same verdicts, and the exit code they mean."""

from evaluator.report.context import Context
from evaluator.report.files import render, write_reports
from evaluator.report.outcome import Gate, exit_code, parse_gate
from evaluator.report.recorded import context_of

__all__ = ["Context", "Gate", "context_of", "exit_code", "parse_gate", "render", "write_reports"]
