"""Databases of upgrades for the comparing pages: two environments in one run, measured in turns, and its rerun.

Every number is invented; the scenarios are added to those of ``seed``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from db.store import Store
from tests.app import seed
from tests.app.records import MadeRun, MadeWorkload, Record


@dataclass(frozen=True)
class MadeUpgrade:
    """One run of both environments; ``purpose`` and ``parent`` (a uuid) as the evaluator gives them."""

    base: MadeRun
    candidate: MadeRun
    purpose: str = "upgrade"
    parent: str | None = None

    @property
    def uuid(self) -> str:
        return self.base.uuid

    def records(
        self, of_base: Sequence[MadeWorkload], of_candidate: Sequence[MadeWorkload]
    ) -> Iterable[Record]:
        end: list[Record] = []
        for record in self.base.records(of_base):
            if record["type"] == "run":
                plan = {**record["plan"], "environments": [self.base.hash, self.candidate.hash]}
                yield record | {"purpose": self.purpose, "parent": self.parent, "plan": plan}
            elif record["type"] == "run_finished":
                end.append(record)
            else:
                yield record
        for record in self.candidate.records(of_candidate):
            if record["type"] not in ("run", "run_finished"):
                yield {**record, "run": self.uuid} if "run" in record else record
        yield from end


def made(
    number: int, *, replicas: int = 8, purpose: str = "upgrade", parent: str | None = None
) -> MadeUpgrade:
    """2.13.0 against 2.14.1, with the Triton that each pins; ``number`` must leave room for the one after it."""
    label = "to 2.14" if purpose == "upgrade" else None
    return MadeUpgrade(
        MadeRun("2.13.0+cpu", number, label, "thorough", replicas),
        MadeRun("2.14.1+cpu", number + 1, label, "thorough", replicas, fields={"triton": "3.8.0"}),
        purpose,
        parent,
    )


def write(
    path: Path,
    changes: dict[str, MadeWorkload | None],
    *,
    workloads: Sequence[MadeWorkload] = (),
    rerun: bool = True,
) -> Path:
    """An upgrade of ``workloads`` in which the named ones are as ``changes`` says on the candidate's side (None: not
    evaluated there), and a rerun of those."""
    before = workloads or CALM
    after = [found for one in before if (found := changes.get(one.name, one)) is not None]
    first = made(10)
    again = [one for one in before if changes.get(one.name) is not None]
    second = made(20, purpose="confirm", parent=first.uuid)
    path.parent.mkdir(parents=True, exist_ok=True)
    store = Store(str(path))
    try:
        store.write_many(list(first.records(before, after)))
        if rerun and again:
            store.write_many(list(second.records(again, [one for one in after if one.name in changes])))
    finally:
        store.close()
    return path


# The workloads of ``seed`` that work on both sides.
CALM = (
    replace(seed.POINTWISE, variants=(("default", {}, False),)),
    seed.MATMUL,
    replace(seed.NORM, failures={}),
    seed.BREAKS,
    seed.LLAMA,
    seed.BERT,
    seed.VIT,
)
NEW_BREAK: Record = {
    **seed.PRINT_BREAK,
    "line": 63,
    "function": "attend",
    "reason": "Unsupported context manager",
}


def upgrade(path: Path) -> Path:
    """Slower in one workload of seven, and that confirmed; faster in one; another kernel in one; one side missing."""
    slower = replace(
        seed.LLAMA,
        speed_up=seed.LLAMA.speed_up / 1.14,
        kernels=(
            *seed.LLAMA.kernels[1:],
            seed._kernel("cpp_fused_mean_pow_5", source=seed.SILU_SOURCE.replace("16", "8")),
        ),
    )
    faster = replace(seed.VIT, speed_up=seed.VIT.speed_up * 1.2)
    return write(path, {"models.llama": slower, "models.vit": faster, "models.bert": None})


def all_well(path: Path) -> Path:
    """Nothing changes but the version."""
    return write(path, {})


def hold(path: Path) -> Path:
    """A wrong result that was right, a new break, a recompile, and one that no longer compiles."""
    failing = {("*", "*"): ("cold", "compile_error", "LoweringException: assertion failed in conv layout")}
    return write(
        path,
        {
            "norm.layer_norm": seed.NORM,
            "models.bert": replace(seed.BERT, breaks=(NEW_BREAK,), recompiles=(seed.SIZE_GUARD,)),
            "models.vit": replace(seed.VIT, failures=failing),  # type: ignore[arg-type]
        },
    )


def unconfirmed(path: Path) -> Path:
    """Slower in one workload, with no rerun."""
    return write(path, {"matmul.fp32_1024": replace(seed.MATMUL, speed_up=0.8)}, rerun=False)


def nothing_comparable(path: Path) -> Path:
    """Both sides failed everywhere."""
    broken = {("*", "*"): ("cold", "compile_error", "InvalidCxxCompiler: no working C++ compiler was found")}
    workloads = [replace(one, failures=broken) for one in CALM[:2]]  # type: ignore[arg-type]
    return write(path, {}, workloads=workloads)


def hostile(path: Path) -> Path:
    """Names that would do harm as Markdown or HTML, in a workload that regressed."""
    bad = MadeWorkload(
        seed.HOSTILE_NAME,
        ((seed.HOSTILE_BUCKET, {}),),
        variants=((":red[v] `x` <b>", {"mode": "<b>"}, False),),
        kernels=(seed._kernel(seed.HOSTILE_NAME, source=seed.HOSTILE_MESSAGE),),
    )
    worse = replace(bad, speed_up=1.0, breaks=({**seed.PRINT_BREAK, "reason": seed.HOSTILE_MESSAGE},))
    return write(path, {seed.HOSTILE_NAME: worse}, workloads=(bad, *CALM[:5]))


SCENARIOS = {
    "upgrade": upgrade,
    "all_well": all_well,
    "hold": hold,
    "unconfirmed": unconfirmed,
    "nothing_comparable": nothing_comparable,
    "hostile_upgrade": hostile,
}
