"""A log of ten million rows: the right answer each time."""

import duckdb
import pytest

import discreet

ROWS, RUNS = 10_000_000, 20
RATES = {"blue": 0.030, "green": 0.033, "red": 0.040, "white": 0.036}


def write_log(path, rows):
    """A log of four arms at 3 to 4 %; every tenth unit comes twice, and one cell of a thousand is empty."""
    once = rows * 10 // 11
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(f"""COPY (
            WITH units AS (
              SELECT i, CASE WHEN i < {once} THEN i ELSE (i - {once}) * 10 END AS unit FROM range({rows}) t(i)),
            arms AS (SELECT i, unit, CAST(hash(unit, 7) % 4 AS INTEGER) + 1 AS arm FROM units)
            SELECT 'user-' || unit AS user, {list(RATES)}[arm] AS variant,
              CASE WHEN random() >= 0.001 THEN CAST(random() < {list(RATES.values())}[arm] AS INTEGER) END AS converted
            FROM arms ORDER BY hash(i, 3)) TO '{path}'""")


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
