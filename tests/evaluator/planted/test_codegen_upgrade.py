"""A real upgrade for a card that is not there: a planted loss of fusion and a failing lowering are found, confirmed and
explained without a single time, and the exit code says so."""

from __future__ import annotations

import pytest

from tests.evaluator.planted.upgrading import HERE, Upgraded, upgrade

LIMIT_S = 1200
pytestmark = [pytest.mark.slow, pytest.mark.timeout(LIMIT_S + 60)]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    return upgrade(
        tmp_path_factory.mktemp("upgrade"),
        *("--workloads", str(HERE / "facts.py"), "--no-packs", "--target", "codegen:h100"),
        *("--workload", "elder", "--workload", "hazel", "--workload", "larch"),
        timeout=LIMIT_S,
    )


def test_the_answer_rests_on_facts_alone_and_the_exit_code_says_it(upgraded: Upgraded) -> None:
    assert upgraded.done.returncode == 1, upgraded.done.stderr
    # Two of three workloads.
    assert upgraded.done.stdout.startswith("Hold: ")
    assert "4 of 4 cells compared" in upgraded.done.stdout
    cells = upgraded.verdicts["cells"]
    assert not [one for cell in cells for one in cell["findings"] if one["kind"] == "time"]
    assert "busy" not in upgraded.done.stderr


def test_a_lost_fusion_is_found_confirmed_and_named(upgraded: Upgraded) -> None:
    before, after = (upgraded.recorded[changed]["elder", "-"]["kernels"] for changed in (False, True))
    # A norm over rows is one kernel; under a fusion size of 1 its sums and its result are kernels of their own.
    assert (len(before), len(after)) == (1, 3)
    found = upgraded.finding("bytes_moved", "elder")
    assert (found["verdict"], found["confirmed"]) == ("regressed", True)
    assert (found["base"], found["candidate"]) == tuple(
        sum(kernel["bytes_moved"] for kernel in side) for side in (before, after)
    )
    assert (found["cause"]["code"], found["cause"]["layer"]) == ("fusion_lost", "inductor")
    (lost,) = upgraded.cell("elder")["differences"]["fusions"]
    assert lost["change"] == "lost"
    assert lost["base"] == [one["name"] for one in before]
    assert sorted(lost["candidate"]) == sorted(one["name"] for one in after)
    for one in before:
        assert f"{one['name']} (gone)" in found["text"]


def test_a_lowering_that_fails_is_newly_failing(upgraded: Upgraded) -> None:
    found = upgraded.finding("status", "hazel")
    assert (found["verdict"], found["confirmed"]) == ("newly_failing", True)
    assert "no lowering of relu" in found["text"]


def test_what_did_not_change_stays_quiet(upgraded: Upgraded) -> None:
    for bucket in ("rows=8", "rows=12"):
        assert upgraded.cell("larch", bucket)["verdict"] == "unchanged"
