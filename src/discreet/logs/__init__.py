"""An epoch's exact totals from an event log, for experiments that are evaluated in batches.

    question                     what is asked of a log: its columns, the epoch's plan, a span of time
    sql                          the question as one text of standard SQL, for a warehouse too
    with_duckdb, with_polars     two engines that answer it, to the same integers
    moments                      times of a log, as numbers that compare exactly
    totals                       the whole way: ask, check that every arm has enough, give the totals

**What counts.** A contribution is an assignment: all rows of the log with the same assignment id. Its time is that of
its first row, its reward that of the first row that has one, or the default. Of each unit only the first contribution
counts, and of each arm exactly as many as the epoch's plan wants, the first by time (ties: by id). Rewards are moved
into the range and rounded to the grid as `Grid.encode` does.

**What you must keep true**, or epsilon does not hold:

1. Every assignment has a row, whether anything happened or not, and its first row's time is when it was assigned. A log
   of clicks alone tells by its length what was to stay secret.
2. Each contribution is used in one epoch only. So hand the `until` of every epoch to the next call as `after`, and
   never go back. What was assigned up to `until` and not used is not used later either.
3. The log only grows: it keeps all rows of an assignment, so that a late reward is not mistaken for a new assignment.
4. Units are named the same way throughout.

Nothing here draws noise: the totals are as secret as the rewards, and only the service releases them. They need duckdb
or polars: pip install 'discreet[logs]'.
"""

from discreet.logs.question import Columns, Engine
from discreet.logs.sql import epoch_query
from discreet.logs.totals import LogTotals, epoch_totals

__all__ = ["Columns", "Engine", "LogTotals", "epoch_query", "epoch_totals"]
