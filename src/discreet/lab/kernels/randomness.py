"""Random numbers inside compiled kernels: xoshiro256+ (Blackman and Vigna) and what is built on it.

The state is an array of four 64-bit words; `fresh_state` makes one from a numpy SeedSequence.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from typing import Any

import numpy as np
from numba import uint64

from discreet.lab.kernels.compiled import compiled

_TO_UNIT = 2.0**-53
_BY_BITS = 256  # up to this many trials, drawing all of them is faster than any formula


def fresh_state(seed: Any) -> Any:
    """Return a generator state from anything that numpy accepts as a seed.

    >>> fresh_state(1).shape
    (4,)
    """
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return sequence.generate_state(4, np.uint64)


@compiled
def advance(a, b, c, d):
    """Return 64 random bits, and the four words of the state after them: for loops that keep it in registers.

    Args:
        a: The first word of the state.
        b: The second word.
        c: The third word.
        d: The fourth word.
    """
    c ^= a
    high = b ^ d
    return a + d, a ^ high, b ^ c, c ^ (b << uint64(17)), (high << uint64(45)) | (high >> uint64(19))


@compiled
def _next_word(state):
    """Return 64 random bits."""
    word, state[0], state[1], state[2], state[3] = advance(state[0], state[1], state[2], state[3])
    return word


@compiled
def _next_bits(state):
    """Return 64 random bits of equal quality, by the ++ scrambler. The lowest bits of + are weak, and not used."""
    total = state[0] + state[3]
    word = ((total << uint64(23)) | (total >> uint64(41))) + state[0]
    _next_word(state)
    return word


@compiled
def uniform(state):
    """Return a random number in (0, 1), both ends excluded."""
    return (np.float64(_next_word(state) >> uint64(11)) + 0.5) * _TO_UNIT


@compiled
def threshold(mean):
    """Return the 53-bit number below which a word means 1."""
    return uint64(mean * 2.0**53)


@compiled
def bernoulli(state, limit):
    """Return 1 with the probability that `threshold` encoded, else 0.

    Args:
        state: The generator's state, which is advanced.
        limit: The result of `threshold`.
    """
    return 1 if (_next_word(state) >> uint64(11)) < limit else 0


@compiled
def laplace(state, scale):
    """Draw a Laplace variable.

    Args:
        state: The generator's state, which is advanced.
        scale: The scale of the noise.
    """
    u = uniform(state)
    return scale * math.log(2 * u) if u < 0.5 else -scale * math.log(2 * (1 - u))


@compiled
def _geometric(state, scale):
    """Draw a geometric variable G >= 0 with P(G >= n) = exp(-n/scale).

    With a uniform number of 53 bits every such probability holds to 2^-53, at any scale up to 2^50.
    """
    return np.int64(-scale * math.log(uniform(state)))


@compiled
def discrete_laplace(state, scale):
    """Draw a whole number n with probability proportional to exp(-|n|/scale): a difference of two geometric ones.

    Args:
        state: The generator's state, which is advanced.
        scale: The scale of the noise.
    """
    return _geometric(state, scale) - _geometric(state, scale)


@compiled
def beta(state, a, b):
    """Draw a Beta(a, b) variable, by Cheng's rejection (BB, 1978).

    Args:
        state: The generator's state, which is advanced.
        a: The first parameter, at least 1.
        b: The second parameter, at least 1.
    """
    if a == 1:
        return -math.expm1(math.log(uniform(state)) / b)
    if b == 1:
        return math.exp(math.log(uniform(state)) / a)
    low, high = min(a, b), max(a, b)
    both = a + b
    steep = math.sqrt((both - 2) / (2 * a * b - both))
    shift = low + 1 / steep
    while True:
        u, v = uniform(state), uniform(state)
        odds = steep * math.log(u / (1 - u))
        w, z = low * math.exp(odds), u * u * v
        r = shift * odds - 1.3862943611198906  # ln 4
        s = low + r - w
        if s + 2.6094379124341003 < 5 * z:  # 1 + ln 5: a quick yes, four times in five
            log_z = math.log(z)
            if s < log_z and r + both * math.log(both / (high + w)) < log_z:
                continue
        return w / (high + w) if low == a else high / (high + w)


@compiled
def binomial(state, count, mean):
    """Draw the number of successes in independent trials.

    Args:
        state: The generator's state, which is advanced.
        count: The number of trials.
        mean: The chance of success.
    """
    if count <= _BY_BITS:
        return _by_bits(state, count, threshold(mean))
    if mean > 0.5:
        return count - _binomial_half(state, count, 1 - mean)
    return _binomial_half(state, count, mean)


@compiled
def ones_of(word):
    """Return the number of bits of a word that are 1: pairs, fours and eights are added side by side."""
    word -= (word >> uint64(1)) & uint64(0x5555555555555555)
    word = (word & uint64(0x3333333333333333)) + ((word >> uint64(2)) & uint64(0x3333333333333333))
    word = (word + (word >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * uint64(0x0101010101010101)) >> uint64(56))


@compiled
def _by_bits(state, count, limit):
    """Draw 64 trials at a time: each bit of a word is a trial, whose uniform number is drawn digit by digit.

    A trial is decided at the first binary digit in which its number differs from the 53 digits of the mean, and
    half of those still open are decided at each digit, so a handful of words is enough for all 64.
    """
    if limit >> uint64(53):
        return count  # a mean of 1
    successes = 0
    while count > 0:
        undecided = ~uint64(0) if count >= 64 else (uint64(1) << uint64(count)) - uint64(1)
        won, digit = uint64(0), 53
        while undecided and digit:
            digit -= 1
            word = _next_bits(state)
            if (limit >> uint64(digit)) & uint64(1):
                won |= undecided & ~word
                undecided &= word
            else:
                undecided &= ~word
        successes += ones_of(won)
        count -= 64
    return successes


@compiled
def _binomial_half(state, count, p):
    if count * p < 10:
        return _by_inversion(state, count, p)
    return _by_rejection(state, count, p)


@compiled
def _by_inversion(state, count, p):
    """Walk up the distribution function: good for small means."""
    ratio = p / (1 - p)
    while True:
        u = uniform(state)
        mass = math.exp(count * math.log1p(-p))
        for successes in range(count + 1):
            if u < mass:
                return successes
            u -= mass
            mass *= ratio * (count - successes) / (successes + 1)


@compiled
def _by_rejection(state, count, p):
    """Hoermann's transformed rejection with squeeze (BTRS, 1993)."""
    q = 1 - p
    deviation = math.sqrt(count * p * q)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = count * p + 0.5
    squeeze = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    while True:
        u = uniform(state) - 0.5
        v = uniform(state)
        distance = 0.5 - abs(u)
        successes = math.floor((2 * a / distance + b) * u + centre)
        if distance >= 0.07 and v <= squeeze:
            return int(successes)  # five times in six, so what follows is computed only when it is asked for
        if successes < 0 or successes > count:
            continue
        mode = math.floor((count + 1) * p)
        log_v = math.log(v * alpha / (a / (distance * distance) + b))
        log_ratio = math.lgamma(mode + 1) + math.lgamma(count - mode + 1)
        log_ratio -= math.lgamma(successes + 1) + math.lgamma(count - successes + 1)
        if log_v <= log_ratio + (successes - mode) * math.log(p / q):
            return int(successes)


@compiled
def quiet_steps(state, log_silence, most):
    """Return the number of steps before something happens, `most` at most: a geometric variable.

    Args:
        state: The generator's state, which is advanced.
        log_silence: The logarithm of the chance that nothing happens at a step.
        most: The largest number of steps.
    """
    return int(min(math.log(uniform(state)) / log_silence, np.float64(most))) if log_silence < 0 else most
