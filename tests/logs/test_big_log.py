"""A log of ten million rows: the right answer each time."""

import pytest

import discreet
from tests._tools.big_log import ROWS, write_log

RUNS = 20


def ask(path):
    return discreet.best_arm(path, arm="variant", reward="converted", unit="user", epsilon=1.0, missing="skip")


def test_a_small_one(tmp_path):
    write_log(tmp_path / "log.parquet", 110_000)
    answer = ask(tmp_path / "log.parquet")
    assert 0.99 * 110_000 < answer.log_rows < 110_000
    assert 0.99 * 100_000 < sum(answer.available.values()) <= 100_000


@pytest.mark.study
def test_the_best_arm_of_ten_million_rows(tmp_path, page):
    write_log(tmp_path / "log.parquet", ROWS)
    answers = [ask(tmp_path / "log.parquet") for _ in range(RUNS)]
    right = sum(answer.best_arm == "red" for answer in answers)
    read = sum(answer.rows_read for answer in answers) / RUNS
    page("Logs", what="best arm of 10 million rows, epsilon = 1", runs=RUNS, right=right, rows_read=round(read))
    assert right == RUNS  # at beta = 0.05 the bound is loose: a wrong answer is far rarer than that
