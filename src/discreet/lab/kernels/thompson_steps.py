"""Thompson sampling on arms of any kind, compiled: every step is taken, with the draws that the object would make.

The object has a generator of its own for every step, seeded by its option `seed` and the step's number. Here one
generator of numpy is put into each of these states in turn, and numba draws from it as numpy does, bit by bit.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import ctypes
from functools import cache
from typing import Any

import numpy as np

from discreet.bandits._seeds import epoch_rng, epoch_words
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, pull

_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # of PCG64
_ALL, _WORD = (1 << 128) - 1, (1 << 64) - 1
_STEPS = 4096  # whose states are computed at a time
_FIRST, _MOST = 256, 65_536  # rewards of an arm that are drawn at a time


def states(seed: int, first: int) -> Any:
    """Return PCG64's state at some steps: a row of four words for each.

    Args:
        seed: The policy's seed.
        first: The number of the first step, from 0.
    """
    rows = np.empty((_STEPS, 4), np.uint64)
    for row, words in zip(rows, epoch_words(seed, first, _STEPS), strict=True):
        high, low, other_high, other_low = (int(word) for word in words)
        increment = ((other_high << 64 | other_low) << 1 | 1) & _ALL
        state = ((increment + (high << 64 | low)) * _MULTIPLIER + increment) & _ALL
        row[:] = state & _WORD, state >> 64, increment & _WORD, increment >> 64
    return rows


def memory_of(generator: np.random.Generator) -> Any:
    """Return the four words of a PCG64 generator's state as an array that changes it."""
    address = ctypes.cast(generator.bit_generator.ctypes.state_address, ctypes.POINTER(ctypes.c_uint64))[0]
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint64)), (4,))


@cache
def works_here() -> bool:
    """Return True if a generator's memory is laid out as it is written here, which depends on the platform."""
    generator = np.random.Generator(np.random.PCG64(0))
    memory_of(generator)[:] = states(1, 7)[0]
    return bool(generator.bit_generator.state == epoch_rng(1, 7).bit_generator.state)


@compiled
def go_on(generator, memory, supply, width, horizon, track, totals, used, rewards):
    """Pull until the horizon, or until a supply has run out, and return the arm that needs more.

    Args:
        generator: The generator, which is put into the state of each step.
        memory: The words of its state.
        supply: The states of the next steps.
        width: The grid's width in steps.
        horizon: The number of pulls.
        track: The pulls so far, which is updated.
        totals: The total of each arm in steps, which is updated.
        used: The rewards of each arm that were used of its supply, and at the end the states.
        rewards: The supply of each arm's rewards, by arm, in steps; each row ends with its size.

    Returns:
        The arm's index, the number of arms for states, or -1 at the end.
    """
    arms = totals.size
    while track.clock[0] < horizon:
        if used[arms] == supply.shape[0]:
            return np.int64(arms)
        for word in range(4):
            memory[word] = supply[used[arms], word]
        found, best = np.int64(0), -1.0
        for arm in range(arms):
            total = totals[arm] / width
            value = generator.beta(total + 1, track.pulls[arm] - total + 1)
            if value > best:
                best, found = value, np.int64(arm)
        if used[found] == rewards[found, -1]:
            return found
        totals[found] += rewards[found, used[found]]
        used[found] += 1
        used[arms] += 1
        pull(track, found, np.int64(1))
    return np.int64(-1)


def run(policy: Any, supplies: Any, horizon: int, checkpoints: Any) -> Any:
    """Simulate one run, and return the pulls by checkpoint and arm.

    Args:
        policy: The policy, with the seed of the run.
        supplies: For each arm, a function from a number to so many of its next rewards.
        horizon: The number of pulls.
        checkpoints: Times at which pulls are recorded, sorted.
    """
    arms, generator, track = (
        len(supplies),
        np.random.Generator(np.random.PCG64(0)),
        new_track(len(supplies), checkpoints),
    )
    totals, used = np.zeros(arms, np.int64), np.zeros(arms + 1, np.int64)
    stock, sizes = np.zeros((arms, _MOST + 1), np.int64), [_FIRST] * arms
    supply, memory = np.zeros((0, 4), np.uint64), memory_of(generator)
    fixed = (policy.grid.width, np.int64(horizon), track, totals, used, stock)
    while (needy := int(go_on(generator, memory, supply, *fixed))) >= 0:
        used[needy] = 0
        if needy == arms:
            supply = states(policy.seed, int(track.clock[0]))
            continue
        stock[needy, : sizes[needy]], stock[needy, -1] = supplies[needy](sizes[needy]), sizes[needy]
        sizes[needy] = min(4 * sizes[needy], _MOST)
    return track.counts
