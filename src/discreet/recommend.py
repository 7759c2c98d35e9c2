"""A recommended policy or stopping rule: one answer, with its options and its reason."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from discreet._display import Page, Shown
from discreet.bandits import (
    DPBestArm,
    DPChernoffIMED,
    DPEvidenceBestArm,
    DPPairedIMED,
    DPPersonElimination,
    DPSharpBestArm,
    DPSharpPersonElimination,
    DPSuccessiveElimination,
)
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.options import check_arms
from discreet.core.plans import Arm
from discreet.core.registry import make_policy, make_rule
from discreet.stopping import DPBernstein, DPInverseSampling, DPMean
from discreet.stopping.dp_mean import look_pays, most_times
from discreet.theory.sharp_elimination import GROWTH

GOALS = ("regret", "best-arm", "mean")
UNITS = ("reward", "person")
_LATE_GROWTH = 3.0  # of epochs whose rewards come late: the fewest people for one to four epochs' worth of waiting
_TURNS = "All arms that are left take turns, so a drift of the traffic does not favour any."


@dataclass(frozen=True, slots=True)
class Recommendation(Shown):
    """A policy or a stopping rule, its options, and the reason for it.

    Args:
        policy: The key of the policy or the rule.
        arms: The names of the arms; empty for a rule.
        options: Its other options.
        reason: The reason, in a few sentences.
    """

    policy: str
    arms: tuple[Arm, ...]
    options: dict[str, Any] = field(hash=False)
    reason: str

    def make(self) -> Any:
        """Return the policy or the rule."""
        if not self.arms:
            return make_rule(self.policy, **self.options)
        return make_policy(self.policy, self.arms, **self.options)

    def _page(self) -> Page:
        why = self.reason[0].upper() + self.reason[1:]
        return Page(f"take {self.policy}", {"arms": self.arms, **self.options}, notes=[why])

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.policy}({options}): {self.reason}"


def recommend(
    arms: int | Iterable[Arm] | None = None,
    *,
    epsilon: float,
    horizon: int | None = None,
    goal: str = "regret",
    beta: float = 0.05,
    alpha: float = 0.1,
    low: float = 0.0,
    high: float = 1.0,
    at_once: int = 1,
    delayed: bool = False,
    drifting: bool = False,
    unit: str = "reward",
) -> Recommendation:
    """Return the private policy or stopping rule that we would take, and why.

    Args:
        arms: The names of the arms, or their number; not for "mean".
        epsilon: The largest privacy loss of one unit, above 0.
        horizon: The number of pulls in all, if it is known.
        goal: "regret" (show the best arm as often as possible), "best-arm" (find it), or "mean" (know a mean within a
            factor 1 +- alpha, from as few samples as that takes).
        beta: For "best-arm" and "mean", the largest probability of a wrong answer.
        alpha: For "mean", the relative error of the estimate.
        low: For "mean", the least sample.
        high: For "mean", the largest sample.
        at_once: For regret, the number of people who may need an arm at the same time. The other answers hand out
            thousands at once anyway.
        delayed: True if rewards come hours or days later, or never: see `Bandit`'s `window`.
        drifting: True if all arms' rewards change together over time.
        unit: Whom epsilon covers: one "reward", which is enough if everybody contributes once, or a "person" who comes
            back, with at most one reward in each epoch.

    Raises:
        ArgumentError: An argument is wrong, or no policy can do that.

    >>> print(recommend(["A", "B", "C"], epsilon=0.5, horizon=1_000_000))
    dp-chernoff-imed(epsilon=0.5, horizon=1000000): its regret is near the lowest that any private policy can have, and
    it hardly ever stays with a wrong arm: its index knows how noisy its estimates are. It begins with 56 pulls of each
    arm and then decides after batches of one arm, each half as long as all the pulls of that arm before.
    >>> recommend(4, epsilon=1.0, goal="best-arm", beta=0.01).policy
    'dp-bai-evidence'
    >>> recommend(goal="mean", epsilon=1.0).policy, recommend(goal="mean", epsilon=1.0, low=-1.0).policy
    ('dp-inverse', 'dp-bernstein')
    """
    if goal == "mean":
        if arms is not None:
            raise ArgumentError(f"arms must be left out for a mean, which is of one stream, got {arms!r}")
        return _mean({"epsilon": epsilon, "alpha": alpha, "beta": beta, "low": low, "high": high})
    if arms is None:
        raise ArgumentError(f"arms must be given for the goal {goal!r}, as names or as a number")
    number = checks.whole("arms", arms, at_least=2) if isinstance(arms, int | float) else None
    names = check_arms("arms", arms if number is None else range(number))
    common: dict[str, Any] = {"epsilon": checks.positive("epsilon", epsilon)}
    if horizon is not None:
        common["horizon"] = checks.whole("horizon", horizon, at_least=len(names))
    checks.choice("goal", goal, GOALS)
    checks.choice("unit", unit, UNITS)
    several = checks.whole("at_once", at_once)
    if unit == "person":
        found = _person(names, common, checks.fraction("beta", beta), goal, drifting)
    elif goal == "best-arm":
        found = _best_arm(names, common, checks.fraction("beta", beta), drifting, delayed)
    elif delayed:
        found = _elimination(names, common, beta)
    elif drifting:
        found = _paired(names, common)
    else:
        found = _index(names, common, several)
    found.make()  # what cannot be built is not recommended
    return found


def _mean(options: dict[str, Any]) -> Recommendation:
    """Return inverse sampling, or the rule that chooses if DP-Bernstein may be better; or that one where both refuse.

    They refuse signed samples, and a tiny alpha, beta or epsilon.
    """
    following = DPBernstein(**options)  # what it refuses too is wrong
    try:
        rule = DPInverseSampling(**options)
    except ArgumentError as error:
        reason = (
            f"it learns the variance of the samples on the way, and takes any range. {DPInverseSampling.key} needs "
            f"fewer samples where it can be used; here it cannot: {error}."
        )
        return Recommendation(DPBernstein.key, (), options, reason)
    if look_pays(rule.alpha, rule.beta, rule.epsilon):
        times = most_times(rule, following)
        reason = (
            f"after a private look at the first samples it runs {DPInverseSampling.key} or {DPBernstein.key}, "
            f"whichever needs fewer. If samples hardly vary that is the second, which needs up to {times:.1f} times "
            f"fewer; if you know that all are 0 or {options['high']:g}, take {DPInverseSampling.key} at once and save "
            f"the look."
        )
        return Recommendation(DPMean.key, (), options, reason)
    reason = (
        f"it takes hardly more 0/1 samples than somebody who knows the mean beforehand. Samples in between are "
        f"rounded to 0 or {options['high']:g} at random; even if they hardly vary, {DPBernstein.key} needs about as "
        f"many, or more."
    )
    return Recommendation(DPInverseSampling.key, (), options, reason)


def _best_arm(
    arms: tuple[Arm, ...], common: dict[str, Any], beta: float, drifting: bool, delayed: bool
) -> Recommendation:
    options, horizon = {"epsilon": common["epsilon"], "beta": beta}, common.get("horizon")
    end = "give a horizon to end such a search"
    if horizon is not None:
        options["max_pulls"], end = horizon, "the search then ends unsettled"
    kind: type[DPBestArm | DPSharpBestArm | DPEvidenceBestArm] = DPEvidenceBestArm
    why = (
        f"It takes some 1.5 times fewer pulls than {DPSharpBestArm.key}, which can say beforehand how many it takes at "
        f"most, and 3 to 35 times fewer than {DPBestArm.key}, which has the paper's constants; for traffic that drifts "
        f"that one is the better choice, since in it all arms that are left take turns."
    )
    if drifting:
        kind, why = DPBestArm, _TURNS
    elif delayed:
        options["growth"] = _LATE_GROWTH
        kind = DPSharpBestArm
        why = (
            f"Every epoch waits for its last reward, so they grow by the factor {_LATE_GROWTH:g}, not {GROWTH:g}: "
            f"fewer epochs, for a few more pulls. Where rewards are quick {DPEvidenceBestArm.key} takes fewer."
        )
    late = "Give the Bandit a default_reward and a window, and it never gets stuck. " if delayed else ""
    reason = (
        f"it stops when one arm is left, which is the best one with probability {1 - beta:g} at least. "
        f"{late}{why} Two arms that are equally good are never told apart: {end}."
    )
    return Recommendation(kind.key, arms, options, reason)


def _elimination(arms: tuple[Arm, ...], common: dict[str, Any], beta: float) -> Recommendation:
    options = common if "horizon" in common else {**common, "beta": beta}
    first: Any = DPSuccessiveElimination(arms, **options).plan()
    reason = (
        f"it decides only at the ends of a few long epochs, so it must seldom wait for rewards. The first epoch has "
        f"{first.pulls[arms[0]]:,} pulls of each arm. Give the Bandit a default_reward and a window for rewards that "
        f"come late or never. {_TURNS} The price is regret: some 5 to 30 times that of "
        f"{DPChernoffIMED.key} where rewards are quick."
    )
    return Recommendation(DPSuccessiveElimination.key, arms, options, reason)


def _person(arms: tuple[Arm, ...], common: dict[str, Any], beta: float, goal: str, drifting: bool) -> Recommendation:
    kind = DPPersonElimination if drifting else DPSharpPersonElimination
    options = common if goal == "regret" and "horizon" in common else {**common, "beta": beta}
    fewer = f"It takes some 2 to 6 times fewer pulls than {DPPersonElimination.key}, which has the paper's constants."
    reason = (
        f"its epochs spend less and less of epsilon, so that it covers all rewards of a person who takes part in every "
        f"one; see to it that nobody is asked twice in an epoch. {_TURNS if drifting else fewer} When one arm is left, "
        f"that is the best one with probability {1 - kind(arms, **options).failure:g} at least. If everybody "
        f"contributes once, what is private for a reward is private for a person too, and better."
    )
    return Recommendation(kind.key, arms, options, reason)


def _paired(arms: tuple[Arm, ...], common: dict[str, Any]) -> Recommendation:
    reason = (
        f"it compares arms only within epochs in which they take turns, so a drift of the traffic moves both alike. A "
        f"policy that pulls one arm for a whole batch, such as {DPChernoffIMED.key}, may mistake the time for the arm. "
        f"The price is some three times its regret for means around 1/2, and more for rare rewards; where rewards also "
        f"come days later take {DPSuccessiveElimination.key}."
    )
    return Recommendation(DPPairedIMED.key, arms, common, reason)


def _index(arms: tuple[Arm, ...], common: dict[str, Any], at_once: int) -> Recommendation:
    default = DPChernoffIMED(arms, **common).batch_size(0)
    first = max(default, 2 * at_once if at_once > 1 else 0)
    horizon = common.get("horizon")
    if horizon is not None and first > default and first * len(arms) > horizon / 2:
        raise ArgumentError(
            f"at_once must leave most of the horizon to learn from: {at_once:,} people need first batches of {first:,} "
            f"pulls of each of {len(arms)} arms, got a horizon of {horizon:,}"
        )
    options = common if first == default else {**common, "first_batch": first}
    many = f" Every batch has room for {at_once:,} people at once." if at_once > 1 else ""
    short = ""
    if horizon is not None and default < math.floor(2 * math.log(horizon) / common["epsilon"]):
        short = " The horizon is short for this epsilon: no private policy can tell close arms apart in it."
    reason = (
        f"its regret is near the lowest that any private policy can have, and it hardly ever stays with a wrong arm: "
        f"its index knows how noisy its estimates are. It begins with {first:,} pulls of each arm and then decides "
        f"after batches of one arm, each half as long as all the pulls of that arm before.{many}{short}"
    )
    return Recommendation(DPChernoffIMED.key, arms, options, reason)
