"""A writer in a process of its own: ``python -m tests.db.writing DATABASE NAME RUNS``. Says each run it stored."""

from __future__ import annotations

import sys
import time

from db.store import Store
from tests.db import made


def main() -> None:
    database, name, runs, start = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    # All writers begin at the same moment, and so make the file at the same moment.
    time.sleep(max(0.0, start - time.time()))
    store = Store(database)
    for number in range(runs):
        run = f"{name}-{number}"
        records = made.whole_run(run, replicas=1)
        # As a controller writes: the beginning, then each unit of work in a transaction of its own.
        store.write_many(records[:6])
        for record in records[6:]:
            store.write_many([record])
        print(run, flush=True)
    store.close()


if __name__ == "__main__":
    main()
