"""The vocabulary of verdicts: one word for what two evaluations say of each other, and codes for why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

Verdict = Literal[
    "newly_failing",
    "regressed",
    "flaky",
    "inconclusive",
    "not_compared",
    "changed",
    "improved",
    "fixed",
    "unchanged",
]

# Worst first: a cell shows the first of its findings' verdicts, and tables sort by it.
VERDICTS: Final[tuple[Verdict, ...]] = (
    "newly_failing",
    "regressed",
    "flaky",
    "inconclusive",
    "not_compared",
    "changed",
    "improved",
    "fixed",
    "unchanged",
)

# Verdicts that a gate may fail on; an improvement never does.
BAD: Final[frozenset[Verdict]] = frozenset({"newly_failing", "regressed"})

# Statuses that leave no result. A wrong one is a matter of accuracy, and one that can't be judged was measured.
FAILED: Final[frozenset[str]] = frozenset(
    {"crashed", "out_of_memory", "timeout", "setup_error", "compile_error", "runtime_error"}
)
# It ran, and its results are wrong.
WRONG: Final = "accuracy_failed"
# Never tried there.
NOT_TRIED: Final[frozenset[str]] = frozenset({"unsupported", "skipped"})

Answer = Literal["Upgrade", "Upgrade except", "Hold", "Not enough evidence"]

# What every target begins with whose code is generated for a card that is not there (codegen:h100).
CODEGEN: Final = "codegen:"
FACTS_ONLY: Final = "facts only: no times on codegen targets"


# As the worker's protocol has it, which this room does not read.
NOT_BUILT: Final = "not built: "


def is_refusal(error: str | None) -> bool:
    """Whether the error of a build is Triton's or ptxas's judgement of the kernel, and no accident of the build."""
    return error is not None and not error.startswith(NOT_BUILT)


def is_codegen(target: str) -> bool:
    """Whether nothing that is generated for this target runs, so that it has neither times nor accuracy."""
    return target.startswith(CODEGEN)


# Classes of a change of a time, by the ratio to 1 in the direction of the change.
Magnitude = Literal["small", "medium", "large"]

# Flag of a round of warm calls -> one sentence. The number of such a round stays, and wherever it is shown the flag is
# shown beside it. The one place they are declared; the evaluator's README shows them.
ROUND_FLAGS: Final[dict[str, str]] = {
    "noisy": "rounds within a process spread widely",
    "throttled": "heat or power held the GPU's clocks down in some rounds",
    "shared_gpu": "another process was on the GPU in some rounds",
    "host_bound": "the GPU had nothing to do between launches in some rounds: the host was not fast enough",
    "queue_full": "so many launches were queued in some rounds that submitting another had to wait for the GPU",
    "new_segments": "memory was newly taken from the GPU in some rounds",
    "streams_unseen": "which streams the work ran on could not be looked at",
}
# Before a number: of rounds that spread widely, and of those that any other flag qualifies.
NOISY_MARK: Final = "~"
FLAG_MARK: Final = "*"


def accuracy_text(verdict: str | None, reason: str | None) -> str:
    """An accuracy verdict in a few words: beside a pass, how many leaves it leaves out. Empty where there is none.

    ``reason`` is the one recorded with it, which begins with that count where a pass has one.
    """
    left_out = (reason or "").partition(":")[0] if verdict == "pass" else ""
    return ", ".join(part for part in ((verdict or "").replace("_", " "), left_out) if part)


def round_flags(said: Iterable[str]) -> list[str]:
    """Those of these flags, or codes of reasons, that qualify rounds, in the order of the table."""
    known = frozenset(said)
    return [flag for flag in ROUND_FLAGS if flag in known]


def precision_said(variant: str | None, workload: str | None) -> str | None:
    """Which float32 precision a variant sets, and what the workload itself asks for; None where the variant sets none."""
    if variant is None:
        return None
    own = f", where the workload itself asks for {workload}" if workload not in (None, variant) else ""
    return f"float32 precision {variant}, as the variant says{own}"


def marks(said: Iterable[str]) -> str:
    """What stands before a number with these flags, or with these reasons; empty where nothing qualifies its rounds."""
    found = round_flags(said)
    noisy = NOISY_MARK if "noisy" in found else ""
    return f"{noisy}{FLAG_MARK}" if set(found) - {"noisy"} else noisy


# code -> one sentence. The one place a reason is declared; the evaluator's README shows them.
REASONS: Final[dict[str, str]] = {
    # why a number moved, or did not
    "same_kernels": "both sides generated the same kernels: what moved is not code generation",
    "kernels_changed": "other kernels were generated",
    "launch_changed": "the same kernels are launched otherwise",
    "binary_changed": "same source, other machine code: Triton or ptxas moved",
    "fusion_lost": "what was one kernel is now several",
    "fusion_gained": "what was several kernels is now one",
    "new_spill": "a kernel spills registers to memory that did not, or more than it did",
    "kernel_refused": "Triton or ptxas refused a kernel, which so has no numbers",
    "estimate_moved": "Inductor's estimate moved for kernels that did not change",
    "new_break": "a graph break was added",
    "break_gone": "a graph break is gone",
    "new_recompile": "a frame is compiled again that was not before",
    "recompile_gone": "a frame is no longer compiled again",
    "limit_hit": "the recompile limit is hit, so code runs eager",
    "operators_moved": "eager of the same cell moved as well: operators or libraries of torch, not the compiler",
    "same_environment": "the sides are the same environment, so it is the machine or chance",
    "several_dependencies_moved": "more than one dependency moved, so torch alone can't be blamed",
    "cache_missed": "a warm-cache compile found its caches unusable",
    "cache_hit": "a cold compile found something in its caches",
    "new_error": "something is raised, or ends the process, that did not before",
    "layer_moved": "the ladder of backends says where it moved, and nothing else recorded says why",
    "phase_moved": "one phase of the compile explains most of the difference",
    # how sure it is
    "rerun_confirmed": "a fresh rerun found it again",
    "rerun_undecided": "a fresh rerun points the same way, and spreads too widely to be sure",
    "rerun_disagreed": "a fresh rerun did not find it again",
    "not_rerun": "not rerun yet, so unconfirmed",
    "not_interleaved": "the sides were measured at different times and not in turns, so nothing is settled",
    **ROUND_FLAGS,
    "too_few_replicas": "fewer than 4 replicas a side decide nothing",
    "below_margin": "a difference is there, and smaller than the margin that counts",
    "within_noise": "beyond the margin, and no larger than what this machine shows between equal sides",
    "interval_wide": "the interval allows both no change and a change that counts",
    # why it was not compared
    "one_side_failed": "one side has no such measurement because it failed",
    "both_failed": "both sides failed",
    "one_side_missing": "one side did not evaluate this cell",
    "unsupported": "can't be measured on one side",
    "not_measured": "at least one side did not measure it",
    "definition_changed": "the workload's definition differs between the sides",
    "different_machine": "times of different machines are not compared",
    "different_builds": "different builds of torch (CPU and CUDA): imports and host memory differ by that alone",
    "nothing_compiled": "a side compiled nothing",
    "ran_eager": "a side's code ran eager",
    "evidence_lost": "what a side's compiler did is not known: its trace was lost, or does not say",
    "not_comparable": "a side's result can't be judged",
}
