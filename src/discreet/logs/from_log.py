"""Answers from a log in one call: the best arm, a mean, or any algorithm on the rows of a log.

**Whom epsilon protects.** Two logs are neighbours if they have the same rows, arms, units, orders and selections, and
differ in any of the rewards of one unit. Of each unit one row is used, and which one follows from a key and from
columns that neighbours share. So what the algorithm sees of neighbours differs in one reward, and its own promise is a
promise to the unit. Neither the key nor the rows that it chooses are released.

**What is not covered.** That a unit is in the log, its arm, and how many rows it has. With `missing="skip"`, whether a
reward is there. The message of a log that is refused is exact, and not private. With a reward for `missing` and with
`clip`, no log is refused for its rewards, whatever they are; a CSV file with a line that is no row is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.noise import Noise
from discreet.core.registry import RULES, make_policy, make_rule
from discreet.drivers.stream import Stream
from discreet.drivers.totals import Totals
from discreet.logs._check import check
from discreet.logs._prepare import Key, Reading, cells, prepared
from discreet.logs._rows import Rows
from discreet.logs._sources import Source, opened, readable
from discreet.logs.answer import Answer
from discreet.recommend import recommend

Where = Mapping[str, Any] | Callable[[Any], Any]


def best_arm(
    log: Any,
    *,
    arm: str,
    reward: str,
    unit: str | None = None,
    epsilon: float,
    beta: float = 0.05,
    arms: Sequence[str] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    order: str | None = None,
    where: Where | None = None,
    missing: float | str | None = None,
    clip: bool = False,
    noise: Noise | None = None,
) -> Answer:
    """Find the arm with the highest mean reward, privately, from as few rows of a log as that takes.

    Args:
        log: A CSV or Parquet file, a folder or a pattern of them, a table of pandas, Polars, Arrow or Ibis, or a table
            of a database, such as "postgresql://host/shop#events".
        arm: The column of arms.
        reward: The column of rewards: numbers, or true and false.
        unit: The column that says whom epsilon protects, such as a user. Of each one row is used. None if each row is
            of another person.
        epsilon: The largest privacy loss of one unit, above 0.
        beta: The largest probability of a wrong answer.
        arms: The arms that there may be; by default all that there are.
        low: The least reward that there can be, whatever the data.
        high: The largest reward that there can be.
        order: The column by which rows are taken, and the first of a unit is used; by default a random order.
        where: The rows to use: values by column, such as {"country": "SE"}, or a function of an Ibis table. It must
            not look at rewards.
        missing: The reward of a cell without a number, or "skip" to leave such rows out.
        clip: True to move rewards into the range, instead of refusing those outside.
        noise: A simulated source for studies and tests; by default private noise.

    Returns:
        The best arm, what is promised of it, and all that was released.

    Raises:
        ArgumentError: An argument is wrong, or the log has rows that cannot be used as they are. Nothing was drawn.
    """

    def policy(names: Sequence[str]) -> Any:
        advice = recommend(names, epsilon=epsilon, goal="best-arm", beta=beta)
        return make_policy(advice.policy, advice.arms, **advice.options, low=low, high=high)

    policy(["A", "B"])  # checks the options before the log is read
    reading = Reading(reward, arm, unit, order, where, missing, clip)
    return _run(log, reading, policy, Grid(low, high), arms=arms, noise=noise)


def mean(
    log: Any,
    *,
    column: str | None = None,
    unit: str | None = None,
    epsilon: float,
    alpha: float = 0.1,
    beta: float = 0.05,
    low: float = 0.0,
    high: float = 1.0,
    order: str | None = None,
    where: Where | None = None,
    missing: float | str | None = None,
    clip: bool = False,
    noise: Noise | None = None,
) -> Answer:
    """Estimate the mean of a column, privately, from as few rows of a log as that takes.

    Args:
        log: The log; see `best_arm`.
        column: The column of numbers; None if there is only one.
        unit: The column that says whom epsilon protects. Of each one row is used. None if each row is a unit.
        epsilon: The largest privacy loss of one unit, above 0.
        alpha: The relative error: 0.1 is within 10 % of the true mean.
        beta: The largest probability of a larger error.
        low: The least value that there can be, whatever the data.
        high: The largest value that there can be.
        order: The column by which rows are taken; by default a random order.
        where: The rows to use; see `best_arm`.
        missing: The value of a cell without a number, or "skip" to leave such rows out.
        clip: True to move values into the range, instead of refusing those outside.
        noise: A simulated source for studies and tests; by default private noise.

    Returns:
        The mean, what is promised of it, and all that was released.

    Raises:
        ArgumentError: An argument is wrong, or the log has rows that cannot be used as they are. Nothing was drawn.
    """
    rule = recommend(goal="mean", epsilon=epsilon, alpha=alpha, beta=beta, low=low, high=high).make()
    reading = Reading(column, None, unit, order, where, missing, clip)
    return _run(log, reading, lambda _: rule, rule.grid, noise=noise)


def replay(
    algorithm: Any,
    log: Any,
    *,
    arm: str | None = None,
    reward: str | None = None,
    unit: str | None = None,
    arms: Sequence[str] | None = None,
    order: str | None = None,
    where: Where | None = None,
    missing: float | str | None = None,
    clip: bool = False,
    noise: Noise | None = None,
    heading: bool | None = None,
    **options: Any,
) -> Answer:
    """Run any policy or stopping rule on the rows of a log, as if they came in now.

    Each epoch takes the next rows of its arms. The run ends when the algorithm has finished, or when an arm has too few
    rows left.

    Args:
        algorithm: A policy or a rule that has not learned anything, or the name of one.
        log: The log; see `best_arm`.
        arm: The column of arms; None for a rule.
        reward: The column of rewards; None if there is only one column.
        unit: The column that says whom epsilon protects. Of each one row is used. None if each row is a unit.
        arms: For a name: the arms that there may be; by default all that there are.
        order: The column by which rows are taken; by default a random order.
        where: The rows to use; see `best_arm`.
        missing: The reward of a cell without a number, or "skip" to leave such rows out.
        clip: True to move rewards into the range, instead of refusing those outside.
        noise: A simulated source for studies and tests; by default private noise.
        heading: True if a CSV file begins with a heading; None if it does unless its first line is one number.
        **options: For a name: the algorithm's options.

    Returns:
        What the algorithm has found, and all that was released.

    Raises:
        ArgumentError: An argument is wrong, or the log has rows that cannot be used as they are. Nothing was drawn.
    """
    make, grid, known = _maker(algorithm, options)
    family = "rule" if known is not None and list(known) == [None] else "policy"
    if (arm is None) != (family == "rule"):
        wanted = "a policy needs the column of arms as `arm`" if arm is None else "a rule has no arms: leave `arm` out"
        raise ArgumentError(f"{wanted}, got arm={arm!r}")
    expected = arms if known is None else None if family == "rule" else known
    reading = Reading(reward, arm, unit, order, where, missing, clip)
    return _run(log, reading, make, grid, arms=expected, noise=noise, heading=heading)


def text_of(arm: Any) -> str:
    """Return the name of an arm as it is written in a log."""
    return str(arm).lower() if isinstance(arm, bool) else str(arm)


def _maker(algorithm: Any, options: dict[str, Any]) -> tuple[Callable[[Sequence[str]], Any], Grid, list[Any] | None]:
    """Return what makes the algorithm for the arms of the log, its grid, and its arms if they are known."""
    if isinstance(algorithm, Algorithm):
        if options:
            raise ArgumentError(f"options are for the name of an algorithm, got {', '.join(sorted(options))}")
        return lambda _: algorithm, algorithm.grid, list(algorithm.taken)
    if algorithm in RULES:
        rule = make_rule(algorithm, **options)
        return lambda _: rule, rule.grid, [None]
    if isinstance(algorithm, str):
        some = make_policy(algorithm, ["A", "B"], **options)  # checks the options before the log is read
        return lambda names: make_policy(algorithm, names, **options), some.grid, None
    raise ArgumentError(f"algorithm must be a policy, a rule or the name of one, got {algorithm!r}")


# ---------------------------------------------------------------------- the run


def _run(
    log: Any,
    reading: Reading,
    make: Callable[[Sequence[str]], Any],
    grid: Grid,
    *,
    arms: Sequence[Any] | None = None,
    noise: Noise | None = None,
    heading: bool | None = None,
) -> Answer:
    """Check the whole log, prepare it, and drive an algorithm on its rows.

    Args:
        log: The log.
        reading: How it is read.
        make: Makes the algorithm for the arms of the log.
        grid: The algorithm's grid.
        arms: The arms that there may be; None for all that there are.
        noise: A simulated source, or None.
        heading: True if a CSV file begins with a heading.
    """
    with open_rows(log, reading, grid, arms, heading) as found:
        return answered(make(found.arms), found, noise)


class OpenRows(NamedTuple):
    """A log that was checked and prepared.

    Attributes:
        rows: Its rows.
        arms: The arms that there may be, by their names in the log.
        usable: The number of rows that can be used.
        reading: How it was read.
        grid: The grid of the rows.
    """

    rows: Rows
    arms: list[str]
    usable: int
    reading: Reading
    grid: Grid


@contextmanager
def open_rows(
    log: Any, reading: Reading, grid: Grid, arms: Sequence[Any] | None, heading: bool | None = None
) -> Iterator[OpenRows]:
    """Check the whole log and prepare it; its rows can be taken until the context ends.

    Args:
        log: The log.
        reading: How it is read.
        grid: The algorithm's grid.
        arms: The arms that there may be; None for all that there are.
        heading: True if a CSV file begins with a heading.
    """
    names = None if arms is None else list(map(text_of, arms))
    grid = Grid(grid.low, grid.high)  # a fine one, also for a rule that makes coins of what it is given
    if reading.missing is not None and not isinstance(reading.missing, str):
        grid.encode(reading.missing)
    with opened(log, reading.wanted, heading=heading) as source, ExitStack() as kept:
        if reading.reward is None:
            reading = replace(reading, reward=_only_column(source))
        with ExitStack() as read, readable(log, source):
            key = Key.draw()
            found = cells(source, reading, grid, key)
            if source.local:  # it is read once; elsewhere the engine reads its table twice
                found = read.enter_context(found.cache())
            counts = check(source, found, reading, grid, names)
            rows = Rows(kept.enter_context(prepared(found, reading, key).cache()))
        there = list(map(text_of, counts)) if names is None else names
        yield OpenRows(rows, there, sum(counts.values()), reading, grid)


def answered(algorithm: Any, found: OpenRows, noise: Noise | None) -> Answer:
    """Drive an algorithm on the rows of a log, and return the answer.

    Args:
        algorithm: The algorithm.
        found: The log.
        noise: A simulated source, or None.
    """
    names = {arm: "" if arm is None else text_of(arm) for arm in algorithm.taken}
    driver, used, reason = _drive(algorithm, found.rows, names, found.grid, noise)
    units = {arm: found.rows.available.get(name, 0) for arm, name in names.items()}
    return Answer(driver.algorithm, driver.privacy, found.reading, reason, found.usable, units, used)


def _only_column(source: Source) -> str:
    if len(source.names) != 1:
        listed = ", ".join(map(repr, source.names))
        raise ArgumentError(f"column must name one of the {len(source.names)} columns of the log: {listed}")
    return source.names[0]


def _drive(
    algorithm: Any, rows: Rows, names: Mapping[Any, str], grid: Grid, noise: Noise | None
) -> tuple[Any, dict[Any, int], str]:
    """Drive an algorithm until it has finished or the rows end.

    Args:
        algorithm: The algorithm.
        rows: The rows of the log.
        names: The name of each arm in the log.
        grid: The grid of the rows.
        noise: A simulated source, or None.

    Returns:
        The driver, the number of rows of each arm that it has taken, and why it has ended.
    """
    if algorithm.family == "rule":
        stream = Stream(algorithm, noise, clip=True)  # a range's ends may lie a fraction of a step beyond the grid's
        stream.run(_values(rows, grid))
        return stream, {None: stream.samples}, stream.result.reason
    driver, width, reason = Totals(algorithm, noise), algorithm.grid.width, "the policy has finished"
    while (plan := driver.plan()) is not None:
        lacking = rows.lacking({names[arm]: count for arm, count in plan.pulls.items()}) if plan.learns else {}
        if lacking:
            name, count = next(iter(lacking.items()))
            reason = f"the log ended: arm {name!r} has {count:,} rows fewer than epoch {plan.epoch} takes"
            break
        driver.close_steps(rows.take(plan, names, width) if plan.learns else None)
    return driver, {arm: rows.used.get(name, 0) for arm, name in names.items()}, reason


def _values(rows: Rows, grid: Grid) -> Iterator[NDArray[np.floating[Any]]]:
    """Yield the rewards of the only arm, as numbers on the grid."""
    for block in rows.blocks(""):
        yield (block + grid.floor) * grid.step
