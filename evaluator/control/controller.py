"""Drives a run: units in order through process servers, and everything they say into a sink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.control import run_records
from evaluator.control.outcomes import Outcome, verdict
from evaluator.control.probe_records import Record
from evaluator.control.progress import Progress
from evaluator.control.run_records import Settings
from evaluator.control.scratch import Scratch
from evaluator.control.server_client import Server
from evaluator.control.server_process import ServerDied
from evaluator.control.unit_work import CellKey, Done, UnitWork
from evaluator.environments import Environment, close_all, server_log, start_server
from evaluator.errors import BrokenSetUp
from evaluator.plan import ProbeKey, Unit, plan
from evaluator.selection import Cell
from evaluator.sink import Sink
from evaluator.verdicts.words import is_codegen


@dataclass(frozen=True)
class Earlier:
    """What a resumed run recorded before.

    ``outcomes``: probes by evaluation id; ``finished``: evaluations that are; ``environments``: their hashes;
    ``definitions``: the definition hash of each workload; ``repeats``: calls a timing round, by (workload, variant)
    and bucket.
    """

    outcomes: Mapping[str, Mapping[ProbeKey, Outcome]]
    finished: frozenset[str]
    environments: frozenset[str]
    definitions: Mapping[str, str]
    repeats: Mapping[tuple[str, str], Mapping[str, int]]


@dataclass(frozen=True)
class Summary:
    """How a run ended. ``broken``: one sentence for each environment that could load or compile nothing."""

    interrupted: bool
    broken: tuple[str, ...] = ()


class Controller:
    """One run, from its first record to its last. ``earlier`` is None for a new run."""

    def __init__(
        self,
        settings: Settings,
        environments: Sequence[Environment],
        scratch: Scratch,
        sink: Sink,
        progress: Progress,
        earlier: Earlier | None = None,
    ) -> None:
        self._settings = settings
        self._environments = environments
        self._scratch = scratch
        self._sink = sink
        self._progress = progress
        # An earlier part of the run wrote its first records.
        self._opened = earlier is not None
        self._cells: dict[CellKey, Cell] = {}
        self._evaluations: dict[CellKey, str] = {}
        self._outcomes: dict[CellKey, dict[ProbeKey, Outcome]] = {}
        for environment in environments:
            for cell in environment.cells:
                key = _key(environment, cell)
                self._cells[key] = cell
                self._evaluations[key] = run_records.evaluation_id(settings.run, environment.hash, cell)
                known = earlier.outcomes.get(self._evaluations[key], {}) if earlier else {}
                self._outcomes[key] = dict(known)
        self._repeats = earlier.repeats if earlier else {}
        self._announced: set[str] = set()
        self._finished: set[str] = set(earlier.finished) if earlier else set()

    def run(self) -> Summary:
        """Evaluate everything that is left to do, end the servers, and close the run's record.

        An interruption (KeyboardInterrupt) closes it as interrupted and is reported in the summary. Raises
        BrokenSetUp, after closing it as interrupted, where no process server stays up.
        """
        interrupted = False
        try:
            self._open()
            self._measure_all()
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:
            self._close("interrupted")
            raise
        finally:
            close_all(self._environments)
            self._progress.close()
        self._close("interrupted" if interrupted else "finished")
        broken = [e.broken for e in self._environments if e.broken]
        return Summary(interrupted, tuple(broken))

    def _close(self, status: str) -> None:
        if self._opened:
            self._sink.write(run_records.run_finished_record(self._settings.run, status))

    def _open(self) -> None:
        """Write what the run is about: so that an interrupted one shows what is still to be done."""
        if self._opened:
            return
        run = self._settings.run
        host = self._environments[0].host
        records: list[Record] = [
            run_records.run_record(self._settings, host, {e.hash: e.cells for e in self._environments})
        ]
        for environment in self._environments:
            fields = environment.described.environment
            records.append(run_records.environment_record(run, environment.hash, fields))
            selected = {cell.workload for cell in environment.cells}
            for description in environment.descriptions:
                if description["name"] in selected:
                    records += run_records.workload_records(run, description)
            for cell in environment.cells:
                if cell.problem:
                    self._progress.say(
                        f"{cell.workload} can't be loaded under {environment.name}: {cell.problem}"
                    )
                records.append(run_records.evaluation_record(run, environment.hash, cell))
                if not cell.measurable:
                    records.append(self._finish(environment, cell, _without_probes(cell)))
        self._sink.write_many(records)
        self._opened = True

    def _finish(self, environment: Environment, cell: Cell, outcome: Outcome) -> Record:
        evaluation = self._evaluations[_key(environment, cell)]
        self._finished.add(evaluation)
        return run_records.finished_record(self._settings.run, evaluation, outcome.status, outcome.reason)

    def _measure_all(self) -> None:
        units = planned_units(self._environments, self._settings)
        left = [unit for unit in units if not self._is_done(unit)]
        self._progress.plan(left, done=len(units) - len(left))
        work = UnitWork(self._settings, self._scratch, self._evaluations, self._progress, self._repeats)
        last = {key: index for index, unit in enumerate(left) for key in _keys(unit)}
        replica = left[0].replica if left else 0
        for index, unit in enumerate(left):
            if unit.replica != replica:
                # A replica is one start of each server: the next one begins with new processes.
                close_all(self._environments)
                replica = unit.replica
            environment = self._environments[unit.environment]
            self._measure(work, environment, unit, [key for key in _keys(unit) if last[key] == index])

    def _is_done(self, unit: Unit) -> bool:
        return all(
            self._evaluations[key] in self._finished or set(unit.keys(key[3])) <= set(self._outcomes[key])
            for key in _keys(unit)
        )

    def _measure(
        self, work: UnitWork, environment: Environment, unit: Unit, finishing: Sequence[CellKey]
    ) -> None:
        """Run one unit and write it, with the ends of the evaluations that it is the last of."""
        done = Done()
        for attempt in (1, 2):
            try:
                server = self._server(environment, unit)
                if all(self._evaluations[key] in self._finished for key in _keys(unit)):
                    self._progress.drop(unit)
                    return
                self._progress.begin(unit)
                done = work.measure(server, unit, self._outcomes)
                break
            except ServerDied as error:
                self._lost(environment, error, attempt)
        for key, outcomes in done.outcomes.items():
            self._outcomes[key] |= outcomes
        ends = [
            self._finish(environment, self._cells[key], verdict(self._outcomes[key])) for key in finishing
        ]
        self._sink.write_many([*done.records, *ends])
        work.free(unit)
        self._progress.end(unit, done.note, ran=done.processes > 0)

    def _server(self, environment: Environment, unit: Unit) -> Server:
        """The environment's server, recorded as a replica, with the toolchain ready if the unit compiles code."""
        server = environment.server
        if server is None:
            self._progress.note("starting a process server")
            log = server_log(self._scratch, environment.index)
            server = environment.server = start_server(environment.interpreter, environment.temporary, log)
            environment.card_ready = False
        if is_codegen(self._settings.selection.target) and not environment.card_ready:
            # What this torch lacks is said of each cell by its own probe.
            server.prepare_codegen()
            environment.card_ready = True
        samples: list[Record] = []
        needed = self._cells[_keys(unit)[0]].needs_toolchain
        if needed and not environment.toolchain_ready and not environment.toolchain_problem:
            samples = self._prepare_toolchain(environment, server)
        if server.id not in self._announced:
            self._announced.add(server.id)
            run, replica = self._settings.run, unit.replica
            self._sink.write(run_records.replica_record(run, environment.hash, replica, server, samples))
        return server

    def _prepare_toolchain(self, environment: Environment, server: Server) -> list[Record]:
        self._progress.note("building the C++ header of this environment, once")
        answer = server.prepare_toolchain()
        environment.toolchain_ready = answer["status"] == "ok"
        if not environment.toolchain_ready:
            environment.toolchain_problem = f"toolchain: {answer.get('reason')}"
            self._give_up_on_compiling(environment)
        samples: list[Record] = answer.get("samples") or []
        return samples

    def _give_up_on_compiling(self, environment: Environment) -> None:
        """Say once that nothing compiles here, and finish every evaluation that needs it."""
        outcome = Outcome("setup_error", environment.toolchain_problem)
        self._progress.say(
            f"no code can be compiled under {environment.name}: {environment.toolchain_problem}"
        )
        self._sink.write_many(
            self._finish(environment, cell, outcome)
            for cell in environment.supported
            if not cell.evidence_only and self._evaluations[_key(environment, cell)] not in self._finished
        )

    def _lost(self, environment: Environment, error: ServerDied, attempt: int) -> None:
        """A server is gone: forget it, and give up on the second loss in a row."""
        environment.close()
        if attempt > 1:
            raise BrokenSetUp(f"the process server under {environment.name} died twice in a row: {error}")
        self._progress.say(f"the process server ended ({error}); starting another one")


def _without_probes(cell: Cell) -> Outcome:
    """The outcome of a cell that is not worth a probe."""
    if cell.problem is not None:
        return Outcome("setup_error", cell.problem)
    return Outcome("unsupported", cell.unsupported)


def _key(environment: Environment, cell: Cell) -> CellKey:
    return (environment.index, cell.workload, cell.variant, cell.bucket)


def _keys(unit: Unit) -> list[CellKey]:
    return [(unit.environment, unit.workload, unit.variant, bucket) for bucket in unit.buckets]


def planned_units(environments: Iterable[Environment], settings: Settings) -> list[Unit]:
    """The units a new run of these environments would have."""
    cells = [environment.supported for environment in environments]
    return plan(cells, settings.replicas, settings.serial, settings.chrome_traces)
