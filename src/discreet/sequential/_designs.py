"""The options of tests as values, from which plans are computed once."""

from typing import NamedTuple

from discreet.core.errors import ArgumentError

SUREST = 1e-6
"""The least alpha and beta: laws are not followed much further."""


class MeanDesign(NamedTuple):
    """A test between two means of rewards that are rescaled to [0, 1].

    Attributes:
        null: The mean under the null hypothesis, the smaller one.
        alternative: The mean under the alternative.
        alpha: The largest chance of deciding for the alternative if the null hypothesis is true.
        beta: The largest chance of deciding for the null hypothesis if the alternative is true.
        epsilon: The price of a reward.
        width: The grid steps of the range.
    """

    null: float
    alternative: float
    alpha: float
    beta: float
    epsilon: float
    width: int


class LeadDesign(NamedTuple):
    """A test of one arm against a control.

    Attributes:
        base: The control's rate.
        effect: The arm's rate minus the control's that is looked for.
        margin: The margin of non-inferiority.
        alpha: The largest chance of a false alarm.
        beta: The largest chance of missing the effect.
        epsilon: The price of a reward.
        width: The grid steps of a reward.
    """

    base: float
    effect: float
    margin: float
    alpha: float
    beta: float
    epsilon: float
    width: int


def check_levels(alpha: float, beta: float | None) -> None:
    """Refuse errors that are too small to compute with, or so large that guessing is as good.

    Args:
        alpha: The chance of a false alarm.
        beta: The chance of missing what is there; None if nothing is promised of that.

    Raises:
        ArgumentError: One of them is below 1e-6, or both add up to 1 or more.
    """
    for name, value in (("alpha", alpha), ("beta", beta)):
        if value is not None and value < SUREST:
            raise ArgumentError(f"{name} must be at least {SUREST:g} for a test, got {value!r}")
    if beta is not None and alpha + beta >= 1:
        raise ArgumentError(
            f"alpha and beta must add up to less than 1, or tossing a coin is as good, got {alpha!r} and {beta!r}"
        )
