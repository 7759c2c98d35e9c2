"""Chernoff bounds on the tails of totals that carry Laplace noise.

Each bound treats rewards and noise jointly; the sum of two separate bounds is wider by up to a factor of two. All
bounds hold for independent rewards in [0, 1], and for discrete as well as continuous Laplace noise: the continuous one
has the larger moment generating function, 1/(1 - s^2/epsilon^2).

An *exponent* L bounds a probability by exp(-L); a *level* is the exponent that is asked for.
"""

import math
from collections.abc import Sequence

from discreet.core import checks

_STEPS = 100  # the most steps of Newton's method: far more than it needs
_HALVINGS = 50
_BELOW = 1 - 1e-9  # searches over s end at this part of epsilon
_STEEPEST = 500.0  # and at this s, beyond which exponentials would overflow


def bernoulli_exponent(count: float, share: float, mean: float) -> float:
    """Return Chernoff's exponent without noise: count times kl(share, mean).

    Args:
        count: The number of rewards.
        share: The observed mean.
        mean: The true mean.

    >>> round(bernoulli_exponent(1000, 0.6, 0.7), 3)
    22.582
    """
    if mean >= 1:
        return math.inf if share < 1 else 0.0
    lost = (1 - share) * math.log((1 - share) / (1 - mean))
    return count * (lost + share * math.log(share / mean)) if share > 0 else count * lost


def tail_exponent(total: float, count: float, noises: int, mean: float, epsilon: float) -> float:
    """Return an exponent L with Pr[a noisy total is `total` or less] <= exp(-L).

    For every 0 <= s < epsilon, E exp(-s reward) <= 1 - mean + mean e^-s and
    E exp(-s noise) <= 1/(1 - s^2/epsilon^2) (discrete noise has less), so

        ln Pr <= s total + count ln(1 - mean + mean e^-s) - noises ln(1 - s^2/epsilon^2).

    The best s is where the derivative is 0; any other s yields a valid, smaller exponent. Without noise it is count
    times kl; with one noise it is at most count times d_epsilon, whose limit it is for many rewards.

    Args:
        total: The released total.
        count: The number of independent rewards in it, each in [0, 1].
        noises: The number of Laplace variables of scale 1/epsilon in it.
        mean: The rewards' supposed mean.
        epsilon: The inverse of the noise's scale.

    >>> round(tail_exponent(600, 1000, 0, 0.7, 1.0), 3)
    22.582
    >>> round(tail_exponent(600, 1000, 1, 0.7, 1.0), 3), round(tail_exponent(600, 1000, 5, 0.7, 0.1), 3)
    (22.368, 3.394)
    """
    missing = count * mean - total
    if missing <= 0:
        return 0.0
    if not noises:
        return max(0.0, bernoulli_exponent(count, max(0.0, total / count), mean))
    mean, low, high = min(mean, 1.0), 0.0, epsilon * _BELOW
    square, s = epsilon * epsilon, min(missing / (count * mean * (1 - mean) + 2 * noises / (epsilon * epsilon) + 1e-12),
                                       0.5 * epsilon)  # fmt: skip
    for _ in range(_STEPS):
        tilted, room = mean * math.exp(-s), square - s * s
        chance = tilted / (1 - mean + tilted) if mean < 1 else 1.0
        slope = count * chance - total - 2 * noises * s / room
        curve = count * chance * (1 - chance) + 2 * noises * (square + s * s) / (room * room)
        if slope > 0:
            low = s
        else:
            high = s
        step = slope / curve if curve > 0 else 0.0
        if slope * step <= 1e-6:  # twice what the step would still gain
            break
        s += step
        if not low < s < high:
            s = (low + high) / 2
    log_weight = math.log1p(mean * math.expm1(-s)) if mean < 1 else -s
    return max(0.0, -s * total - count * log_weight + noises * math.log1p(-s * s / square))


def paired_exponent(deficit: float, pairs: float, noises: int, epsilon: float) -> float:
    """Return an exponent L with Pr[an arm that is never worse is `deficit` or more behind] <= exp(-L).

    In each pair both arms pay independent rewards in [0, 1], and the arm's mean is at least the other's; means may
    differ from pair to pair. A difference in [-1, 1] of mean at most 0 has E exp(s difference) <= exp(s^2/2)
    (Hoeffding), so

        ln Pr <= -s deficit + pairs s^2/2 - noises ln(1 - s^2/epsilon^2),  0 <= s < epsilon.

    Args:
        deficit: The other arm's noisy total minus this arm's.
        pairs: The number of pairs of rewards.
        noises: The number of Laplace variables of scale 1/epsilon in the deficit.
        epsilon: The inverse of the noise's scale.

    >>> round(paired_exponent(100, 1000, 0, 1.0), 3), round(paired_exponent(100, 1000, 4, 1.0), 3)
    (5.0, 4.96)
    """
    if deficit <= 0:
        return 0.0
    if not noises:
        return deficit * deficit / (2 * pairs)
    square, low, high = epsilon * epsilon, 0.0, epsilon * _BELOW
    s = min(deficit / pairs, 0.5 * epsilon)
    for _ in range(_STEPS):
        room = square - s * s
        slope = deficit - pairs * s - 2 * noises * s / room
        curve = pairs + 2 * noises * (square + s * s) / (room * room)
        if slope > 0:
            low = s
        else:
            high = s
        step = slope / curve
        if slope * step <= 1e-6:  # twice what the step would still gain
            break
        s += step
        if not low < s < high:
            s = (low + high) / 2
    return max(0.0, s * deficit - pairs * s * s / 2 + noises * math.log1p(-s * s / square))


