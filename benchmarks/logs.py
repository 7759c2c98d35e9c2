"""The best arm of a log of ten million rows: seconds and memory of a process of its own, next to one plain group-by."""

import sys
import tempfile
import time
from pathlib import Path

import duckdb
from tests._tools.big_log import ROWS, write_log

from benchmarks.rows import Row

ASK = (
    "import sys, discreet; answer = discreet.best_arm(sys.argv[1], arm='variant', reward='converted', unit='user', "
    "epsilon=1.0, missing='skip'); assert answer.best_arm == 'red', answer"
)


def logs(watched):
    """Rows of a Parquet and of a CSV log.

    Args:
        watched: Runs a command, and returns its seconds and its largest memory in GB.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("parquet", "csv"):
            path = Path(folder) / f"log.{kind}"
            write_log(path, ROWS)
            seconds, memory = watched([sys.executable, "-c", ASK, str(path)])
            start = time.perf_counter()
            duckdb.sql(f"SELECT variant, avg(converted) FROM '{path}' GROUP BY variant").fetchall()
            plain = time.perf_counter() - start
            met, more = seconds < 20 and memory < 2, f", {memory:.2g} GB"
            what = f"best arm of 1e7 rows, {kind}"
            rows.append(Row(what, seconds, "s", "< 20, 2 GB", met, "a group-by", seconds / plain, more))
    return rows
