"""What the Workload page is about, and what is read of it when a part is drawn anew."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pandas as pd

from app.data import Database, read
from app.workload.memory import DEVICE_COMPILE, DEVICE_MEMORY, MEMORY
from db.queries import history
from evaluator.verdicts.environments import build_of

# Of one request; only of workloads that serve some.
REQUESTS: Final = ("eager.latency_ms", "compiled.latency_ms")
CALLS: Final = (("eager.stream_ms", "compiled.stream_ms"), ("eager.wall_ms", "compiled.wall_ms"))


@dataclass(frozen=True)
class Shown:
    """What the page is about: ``about`` names it. ``newest``: of each version the newest evaluation of every bucket, with
    its note."""

    database: Database
    about: tuple[str | None, ...]
    newest: pd.DataFrame
    choices: history.Choices
    versions: Sequence[str]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(int(one) for one in self.newest["evaluation"])

    @property
    def rests_on(self) -> tuple[Hashable, ...]:
        """What the charts are drawn from: evaluations, and how far those are that go on. Of most of what is recorded
        meanwhile nothing is drawn, and nothing is drawn anew for it."""
        going_on = tuple(int(one) for one in self.newest.loc[self.newest["status"].isna(), "evaluation"])
        if not going_on:
            return self.ids
        return self.ids, going_on, read(self.database, history.shown_while_going_on, going_on)

    def summary(self, *metrics: str) -> pd.DataFrame:
        """Summaries of these metrics, all replicas' values included."""
        return read(self.database, history.summaries, self.ids, tuple(dict.fromkeys(metrics)))

    def failed(self) -> pd.DataFrame:
        return read(self.database, history.failed_probes, self.ids)

    def with_kernels(self) -> pd.DataFrame:
        """``newest`` with the columns generated and extern, of which none of a walk that has evidence is 0, and those of
        ``history.kernel_costs``."""
        counted = read(self.database, history.kernel_counts, self.ids)
        found = self.newest.merge(counted, on="evaluation", how="left")
        found = found.merge(read(self.database, history.kernel_costs, self.ids), on="evaluation", how="left")
        known = found["graphs"].notna()
        return found.assign(**{name: found[name].fillna(0).where(known) for name in ("generated", "extern")})

    @property
    def builds(self) -> dict[str, str]:
        """Of each version what its torch was built for."""
        fields = (
            self.newest[name].where(self.newest[name].notna(), "") for name in ("built_cuda", "built_hip")
        )
        every = zip(self.newest["torch"], *(one.tolist() for one in fields), strict=True)
        return {torch: build_of({"built_cuda": cuda, "built_hip": hip}) for torch, cuda, hip in every}

    def calls(self) -> tuple[str, str]:
        """Eager's and the compiled call's time: the device's clock where it was read."""
        return CALLS[0] if self._timed & set(CALLS[0]) else CALLS[1]

    def serves(self) -> bool:
        """Whether requests were timed."""
        return bool(self._timed & set(REQUESTS))

    @cached_property
    def _timed(self) -> set[str]:
        return set(self.summary(*CALLS[0], *CALLS[1], *REQUESTS)["metric"])

    def memory(self) -> tuple[str, ...]:
        """Metrics of memory: the host's, and the device's where one was measured."""
        on_device = (*DEVICE_COMPILE, *DEVICE_MEMORY)
        return (*MEMORY, *on_device) if len(self.summary(*on_device)) else MEMORY
