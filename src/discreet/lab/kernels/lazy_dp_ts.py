"""Lazy-DP-TS with Bernoulli arms, compiled.

Arm j has the released mean m_j of its last whole block of n_j rewards, and at step t the posterior
Beta(mu n + 1, (1 - mu) n + 1), mu = m + 3 ln(t)/(epsilon n) moved into [0, 1].
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np

from discreet.bandits import LazyDPTS
from discreet.lab.kernels.beta import beta_between, highest_centre, log_density, log_mass, lowest_centre, slope
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.lazy_ucb import fill
from discreet.lab.kernels.race import new_track, pull
from discreet.lab.kernels.randomness import beta, quiet_steps, uniform

_SMALLEST_WINDOW = 64  # steps for which posteriors are bounded at a time
_BURST = 32  # steps one by one before the next try to skip
_OFTEN = 0.5  # alarms a step, above which skipping does not pay
_SEARCH = 12  # steps of the search for a level
_GOLDEN = (math.sqrt(5) - 1) / 2


@compiled
def posterior(mean, size, epsilon, log_step):
    """Return the parameters of an arm's posterior at a step.

    Args:
        mean: The released mean of its last whole block.
        size: The size of that block.
        epsilon: The policy's epsilon.
        log_step: The logarithm of the step.
    """
    ones = min(max(mean * size + 3 * log_step / epsilon, 0.0), float(size))
    return ones + 1, size - ones + 1


@compiled
def draw_all(state, means, sizes, epsilon, step):
    """Return the arm with the largest draw at a step.

    Args:
        state: The generator's state, which is advanced.
        means: The released mean of each arm's last whole block.
        sizes: The size of each arm's last whole block.
        epsilon: The policy's epsilon.
        step: The step.
    """
    best, found, log_step = -1.0, 0, math.log(step)
    for arm in range(means.size):
        a, b = posterior(means[arm], sizes[arm], epsilon, log_step)
        x = beta(state, a, b)
        if x > best:
            best, found = x, arm
    return found


@compiled
def alarms(level, a, b, masses, lead, rates):
    """Return a bound on the chance that an arm raises an alarm at a step: the leader below the level, or another one
    above it.

    Beyond the level a tangent bounds the logarithm of the density, and the exponential under it has this mass.

    Args:
        level: The level between the leader and the others.
        a: The first parameter of each arm's posterior.
        b: The second parameter of each arm's posterior.
        masses: The result of `log_mass` for each arm.
        lead: The leader's index.
        rates: The chance that each arm raises an alarm, which is written.
    """
    total = 0.0
    for arm in range(a.size):
        steep = slope(level, a[arm], b[arm])
        steep = steep if arm == lead else -steep
        if steep <= 0:
            return 1.0
        rates[arm] = math.exp(min(log_density(level, a[arm], b[arm], masses[arm]) - math.log(steep), 1.0))
        total += rates[arm]
    return total


@compiled
def _choose_level(a, b, masses, lead, low, high, rates):
    """Return a level between the leader and the others with few alarms, by golden section; it affects speed only."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = alarms(left, a, b, masses, lead, rates), alarms(right, a, b, masses, lead, rates)
    for _ in range(_SEARCH):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = alarms(left, a, b, masses, lead, rates)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = alarms(right, a, b, masses, lead, rates)
    return left if at_left < at_right else right


@compiled
def look_ahead(means, sizes, epsilon, step, last, a, b, masses, rates):
    """Return the leader up to a step, a level, and the chance of an alarm; the chance is 1 where looking ahead is of no
    use.

    The leader's posterior is taken at the first step and the others' at the last. All move up with time, so these
    bound the densities beyond the level, if the level is beyond the centres of all of them.

    Args:
        means: The released mean of each arm's last whole block.
        sizes: The size of each arm's last whole block.
        epsilon: The policy's epsilon.
        step: The first step.
        last: The last step.
        a: The first parameter of each posterior, which is written.
        b: The second parameter of each posterior, which is written.
        masses: The result of `log_mass` for each arm, which is written.
        rates: The chance that each arm raises an alarm, which is written.
    """
    lead, best = np.int64(0), -1.0
    for arm in range(means.size):
        a[arm], b[arm] = posterior(means[arm], sizes[arm], epsilon, math.log(step))
        if a[arm] / (sizes[arm] + 2) > best:
            lead, best = np.int64(arm), a[arm] / (sizes[arm] + 2)
    low, high = 0.0, lowest_centre(a[lead], b[lead])
    for arm in range(means.size):
        if arm != lead:
            a[arm], b[arm] = posterior(means[arm], sizes[arm], epsilon, math.log(last))
            low = max(low, highest_centre(a[arm], b[arm]))
    if low >= high:
        return lead, 0.0, 1.0
    for arm in range(means.size):
        masses[arm] = log_mass(a[arm], b[arm])
    level = _choose_level(a, b, masses, lead, low, high, rates)
    if alarms(level, a, b, masses, lead, rates) > _OFTEN:
        return lead, level, 1.0
    alarm, silence = 0.0, 1.0
    for arm in range(means.size):
        alarm += silence * rates[arm]
        silence *= 1 - rates[arm]
    return lead, level, alarm


