"""Evidence that one arm's mean is above another's, by their released totals: the formula of searches for the best arm.

It is the joint evidence of `discreet.inference` for one pair of arms, with stakes for searches, as scalar code that
kernels compile too. docs/proofs/evidence-best-arm.md has the proof. Rewards are rescaled to [0, 1].
"""

import math

from discreet.core.probability.evidence import CAP, STEEPEST

FIRST = 40.0  # the least size that a stake is best for, where epsilon is 1 or more
FACTOR = 4.0  # from one size to the next
NEAR, SIZES = 7, 19  # sizes of most weight, and all of them: up to 4^18 times the first
BEYOND = 100.0  # sizes above this many times the rewards so far are left out: they say nothing yet
WEIGHT_NEAR, WEIGHT_LATER, WEIGHT_ALONE = 0.8, 0.1, 0.1
DEVIATIONS = 3.2  # a stake of u/sd is best after (3.2/u)^2 rewards
ALONES, LEAST_ALONE = 8, 0.02  # stakes on one arm by itself, and the least of them in parts of the largest
REACH = 6.0  # how many standard deviations beyond both means the shared mean is searched for
SCANS, POINTS = 7, 9  # each scan lies around the best point of the one before
SLACK = 1e-3  # what the search may miss


def factor(  # noqa: PLR0917  (compiled too, where all arguments are positional)
    stake: float, total: float, count: float, noises: int, mean: float, epsilon: float
) -> float:
    """Return the logarithm of the factor of evidence against "the mean is at most `mean`".

    Args:
        stake: s, above 0 and below epsilon.
        total: The released total.
        count: The number of rewards in it.
        noises: The number of Laplace variables of scale 1/epsilon in it.
        mean: The supposed mean x.
        epsilon: The inverse of the noise's scale.

    >>> round(factor(0.1, 600, 1000, 2, 0.5, 1.0), 3)
    8.73
    """
    share = stake / epsilon
    return stake * total - count * math.log1p(mean * math.expm1(stake)) + noises * math.log1p(-share * share)


def alone(total: float, count: float, noises: int, mean: float, epsilon: float) -> float:
    """Return the logarithm of the weighted evidence of one arm by itself that its mean is above a number.

    It falls as that number grows.

    Args:
        total: The released total.
        count: The number of rewards in it.
        noises: The number of Laplace variables of scale 1/epsilon in it.
        mean: The number, in [0, 1].
        epsilon: The inverse of the noise's scale.
    """
    most, highest, added = min(CAP * epsilon, STEEPEST), -math.inf, 0.0
    for index in range(ALONES):
        term = factor(most * LEAST_ALONE ** (index / (ALONES - 1)), total, count, noises, mean, epsilon)
        if term > highest:
            added = added * math.exp(highest - term) + 1
            highest = term
        else:
            added += math.exp(term - highest)
    return highest + math.log(added * WEIGHT_ALONE / (2 * ALONES))


def evidence_at(  # noqa: PLR0917  (compiled too, where all arguments are positional)
    mean: float, total: float, count: float, noises: int, below: float, rest: float, others: int, epsilon: float
) -> float:
    """Return the logarithm of the evidence against "this arm's mean is at most x, and the other's is at least x".

    It is a mixture over sizes n of joint stakes s = 1/(sqrt(x(1-x) + 4/(n epsilon^2))/u + 1/cap), u = 3.2/sqrt(n), on
    this arm's rewards and against the other's, and of stakes on either arm alone.

    Args:
        mean: x.
        total: This arm's released total.
        count: The number of rewards in it.
        noises: The number of Laplace variables of scale 1/epsilon in it.
        below: The other arm's rewards less its released total: a total of 1 minus each reward.
        rest: The number of the other arm's rewards.
        others: The number of Laplace variables in its total.
        epsilon: The inverse of the noise's scale.
    """
    cap, variance, largest = min(CAP * epsilon, STEEPEST), mean * (1 - mean), BEYOND * (count + rest)
    size, highest, added = FIRST / min(epsilon, 1.0), -math.inf, 0.0
    for index in range(SIZES):
        if size > largest:
            break
        deviation = math.sqrt(variance + 4 / (size * epsilon * epsilon))
        stake = 1 / (deviation * math.sqrt(size) / DEVIATIONS + 1 / cap)
        term = factor(stake, total, count, noises, mean, epsilon) + factor(
            stake, below, rest, others, 1 - mean, epsilon
        )
        weight = WEIGHT_NEAR / NEAR if index < NEAR else WEIGHT_LATER / (SIZES - NEAR)
        if term > highest:
            added = added * math.exp(highest - term) + weight
            highest = term
        else:
            added += weight * math.exp(term - highest)
        size *= FACTOR
    for term in (alone(total, count, noises, mean, epsilon), alone(below, rest, others, 1 - mean, epsilon)):
        if term > highest:
            added = added * math.exp(highest - term) + 1
            highest = term
        else:
            added += math.exp(term - highest)
    return highest + math.log(added)


def lead_evidence(  # noqa: PLR0917  (compiled too, where all arguments are positional)
    total: float, count: float, noises: int, other: float, rest: float, others: int, epsilon: float
) -> float:
    """Return the logarithm of the evidence that an arm's mean is above another's: the least over all shared means x.

    If it is not above it, the evidence reaches 1/a at any look with a chance of a at most. Between the two means, and
    six standard deviations beyond, the least one is searched for; still further out one arm by itself says enough.

    Args:
        total: The arm's released total.
        count: The number of rewards in it.
        noises: The number of Laplace variables of scale 1/epsilon in it.
        other: The other arm's released total.
        rest: The number of rewards in that.
        others: The number of Laplace variables in that.
        epsilon: The inverse of the noise's scale.

    >>> round(lead_evidence(600, 1000, 2, 500, 1000, 2, 1.0), 2), lead_evidence(500, 1000, 2, 600, 1000, 2, 1.0)
    (7.92, 0.0)
    """
    if other * count >= total * rest:
        return 0.0
    below, square = rest - other, epsilon * epsilon
    first, last = min(1.0, max(0.0, other / rest)), min(1.0, max(0.0, total / count))
    spread = math.sqrt((first * (1 - first) + 1 / rest) / rest + 2 * others / (square * rest * rest))
    low = max(0.0, first - REACH * spread)
    spread = math.sqrt((last * (1 - last) + 1 / count) / count + 2 * noises / (square * count * count))
    high = min(1.0, last + REACH * spread)
    least = math.inf
    if low > 0:
        least = alone(total, count, noises, low, epsilon)
    if high < 1:
        least = min(least, alone(below, rest, others, 1 - high, epsilon))
    found, place = math.inf, low
    for _ in range(SCANS):
        step = (high - low) / (POINTS - 1)
        for index in range(POINTS):
            mean = low + index * step
            value = evidence_at(mean, total, count, noises, below, rest, others, epsilon)
            if value < found:
                found, place = value, mean
        low, high = max(low, place - step), min(high, place + step)
    return max(0.0, min(least, found) - SLACK)
