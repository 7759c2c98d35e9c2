"""A question to a log, as standard SQL: window functions, FLOOR and CASE, and nothing that one engine alone has."""

import math
from dataclasses import dataclass

from discreet.core.errors import ArgumentError
from discreet.service.messages import Contribution, PlanView


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of a log's columns.

    Args:
        assignment: The id of the assignment that a row belongs to.
        unit: The unit that was assigned.
        arm: The arm. None if the log has no such column: then all rows belong to the plan's only arm.
        time: The time of the row.
        reward: The reward, or NULL.
    """

    assignment: str = "assignment"
    unit: str = "unit"
    arm: str | None = "arm"
    time: str = "time"
    reward: str = "reward"


@dataclass(frozen=True, slots=True)
class Question:
    """A plan, and the contributions that may be used for it.

    Args:
        plan: The contributions of each arm, and the grid.
        columns: The names of the log's columns.
        after: Contributions must be later than this time.
        before: Contributions must be earlier than this time.
        default_reward: The reward of a contribution without one. By default the lower end of the range.
        contribution: "each-epoch" if a unit counts once in an epoch, "once" if it counts once ever, None if every
            assignment counts.
    """

    plan: PlanView
    columns: Columns = Columns()
    after: int | float | None = None
    before: int | float | None = None
    default_reward: float | None = None
    contribution: Contribution | None = "each-epoch"

    def __post_init__(self) -> None:
        plan = self.plan
        if not plan.learns or not any(plan.pulls.values()):
            raise ArgumentError(f"epoch {plan.epoch} needs no rewards: there is nothing to add up")
        if self.columns.arm is None and len(plan.pulls) > 1:
            raise ArgumentError(f"columns must name an arm column: epoch {plan.epoch} has {len(plan.pulls)} arms")
        default = self.default_reward
        if default is not None and not plan.low <= default <= plan.high:
            raise ArgumentError(f"default_reward must lie in [{plan.low}, {plan.high}], got {default!r}")
        if max(plan.pulls.values()) * plan.width >= 2**63:
            raise ArgumentError(f"epoch {plan.epoch} is too long for sums of 64 bits")

    def check_start(self, after: object) -> None:
        """Raise `ArgumentError` if a later epoch would begin at the start of the log, which was used before."""
        if after is None and self.plan.epoch > 1:
            raise ArgumentError(
                f"after must be the `until` of epoch {self.plan.epoch - 1}: "
                "without it, contributions of earlier epochs would be used again"
            )

    @property
    def wanted(self) -> list[str]:
        """The names of the columns that are read."""
        names = [self.columns.assignment, self.columns.time, self.columns.reward]
        if self.columns.arm is not None:
            names.append(self.columns.arm)
        if self.contribution is not None:
            names.append(self.columns.unit)
        return names


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
    """Return the SQL that sums an epoch: one row (arm, contributions, steps, until) for each arm.

    Close the epoch with `steps` only if `contributions` is what the plan needs for every arm, and keep the greatest
    `until` as the next epoch's `after`.

    Args:
        table: The table's name, or a subselect; inserted as it is. Its times must be numbers, its rewards numbers,
            NaN or NULL.
        plan: The plan of the epoch.
        columns: The names of the table's columns.
        after: The `until` of the previous epoch.
        before: The time from which on contributions are too young to be used.
        default_reward: The experiment's default reward.
        contribution: The experiment's limit on a unit's contributions.

    Raises:
        ArgumentError: If the plan needs no rewards, or `after` is missing for a later epoch.
    """
    question = Question(plan, columns or Columns(), after, before, default_reward, contribution)
    question.check_start(after)
    return question_query(table, question)


def question_query(table: str, question: Question) -> str:
    """Return the SQL of a question: rows, contributions, one for each unit, the planned ones, steps, totals.

    Args:
        table: The table's name, or a subselect.
        question: The question.
    """
    plan, columns = question.plan, question.columns
    default = plan.low if question.default_reward is None else question.default_reward
    arm = identifier(columns.arm) if columns.arm is not None else text(next(iter(plan.pulls)))
    reward = f"CAST({identifier(columns.reward)} AS DOUBLE PRECISION)"
    # NaN must become NULL. Parquet's statistics leave NaN out, so DuckDB concludes that there is none and drops
    # comparisons with infinity, and some of isnan(). It does not drop x - x = 0, which is false for NaN.
    is_number = f"{reward} IN ({real(math.inf)}, {real(-math.inf)}) OR {reward} - {reward} = 0"
    unit = f"CAST({identifier(columns.unit)} AS VARCHAR)" if question.contribution is not None else "NULL"
    after = "" if question.after is None else f" AND time > {time(question.after)}"
    inside = after if question.before is None else f"{after} AND time < {time(question.before)}"
    once = question.contribution == "once"
    rank = {None: "1", "each-epoch": _FIRST, "once": _FIRST}[question.contribution]
    known = "unit IS NOT NULL" if question.contribution is not None else "arm IS NOT NULL"
    quotas = "\n".join(f"    WHEN {text(each)} THEN {pulls}" for each, pulls in plan.pulls.items())
    return f"""\
