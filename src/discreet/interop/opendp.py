"""Stopping rules as measurements of OpenDP, to be combined with its own.

OpenDP proves nothing about a measurement of a user: it believes the privacy map. Here the map is discreet's promise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import opendp.prelude as dp

from discreet.core.errors import PrivacyError
from discreet.core.privacy import Unit
from discreet.drivers.stream import Stream
from discreet.stopping import StoppingRule


def measurement(rule: StoppingRule) -> Any:
    """Return a stopping rule as a measurement: a list of numbers goes in, a `StoppingResult` comes out.

    Lists are neighbours if they have the same length and differ in one number (the Hamming distance). At distance d the
    loss is d times epsilon: group privacy. Each call is a run of its own with fresh private noise. Numbers lie in the
    rule's range: an error about one that does not would say what it is.

    OpenDP asks for the features "contrib" and "honest-but-curious" first: `opendp.prelude.enable_features`.

    Args:
        rule: The rule.

    Raises:
        PrivacyError: The rule is not private for a reward.

    >>> import discreet
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> rule = discreet.DPInverseSampling(epsilon=0.5, alpha=0.5, beta=0.1, low=0, high=1)
    >>> found = measurement(rule)
    >>> found.map(1), found.map(2), found([0.0, 1.0] * 500).reached
    (0.5, 1.0, True)
    """
    privacy = rule.privacy
    if privacy.unit is not Unit.REWARD:
        raise PrivacyError(f"rule must be private for one reward, got one for {privacy.unit.words}: {privacy.reason}")
    options = rule.options()

    grid = rule.grid

    def function(samples: list[float]) -> Any:
        made = Stream(type(rule).from_options(options), clip=True)  # not even a number outside may raise an error
        return made.run(np.asarray(samples, dtype=float))

    return dp.m.make_user_measurement(
        input_domain=dp.vector_domain(dp.atom_domain(bounds=(grid.low, grid.high), nan=False)),
        input_metric=dp.hamming_distance(),
        output_measure=dp.max_divergence(),
        function=function,
        privacy_map=lambda distance: float(distance) * privacy.epsilon,
        TO="ExtrinsicObject",
    )
