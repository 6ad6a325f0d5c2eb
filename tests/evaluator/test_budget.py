"""What fits into a limited time."""

from __future__ import annotations

from evaluator.budget import RESERVE, Group, choose


def group(workload: str, first: float, whole: float | None = None) -> Group:
    return Group(workload, "default", first, first if whole is None else whole)


def names(pairs: tuple[tuple[str, str], ...]) -> list[str]:
    return [workload for workload, _ in pairs]


def test_everything_is_taken_with_all_its_buckets_if_it_fits() -> None:
    # 10 + 30 + 20 s fixed are 60 s, and 30% of 100 s are kept back.
    choice = choose([group("a.x", 5, 10), group("b.y", 10, 30)], 20, 100)
    assert names(choice.only) == ["a.x", "b.y"]
    assert not choice.one_bucket
    assert choice.left_out == ()
    assert choice.seconds == 60


def test_otherwise_first_buckets_and_one_of_each_theme_before_a_second() -> None:
    groups = [group("a.1", 10, 30), group("a.2", 20, 60), group("b.1", 30, 90), group("c.1", 25, 75)]
    # 100 s less the reserve are 70 s: the cheapest of a, c and b are 65 s, and a.2 no longer fits.
    choice = choose(groups, 0, 100)
    assert choice.one_bucket
    assert names(choice.only) == ["a.1", "b.1", "c.1"]
    assert names(choice.left_out) == ["a.2"]
    assert choice.seconds == 65


def test_what_told_something_the_last_time_goes_first() -> None:
    groups = [group("a.1", 10, 30), group("a.2", 40, 60), group("b.1", 30, 90)]
    assert names(choose(groups, 0, 70 / (1 - RESERVE)).only) == ["a.1", "b.1"]
    assert names(choose(groups, 0, 70 / (1 - RESERVE), {"a.2"}).only) == ["a.1", "a.2"]


def test_a_cheaper_one_fills_what_a_dear_one_leaves() -> None:
    groups = [group("a.1", 90), group("b.1", 20)]
    assert names(choose(groups, 0, 60 / (1 - RESERVE), {"a.1"}).only) == ["b.1"]


def test_nothing_fits() -> None:
    choice = choose([group("a.1", 90)], 10, 60)
    assert choice.only == ()
    assert names(choice.left_out) == ["a.1"]
