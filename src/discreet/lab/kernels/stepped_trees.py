"""DP-UCB on trees over time steps ("all-trees") with Bernoulli arms, compiled.

At time t every arm's total S has noise N(t) of its own tree, and all trees have t items. In an aligned block of
2^q steps the noise of arm a is N + W_a(k), where the W_a are independent and have the distribution of
`tree_minimum`. With a level between the leader's index and all others, each arm has a depth: the leader leads as long
as its own W does not sink, and no other W rises, to its depth. That fails with probability 1 - prod(1 - T_q(depth)).
If it does not, the block is passed whole; if it does, all arms walk together to the first step at which some arm
reaches its depth.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits import DPUCB
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.dp_ucb import add_node, trailing_zeros
from discreet.lab.kernels.race import SLACK, leader, new_track, pull
from discreet.lab.kernels.randomness import binomial, laplace, uniform
from discreet.lab.kernels.tree_minimum import LEVELS, log_chance, next_height, tables

_RARE = 0.3  # a block is tried if some arm reaches its depth with at most this chance
_LEADER = 1e-3  # the leader's depth is chosen so that its own chance is this
_ROUNDING = 1e-9  # room for rounding in a bound on totals, for each pull


class Trees(NamedTuple):
    """The trees of a policy.

    Attributes:
        scale: The noise scale of a node.
        relaxation: The relaxation.
        logs: ln T_q(y), the table of `tree_minimum.log_table`.
        margins: For each level q, the depth y at which T_q(y) is `_LEADER`.
    """

    scale: float
    relaxation: float
    logs: Any
    margins: Any


def trees_of(policy: DPUCB) -> Trees:
    """Return the trees of a policy."""
    logs = tables().logs
    depths = np.arange(logs.shape[1]) * (64 / (logs.shape[1] - 1))
    margins = [np.interp(-math.log(_LEADER), -row, depths) for row in logs]
    scale = policy.horizon.bit_length() / policy.epsilon
    return Trees(scale, policy.effective_relaxation, logs, np.array([0.0, *margins[1:]]))


@compiled
def chance(logs, level, depths):
    """Return the probability that some arm's noise reaches its depth within a block.

    Args:
        logs: The table of `tree_minimum.log_table`.
        level: The block's level: it has 2^level steps.
        depths: The depth of each arm, in noise scales.
    """
    reached = 0.0
    for depth in depths:
        reached += (1 - reached) * math.exp(log_chance(logs, level, depth))
    return reached


@compiled
def choose_block(trees, level, time, arm, noisy, pulls, roots, depths):
    """Return whether a block's chance is small enough, and that chance; `depths` are written.

    With m = 2^level steps from now, the level between the indices is as high as the leader's margin allows: rewards are
    at least 0, so its total stays above its noisy total minus the margin, and its index above that over n + m. The
    exploration at the first step is a lower bound for the leader, and that at the last one an upper bound for the
    others, whose pulls stay.

    Args:
        trees: The policy's trees.
        level: The block's level.
        time: The steps before.
        arm: The leader.
        noisy: The noisy total of each arm, with the relaxation.
        pulls: The pulls of each arm.
        roots: 1/sqrt(pulls) of each arm.
        depths: The depth of each arm in noise scales, which is written.
    """
    size = 1 << level
    first, last = math.sqrt(2 * math.log(time + 1)), math.sqrt(2 * math.log(time + size))
    count = pulls[arm] + size
    margin = trees.margins[level] * trees.scale
    least = noisy[arm] - margin - _ROUNDING * count
    between = least / (count if least >= 0 else pulls[arm]) + first / math.sqrt(count) * SLACK
    reached = 0.0
    for other in range(noisy.size):
        if other == arm:
            depths[other] = trees.margins[level]
        else:
            room = pulls[other] * (between - last * roots[other]) - noisy[other] - _ROUNDING * pulls[other]
            depths[other] = room / trees.scale
        if depths[other] <= 0:
            return False, 1.0
        reached += (1 - reached) * math.exp(log_chance(trees.logs, level, depths[other]))
        if reached > _RARE:
            return False, 1.0
    return True, reached


@compiled
def draw_nodes(state, logs, level, depths, heights):
    """Draw each arm's node at the end of a half block, given that some arm reaches its depth within the next one.

    The density of the heights left is that of all nodes times 1 - prod(1 - T(height)). It is at most the sum of the
    T(height), so: choose an arm by its share of that sum, draw its node given that it reaches its depth, and the
    others' freely; accept with the quotient of both.

    Args:
        state: The generator's state, which is advanced.
        logs: The table of `tree_minimum.log_table`.
        level: The level of each half.
        depths: The depth of each arm before, in noise scales.
        heights: The depth of each arm after the node, which is written.
    """
    arms, whole = depths.size, 0.0
    for arm in range(arms):
        whole += _share(logs, level, depths[arm])
    while True:
        rest, chosen = uniform(state) * whole, arms - 1
        for arm in range(arms):
            rest -= _share(logs, level, depths[arm])
            if rest <= 0:
                chosen = arm
                break
        total, reached = 0.0, 0.0
        for arm in range(arms):
            heights[arm] = (
                next_height(state, logs, level, depths[arm]) if arm == chosen else depths[arm] + laplace(state, 1.0)
            )
            one = math.exp(log_chance(logs, level, heights[arm]))
            total += one
            reached += (1 - reached) * one
        if uniform(state) * total < reached:
            return


@compiled
def _share(logs, level, depth):
    """Return the probability that an arm reaches its depth in the right half of a block: a node, then a block."""
    left = math.exp(log_chance(logs, level, depth))
    return max(math.exp(log_chance(logs, level + 1, depth)) - left, 0.0) / (1 - left)


@compiled
def first_reached(state, trees, level, time, arm, paths, noises, depths, reached):
    """Walk to the first step of a block at which some arm's noise reaches its depth, given that one does; return the
    steps made.

    Args:
        state: The generator's state, which is advanced.
        trees: The policy's trees.
        level: The block's level.
        time: The steps before.
        arm: The leader, whose noise must not sink; those of the others must not rise.
        paths: Each arm's path of tree noises, which is updated.
        noises: Each arm's noise, which is updated.
        depths: The depth of each arm, which is overwritten.
        reached: The chance of the block.
    """
    done, heights = np.int64(0), np.zeros(depths.size)
    while True:
        level -= 1
        on_the_left = chance(trees.logs, level, depths)
        if level > 0 and uniform(state) * reached < on_the_left:
            reached = on_the_left
            continue
        done += np.int64(1) << level
        draw_nodes(state, trees.logs, level, depths, heights)
        ended = False
        for each in range(depths.size):
            noise = (heights[each] - depths[each]) * trees.scale
            noises[each] = add_node(paths[each], time + done, noise if each == arm else -noise)
            depths[each] = heights[each]
            ended |= heights[each] <= 0
        if ended:
            return done
        reached = chance(trees.logs, level, depths)


@compiled
def skip_ahead(chances, horizon, state, checkpoints, trees):
    """Pass aligned blocks of steps whole, unless some arm's noise matters, and return the pulls by checkpoint and arm;
    exact in distribution.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        trees: The policy's trees.
    """
    arms, time, ceiling = chances.size, np.int64(0), 0
    totals, noises, paths = np.zeros(arms), np.zeros(arms), np.zeros((arms, 64))
    noisy, means, roots, depths = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    track = new_track(arms, checkpoints)
    pulls = track.pulls
    while time < horizon:
        arm, level, reached = time, 0, 0.0
        if time >= arms:
            for each in range(arms):
                noisy[each] = totals[each] + noises[each] + trees.relaxation
                means[each] = noisy[each] / pulls[each]
            arm = leader(means, roots, math.sqrt(2 * math.log(time + 1)))
            level = min(trailing_zeros(time), ceiling)
            while level > 0:
                fits = (1 << level) <= horizon - time
                if fits:
                    fits, reached = choose_block(trees, level, time, arm, noisy, pulls, roots, depths)
                if fits:
                    break
                level -= 1
        done = np.int64(1) << level
        if level > 0 and uniform(state) < reached:
            done = first_reached(state, trees, level, time, arm, paths, noises, depths, reached)
        else:
            for each in range(arms):
                noises[each] = add_node(paths[each], time + done, laplace(state, trees.scale))
        totals[arm] += binomial(state, done, chances[arm])
        time = pull(track, arm, done)
        roots[arm] = 1 / math.sqrt(pulls[arm])
        ceiling = min(level + 2, LEVELS)
    return track.counts


def program(policy: DPUCB, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    return partial(skip_ahead, chances, trees=trees_of(policy))
