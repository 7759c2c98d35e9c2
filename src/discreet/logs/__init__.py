"""Answers from logs, and an epoch's exact totals for a service.

    from_log                     the best arm, a mean, or any algorithm on the rows of a log
    ab_test                      whether variants are better than a control
    answer                       what was found: in words, as data, as a picture
    totals                       the exact totals of one epoch, for an experiment of the service

Both read a log through one expression of Ibis (`_prepare`): files and frames with DuckDB, tables of databases where
they are.
"""

from discreet._install import needs

with needs("discreet.logs", "logs"):
    import duckdb as _duckdb  # noqa: F401
    import ibis as _ibis  # noqa: F401

from discreet.logs.ab_test import TestAnswer, ab_test
from discreet.logs.answer import Answer
from discreet.logs.from_log import best_arm, mean, replay
from discreet.logs.totals import Columns, LogTotals, epoch_totals

__all__ = ["Answer", "Columns", "LogTotals", "TestAnswer", "ab_test", "best_arm", "epoch_totals", "mean", "replay"]
