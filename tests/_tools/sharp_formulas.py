"""Elimination with sharp constants as a plain program, written from docs/proofs/sharp-elimination.md."""

import math

import numpy as np
from scipy import optimize


def least(function, epsilon):
    """The least value of a function of s in (0, epsilon), on a fine grid and then by a search around the best place."""
    s = epsilon * np.concatenate([np.geomspace(1e-8, 0.5, 4000), 1 - np.geomspace(1e-9, 0.5, 4000)[::-1]])
    values = function(s)
    place = int(values.argmin())
    ends = s[max(0, place - 1)], s[min(s.size - 1, place + 1)]
    found = optimize.minimize_scalar(function, bounds=ends, method="bounded", options={"xatol": 1e-13 * epsilon})
    return min(float(values[place]), float(found.fun))


def noise_cost(s, noises, epsilon):
    return -noises * np.log(1 - (s / epsilon) ** 2)


def weight(k):
    return 5 / ((k + 4) * (k + 5))


def level(k, arms, beta):
    return math.log((arms - 1) / (beta * 0.89 * weight(k)))


def radius(n, noises, epsilon, at):
    """Hoeffding's: n rewards of each of two arms, s^2/8 each."""
    return least(lambda s: (2 * n * s**2 / 8 + noise_cost(s, noises, epsilon) + at) / s, epsilon)


def ends(arms, epsilon, beta, growth, epochs):
    first = 4 * least(lambda s: (noise_cost(s, 2, epsilon) + level(1, arms, beta)) / s, epsilon)
    first = max(first, 2 / (growth - 1))
    return [0] + [math.ceil(first * growth ** (k - 1) * (1 - 1e-9)) for k in range(1, epochs + 1)]


def upper_mean(total, n, m, epsilon, at):
    """The largest mean whose lower tail of this total is not below exp(-at), by halving."""
    s, low, high = epsilon * np.linspace(0, 1, 20_001)[:-1], 0.0, 1.0
    for _ in range(40):
        mean = (low + high) / 2
        exponent = (-s * total - n * np.log(1 - mean + mean * np.exp(-s)) - noise_cost(s, m, epsilon)).max()
        low, high = (mean, high) if exponent <= at else (low, mean)
    return high


def drops(lead, total, n, m, k, arms, epsilon, beta):
    """Whether an arm goes; None where the program is too coarse to say."""
    doubt = math.log(2 / (beta * 0.1 * weight(k)))
    high, low = upper_mean(total, n, m, epsilon, doubt), 1 - upper_mean(n - total, n, m, epsilon, doubt)
    means = np.linspace(low, max(low, high), 101)
    variance = (means * (1 - means)).max()
    exponent = -least(
        lambda s: -s * lead + n * np.log(1 + 2 * variance * (np.cosh(s) - 1)) + noise_cost(s, 2 * m, epsilon), epsilon
    )
    return None if abs(exponent - level(k, arms, beta)) < 0.02 else exponent > level(k, arms, beta)
