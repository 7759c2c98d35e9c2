"""Policies on Bernoulli arms, compiled and played one step at a time as the objects do: the references of the kernels.

Each takes the arms' means, the horizon, a generator's state, checkpoints and the policy's own numbers, and returns the
pulls by checkpoint and arm.
"""

import math

import numpy as np

from discreet.lab.kernels import dp_ucb as trees
from discreet.lab.kernels import kl_race, lazy_dp_ts, lazy_ucb
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import leader, new_track, pull
from discreet.lab.kernels.randomness import bernoulli, beta, laplace, threshold
from discreet.lab.kernels.ucb import exploration


@compiled
def play_ucb(chances, horizon, state, checkpoints):
    arms, track = chances.size, new_track(chances.size, checkpoints)
    totals, means, roots = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else leader(means, roots, exploration(time))
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        pull(track, arm, 1)
        means[arm], roots[arm] = totals[arm] / track.pulls[arm], 1 / math.sqrt(track.pulls[arm])
    return track.counts


@compiled
def play_kl(chances, horizon, state, checkpoints, c):
    """KL-UCB, or with a c below 0 IMED."""
    arms, track = chances.size, new_track(chances.size, checkpoints)
    totals = np.zeros(arms)
    for time in range(1, horizon + 1):
        arm = time - 1
        if time > arms and c < 0:
            arm = kl_race.imed_leader(totals, track.pulls)
        elif time > arms:
            arm = kl_race.kl_ucb_leader(totals, track.pulls, kl_race.exploration(time, c))
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        pull(track, arm, 1)
    return track.counts


@compiled
def play_thompson_sampling(chances, horizon, state, checkpoints):
    arms, track = chances.size, new_track(chances.size, checkpoints)
    a, b, values = np.ones(arms), np.ones(arms), np.zeros(arms)
    for _ in range(horizon):
        for each in range(arms):
            values[each] = beta(state, a[each], b[each])
        arm = values.argmax()
        reward = bernoulli(state, threshold(chances[arm]))
        a[arm] += reward
        b[arm] += 1 - reward
        pull(track, arm, 1)
    return track.counts


@compiled
def play_dp_ucb(chances, horizon, state, checkpoints, counters, hybrid):
    """DP-UCB on trees, or on hybrid counters."""
    arms, track = chances.size, new_track(chances.size, checkpoints)
    totals, noisy, indices = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    noises, paths = np.zeros((arms, 2)), np.zeros((arms, 64))
    for time in range(1, horizon + 1):
        arm = time - 1
        if time > arms:
            spread = trees.exploration(time, counters.fixed)
            for each in range(arms):
                pulls = track.pulls[each]
                if hybrid is None:
                    indices[each] = (noisy[each] + counters.relaxation) / pulls + spread * (1 / math.sqrt(pulls))
                else:
                    indices[each] = trees.index(counters, hybrid, noisy[each], pulls, time)
            arm = indices.argmax()
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        trees.close_block(state, counters, hybrid, paths[arm], noises[arm], track.pulls[arm], 1)
        noisy[arm] = totals[arm] + noises[arm].sum()
        pull(track, arm, 1)
    return track.counts


@compiled
def play_stepped_trees(chances, horizon, state, checkpoints, trees_of_steps):
    """DP-UCB on trees over time steps."""
    arms, track = chances.size, new_track(chances.size, checkpoints)
    totals, noises, indices, paths = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros((arms, 64))
    for time in range(1, horizon + 1):
        arm = time - 1
        if time > arms:
            for each in range(arms):
                pulls = track.pulls[each]
                total = totals[each] + noises[each] + trees_of_steps.relaxation
                indices[each] = total / pulls + math.sqrt(2 * math.log(time) / pulls)
            arm = indices.argmax()
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        for each in range(arms):
            noises[each] = trees.add_node(paths[each], time, laplace(state, trees_of_steps.scale))
        pull(track, arm, 1)
    return track.counts


@compiled
def play_lazy_ucb(chances, horizon, state, checkpoints, epsilon):
    arms, track = chances.size, new_track(chances.size, checkpoints)
    means, sizes, missing = np.zeros(arms), np.zeros(arms, np.int64), np.ones(arms, np.int64)
    for step in range(1, horizon + 1):
        arm = step - 1 if step <= arms else lazy_ucb.leader(means, sizes, epsilon, step)
        lazy_ucb.fill(state, chances, means, sizes, missing, epsilon, arm, 1)
        pull(track, arm, 1)
    return track.counts


@compiled
def play_lazy_dp_ts(chances, horizon, state, checkpoints, epsilon):
    arms, track = chances.size, new_track(chances.size, checkpoints)
    means, sizes, missing = np.zeros(arms), np.zeros(arms, np.int64), np.ones(arms, np.int64)
    for step in range(1, horizon + 1):
        arm = step - 1 if step <= arms else lazy_dp_ts.draw_all(state, means, sizes, epsilon, step)
        lazy_ucb.fill(state, chances, means, sizes, missing, epsilon, arm, 1)
        pull(track, arm, 1)
    return track.counts
