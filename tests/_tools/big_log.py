"""A log of ten million rows."""

import duckdb

ROWS = 10_000_000
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