def largest_mean(total: float, count: float, noises: int, epsilon: float, level: float) -> float:
    """Return the largest mean in [0, 1] whose `tail_exponent` is at most `level`: an upper confidence bound.

    Args:
        total: The released total.
        count: The number of independent rewards in it, each in [0, 1].
        noises: The number of Laplace variables of scale 1/epsilon in it.
        epsilon: The inverse of the noise's scale.
        level: The true mean is above the bound with probability exp(-level) at most.

    >>> round(largest_mean(600, 1000, 0, 1.0, 3.0), 4), round(largest_mean(600, 1000, 5, 0.1, 3.0), 4)
    (0.6375, 0.6932)
    """
    low, high = min(1.0, max(0.0, total / count)), 1.0
    if low >= 1:
        return 1.0
    for _ in range(_HALVINGS):
        mean = (low + high) / 2
        if tail_exponent(total, count, noises, mean, epsilon) > level:
            high = mean
        else:
            low = mean
    return high


def lead_exponent(lead: float, pulls: float, noises: int, variance: float, epsilon: float) -> float:
    """Return an exponent L with Pr[an arm of no higher mean leads by `lead` or more] <= exp(-L).

    Let m be the mean of the arm that is behind. A reward X of mean at most m and a reward Y of
    mean m have E exp(s(X - Y)) <= (1 + m(e^s - 1))(1 + m(e^-s - 1)) = 1 + 2m(1 - m)(cosh s - 1), so

        ln Pr <= -s lead + pulls ln(1 + 2 variance (cosh s - 1)) - noises ln(1 - s^2/epsilon^2).

    Args:
        lead: The difference of the two noisy totals.
        pulls: The number of rewards in each total.
        noises: The number of Laplace variables of scale 1/epsilon in both totals together.
        variance: m(1 - m), or an upper bound on it.
        epsilon: The inverse of the noise's scale.

    >>> round(lead_exponent(100, 1000, 4, 0.25, 1.0), 3), round(lead_exponent(100, 1000, 4, 0.05, 1.0), 3)
    (9.855, 42.758)
    """
    if lead <= 0:
        return 0.0
    low, high = 0.0, min(epsilon * _BELOW, _STEEPEST)
    for _ in range(_HALVINGS):
        s = (low + high) / 2
        slope = 2 * variance * math.sinh(s) / (1 + 2 * variance * (math.cosh(s) - 1))
        if lead > pulls * slope + 2 * noises * s / (epsilon * epsilon - s * s):
            low = s
        else:
            high = s
    spread = math.log1p(4 * variance * math.sinh(low / 2) ** 2)  # cosh s - 1, without losing digits at a small s
    return max(0.0, low * lead - pulls * spread + noises * math.log1p(-low * low / (epsilon * epsilon)))


def largest_variance(total: float, count: float, noises: int, epsilon: float, level: float) -> float:
    """Return the largest m(1 - m) over all means m in the two-sided confidence interval of a total.

    Args:
        total: The released total.
        count: The number of independent rewards in it, each in [0, 1].
        noises: The number of Laplace variables of scale 1/epsilon in it.
        epsilon: The inverse of the noise's scale.
        level: Each end of the interval fails with probability exp(-level) at most.

    >>> round(largest_variance(50, 1000, 1, 1.0, 3.0), 4), largest_variance(500, 1000, 1, 1.0, 3.0)
    (0.0643, 0.25)
    """
    high = largest_mean(total, count, noises, epsilon, level)
    low = 1 - largest_mean(count - total, count, noises, epsilon, level)
    if low <= 0.5 <= high:
        return 0.25
    return high * (1 - high) if high < 0.5 else low * (1 - low)


