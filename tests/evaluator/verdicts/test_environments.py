"""What moved between two environments, and how many things may be blamed."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.verdicts.environments import dependencies, different_builds, moved, warnings_of
from tests.evaluator.verdicts.given import FIELDS, NEXT_TORCH


def changed(**changes: Any) -> dict[str, Any]:
    return {**FIELDS, **changes}


def blamed(**changes: Any) -> tuple[str, ...]:
    return dependencies(moved(FIELDS, changed(**changes)))


def test_equal_fingerprints_have_nothing_that_moved() -> None:
    assert moved(FIELDS, dict(FIELDS)) == ()


def test_the_second_copy_of_one_interpreter_is_the_same_environment() -> None:
    assert moved(FIELDS, changed(copy=2)) == ()


def test_torch_with_its_build_and_its_triton_is_one_dependency() -> None:
    found = moved(FIELDS, changed(**NEXT_TORCH))
    assert {one.field for one in found} == {"torch", "torch_git", "built_cuda", "triton"}
    assert dependencies(found) == ("torch",)
    torch = next(one for one in found if one.field == "torch")
    assert (torch.base, torch.candidate) == ("2.13.0+cpu", "2.14.1+cu130")


def test_another_build_of_one_version_is_torch_too() -> None:
    assert blamed(torch_git="1234") == ("torch",)


def test_triton_that_a_workload_uses_follows_torch_as_well() -> None:
    ours = {**FIELDS, "libraries": {"triton": "3.7.1"}}
    theirs = {**ours, **NEXT_TORCH, "libraries": {"triton": "3.8.0"}}
    assert dependencies(moved(ours, theirs)) == ("torch",)
    # Where torch is the same it is one by itself, and where a side was not asked it blames nothing.
    assert dependencies(moved(ours, {**ours, "libraries": {"triton": "3.8.0"}})) == ("triton",)
    assert (
        dependencies(moved(FIELDS, {**FIELDS, "libraries": {**FIELDS["libraries"], "triton": "3.8.0"}})) == ()
    )


def test_triton_is_a_dependency_of_its_own_where_torch_is_the_same() -> None:
    assert blamed(triton="3.8.0") == ("triton",)
    assert blamed(triton=None) == ("triton",)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"libraries": {"numpy": "2.4.6", "transformers": "5.20.0"}}, ("transformers",)),
        ({"libraries": {"numpy": "2.5.0", "transformers": "5.20.0"}}, ("numpy", "transformers")),
        ({"libraries": {"numpy": "2.4.6", "transformers": None}}, ("transformers",)),
        ({"variables": {"PACK_SLOW": "1"}}, ("PACK_SLOW",)),
        ({"python": "3.12.1"}, ("python",)),
        ({"python": "3.12.1", "python_implementation": "pypy"}, ("python",)),
        ({"driver": "570.1"}, ("driver",)),
        ({"compiler": "g++ 13"}, ("compiler",)),
        ({"something_new": 1}, ("something_new",)),
    ],
)
def test_each_other_thing_is_one_dependency(changes: dict[str, Any], names: tuple[str, ...]) -> None:
    assert blamed(**changes) == names


@pytest.mark.parametrize("field", ["cpu_model", "cpu_count", "cpu_affinity", "gpu", "os", "libc"])
def test_the_machine_is_no_dependency(field: str) -> None:
    found = moved(FIELDS, changed(**{field: "other"}))
    assert [one.field for one in found] == [field]
    assert dependencies(found) == ()


def test_a_library_that_one_side_was_not_asked_for_is_shown_and_not_blamed() -> None:
    found = moved(FIELDS, changed(libraries={"numpy": "2.4.6"}))
    assert [(one.field, one.base, one.candidate, one.dependency) for one in found] == [
        ("libraries.transformers", "5.24.0", None, None)
    ]


def test_a_variable_that_is_set_on_one_side_moved() -> None:
    (found,) = moved(FIELDS, changed(variables={"PACK_SLOW": "1"}))
    assert (found.field, found.base, found.candidate) == ("variables.PACK_SLOW", None, "1")


def test_threads_follow_what_sets_them() -> None:
    assert blamed(threads=1) == ("threads",)
    assert blamed(threads=1, variables={"OMP_NUM_THREADS": "1"}) == ("OMP_NUM_THREADS",)
    assert blamed(threads=1, cpu_affinity=1) == ()
    assert blamed(**NEXT_TORCH, threads=1) == ("torch",)


def test_the_vector_instructions_torch_uses_are_its_choice_on_one_processor() -> None:
    assert blamed(**NEXT_TORCH, cpu_capability="AVX2") == ("torch",)
    assert blamed(cpu_model="other", cpu_capability="AVX2") == ()


def test_what_is_blamed_comes_first_and_torch_before_all() -> None:
    other = changed(**NEXT_TORCH, os="Linux 7", libraries={"numpy": "3", "transformers": "5.24.0"})
    found = moved(FIELDS, other)
    assert found[0].dependency == "torch"
    assert [one.dependency for one in found][-2:] == ["numpy", None]


@pytest.mark.parametrize(
    ("base", "candidate", "differ"),
    [
        ({}, {}, False),
        ({}, {"built_cuda": "13.0"}, True),
        ({"built_cuda": "12.6"}, {"built_cuda": "13.0"}, False),
        ({"built_cuda": "12.6"}, {"built_hip": "6.3"}, True),
    ],
)
def test_builds_differ_by_their_device(base: dict[str, Any], candidate: dict[str, Any], differ: bool) -> None:
    assert different_builds(changed(**base), changed(**candidate)) is differ


def test_warnings_name_what_a_reader_must_know_before_any_verdict() -> None:
    other = changed(**NEXT_TORCH, libraries={"numpy": "2.4.6", "transformers": "5.20.0"})
    said = " ".join(warnings_of(moved(FIELDS, other), FIELDS, other, same_machine=False))
    assert "different machines" in said
    assert "torch, transformers" in said
    assert "CPU and CUDA" in said
    (alone,) = warnings_of((), FIELDS, FIELDS, same_machine=True)
    assert "with itself" in alone
    assert warnings_of(moved(FIELDS, changed(torch="2.14.1")), FIELDS, FIELDS, same_machine=True) == ()
