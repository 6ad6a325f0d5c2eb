"""Records a run into a database, a commit every half second, until it is stopped: see ``tests.benchmarks.pages``."""

from __future__ import annotations

import sys
import time
from typing import Final

from db.store import Store
from tests.app.large import VERSIONS, workloads
from tests.app.records import MadeRun

EVERY_S: Final = 0.5


def main() -> None:
    store = Store(sys.argv[1])
    run = MadeRun("2.99.0+cpu", 10 * (VERSIONS + 9) + int(time.time()) % 1000, "being written", rounds=1)
    pending = []
    for record in run.records(workloads(0)):
        pending.append(record)
        # A probe's record comes after its files': what is committed is whole.
        if record["type"] == "probe":
            store.write_many(pending)
            pending = []
            time.sleep(EVERY_S)


if __name__ == "__main__":
    main()
