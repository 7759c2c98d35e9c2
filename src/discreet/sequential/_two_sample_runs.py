"""Many runs of a test of arms against a control at once: for forecasts and studies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.probability.evidence import Numbers
from discreet.sequential._joint import OpenRule
from discreet.sequential._planned_looks import LooksPlan
from discreet.sequential._simulated import laplace

_LOOKS = 400  # after which a run of a test without an end is cut off


@dataclass(frozen=True)
class Runs:
    """Simulated runs of a test.

    Args:
        people: The rewards of all arms that each run took.
        shown: By run and arm but the control, True if the arm has passed.
        given_up: By run and arm, True if it was given up before the last look.
    """

    people: Numbers
    shown: Any
    given_up: Any


def runs_of(plan: LooksPlan, rates: ArrayLike, runs: int, rng: np.random.Generator) -> Runs:
    """Simulate a test with 0/1 rewards.

    Args:
        plan: The looks and their limits.
        rates: The rate of each arm, the control's first; or a row of them for each block, if they drift.
        runs: The number of runs.
        rng: A generator.
    """
    moving = _by_look(rates, plan.looks)
    others = moving.shape[1] - 1
    leads, pooled = np.zeros((runs, others), dtype=np.int64), np.zeros((runs, others))
    open_ = np.ones((runs, others), dtype=bool)
    shown, given_up, people = np.zeros_like(open_), np.zeros_like(open_), np.zeros(runs)
    for look in range(1, plan.looks + 1):
        going = open_.any(axis=1)
        if not going.any():
            break
        people += plan.block * (open_.sum(axis=1) + going)
        shape = (runs, others + 1)
        totals = rng.binomial(plan.block, moving[look - 1], shape) + laplace(rng, plan.epsilon, shape)
        wholes = np.rint(totals).astype(np.int64)
        leads += wholes[:, 1:] - wholes[:, :1]
        pooled += totals[:, 1:] + totals[:, :1]
        limits = limits_of(plan, look, pooled[open_])
        found = np.zeros_like(open_)
        found[open_] = leads[open_] >= limits
        shown |= found
        open_ &= ~found
        if look < plan.looks:
            behind = open_ & (leads <= plan.give_up[look - 1])
            given_up |= behind
            open_ &= ~behind
    for _ in range(others - 1):
        _share_out(plan, leads, pooled, open_ & ~shown, shown)
    return Runs(people, shown, given_up)


def _share_out(plan: LooksPlan, leads: Any, pooled: Numbers, last: Any, shown: Any) -> None:
    """Let arms pass at the last look by the part of alpha that those which have passed leave to them, once (Holm).

    Args:
        plan: The looks and their limits, for the part of alpha that an arm has by itself.
        leads: By run and arm, the difference from the control.
        pooled: By run and arm, the sum of both arms' totals.
        last: By run and arm, True for arms that have not passed and were not given up before the last look.
        shown: By run and arm, True for those that have passed: it is changed.
    """
    others = shown.shape[1]
    left = others - shown.sum(axis=1)
    for count in range(1, others):
        at = last & (left == count)[:, None]
        shown[at] = leads[at] >= limits_of(plan, plan.looks, pooled[at], plan.alpha * (others / count - 1))


def limits_of(plan: LooksPlan, look: int, pooled: Numbers, more: float = 0.0) -> Any:
    """Return the limit of a look for each pooled total.

    Args:
        plan: The looks and their limits.
        look: The look's number, from 1.
        pooled: Pooled totals, in rewards.
        more: What the look may use besides.
    """
    values, places = np.unique(np.ceil(pooled).astype(np.int64), return_inverse=True)
    return np.array([plan.limit(look, int(value), more) for value in values], dtype=np.int64)[places]


def open_runs_of(rule: OpenRule, rates: ArrayLike, runs: int, rng: np.random.Generator, looks: int = _LOOKS) -> Runs:
    """Simulate a test without an end, with 0/1 rewards.

    Args:
        rule: What decides on an arm.
        rates: The rate of each arm, the control's first; or a row of them for each block, if they drift.
        runs: The number of runs.
        rng: A generator.
        looks: After how many looks a run is cut off.
    """
    moving = _by_look(rates, looks)
    others = moving.shape[1] - 1
    totals, people = np.zeros((runs, others + 1)), np.zeros(runs)
    open_, most = np.ones((runs, others), dtype=bool), np.full((runs, others), -np.inf)
    shown, given_up = np.zeros_like(open_), np.zeros_like(open_)
    for look in range(1, looks + 1):
        going = np.flatnonzero(open_.any(axis=1))
        if not len(going):
            break
        people[going] += rule.block * (open_[going].sum(axis=1) + 1)
        shape = (len(going), others + 1)
        totals[going] += rng.binomial(rule.block, moving[look - 1], shape) + laplace(rng, rule.better.epsilon, shape)
        for arm in range(others):
            rows = going[open_[going, arm]]
            pair = totals[rows, arm + 1], totals[rows, 0]
            evidence = rule.log_evidence(*pair, look)
            most[rows, arm] = np.maximum(most[rows, arm], evidence)
            passed = evidence >= -math.log(rule.alpha)
            left = rule.gives_up(*pair, look) & ~passed
            shown[rows[passed], arm], given_up[rows[left], arm] = True, True
            open_[rows[passed | left], arm] = False
        for _ in range(others - 1 if rule.better.base is None else 0):  # what those that passed leave to others (Holm)
            parts = others / np.maximum(1, others - shown.sum(axis=1, keepdims=True))
            shown |= (parts > 1) & (most >= -np.log(rule.alpha * parts))
            open_ &= ~shown
    return Runs(people, shown, given_up & ~shown)


def _by_look(rates: ArrayLike, looks: int) -> Numbers:
    """Return the rates of each block, as rows."""
    given = np.atleast_2d(np.asarray(rates, dtype=float))
    return np.broadcast_to(given, (looks, given.shape[1]))
