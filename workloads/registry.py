"""How a workload is said: the decorator `workload`, the adapter `module_workload`, and the records they make.

Importing a file that uses them registers its workloads; `workloads.catalog` imports files and collects what
they registered. A registration that makes no sense becomes a problem of that workload alone, so nothing here
raises for what a user wrote, apart from a missing argument.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from workloads import adapter
from workloads.records import (
    PRECISIONS,
    REQUIREMENTS,
    VARIANTS,
    Bucket,
    Inputs,
    Place,
    Target,
    Variant,
    Workload,
)

__all__ = [
    "VARIANTS",
    "Bucket",
    "Inputs",
    "Place",
    "Registration",
    "Target",
    "Variant",
    "Workload",
    "module_workload",
    "registrations",
    "workload",
]

NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

B = TypeVar("B", bound=Callable[..., Any])


@dataclass(frozen=True)
class Registration:
    """One use of the decorator: a workload, or the one sentence that says why it is none."""

    name: str
    place: Place
    workload: Workload | None
    problem: str | None


_registrations: list[Registration] = []


def registrations() -> tuple[Registration, ...]:
    """All registrations of this process, in the order they were made."""
    return tuple(_registrations)


def workload(
    name: str,
    *,
    inputs: Callable[[dict[str, Any], Target], Inputs],
    buckets: Sequence[Mapping[str, Any] | Bucket],
    stands_for: str = "",
    variants: Sequence[Variant] = VARIANTS,
    tolerance: Mapping[str, tuple[float, float]] | None = None,
    training: bool = False,
    grad: bool = False,
    calls: int = 2,
    requires: str | None = None,
    tags: Iterable[str] = (),
    check: Callable[[tuple[Any, ...], dict[str, Any], Any], None] | None = None,
    request: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Target], Any] | None = None,
    repeats: int | None = None,
    precision: str | None = None,
    environment: Sequence[str] = (),
    libraries: Sequence[str] = (),
    place: Place | None = None,
) -> Callable[[B], B]:
    """Register the decorated `build(target)` as a workload; the function itself is returned unchanged.

    See `Workload` for what each argument means. `stands_for` defaults to the first line of the docstring of
    `build`, `place` to where the decorator stands.
    """
    where = place or _caller()

    def register(build: B) -> B:
        try:
            made = Workload(
                name=name,
                stands_for=stands_for or first_paragraph(build),
                build=build,
                inputs=inputs,
                buckets=as_buckets(buckets),
                place=where,
                variants=tuple(variants or ()),
                tolerance=_tolerance(tolerance or {}),
                training=bool(training),
                grad=bool(grad),
                calls=calls,
                requires=requires,
                tags=frozenset(tags),
                check=check,
                request=request,
                repeats=repeats,
                precision=precision,
                environment=tuple(environment),
                libraries=tuple(libraries),
            )
            if not NAME_PATTERN.fullmatch(str(name)):
                raise ValueError(
                    f"the name {name!r} may hold letters, digits, dots, dashes and underscores only"
                )
            validate(made)
        except (TypeError, ValueError) as error:
            _registrations.append(Registration(str(name), where, None, str(error)))
        else:
            _registrations.append(Registration(name, where, made, None))
        return build

    return register


def module_workload(
    name: str,
    factory: Callable[[], Any],
    sample_inputs: Callable[..., Any],
    *,
    buckets: Sequence[Mapping[str, Any] | Bucket] = ({},),
    training: bool = False,
    place: Place | None = None,
    **options: Any,
) -> None:
    """Register the module that `factory()` returns; `sample_inputs(**bucket)` returns what it is called with.

    The module is moved to the target and put in train or eval mode. Sample inputs are one argument, a tuple of
    positional or a dict of keyword arguments, made on the CPU. `options` are the other arguments of `workload`.
    """
    register = workload(
        name,
        inputs=partial(adapter.inputs_from_sample, sample_inputs),
        buckets=buckets,
        training=training,
        place=place or _caller(),
        **options,
    )
    register(partial(adapter.build_from_factory, factory, training))


def as_buckets(buckets: Sequence[Mapping[str, Any] | Bucket]) -> tuple[Bucket, ...]:
    """The buckets in their order; ValueError with one sentence where they make no sense."""
    if not isinstance(buckets, (list, tuple)):
        raise ValueError(f"the buckets must be a list of dicts, not {type(buckets).__name__}")
    made = []
    for bucket in buckets:
        if isinstance(bucket, Bucket):
            made.append(bucket)
        elif isinstance(bucket, Mapping):
            made.append(Bucket.of(bucket))
        else:
            raise ValueError(
                f"a bucket must be a dict of parameters, not {type(bucket).__name__} ({bucket!r:.60})"
            )
    names = [bucket.name for bucket in made]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not made:
        raise ValueError("there are no buckets; a workload with one shape has buckets=[{}]")
    if twice:
        raise ValueError(f"two buckets have the same name: {twice[0]}")
    return tuple(made)


def validate(made: Workload) -> None:
    """ValueError with one sentence where the workload can't be evaluated as it is said."""
    for role in ("build", "inputs"):
        if not callable(getattr(made, role)):
            raise ValueError(f"{role} must be callable, not {type(getattr(made, role)).__name__}")
    for role in ("check", "request"):
        if getattr(made, role) is not None and not callable(getattr(made, role)):
            raise ValueError(f"{role} must be callable, not {type(getattr(made, role)).__name__}")
    if made.request is not None and made.training:
        raise ValueError("a workload that trains serves no request: leave out request or training")
    for field_name, value in (("calls", made.calls), ("repeats", made.repeats)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise ValueError(f"{field_name} must be a whole number of at least 1, not {value!r}")
    for need in (made.requires, *(bucket.requires for bucket in made.buckets)):
        if need not in (None, *REQUIREMENTS):
            raise ValueError(f"requires must be 'gpu', 'cuda' or absent, not {need!r}")
    if not made.variants or not all(isinstance(variant, Variant) for variant in made.variants):
        raise ValueError("variants must be a list of at least one workloads.registry.Variant")
    if len({variant.name for variant in made.variants}) < len(made.variants):
        raise ValueError("two variants have the same name")
    for precision in (made.precision, *(variant.precision for variant in made.variants)):
        if precision not in (None, *PRECISIONS):
            raise ValueError(f"precision must be 'ieee', 'tf32' or absent, not {precision!r}")


def first_paragraph(documented: object) -> str:
    """The first paragraph of the docstring on one line, or an empty text."""
    text = getattr(documented, "__doc__", None)
    if isinstance(documented, partial) or not isinstance(text, str):
        return ""
    return " ".join(text.strip().split("\n\n")[0].split())


def _tolerance(given: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    made = {}
    for dtype, pair in given.items():
        if len(pair) != 2 or min(pair) < 0:
            raise ValueError(f"the tolerance of {dtype} must be (rtol, atol), both at least 0, not {pair!r}")
        made[str(dtype)] = (float(pair[0]), float(pair[1]))
    return made


def _caller() -> Place:
    """Where the function that called us was called from."""
    frame = sys._getframe(2)
    return Place(frame.f_globals.get("__name__", "?"), frame.f_code.co_filename, frame.f_lineno)
