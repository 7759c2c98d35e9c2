"""NAS, DP-NAS and the one-sided rule on samples of two values, compiled: they skip ahead to where a test may succeed.

Thresholds are in grid steps, rounded as the rule rounds them, so the distribution is that of the rule object.
`docs/simulation.md` says why nothing is approximated.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.lab.kernels.coins import FRESH, LARGEST, Coin
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import binomial, discrete_laplace, uniform
from discreet.stopping import DPNAS, NAS, DPOneSidedNAS

_ROUNDING = 2.0**-48  # by how much, relatively, a computed threshold could fall where the true one grows


# ---------------------------------------------------------------------- samples


@compiled
def heads(state, coin, start, size, path):
    """Return how many of the next samples are the larger value: one binomial draw, or counted on a path.

    Args:
        state: The generator's state, which is advanced.
        coin: The samples.
        start: The samples before.
        size: The number of samples.
        path: Samples to replay, 1 for the larger value; empty for fresh ones.
    """
    if path.size:
        return np.int64(path[start : start + size].sum())
    return binomial(state, size, coin.chance)


@compiled
def sum_of(coin, size, ones):
    """Return the sum of samples.

    Args:
        coin: The samples.
        size: The number of samples.
        ones: How many of them are the larger value.
    """
    return ones * coin.high + (size - ones) * coin.low


@compiled
def farthest(coin):
    """Return the most by which one sample can move the sum."""
    return max(abs(coin.low), abs(coin.high))


# ---------------------------------------------------------------------- the threshold of NAS and DP-NAS


class Curve(NamedTuple):
    """Parameters of the threshold of NAS or DP-NAS, by the names of the rule's own formulas.

    Attributes:
        factor: 1 + 1/alpha.
        inside: The number inside the logarithm of the Hoeffding radius: 4, or DP-NAS's 16.
        query: sigma1; 0 for NAS, and so all below.
        release: sigma3/alpha.
        tails: A step for each noise whose tail is discrete.
    """

    half_width: float
    log_beta: float
    factor: float
    step: float
    inside: float
    query: float
    release: float
    tails: float


def curve_of(rule: NAS) -> Curve:
    """Return the threshold of a rule.

    >>> rule = NAS(alpha=0.1, beta=0.05, low=0, high=1)
    >>> int(limit(curve_of(rule), 1000)) == math.ceil(rule.limit_steps(1000.0))
    True
    """
    given = rule.half_width, math.log(rule.beta), 1 + 1 / rule.alpha, rule.grid.step
    if isinstance(rule, DPNAS):
        return Curve(*given, 16.0, rule.sigma1, rule.sigma3 / rule.alpha, rule.discrete_tails)
    return Curve(*given, 4.0, 0.0, 0.0, 0.0)


@compiled
def limit(curve, time):
    """Return what |sum| must reach at t, in grid steps: the rule's formulas, operation by operation, rounded up.

    Args:
        curve: The threshold.
        time: The number of samples t.
    """
    t = np.float64(time)
    hoeffding = curve.half_width * math.sqrt(2 / t * (math.log(curve.inside * (t * t)) - curve.log_beta))
    once, tests = math.log(4.0) - curve.log_beta, math.log(8.0 * (t * t)) - curve.log_beta
    margin = curve.query * once + curve.query * tests + curve.release * once
    threshold = hoeffding * curve.factor * t + margin
    return np.int64(min(np.ceil(threshold / curve.step + 0.5 * t * curve.factor + curve.tails), LARGEST))


@compiled
def least_limit(curve, time):
    """Return what |sum| must reach at t or later. The limit only grows, and rounding is allowed for.

    Args:
        curve: The threshold.
        time: The number of samples t.
    """
    return limit(curve, time) * (1 - _ROUNDING)


# ---------------------------------------------------------------------- NAS


@compiled
def nas(coin, curve, path, state, cap):
    """Run NAS, and return whether it halted, the samples, and their sum in grid steps from 0.

    It halts at the first t with |S_t| >= limit(t). The limit only grows and a sample moves |S| by M at most, so with
    distance d to go no test can succeed in the next ceil(d/M) - 1 samples. They and the one after them are one binomial
    draw; then the test is made.

    Args:
        coin: The samples.
        curve: The threshold.
        path: Samples to replay, 1 for the larger value; empty for fresh ones.
        state: The generator's state, which is advanced.
        cap: The largest number of samples.
    """
    total, time = np.int64(0), np.int64(0)
    while time < cap:
        distance = least_limit(curve, time + 1) - abs(total)
        size = min(max(np.int64(math.ceil(distance / farthest(coin))), 1), cap - time)
        total += sum_of(coin, size, heads(state, coin, time, size, path))
        time += size
        if abs(total) >= limit(curve, time):
            return True, time, total
    return False, time, total


# ---------------------------------------------------------------------- DP-NAS


@compiled
def chance_below(y, scale):
    """Return P(A <= y) for discrete Laplace noise A.

    Args:
        y: A whole number.
        scale: The scale of A.
    """
    q = math.exp(-1 / scale)
    if y < 0:
        return math.exp(y / scale) / (1 + q)
    return 1 - math.exp(-(y + 1) / scale) / (1 + q)


@compiled
def _next_candidate(state, bound, size):
    """Return the first success of `size` trials of this chance, counted from 1; size + 1 if there is none."""
    if bound <= 0:  # too small for a float
        return size + 1
    failures = math.log(uniform(state)) / math.log1p(-bound) if bound < 1 else 0.0
    return size + 1 if failures >= size else np.int64(failures) + 1


@compiled
def _block(distance, most, scale):
    """Return the number of samples for which to bound the chance of a test: so few that no candidate is likely.

    `distance` is what is missing to the threshold. Any size is right, and this one is fast.
    """
    scales, samples = distance / scale, scale / most  # how many scales away, and how many samples a scale has
    room = scales - math.log(max(samples * scales, 1.0)) - 1.0
    return np.int64(max(samples * max(room, 0.5), 1.0))


@compiled
def dp_nas(coin, curve, query_scale, release_scale, state, cap):
    """Run DP-NAS, and return whether it halted, the samples, and the released sum in grid steps from 0.

    Given the path and B, the test at t succeeds with chance p_t = P(A <= |S_t| - limit(t) - B), independently.
    Within a block of m samples p_t is at most `bound`, since |S| grows by M a sample at most and the limit does not
    fall. So trials of chance `bound` say where a test *may* succeed, and one that may does with chance p_t/bound.
    Between such candidates only the sum matters.

    Args:
        coin: The samples.
        curve: The threshold.
        query_scale: The noise scale of the tests, in grid steps.
        release_scale: The noise scale of the release, in grid steps.
        state: The generator's state, which is advanced.
        cap: The largest number of samples.
    """
    most = farthest(coin)
    threshold_noise = discrete_laplace(state, query_scale)
    total, time = np.int64(0), np.int64(0)
    while time < cap:
        distance = least_limit(curve, time + 1) - abs(total) + threshold_noise
        size = min(_block(distance, most, query_scale), cap - time)
        bound = chance_below(size * most - distance, query_scale)
        candidate = _next_candidate(state, bound, size)
        done = min(candidate, size)
        total += sum_of(coin, done, binomial(state, done, coin.chance))
        time += done
        if candidate <= size:
            chance = chance_below(np.float64(abs(total) - limit(curve, time) - threshold_noise), query_scale)
            if uniform(state) * bound < chance:
                return True, time, total + discrete_laplace(state, release_scale)
    return False, time, total


# ---------------------------------------------------------------------- the one-sided rule


def limits_of(rule: DPOneSidedNAS, cap: Any) -> Any:
    """Return the rule's limit at each test within the cap, in grid steps.

    Args:
        rule: The rule.
        cap: The largest number of samples.
    """
    count = (cap // rule.first_test).bit_length()
    limits = (rule.limit(rule.test_time(number), number) for number in range(1, count + 1))
    return np.array([min(limit, int(LARGEST)) for limit in limits], np.int64)


@compiled
def one_sided_nas(coin, first, limits, query_scale, release_scale, state, cap):
    """Run the one-sided rule, and return whether it halted, the samples, and the released sum in grid steps from 0.

    It looks at the sum at the times `first`, twice that, and so on. In between only the sum matters.

    Args:
        coin: The samples.
        first: The samples at the first test.
        limits: The limit of each test, in grid steps.
        query_scale: The noise scale of the tests, in grid steps.
        release_scale: The noise scale of the release, in grid steps.
        state: The generator's state, which is advanced.
        cap: The largest number of samples.
    """
    threshold_noise = abs(discrete_laplace(state, query_scale))
    total, time, due = np.int64(0), np.int64(0), first
    for needed in limits:
        total += sum_of(coin, due - time, binomial(state, due - time, coin.chance))
        time = due
        due = 2 * due
        if total + abs(discrete_laplace(state, query_scale)) >= needed + threshold_noise:
            return True, time, total + discrete_laplace(state, release_scale)
    return False, cap, total


# ---------------------------------------------------------------------- from a rule object


def program(rule: NAS | DPOneSidedNAS, coin: Coin) -> Any:
    """Return the kernel of a rule on samples of two values: see `discreet.lab.kernels`.

    Args:
        rule: The rule.
        coin: The samples.
    """
    grid, cap = rule.grid, rule.max_samples
    if isinstance(rule, DPOneSidedNAS):
        kernel = partial(one_sided_nas, coin, rule.first_test, limits_of(rule, cap), *scales_of(rule))
    elif isinstance(rule, DPNAS):
        kernel = partial(dp_nas, coin, curve_of(rule), *scales_of(rule))
    else:
        kernel = partial(nas, coin, curve_of(rule), FRESH)

    def play(state: Any) -> tuple[bool, int, float]:
        reached, samples, total = kernel(state, cap)
        return reached, samples, grid.mean(total - samples * grid.floor, samples) if reached else math.nan

    return play


def scales_of(rule: DPNAS | DPOneSidedNAS) -> tuple[float, float]:
    """Return the noise scales of a private rule's tests and of its release, in grid steps."""
    both = (rule.sigma1, rule.sigma3) if isinstance(rule, DPNAS) else (rule.sigma_tests, rule.sigma_release)
    return both[0] / rule.grid.step, both[1] / rule.grid.step