def clearly_behind(  # noqa: PLR0917  (compiled too, where all arguments are positional)
    lead: float, total: float, pulls: float, noises: int, epsilon: float, level: float, doubt: float
) -> bool:
    """Return True if a lead over an arm rules out that this arm has the higher mean.

    The arm's mean m may lie anywhere in its confidence interval, and the lead must have a probability below
    exp(-level) for the worst such m. A larger variance makes a lead likelier, so the extremes 0 and 1/4 are tried
    before the interval is computed.

    Args:
        lead: The other arm's noisy total minus this arm's.
        total: This arm's noisy total.
        pulls: The number of rewards in each total.
        noises: The number of Laplace variables of scale 1/epsilon in each total.
        epsilon: The inverse of the noise's scale.
        level: The exponent that the lead must exceed.
        doubt: The level of each end of the confidence interval of m.

    >>> clearly_behind(60, 40, 1000, 1, 1.0, 7.0, 9.0), clearly_behind(60, 470, 1000, 1, 1.0, 7.0, 9.0)
    (True, False)
    """
    if lead_exponent(lead, pulls, 2 * noises, 0.0, epsilon) <= level:
        return False
    if lead_exponent(lead, pulls, 2 * noises, 0.25, epsilon) > level:
        return True
    variance = largest_variance(total, pulls, noises, epsilon, doubt)
    return lead_exponent(lead, pulls, 2 * noises, variance, epsilon) > level


def hoeffding_radius(count: float, noises: int, epsilon: float, level: float) -> float:
    """Return r such that a noisy total exceeds its mean by r or more with probability exp(-level) at most.

    The same holds below the mean. The radius is the least (count s^2/8 - noises ln(1 - s^2/epsilon^2) + level)/s; any s
    yields a valid one.

    Args:
        count: The number of independent rewards, each in [0, 1].
        noises: The number of Laplace variables of scale 1/epsilon.
        epsilon: The inverse of the noise's scale.
        level: The exponent of the bound.

    >>> round(hoeffding_radius(1000, 0, 1.0, 3.0), 3), round(hoeffding_radius(1000, 5, 0.1, 3.0), 3)
    (38.73, 94.163)
    """
    low, high = 0.0, min(epsilon * _BELOW, _STEEPEST)
    for _ in range(_HALVINGS):
        s = (low + high) / 2
        room = epsilon * epsilon - s * s
        if count * s * s / 8 + noises * (2 * s * s / room + math.log1p(-s * s / (epsilon * epsilon))) < level:
            low = s
        else:
            high = s
    return (count * high * high / 8 - noises * math.log1p(-high * high / (epsilon * epsilon)) + level) / high


def bernstein_radius(count: float, variance: float, noises: int, epsilon: float, level: float) -> float:
    """Return the smaller of `hoeffding_radius` and Bennett's radius for rewards of bounded variance.

    Bennett's is the least (count variance (e^s - 1 - s) - noises ln(1 - s^2/epsilon^2) + level)/s.

    Args:
        count: The number of independent rewards, each in [0, 1].
        variance: An upper bound on the variance of a reward.
        noises: The number of Laplace variables of scale 1/epsilon.
        epsilon: The inverse of the noise's scale.
        level: The exponent of the bound.

    >>> round(bernstein_radius(1000, 0.01, 0, 1.0, 3.0), 3), round(bernstein_radius(1000, 0.01, 5, 1.0, 3.0), 3)
    (8.692, 11.803)
    """
    low, high = 0.0, min(epsilon * _BELOW, _STEEPEST)
    for _ in range(_HALVINGS):
        s = (low + high) / 2
        room = epsilon * epsilon - s * s
        spread = count * variance * (s * math.expm1(s) - math.expm1(s) + s)
        if spread + noises * (2 * s * s / room + math.log1p(-s * s / (epsilon * epsilon))) < level:
            low = s
        else:
            high = s
    wide = count * variance * (math.expm1(high) - high) - noises * math.log1p(-high * high / (epsilon * epsilon))
    return min((wide + level) / high, hoeffding_radius(count, noises, epsilon, level))


def laplace_sum_radius(scales: Sequence[float], beta: float) -> float:
    """Return x such that a sum of independent Laplace variables has Pr[|sum| > x] <= beta.

    Chernoff: the logarithm of the moment generating function of Lap(b) at s is -ln(1 - b^2 s^2), which is at most
    1.5 b^2 s^2 while b s <= 1/sqrt(2). So Pr[sum > x] <= exp(-s x + 1.5 s^2 V) with V the sum of the b^2, for every
    s <= 1/(sqrt(2) max b); equate to beta/2 and take the best s. It holds for discrete Laplace noise too, whose moment
    generating function is smaller at the same scale.

    Args:
        scales: The scale of each variable.
        beta: The probability that the sum is larger.

    >>> round(laplace_sum_radius([1.0], beta=0.05), 2)
    6.28
    """
    log = math.log(2 / checks.fraction("beta", beta))
    if not scales:
        return 0.0
    variance = sum(scale * scale for scale in scales)
    s = min(math.sqrt(log / (1.5 * variance)), 1 / (math.sqrt(2) * max(scales)))
    return log / s + 1.5 * s * variance
