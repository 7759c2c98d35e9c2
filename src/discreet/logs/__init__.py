"""An epoch's exact totals from an event log, for experiments that are evaluated in batches.

    sql                          a question to a log: its columns, the epoch's plan, a span of time; as standard SQL
    duckdb_log                   logs read by DuckDB: files, Arrow tables, data frames
    times                        times of a log as numbers that compare exactly
    totals                       the whole computation, with a check that every arm has enough contributions

**Contributions.** A contribution is an assignment: all rows of the log with the same assignment id. Its time is that of
its first row, its reward that of the first row that has one, or the default. Of each unit only the first contribution
counts, and of each arm exactly as many as the epoch's plan needs, the first by time (ties: by id). Rewards are clipped
to the range and rounded to the grid as `Grid.encode` does. NaN is no reward.

**Conditions on the log**, without which epsilon does not hold:

1. Every assignment has a row, with or without an event, and its first row's time is when it was assigned. The length of
   a log of clicks alone would reveal the number of clicks.
2. Each contribution is used in one epoch only. Pass the `until` of every epoch to the next call as `after`, and never
   go back. A contribution up to `until` that was not used is not used later either.
3. The log only grows: it keeps all rows of an assignment, so that a late reward is not mistaken for a new assignment.
4. Units are named the same way throughout.

No noise is added here: the totals are as secret as the rewards, and only the service releases them. duckdb is needed:
the extra `logs`.
"""

from discreet.logs.sql import Columns, epoch_query
from discreet.logs.totals import LogTotals, epoch_totals

__all__ = ["Columns", "LogTotals", "epoch_query", "epoch_totals"]
