"""What a workload is: the records that the registry makes and the worker reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

# Modules made from a path, rather than imported by name, carry this prefix: a file called `json.py` or
# `torch.py` must not take the place of the real one.
PATH_MODULE_PREFIX: Final = "workload_file_"
# A bucket's name is a label in tables and in URLs; one with a long list in it is cut and told apart by a digest.
BUCKET_NAME_LIMIT: Final = 80
# What a workload, a variant or a bucket may require: a GPU's code, which can be generated where none is, or CUDA.
REQUIREMENTS: Final = ("gpu", "cuda")
# What stands between a variant's name and a backend in the name of a rung.
RUNG_SEPARATOR: Final = "+"
# Float32 precisions that a workload or a variant may ask for, by torch's own names.
PRECISIONS: Final = ("ieee", "tf32")
# Backends by how much of the compiler takes part: Dynamo alone, then AOTAutograd as well.
RUNG_BACKENDS: Final = ("eager", "aot_eager")
# Arguments of torch.compile that only its own backend understands.
_BACKEND_ARGUMENTS: Final = frozenset({"backend", "mode", "options"})

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Bucket:
    """One named point of a workload's shape space. `params` is what `inputs` is called with.

    `requires`: what it needs beyond its workload (`"gpu"`: it is sized for one; `"cuda"`), or None.
    """

    name: str
    params: dict[str, Any]
    requires: str | None = None

    @classmethod
    def of(cls, params: Mapping[str, Any], requires: str | None = None) -> Bucket:
        """The bucket named after its parameters, in their order: `batch=8,seq=512`, or `-` for none."""
        name = ",".join(f"{_label(key)}={_label(value)}" for key, value in params.items()) or "-"
        if len(name) > BUCKET_NAME_LIMIT:
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            name = f"{name[: BUCKET_NAME_LIMIT - 9]}~{digest}"
        return cls(name, dict(params), requires)


@dataclass(frozen=True)
class Variant:
    """How a workload is compiled. `options` are keyword arguments of `torch.compile`.

    `evidence_only`: the backend shows what was captured but makes no kernels, so its times claim nothing.
    `requires`: what it needs: `"gpu"` (a real one, or code generated for one), `"cuda"` (a real one), or None.
    `precision`: float32 precision (`"ieee"`, `"tf32"`), in place of the workload's own; None for the workload's.
    """

    name: str
    options: dict[str, Any]
    evidence_only: bool = False
    requires: str | None = None
    precision: str | None = None

    def rungs(self) -> tuple[Variant, ...]:
        """This variant with less of the compiler, one for each backend below its own: `<name>+eager`, ...

        Everything else stays (`dynamic`, `fullgraph`, the precision), so that the times of a variant and its rungs say which
        layer a difference comes from. They are timed even where the variant is not.
        """
        own = self.options.get("backend")
        below = RUNG_BACKENDS[: RUNG_BACKENDS.index(own)] if own in RUNG_BACKENDS else RUNG_BACKENDS
        kept = {name: value for name, value in self.options.items() if name not in _BACKEND_ARGUMENTS}
        return tuple(
            Variant(
                f"{self.name}{RUNG_SEPARATOR}{backend}",
                {**kept, "backend": backend},
                requires=self.requires,
                precision=self.precision,
            )
            for backend in below
        )


# One workload under each precision, in one run. They are no part of a definition: a workload that takes the standard
# variants is the work that it was before there were these.
PRECISION_VARIANTS: Final = tuple(Variant(precision, {}, precision=precision) for precision in PRECISIONS)
VARIANTS: Final[tuple[Variant, ...]] = (
    Variant("default", {}),
    Variant("dynamic", {"dynamic": True}),
    Variant("fullgraph", {"fullgraph": True}),
    Variant("eager", {"backend": "eager"}, evidence_only=True),
    Variant("aot_eager", {"backend": "aot_eager"}, evidence_only=True),
    Variant("reduce-overhead", {"mode": "reduce-overhead"}, requires="cuda"),
    Variant("max-autotune", {"mode": "max-autotune"}, requires="cuda"),
    *PRECISION_VARIANTS,
)


@dataclass(frozen=True)
class Target:
    """Where a workload runs: `name` is `cpu`, `cuda` or `codegen:<gpu>`; `device` is what torch is told."""

    name: str
    device: str


@dataclass(frozen=True)
class Place:
    """Where a workload was registered. `file` is absolute and stays in this process; `str()` of it does not."""

    module: str
    file: str
    line: int

    @property
    def origin(self) -> str:
        """The dotted module, or the file's name for one that was given as a path."""
        return Path(self.file).name if self.module.startswith(PATH_MODULE_PREFIX) else self.module

    def __str__(self) -> str:
        return f"{self.origin}:{self.line}"


@dataclass(frozen=True)
class Workload:
    """A registered callable or module with its inputs, buckets, variants, tolerance, and whether it trains.

    `build(target)` returns the callable or module, once a walk. `inputs(params, target)` returns fresh
    `(args, kwargs)`. `tolerance`: dtype name (`"float32"`) -> (rtol, atol); a dtype that is absent has the
    default one. `grad`: gradients stay on in an inference call. `calls`: calls a bucket in a walk.
    `request(fn, args, kwargs, target)` serves one request: it is given what is called and `inputs` made for the host,
    and returns the output on the host; its time alone is called a latency.
    `check(args, kwargs, output)` raises AssertionError where the output is wrong. `repeats`: calls a timing
    round, None for as many as fill one. `precision`: float32 precision (`"ieee"`, `"tf32"`), set before the build
    where the variant says none. `requires`: as a variant's. `environment`: environment variables that change it. `libraries`: distributions it uses.
    """

    name: str
    stands_for: str
    build: Callable[[Target], Any]
    inputs: Callable[[dict[str, Any], Target], Inputs]
    buckets: tuple[Bucket, ...]
    place: Place
    variants: tuple[Variant, ...] = VARIANTS
    tolerance: dict[str, tuple[float, float]] = field(default_factory=dict)
    training: bool = False
    grad: bool = False
    calls: int = 2
    requires: str | None = None
    tags: frozenset[str] = frozenset()
    check: Callable[[tuple[Any, ...], dict[str, Any], Any], None] | None = None
    request: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Target], Any] | None = None
    repeats: int | None = None
    precision: str | None = None
    environment: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    form: str = "registry"

    def bucket(self, name: str) -> Bucket:
        """The bucket of that name; KeyError where there is none."""
        for bucket in self.buckets:
            if bucket.name == name:
                return bucket
        raise KeyError(
            f"{self.name} has no bucket {name!r}; it has {', '.join(b.name for b in self.buckets)}"
        )

    def variant(self, name: str) -> Variant:
        """The variant, or the rung of one, of that name; KeyError where there is none."""
        for variant in (*self.variants, *self.rungs()):
            if variant.name == name:
                return variant
        raise KeyError(
            f"{self.name} has no variant {name!r}; it has {', '.join(v.name for v in self.variants)}"
        )

    def rungs(self) -> tuple[Variant, ...]:
        """The rungs of all variants, those left out whose name is a variant's. No part of the definition."""
        taken = {variant.name for variant in self.variants}
        return tuple(rung for variant in self.variants for rung in variant.rungs() if rung.name not in taken)


def _label(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "x".join(_label(item) for item in value)
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    # A name is one line in tables, logs and URLs.
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
