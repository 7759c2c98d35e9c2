"""Thompson sampling with Bernoulli arms, compiled.

An arm's posterior is Beta(a, b): a is one more than its ones, and b one more than its zeros.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np

from discreet.bandits import ThompsonSampling
from discreet.lab.kernels.beta import beta_between, log_density, log_mass, slope
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, pull
from discreet.lab.kernels.randomness import bernoulli, beta, binomial, quiet_steps, threshold, uniform

_OFTEN = 0.25  # where more than this share of steps would be exceptions, nothing is skipped
_PLAIN = 64  # steps that are then played before the next look
_SELDOM = 0.02  # an arm with a smaller chance to lie above the bar is not drawn at each of them
_FAR = 4.0  # how many standard deviations above the bar the leader's posterior stays, at least
_NEAR = 3.0  # the same, where nothing is skipped
_ROUNDING = 1e-4  # relative room for rounding in a chance: the logarithms of factorials are large
_TINY = 1e-300  # instead of a chance that is too small for a float


# ---------------------------------------------------------------------- what lies beyond a bar


@compiled
def beyond(a, b, mass, bar):
    """Return a bound on the posterior's chance to lie above the bar, and the rate of the exponential behind it.

    The logarithm of the density is concave, so its tangent at the bar lies above it: the density beyond is at most its
    value at the bar, falling exponentially. Infinite where it does not fall.

    Args:
        a: The first parameter of the posterior.
        b: The second parameter of the posterior.
        mass: The result of `log_mass`.
        bar: The bar.
    """
    rate = -slope(bar, a, b)
    return (math.exp(log_density(bar, a, b, mass)) / rate, rate) if rate > 0 else (np.inf, 0.0)


@compiled
def draw_beyond(state, a, b, bar, rate):
    """Draw from the exponential of `beyond`, and keep it with the chance that makes it a draw of the posterior; else
    return -1.

    Args:
        state: The generator's state, which is advanced.
        a: The first parameter of the posterior.
        b: The second parameter of the posterior.
        bar: The bar.
        rate: The rate of the exponential.
    """
    step = -math.log(uniform(state)) / rate
    if bar + step >= 1:
        return -1.0
    ratio = (a - 1) * math.log1p(step / bar) + (b - 1) * math.log1p(-step / (1 - bar)) + rate * step
    return bar + step if math.log(uniform(state)) < ratio else -1.0


@compiled
def _mass_of(masses, a, b, arm):
    """Return the logarithm of the beta function of an arm, and keep it: NaN stands for an unknown one."""
    if math.isnan(masses[arm]):
        masses[arm] = log_mass(a[arm], b[arm])
    return masses[arm]


# ---------------------------------------------------------------------- bars and coins


@compiled
def posterior(a, b):
    """Return mean and standard deviation, nearly.

    Args:
        a: The first parameter of the posterior.
        b: The second parameter of the posterior.
    """
    mean = a / (a + b)
    return mean, math.sqrt(mean * (1 - mean) / (a + b))


@compiled
def choose_bar(a, b, arm):
    """Return a bar between the leader's posterior and the others', and its number of pulls: both affect speed only.

    The bar lies below the leader's mean by so little that the others are hardly likelier beyond it than beyond that
    mean, or if that is too near by twice `_FAR` standard deviations. So many pulls, all zeros, would bring that mean
    down by half the distance.

    Args:
        a: The first parameter of each posterior.
        b: The second parameter of each posterior.
        arm: The leader's index.
    """
    mean, deviation = posterior(a[arm], b[arm])
    steepest = 1.0
    for other in range(a.size):
        if other != arm:
            steepest = max(steepest, -slope(mean, a[other], b[other]))
    bar = mean - max(1 / steepest, 2 * _FAR * deviation)
    if bar <= 0:
        return bar, 0
    return bar, int((a[arm] + b[arm]) * (mean - bar) / (mean + bar))


@compiled
def coins_to_skip(a, b, masses, arm, bar, size, coins, rates):
    """Choose a coin for each arm, thrown at every step: the leader's draw may lie below the bar, another arm's above.

    The leader's coin is good for `size` pulls, whatever their rewards. Each zero makes its density at the bar larger
    and its rate smaller, each one does the contrary, as long as its mean a/(a + b) is not below the bar; so zeros alone
    are the worst. Gives the logarithm of the chance that all coins of a step are tails; -inf if a coin cannot be.

    Args:
        a: The first parameter of each posterior.
        b: The second parameter of each posterior.
        masses: The result of `log_mass` for each arm, NaN where it is unknown.
        arm: The leader's index.
        bar: The bar.
        size: The largest number of pulls.
        coins: The chance of each arm's coin, which is written.
        rates: The rate of each arm's exponential, which is written.
    """
    tails, worst = 0.0, b[arm] + size
    if a[arm] < bar * (a[arm] + worst):
        return -np.inf
    for each in range(a.size):
        if each == arm:
            bound, rates[arm] = beyond(worst, a[arm], log_mass(worst, a[arm]), 1 - bar)
            coins[arm] = bound * (1 + _ROUNDING)
        else:
            coins[each], rates[each] = beyond(a[each], b[each], _mass_of(masses, a, b, each), bar)
        if coins[each] >= 1:
            return -np.inf
        tails += math.log1p(-coins[each])
    return tails


@compiled
def _coins_to_play(a, b, masses, arm, coins, rates):
    """Choose a bar, and a coin for each arm that seldom lies above it; the others have none and are drawn at every
    step.

    Gives the bar and the logarithm of the chance that all coins of a step are tails.
    """
    mean, deviation = posterior(a[arm], b[arm])
    bar, tails = mean - _NEAR * deviation, 0.0
    for each in range(a.size):
        coins[each] = 0.0
        if each != arm and bar > 0:
            bound, rates[each] = beyond(a[each], b[each], _mass_of(masses, a, b, each), bar)
            if bound < _SELDOM:
                coins[each] = max(bound, _TINY)
                tails += math.log1p(-coins[each])
    return bar, tails


@compiled
def _throw(state, a, b, arm, bar, coins, rates, values):
    """Draw what lies beyond the bar at a step at which at least one coin is heads; -1 for all other arms.

    An arm whose coin is heads lies beyond the bar if its draw is kept, and then it has the posterior's own density. For
    the leader, `arm`, beyond means below, and its coin was thrown for the worst that its posterior could have become.
    """
    tails = 0.0  # the logarithm of the chance that this coin and all later ones are tails
    for each in range(a.size):
        tails += math.log1p(-coins[each])
    heads = False
    for each in range(a.size):
        values[each] = -1.0
        if coins[each] == 0:
            continue
        chance = coins[each] if heads else coins[each] / -math.expm1(tails)
        tails -= math.log1p(-coins[each])
        if uniform(state) >= chance:
            continue
        heads = True
        if each != arm:
            values[each] = draw_beyond(state, a[each], b[each], bar, rates[each])
            continue
        bound, rate = beyond(b[arm], a[arm], log_mass(a[arm], b[arm]), 1 - bar)
        if uniform(state) * coins[arm] < bound:
            value = draw_beyond(state, b[arm], a[arm], 1 - bar, rate)
            values[arm] = 1 - value if value >= 0 else -1.0


@compiled
def _winner(state, a, b, bar, values):
    """Return the arm with the largest draw. Those of -1 lie below the bar, and are drawn if that could decide."""
    found = values.argmax()
    if values[found] >= bar:
        return found
    for each in range(a.size):
        if values[each] < 0:
            values[each] = beta_between(state, a[each], b[each], -np.inf, bar)
    return values.argmax()


# ---------------------------------------------------------------------- skip-ahead


@compiled
def skip_ahead(chances, horizon, state, checkpoints):
    """Throw coins for what happens rarely, pass all steps up to the first one that comes up heads, and return the pulls
    by checkpoint and arm.

    Let arm a have the most pulls. It is pulled at a step if its draw lies above a bar and all others' lie below. The
    others' posteriors do not change while a is pulled, and a's is bounded for a block of steps whatever its rewards.
    So the exceptions are bounded by coins that do not look at a's rewards: the number of steps up to the first heads
    is geometric, and the rewards in them are one binomial. At heads the step is played given that.

    Where exceptions are frequent, all steps are played, but arms that are far behind have coins there too.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
    """
    arms, time, track = chances.size, np.int64(0), new_track(chances.size, checkpoints)
    a, b = np.ones(arms), np.ones(arms)
    masses, coins, rates, values = np.full(arms, np.nan), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    while time < horizon:
        arm = track.pulls.argmax()
        bar, size = choose_bar(a, b, arm)
        size = min(size, horizon - time)
        tails = coins_to_skip(a, b, masses, arm, bar, size, coins, rates) if size >= _PLAIN else -np.inf
        skip = tails > math.log1p(-_OFTEN)
        if not skip:
            bar, tails = _coins_to_play(a, b, masses, arm, coins, rates)
            size = min(_PLAIN, horizon - time)
        quiet = quiet_steps(state, tails, size)
        if skip:
            gained = binomial(state, quiet, chances[arm])
            a[arm] += gained
            b[arm] += quiet - gained
            masses[arm] = np.nan
            time = pull(track, arm, quiet)
        for step in range(quiet if skip else 0, min(quiet + 1, size)):
            values[:] = -1.0
            if step == quiet:
                _throw(state, a, b, arm if skip else -1, bar, coins, rates, values)
            if skip and values[arm] < 0:
                values[arm] = beta_between(state, a[arm], b[arm], bar, np.inf)
            for each in range(0 if skip else arms):
                if coins[each] == 0:
                    values[each] = beta(state, a[each], b[each])
            pulled = _winner(state, a, b, bar, values)
            reward = bernoulli(state, threshold(chances[pulled]))
            a[pulled] += reward
            b[pulled] += 1 - reward
            masses[pulled] = np.nan
            time = pull(track, pulled, 1)
            if coins[pulled] > 0:
                break  # its posterior has changed, and with it its coin
    return track.counts


def program(policy: ThompsonSampling, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    return partial(skip_ahead, chances)
