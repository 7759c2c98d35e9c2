"""Algorithms as measurements of OpenDP, to be combined with its own.

OpenDP proves nothing about a measurement of a user: it believes the privacy map. Here the map is discreet's promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import opendp.prelude as dp

from discreet.bandits import Policy
from discreet.core.errors import ArgumentError, PrivacyError
from discreet.core.plans import Arm
from discreet.core.privacy import Unit
from discreet.drivers.stream import Stream
from discreet.drivers.totals import Totals
from discreet.stopping import StoppingRule


def measurement(algorithm: StoppingRule | Policy, arms: Sequence[Arm] | None = None) -> Any:
    """Return an algorithm as a measurement of a list of numbers.

    What comes out of a stopping rule is a `StoppingResult`; of a policy, the policy with its ledger, as it stands when
    an epoch needs more rewards of an arm than are left.

    Lists are neighbours if they have the same length and differ in one number (the Hamming distance). At distance d the
    loss is d times epsilon: group privacy. Each call is a run of its own with fresh private noise. Numbers lie in the
    algorithm's range: an error about one that does not would say what it is.

    OpenDP asks for the features "contrib" and "honest-but-curious" first: `opendp.prelude.enable_features`.

    Args:
        algorithm: A stopping rule or a policy.
        arms: Of a policy, the arm of each number of the list. Arms are public.

    Raises:
        PrivacyError: The algorithm is not private for a reward.
        ArgumentError: A policy has no arms, or others than its own; or a rule has some.

    >>> import discreet
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> rule = discreet.DPInverseSampling(epsilon=0.5, alpha=0.5, beta=0.1, low=0, high=1)
    >>> found = measurement(rule)
    >>> found.map(1), found.map(2), found([0.0, 1.0] * 500).reached
    (0.5, 1.0, True)
    >>> policy = discreet.DPEvidenceBestArm(["A", "B"], epsilon=1.0, beta=1e-9)
    >>> measurement(policy, arms=["A", "B"] * 2000)([0.0, 1.0] * 2000).best_arm
    'B'
    """
    privacy, grid = algorithm.privacy, algorithm.grid
    if privacy.unit is not Unit.REWARD:
        words = f"algorithm must be private for one reward, got one for {privacy.unit.words}: {privacy.reason}"
        raise PrivacyError(words)
    if isinstance(algorithm, Policy):
        given = None if arms is None else [*arms]
        if given is None or not set(given) <= set(algorithm.arms):
            raise ArgumentError(f"arms must be the arm of each number, of {[*algorithm.arms]!r}, got {_short(given)}")
        domain = dp.vector_domain(dp.atom_domain(bounds=(grid.low, grid.high), nan=False), size=len(given))
        function = partial(_policy, algorithm, given)
    else:
        if arms is not None:
            raise ArgumentError(f"arms must be None for a stopping rule, which has none, got {_short(arms)}")
        domain = dp.vector_domain(dp.atom_domain(bounds=(grid.low, grid.high), nan=False))
        function = partial(_rule, algorithm)
    return dp.m.make_user_measurement(
        input_domain=domain,
        input_metric=dp.hamming_distance(),
        output_measure=dp.max_divergence(),
        function=function,
        privacy_map=lambda distance: float(distance) * privacy.epsilon,
        TO="ExtrinsicObject",
    )


def _rule(rule: StoppingRule, samples: list[float]) -> Any:
    stream = Stream(type(rule).from_options(rule.options()), clip=True)  # not even a number outside may raise an error
    return stream.run(np.asarray(samples, dtype=float))


def _policy(policy: Policy, arms: list[Arm], rewards: list[float]) -> Any:
    """Return a policy that has learned from as many epochs as the rewards are enough for: a public number of each arm.

    Args:
        policy: The policy.
        arms: The arm of each reward.
        rewards: The rewards; one that is out of range is moved to its end.
    """
    epochs = Totals(type(policy).from_options(policy.options()))
    left: dict[Arm, list[float]] = {arm: [] for arm in policy.arms}
    grid = policy.grid
    for arm, reward in zip(reversed(arms), reversed(rewards), strict=True):
        left[arm].append(min(max(reward, grid.low), grid.high) if reward == reward else grid.low)  # noqa: PLR0124
    while (plan := epochs.plan()) is not None:
        if plan.query is None:
            epochs.close()
            continue
        if any(len(left[arm]) < pulls for arm, pulls in plan.pulls.items()):
            break
        epochs.close({arm: [left[arm].pop() for _ in range(pulls)] for arm, pulls in plan.pulls.items()})
    return epochs.algorithm


def _short(arms: Sequence[Arm] | None) -> str:
    return "none" if arms is None else f"{[*dict.fromkeys(arms)][:5]!r}"
