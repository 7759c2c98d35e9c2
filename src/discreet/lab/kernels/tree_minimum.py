"""The distribution of the least noise of a binary tree within a block: the table of DP-UCB's skip-ahead kernel.

Inside an aligned block of 2^q pulls the tree's noise is N + W(k), where W(k) adds one fresh Laplace variable for
each set bit of k, 0 <= k < 2^q. T_q(y) is the probability that W sinks to -y or below, in units of the noise's
scale. The block's left half is a block of its own, and its right half is another one behind one more Laplace
variable E (the left half's node), so

    1 - T_q(y) = (1 - T_(q-1)(y)) (1 - R_(q-1)(y)),
    R(y) = Pr[E + min W <= -y] = exp(-y)/2 + integral over u > 0 of exp(-|u - y|)/2 T(u),    T_0(y) = 0 for y > 0.

It depends on nothing else: one table serves every horizon, epsilon and number of arms.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter

from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import uniform

LEVELS = 27
_PER_UNIT = 128  # grid points to a unit of y
_REACH = 64  # the table ends here, and goes on as a straight line in the logarithm
_FINER = 16  # the recursion is computed on a grid this much finer
_MARGIN = 32  # it is computed this much further, so that what lies past that does not matter
_END_SLOPE = 0.7  # roughly how fast ln T falls there
_RARE = 0.3  # a block is tried when its noise sinks too low with at most this chance


class Tables(NamedTuple):
    """Tables of the distribution, computed in advance.

    Attributes:
        logs: ln T_q(y), the table of `log_table`.
        coarse: T_q(y) at whole y: an upper bound up to the next one, small enough to stay in the processor's cache.
        limits: For each level q, the depth y at which T_q(y) is so small that its blocks are worth a try.
    """

    logs: Any
    coarse: Any
    limits: Any


@cache
def tables() -> Tables:
    """Return the tables."""
    logs = log_table()
    limits = [np.interp(-math.log(_RARE), -row, np.arange(row.size) / _PER_UNIT) for row in logs]
    return Tables(logs, np.exp(logs[:, ::_PER_UNIT]), np.array([0.0, *limits[1:]]))


@cache
def log_table() -> Any:
    """Return ln T_q(y) for q = 0 .. 27 on the grid y = 0, 1/128, ... 64."""
    step = 1 / (_PER_UNIT * _FINER)
    points = (_REACH + _MARGIN) * _PER_UNIT * _FINER
    y = np.arange(points + 1) * step
    decay = math.exp(-step)
    # The integral of exp(-(step - u))/2 over one cell, of a function that is linear in it.
    at_far = 0.5 * (1 - (1 - decay) / step)
    at_near = 0.5 * ((1 - decay) / step - decay)

    def _swept(values: Any, start: float) -> Any:
        """The integral up to each point of exp(-distance)/2 times the values, as a recursive filter."""
        cells = at_far * values[1:] + at_near * values[:-1]
        return np.concatenate([[start], lfilter([1], [1, -decay], cells, zi=[decay * start])[0]])

    chance = np.zeros(points + 1)
    table = np.full((LEVELS + 1, _REACH * _PER_UNIT + 1), -1e300)
    for level in range(1, LEVELS + 1):
        beyond = chance[-1] * 0.5 / (1 + _END_SLOPE)  # the little that lies past the table
        right = 0.5 * np.exp(-y) + _swept(chance, 0.0) + _swept(chance[::-1], beyond)[::-1]
        chance = chance + (1 - chance) * right
        table[level] = np.log(chance[: _REACH * _PER_UNIT * _FINER + 1 : _FINER])
    return table


@compiled
def log_chance(table, level, y):
    """Return ln T_level(y); 0 for y <= 0, since W starts at 0.

    Args:
        table: The table of `log_table`.
        level: The block's level.
        y: The depth, in noise scales.
    """
    if y <= 0:
        return 0.0
    if level == 0:
        return -1e300
    position = y * _PER_UNIT
    last = table.shape[1] - 1
    if position >= last:
        return table[level, last] + (table[level, last] - table[level, last - 1]) * (position - last)
    cell = int(position)
    return table[level, cell] + (position - cell) * (table[level, cell + 1] - table[level, cell])


@compiled
def breaches(state, logs, coarse, level, y):
    """Return whether the noise of a block sinks to -y: true with probability T_level(y).

    Args:
        state: The generator's state, which is advanced.
        logs: The table of `log_table`.
        coarse: The coarse one of `tables`.
        level: The block's level.
        y: The depth, in noise scales.
    """
    u = uniform(state)
    if u >= coarse[level, min(int(y), _REACH)]:
        return False
    return math.log(u) < log_chance(logs, level, y)


@compiled
def tangent(table, level, y):
    """Return a line a - theta y that bounds ln T_level for every y > 0: ln T is concave, so its tangent at y is one.

    The line is lifted a little against rounding, and a is at least 0 since T is 1 where y <= 0.

    Args:
        table: The table of `log_table`.
        level: The block's level.
        y: The depth, in noise scales.
    """
    cell = min(int(y * _PER_UNIT), table.shape[1] - 2)
    theta = (table[level, cell] - table[level, cell + 1]) * _PER_UNIT
    height = table[level, cell] + theta * cell / _PER_UNIT
    return max(height + 1e-4, 0.0), min(theta, 0.999)


@compiled
def next_height(state, table, level, x):
    """Draw y = x + E given that the block behind it, of this level, sinks by y: density exp(-|y - x|)/2 T_level(y).

    Rejection from the envelope exp(min(0, a - theta y)), whose four pieces are exponentials.

    Args:
        state: The generator's state, which is advanced.
        table: The table of `log_table`.
        level: The block's level.
        x: The depth before the node, in noise scales.
    """
    if level == 0:
        return math.log(uniform(state))  # the block is this one pull: y <= 0, an exponential below 0
    bound, theta = tangent(table, level, max(x - 1, 0.5 * x))
    bend = bound / theta if theta > 0 else np.inf  # where the envelope leaves 1
    slope = 1 - theta
    low, high = min(bend, x), max(bend, x)
    below = 0.5 * math.exp(low - x)
    flat = 0.5 * (1 - math.exp(x - bend)) if x < bend else 0.0
    rising = 0.5 * math.exp(bound - x) * (math.exp(slope * x) - math.exp(slope * bend)) / slope if bend < x else 0.0
    above = 0.5 * math.exp(bound + x - (1 + theta) * high) / (1 + theta) if bend < np.inf else 0.0
    while True:
        u = uniform(state) * (below + flat + rising + above)
        v = uniform(state)
        if u < below:
            y = low + math.log(v)
        elif u < below + flat:
            y = x - math.log1p(-v * (1 - math.exp(x - bend)))
        elif u < below + flat + rising:
            y = bend + math.log1p(v * math.expm1(slope * (x - bend))) / slope
        else:
            y = high - math.log(v) / (1 + theta)
        if math.log(uniform(state)) < log_chance(table, level, y) - min(0.0, bound - theta * y):
            return y
