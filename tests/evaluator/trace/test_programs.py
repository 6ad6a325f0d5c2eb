"""Programs with known behaviour: the recorded logs of some, and all of them compiled by the torch at hand."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.trace.evidence import Evidence, walk_evidence
from evaluator.trace.log import parse_log, read_log
from tests.evaluator.trace.expectations import EXPECTED, SITES
from tests.evaluator.trace.recording import RECORDED, recorded, segments_of

PROGRAMS = Path(__file__).with_name("programs.py")
# Guards depend on torch's version and on nothing that a program here decides.
NOT_EXPECTED = ("guards",)


def check(name: str, found: dict[str, Evidence]) -> None:
    """The facts, bucket by bucket, and the places of the breaks."""
    assert list(found) == list(EXPECTED[name])
    for bucket, expected in EXPECTED[name].items():
        facts = {key: value for key, value in found[bucket].facts.items() if key not in NOT_EXPECTED}
        zeros: dict[str, Any] = {key: False if isinstance(value, bool) else 0 for key, value in facts.items()}
        assert facts == zeros | expected, f"{name}, bucket {bucket}"
        lines = SITES.get(name, [])
        assert [item.stack[-1]["code"] for item in found[bucket].breaks] == lines
        assert {item.file.rsplit("/", 1)[-1] for item in found[bucket].breaks} <= {"programs.py"}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_log_gives_the_facts(name: str) -> None:
    log, segments = recorded(name)
    assert (log.unknown, log.damaged, log.truncated) == ({}, 0, False)
    check(name, walk_evidence(log, segments))


@pytest.mark.parametrize("share", [0.0, 0.13, 0.37, 0.5, 0.71, 0.86, 0.999])
@pytest.mark.parametrize("name", RECORDED)
def test_a_log_cut_anywhere_gives_what_happened_until_then(name: str, share: float) -> None:
    log, segments = recorded(name)
    whole = walk_evidence(log, segments)
    end = int(len(log.raw) * share)
    reached = [segment for segment in segments if segment.start <= end]
    part = walk_evidence(parse_log(log.raw[:end]), reached)
    for bucket, evidence in part.items():
        for fact in ("graphs", "compiles", "recompiles", "break_events", "backward_graphs", "cache_misses"):
            assert evidence.facts[fact] <= whole[bucket].facts[fact]
        assert set(evidence.kernels) <= set(whole[bucket].kernels)


def test_recorded_reasons_name_the_guard() -> None:
    log, segments = recorded("integer_argument")
    found = walk_evidence(log, segments)
    for value in range(3, 10):
        [reason] = found[str(value)].recompile_reasons
        assert (reason.reason, reason.guard, reason.function) == (f"k == {value - 1}", "k", "shift")
        assert len(reason.guards) == value - 2  # one entry for each value before
    [refusal] = found["10"].refusals
    assert refusal.reason == "k == 9"


def test_recorded_breaks_name_their_site() -> None:
    log, segments = recorded("break_in_loop")
    [found] = walk_evidence(log, segments)["5"].breaks
    assert found.headline == "Data-dependent branching"
    assert (found.id, found.function, found.skipped_frame) == ("gb0170", "generate", True)
    assert found.then is not None
    assert found.then.startswith("graph break in loop")


def test_recorded_kernels_are_those_of_the_generated_code() -> None:
    # Read off the generated code in the log: a linear layer and tanh, forward and backward.
    expected = [
        ("cpp_fused_tanh_0", "cpp", 1, "forward"),
        ("extern_kernels.addmm", "extern", 1, "forward"),
        ("cpp_fused_tanh_backward_0", "cpp", 1, "backward"),
        ("cpp_fused_sum_1", "cpp", 1, "backward"),
        ("extern_kernels.mm", "extern", 1, "backward"),
    ]
    kernels = {}
    for name in ("trained_cold", "trained_warm"):
        log, segments = recorded(name)
        kernels[name] = walk_evidence(log, segments)["4"].kernels
        found = [(use.kernel.name, use.kernel.kind, use.kernel.calls, use.origin) for use in kernels[name]]
        assert found == expected
    # The cache gives back the same code.
    assert kernels["trained_cold"] == kernels["trained_warm"]


def test_recorded_phases_add_up_to_the_compile() -> None:
    log, segments = recorded("trained_cold")
    phases = walk_evidence(log, segments)["4"].phases
    rows = [event.data for event in log.named("compilation_metrics", "bwd_compilation_metrics")]
    assert phases.total_s == pytest.approx(sum(row["duration_us"] for row in rows) / 1e6, abs=1e-4)
    assert None not in phases.as_dict().values()


def walked(folder: Path, name: str) -> tuple[dict[str, Evidence], dict[str, str]]:
    walk = json.loads((folder / name / "walk.json").read_text())
    [log] = (folder / name).glob("*.log")
    evidence = walk_evidence(
        read_log(log), segments_of(walk), sources=[PROGRAMS], fullgraph=name == "whole_graph"
    )
    return evidence, walk["errors"]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_a_program_compiled_here_gives_the_facts(walks: Path, name: str) -> None:
    found, errors = walked(walks, name)
    check(name, found)
    assert bool(errors) == (name in ("whole_graph", "backend_error"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SITES)
def test_a_break_is_placed_on_its_line(walks: Path, name: str) -> None:
    source = PROGRAMS.read_text().splitlines()
    found, _ = walked(walks, name)
    for evidence in found.values():
        for item in evidence.breaks:
            assert item.file == "programs.py"
            assert source[item.line - 1].strip() == item.stack[-1]["code"]


@pytest.mark.slow
def test_a_break_in_a_library_is_placed_in_the_library(walks: Path) -> None:
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    source = (Path(spec.origin).parent / "optim" / "optimizer.py").read_text().splitlines()
    found, _ = walked(walks, "optimizer_step")
    [site] = found["6"].breaks
    assert site.file == "torch/optim/optimizer.py"
    assert "graph_break" in source[site.line - 1]
    # The step's frame stops at the wrapper around it, and the wrapper's own frame at the same place.
    assert site.events == 2


@pytest.mark.slow
def test_reasons_of_programs_compiled_here(walks: Path) -> None:
    reasons = {
        name: [item for evidence in walked(walks, name)[0].values() for item in evidence.recompile_reasons]
        for name in ("goes_dynamic", "grad_mode", "talkative")
    }
    assert reasons["goes_dynamic"][0].reason == "tensor 'x' size mismatch at index 0. expected 4, actual 6"
    assert [item.guard for item in reasons["goes_dynamic"]] == ["x", "x.size()[0]"]
    assert [item.guard for item in reasons["grad_mode"]] == ["GLOBAL_STATE"]
    assert [(item.guard, item.function) for item in reasons["talkative"]] == [
        ("x", "forward"),
        ("hidden", "forward"),
    ]
    unstable = walked(walks, "counting")[0]["3"].second_walk
    assert [item.guard for item in unstable] == ["self.seen", "self.seen"]


@pytest.mark.slow
def test_failures_of_programs_compiled_here(walks: Path) -> None:
    [whole] = walked(walks, "whole_graph")[0]["5"].failures
    assert whole["type"] == "Unsupported"
    assert whole["message"].startswith("Data-dependent branching")
    assert PROGRAMS.read_text().splitlines()[whole["line"] - 1].strip() == "if x.max() > 1e6:"
    [backend] = walked(walks, "backend_error")[0]["5"].failures
    assert "this backend refuses every graph" in backend["message"]


@pytest.mark.slow
def test_generated_kernels_of_programs_compiled_here(walks: Path) -> None:
    cold, warm = (walked(walks, name)[0]["64"].kernels for name in ("generated_cold", "generated_warm"))
    [use] = cold
    assert use.kernel.name.startswith("cpp_fused_")
    assert (use.kernel.kind, use.kernel.calls, use.origin) == ("cpp", 1, "inference")
    assert cold == warm
