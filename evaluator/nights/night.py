"""A night: the suites of the configuration, each in one run that measures its interpreters in turns.

A nightly run's plan names the interpreters as the configuration does and holds a hash of what it was told, so that
a later night finds this one, and series over many nights can be read from the database alone.
"""

from __future__ import annotations

import fcntl
import os
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from db.queries.nights import PURPOSE, Night, left_open, nights
from db.session import database_url, reading, reading_if_there, sqlite_path
from evaluator import machine, options, running
from evaluator.control.run_records import Settings, run_finished_record
from evaluator.control.scratch import is_alive
from evaluator.errors import BrokenSetUp, UserError
from evaluator.interpreters.planning import Interpreter, Says, find_or_make, numbered
from evaluator.nights.baselines import given, path_of
from evaluator.nights.config import NightlyConfig, Suite, Tested
from evaluator.resume import resumable
from evaluator.upgrading import Interrupted
from evaluator.verdicts.words import is_codegen

# A run that was cut off goes on as long as it is the same night: measurements of two nights are not one run.
RESUME_WITHIN: Final = timedelta(hours=12)
PAGE: Final = "night.md"
# More nights than anyone runs in those hours.
_LAST_PAGES: Final = 50


@dataclass(frozen=True)
class Group:
    """Interpreters that share a suite, and the settings of their run. ``tested`` in the order of the run's plan."""

    tested: tuple[Tested, ...]
    settings: Settings

    @property
    def told(self) -> str:
        return str(self.settings.extra[PURPOSE]["told"])


@contextmanager
def only_one() -> Iterator[None]:
    """Keep other nights of this user off this machine: they would measure each other.

    The kernel gives the lock up with the process that holds it, however that ends. Raises UserError where another
    night is going on.
    """
    path = machine.cache_folder() / "nightly.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    except OSError as error:
        raise UserError(
            f"{machine.shorten(str(path.parent))} can't be used ({error.strerror}): set XDG_CACHE_HOME to a folder with "
            "room"
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise UserError(
                f"another night is going on (process {owner}): wait for it, or start nights further apart"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def database_of(config: NightlyConfig, given: str | None) -> str:
    """The database of a configuration; ``given``: what ``--db`` says, which wins."""
    if given is not None or config.database is None:
        return str(given or os.environ.get(options.DATABASE_VARIABLE) or options.DEFAULT_DATABASE)
    return config.database if "://" in config.database else str(path_of(config, config.database))


def reports_of(config: NightlyConfig, database: str) -> Path:
    """Where a configuration's reports and log go: by default ``nightly`` beside the database."""
    if config.reports is not None:
        return path_of(config, config.reports)
    path = sqlite_path(database_url(database))
    return (path.parent if path else Path("results").absolute()) / "nightly"


def sides_of(config: NightlyConfig, progress: Says) -> tuple[dict[str, Interpreter], list[str]]:
    """The interpreter of each name, with those made that are not there yet; and why others are missing, a clause each.

    One that can't be had keeps no other from being measured.
    """
    sides: dict[str, Interpreter] = {}
    problems = []
    for one in config.tested:
        try:
            if one.spec is not None:
                (made,) = find_or_make([one.spec], [], progress)
                sides[one.name] = made
            else:
                sides[one.name] = given(config, one)
        except UserError as error:
            problems.append(f"{one.name}: {error}")
    return sides, problems


def group_of(
    config: NightlyConfig, suite: Suite, tested: tuple[Tested, ...], sides: Sequence[Interpreter]
) -> Group:
    """One run of a night, under these interpreters."""
    memory = config.memory_mb or machine.physical_memory_mb() * machine.DEFAULT_MEMORY_SHARE
    settings = Settings(
        run=str(uuid.uuid4()),
        label=f"nightly-{datetime.now().astimezone():%Y-%m-%d}",
        selection=suite.selection,
        profile=config.profile,
        sources=options.sources([_source(config, source) for source in suite.sources]),
        packs=suite.packs,
        interpreters=tuple(numbered(sides)),
        time_s=config.timeout_s,
        memory_mb=memory,
        argv=tuple(sys.argv[1:]),
        purpose=PURPOSE,
        chrome_traces=config.chrome_traces and not is_codegen(suite.selection.target),
        extra={
            PURPOSE: {"names": [one.name for one in tested], "told": config.told(suite, tested)},
        },
    )
    return Group(tested, settings)


def _source(config: NightlyConfig, source: str) -> str:
    path = path_of(config, source)
    return str(path) if path.exists() or source.endswith(".py") or "/" in source else source


def known_nights(database: str) -> list[Night]:
    """The recorded nights of this machine, the latest first; none where there is no database yet."""
    with reading_if_there(database) as reads:
        return [] if reads is None else nights(reads, machine.machine_id())


def measure(group: Group, database: str, reports: Path, progress: Says) -> Group:
    """Measure a group: a run of the same that was cut off this night goes on, else a new one begins.

    The group with the settings of its run. Raises Interrupted.
    """
    cut_off = _cut_off(group, database, reports)
    if cut_off is not None:
        going_on = replace(group, settings=replace(group.settings, run=cut_off.uuid))
        if cut_off.status == "finished":
            progress.say(f"run {cut_off.uuid[:8]} was measured already and not reported: going on with it")
            return going_on
        try:
            settings, earlier = resumable(database, cut_off.uuid)
            progress.say(f"going on with run {cut_off.uuid[:8]}, which was cut off")
            if running.resume(settings, earlier, database).interrupted:
                raise Interrupted(cut_off.uuid)
            return going_on
        except BrokenSetUp:
            raise
        except UserError as error:
            progress.say(f"run {cut_off.uuid[:8]} can't go on, so a new one begins: {error}")
    close_left_open(database, progress)
    if running.record(group.settings, database).interrupted:
        raise Interrupted(group.settings.run)
    return group


def _cut_off(group: Group, database: str, reports: Path) -> Night | None:
    """The last run of this group if it was begun this night and no page tells of it; None otherwise."""
    for night in known_nights(database):
        if datetime.now(UTC) - night.started_at > RESUME_WITHIN:
            return None
        if night.told == group.told:
            done = night.status == "finished" and _reported(reports, night.uuid)
            return None if done or is_alive(night.uuid) else night
    return None


def _reported(reports: Path, run: str) -> bool:
    """Whether one of the last pages tells of a run: a page is what a night writes last."""
    pages = sorted(reports.glob(f"*/{PAGE}"), key=lambda page: page.stat().st_mtime)
    return any(run[:8] in page.read_text(encoding="utf-8") for page in pages[-_LAST_PAGES:])


def close_left_open(database: str, progress: Says) -> None:
    """Close the runs of nights that died without a word, so that they no longer look as if they went on."""
    if not known_nights(database):
        return
    with reading(database) as reads:
        left = [run for run in left_open(reads, machine.machine_id()) if not is_alive(run)]
    store = running.open_store(database)
    try:
        for run in left:
            store.write(run_finished_record(run, "interrupted"))
            progress.say(f"closed run {run[:8]}, which a crash had left open")
    finally:
        store.close()