@compiled
def raise_alarm(state, means, sizes, epsilon, log_step, level, alarm, a, b, masses, rates, drawn):
    """Draw what lies beyond the level at a step with an alarm. A false alarm has no such draw.

    The arms that raise it are drawn given that one does. Each of these has a candidate from the exponential that bounds
    its density; accepted with the ratio of the two, it is the arm's draw, and otherwise the arm is on its side.

    Args:
        state: The generator's state, which is advanced.
        means: The released mean of each arm's last whole block.
        sizes: The size of each arm's last whole block.
        epsilon: The policy's epsilon.
        log_step: The logarithm of the step.
        level: The level between the leader and the others.
        alarm: The chance of an alarm at a step.
        a: The first parameter of each arm's posterior.
        b: The second parameter of each arm's posterior.
        masses: The result of `log_mass` for each arm.
        rates: The chance that each arm raises an alarm.
        drawn: The draws beyond the level, which are written; -1 for other arms.
    """
    left, silence, raised = uniform(state) * alarm, 1.0, False
    for arm in range(means.size):
        drawn[arm] = -1.0
        if raised:
            if uniform(state) >= rates[arm]:
                continue
        elif left >= silence * rates[arm] and arm < means.size - 1:
            left -= silence * rates[arm]
            silence *= 1 - rates[arm]
            continue
        raised = True
        steep = slope(level, a[arm], b[arm])
        x = level + math.log(uniform(state)) / steep  # down for the leader, up for the others
        if 0 < x < 1:
            bound = log_density(level, a[arm], b[arm], masses[arm]) + steep * (x - level)
            a_now, b_now = posterior(means[arm], sizes[arm], epsilon, log_step)
            if math.log(uniform(state)) < log_density(x, a_now, b_now, log_mass(a_now, b_now)) - bound:
                drawn[arm] = x


@compiled
def respond(state, means, sizes, epsilon, log_step, lead, level, drawn):
    """Return the arm to pull after an alarm; only the draws that matter are made.

    Args:
        state: The generator's state, which is advanced.
        means: The released mean of each arm's last whole block.
        sizes: The size of each arm's last whole block.
        epsilon: The policy's epsilon.
        log_step: The logarithm of the step.
        lead: The leader's index.
        level: The level between the leader and the others.
        drawn: The draws beyond the level; -1 for other arms.
    """
    best, found = -1.0, -1
    for arm in range(means.size):
        if arm != lead and drawn[arm] > best:
            best, found = drawn[arm], arm
    if drawn[lead] < 0:
        if found < 0:
            return lead
        a, b = posterior(means[lead], sizes[lead], epsilon, log_step)
        return lead if beta_between(state, a, b, level, np.inf) > best else found
    if found >= 0:
        return found
    best, found = drawn[lead], lead
    for arm in range(means.size):
        if arm != lead:
            a, b = posterior(means[arm], sizes[arm], epsilon, log_step)
            x = beta_between(state, a, b, -np.inf, level)
            if x > best:
                best, found = x, arm
    return found


@compiled
def skip_ahead(chances, horizon, state, checkpoints, epsilon):
    """Pass steps whole at which the leader's draw lies above a level and all others' below it, and return the pulls by
    checkpoint and arm; exact in distribution.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        epsilon: The policy's epsilon.
    """
    arms, time, last, track = chances.size, np.int64(0), np.int64(0), new_track(chances.size, checkpoints)
    means, sizes, missing = np.zeros(arms), np.zeros(arms, np.int64), np.ones(arms, np.int64)
    a, b, masses, rates, drawn = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    lead, level, alarm, due = np.int64(0), 0.0, 1.0, False
    while time < horizon:
        if time == last and time >= arms:
            last = min(horizon, time + max(np.int64(_SMALLEST_WINDOW), time // 64))
            lead, level, alarm = look_ahead(means, sizes, epsilon, time + 1, last, a, b, masses, rates)
            if alarm >= 1:
                last = min(horizon, time + _BURST)
        arm, count = lead, 1
        if time < arms:
            arm, last = time, time + 1
        elif alarm >= 1:
            arm = draw_all(state, means, sizes, epsilon, time + 1)
        elif due:
            now = math.log(time + 1)
            raise_alarm(state, means, sizes, epsilon, now, level, alarm, a, b, masses, rates, drawn)
            arm, due = respond(state, means, sizes, epsilon, now, lead, level, drawn), False
        else:
            most = min(last - time, missing[lead])
            count = quiet_steps(state, math.log1p(-alarm), most)
            due = count < most
        time = pull(track, arm, count)
        if count and fill(state, chances, means, sizes, missing, epsilon, arm, count):
            last = time  # a release: all is new
    return track.counts


def program(policy: LazyDPTS, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    return partial(skip_ahead, chances, epsilon=policy.epsilon)