WITH events AS (
  SELECT CAST({identifier(columns.assignment)} AS VARCHAR) AS assignment, {unit} AS unit, CAST({arm} AS VARCHAR) AS arm,
    {identifier(columns.time)} AS time,
    CASE WHEN {is_number} THEN {reward} END AS reward
  FROM {table}
  WHERE {identifier(columns.assignment)} IS NOT NULL AND {identifier(columns.time)} IS NOT NULL
), answered AS (
  SELECT assignment, unit, arm, time, reward,
    MIN(CASE WHEN reward IS NOT NULL THEN time END) OVER (PARTITION BY assignment) AS rewarded
  FROM events
), contributions AS (
  SELECT assignment, MIN(unit) AS unit, MIN(arm) AS arm, MIN(time) AS time,
    MIN(CASE WHEN time = rewarded THEN reward END) AS reward
  FROM answered GROUP BY assignment
), visits AS (
  SELECT assignment, arm, time, reward, {rank} AS visit
  FROM contributions WHERE {known}{"" if once else inside}
), queue AS (
  SELECT arm, time, reward, ROW_NUMBER() OVER (PARTITION BY arm ORDER BY time, assignment) AS place
  FROM visits WHERE visit = 1{inside if once else ""}
), taken AS (
  SELECT arm, time, CASE WHEN reward IS NULL THEN {real(default)}
    WHEN reward < {real(plan.low)} THEN {real(plan.low)}
    WHEN reward > {real(plan.high)} THEN {real(plan.high)} ELSE reward END / {real(plan.step)} AS steps
  FROM queue WHERE place <= CASE arm
{quotas}
    ELSE 0 END
), halves AS (
  SELECT arm, time, CAST(FLOOR(steps) AS BIGINT) AS below, steps - FLOOR(steps) AS part FROM taken
)
SELECT arm, COUNT(*) AS contributions, SUM(below - ({plan.floor}) + CASE
    WHEN part > 0.5 THEN 1 WHEN part < 0.5 THEN 0 ELSE ABS(MOD(below, 2)) END) AS steps, MAX(time) AS until
FROM halves GROUP BY arm
"""


_FIRST = "ROW_NUMBER() OVER (PARTITION BY unit ORDER BY time, assignment)"


def identifier(column: str) -> str:
    """Return a column's name, quoted."""
    return '"' + column.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return a string as a literal."""
    return "'" + value.replace("'", "''") + "'"


def real(value: float) -> str:
    """Return a float as a literal that is read back to the bit."""
    return f"CAST('{repr(float(value)).replace('inf', 'Infinity')}' AS DOUBLE PRECISION)"


def time(value: float) -> str:
    """Return a time as a literal."""
    return str(value) if isinstance(value, int) else real(value)
