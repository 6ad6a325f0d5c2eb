"""Versions as a requirement compares them; the reference is the packaging library."""

from __future__ import annotations

from itertools import product

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from evaluator.interpreters.versions import canonical, is_version, minor, same_version

VERSIONS = (
    "2.13", "2.13.0", "2.13.0+cpu", "2.13.0+cu130", "2.13.1", "2.13.0rc1", "2.13.0.rc1", "2.13.0.post1",
    "2.13.0.dev20261101", "2.13.0.dev20261101+cpu", "2.13.0a1.dev2", "2.13.10", "2", "2.0.0",
)  # fmt: skip


@pytest.mark.parametrize(("wanted", "found"), list(product(VERSIONS, VERSIONS)))
def test_two_versions_are_the_same_where_a_requirement_says_so(wanted: str, found: str) -> None:
    assert same_version(wanted, found) is SpecifierSet(f"=={wanted}").contains(found, prereleases=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_told_from_other_text(version: str) -> None:
    assert is_version(version)
    assert minor(version) == (Version(version).major, Version(version).minor)


@pytest.mark.parametrize("text", ["", ".", "latest", "2.13.*", ">=2", "2.13 0", "numpy==1.0", "2.13.0+"])
def test_what_is_no_exact_version_is_none(text: str) -> None:
    assert not is_version(text)


@pytest.mark.parametrize("name", ["Flash_Attn", "ruamel.yaml", "a--b", "numpy"])
def test_names_are_spelled_in_one_way(name: str) -> None:
    assert canonical(name) == canonicalize_name(name)
