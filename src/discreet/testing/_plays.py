"""Runs of drivers on known rewards, and all that they show."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import FinishedError, WaitingError
from discreet.core.grid import Grid
from discreet.core.plans import Arm, Plan
from discreet.core.statistics import Statistic
from discreet.drivers import Bandit, Stream, Totals

Rewards = Mapping[Arm, NDArray[np.float64]]
"""What each arm pays at each of its pulls. A stopping rule has one arm, None."""
Facts = Iterable[object]
"""All that a run has shown, in order."""

_BATCH, _CHUNK = 100, 10_000  # tickets and samples at a time


def comparable(plan: Plan | None) -> object:
    """Return a plan as a value that also differs in the order of its arms."""
    return plan and (plan.epoch, tuple(plan.pulls.items()), plan.query, plan.statistic)


def by_totals(driver: Totals, rewards: Rewards) -> Facts:
    """Close epoch after epoch with exact totals, and yield all that is shown.

    Args:
        driver: The driver.
        rewards: What each arm pays at each of its pulls. The run ends when they do.
    """
    grid = driver.algorithm.grid
    taken = dict.fromkeys(rewards, 0)
    while (plan := driver.plan()) is not None:
        yield comparable(plan)
        paid = {arm: rewards[arm][taken[arm] : taken[arm] + count] for arm, count in plan.pulls.items()}
        for arm, count in plan.pulls.items():
            taken[arm] += count
        if any(paid[arm].size < count for arm, count in plan.pulls.items()):
            break
        exact = {arm: _statistic(plan, grid, values) for arm, values in paid.items()}
        yield driver.close(exact if plan.learns else None)
    yield from _standing(driver)


def _statistic(plan: Plan, grid: Grid, values: NDArray[np.float64]) -> Any:
    """Return the exact statistic of an arm's rewards."""
    if plan.statistic is Statistic.TOTAL:
        return grid.encode(float(values[0])) if values.size == 1 else grid.total(values)
    sums = plan.statistic.accumulator(grid.width)
    sums.add(grid.encode_checked(grid.check_array(values)))
    return sums.values


def by_stream(driver: Stream, rewards: Rewards) -> Facts:
    """Feed a stream, and yield all that is shown.

    Args:
        driver: The driver.
        rewards: The samples of the arm None.
    """
    (samples,) = rewards.values()
    for start in range(0, samples.size, _CHUNK):
        if driver.finished:
            break
        yield driver.feed(samples[start : start + _CHUNK]), driver.samples, str(driver.result)
    yield from _standing(driver)


def by_tickets(driver: Bandit, rewards: Rewards) -> Facts:
    """Ask and tell in batches, late and twice, and yield all that is shown but the tickets' random names.

    Args:
        driver: The driver, with a seed.
        rewards: What each arm pays at each of its pulls. The run ends when they do.
    """
    taken = dict.fromkeys(rewards, 0)
    while not driver.finished:
        try:
            tickets = driver.ask(_BATCH)
        except (FinishedError, WaitingError) as error:
            yield str(error)
            break
        yield [(ticket.arm, ticket.number, ticket.epoch) for ticket in tickets]
        paid = []
        for ticket in tickets:
            if taken[ticket.arm] == rewards[ticket.arm].size:
                yield from _standing(driver)
                return
            paid.append(float(rewards[ticket.arm][taken[ticket.arm]]))
            taken[ticket.arm] += 1
        yield driver.tell(tickets[-1], paid[-1]), driver.outstanding
        yield driver.tell(tickets, paid), driver.tell(tickets[0], paid[0]), driver.outstanding, driver.pulls
        yield driver.best_arm, len(driver.open_tickets), repr(driver)
    yield from _standing(driver)


def _standing(driver: Any) -> Facts:
    """Yield what a driver shows at the end."""
    algorithm = driver.algorithm
    yield comparable(algorithm.plan())
    yield algorithm.snapshot()
    yield list(driver.ledger)
    yield driver.finished, driver.privacy, repr(driver)


PLAYS: dict[type[Any], Callable[[Any, Rewards], Facts]] = {Totals: by_totals, Stream: by_stream, Bandit: by_tickets}
"""How each driver is run."""
