"""The suites that the tags make, and what is told of them."""

from __future__ import annotations

from pathlib import Path

from workloads import catalog

README = Path(__file__).parents[2] / "workloads" / "README.md"


def test_readme_counts_every_suite() -> None:
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in README.read_text().partition("## Suites")[2].partition("\n## ")[0].splitlines()
        if line.startswith("| `")
    ]
    found: dict[str, list[int]] = {}
    for workload in catalog.load().workloads.values():
        small = [one for one in workload.buckets if not (workload.requires or one.requires)]
        for tag in workload.tags:
            found.setdefault(tag, []).append(len(small))
    said = {name.strip("`"): (int(workloads), int(cells)) for name, _, workloads, cells in rows}
    assert said == {tag: (len(cells), sum(cells)) for tag, cells in found.items()}


def test_every_dynamic_workload_has_a_third_size() -> None:
    for workload in catalog.load().workloads.values():
        if "dynamic" in workload.tags and not workload.requires:
            small = [one for one in workload.buckets if not one.requires]
            assert len(small) >= 3, workload.name
