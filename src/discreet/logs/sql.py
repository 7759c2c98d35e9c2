"""The question as one text of standard SQL: window functions, FLOOR and CASE, nothing that is one engine's own."""

from __future__ import annotations

import math
from typing import Any

from discreet.logs.question import Columns, Question
from discreet.service.http.messages import Contribution, PlanView


def epoch_query(
    table: str,
    plan: PlanView,
    *,
    columns: Columns | None = None,
    after: float | None = None,
    before: float | None = None,
    default_reward: float | None = None,
    contribution: Contribution | None = "each-epoch",
) -> str:
    """The SQL that adds up an epoch from `table`: one row (arm, contributions, units, until) for each arm.

    `table` is pasted as it is. For times that are no numbers, give `table` as a subselect that makes them so. Rewards
    must be numbers or NULL. Hand in the units only if `contributions` is what the plan wants, and
    keep the greatest `until` for the next epoch's `after`.
    """
    question = Question(plan, columns or Columns(), after, before, default_reward, contribution)
    question.check_start(after)
    return question_query(table, question)


def question_query(table: str, question: Question) -> str:
    """The text, step by step: rows, contributions, one for each unit, the planned ones, units, totals."""
    plan, columns = question.plan, question.columns
    arm = name(columns.arm) if columns.arm is not None else text(str(question.only_arm))
    reward = f"CAST({name(columns.reward)} AS DOUBLE PRECISION)"  # NaN, which is not below infinity, becomes NULL
    unit = f"CAST({name(columns.unit)} AS VARCHAR)" if question.contribution is not None else "NULL"
    span = " AND ".join(
        [
            *([f"time > {number(question.after)}"] if question.after is not None else []),
            *([f"time < {number(question.before)}"] if question.before is not None else []),
        ]
    )
    inside = f" AND {span}" if span else ""
    once = question.contribution == "once"
    rank = {None: "1", "each-epoch": _FIRST, "once": _FIRST}[question.contribution]
    known = "unit IS NOT NULL" if question.contribution is not None else "arm IS NOT NULL"
    quotas = "\n".join(f"    WHEN {text(one)} THEN {pulls}" for one, pulls in plan.pulls.items())
    return f"""\
WITH events AS (
  SELECT CAST({name(columns.assignment)} AS VARCHAR) AS assignment, {unit} AS unit, CAST({arm} AS VARCHAR) AS arm,
    {name(columns.time)} AS time,
    CASE WHEN {reward} <= {real(math.inf)} THEN {reward} END AS reward
  FROM {table}
  WHERE {name(columns.assignment)} IS NOT NULL AND {name(columns.time)} IS NOT NULL
), answered AS (
  SELECT assignment, unit, arm, time, reward,
    MIN(CASE WHEN reward IS NOT NULL THEN time END) OVER (PARTITION BY assignment) AS told
  FROM events
), contributions AS (
  SELECT assignment, MIN(unit) AS unit, MIN(arm) AS arm, MIN(time) AS time,
    MIN(CASE WHEN time = told THEN reward END) AS reward
  FROM answered GROUP BY assignment
), visits AS (
  SELECT assignment, arm, time, reward, {rank} AS visit
  FROM contributions WHERE {known}{"" if once else inside}
), queue AS (
  SELECT arm, time, reward, ROW_NUMBER() OVER (PARTITION BY arm ORDER BY time, assignment) AS place
  FROM visits WHERE visit = 1{inside if once else ""}
), taken AS (
  SELECT arm, time, CASE WHEN reward IS NULL THEN {real(min(max(question.default, plan.low), plan.high))}
    WHEN reward < {real(plan.low)} THEN {real(plan.low)}
    WHEN reward > {real(plan.high)} THEN {real(plan.high)} ELSE reward END / {real(plan.step)} AS steps
  FROM queue WHERE place <= CASE arm
{quotas}
    ELSE 0 END
), halves AS (
  SELECT arm, time, CAST(FLOOR(steps) AS BIGINT) AS below, steps - FLOOR(steps) AS part FROM taken
)
SELECT arm, COUNT(*) AS contributions, SUM(below - ({plan.floor}) + CASE
    WHEN part > 0.5 THEN 1 WHEN part < 0.5 THEN 0 ELSE ABS(MOD(below, 2)) END) AS units, MAX(time) AS until
FROM halves GROUP BY arm
"""


_FIRST = "ROW_NUMBER() OVER (PARTITION BY unit ORDER BY time, assignment)"


def name(column: str) -> str:
    """A column's name, quoted."""
    return '"' + column.replace('"', '""') + '"'


def text(value: str) -> str:
    """A piece of text as a literal."""
    return "'" + value.replace("'", "''") + "'"


def real(value: float) -> str:
    """A float as a literal that is read back to the bit."""
    return f"CAST('{'Infinity' if value == math.inf else repr(float(value))}' AS DOUBLE PRECISION)"


def number(value: Any) -> str:
    """A time as a literal."""
    return str(value) if isinstance(value, int) else real(value)
