"""Lazy-DP-TS (Hu and Hegde 2022): Thompson sampling from optimistic posteriors of the last of doubling blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.bandits._lazy import LazyPolicy
from discreet.bandits._seeds import epoch_rng, new_seed
from discreet.core.options import Seed
from discreet.core.registry import register

_LONGEST = 2**16  # steps that are planned at a time: less than 0.1 s for five arms
_DRAWS = 2**18  # draws that are in memory at a time


@register
@dataclass(kw_only=True)
class LazyDPTS(LazyPolicy):
    """Pulls the arm with the largest draw of Beta(mu n + 1, (1 - mu) n + 1), where its last whole block has n rewards.

    mu is the block's released mean plus 3 ln(t)/(epsilon n), moved into [0, 1], so that noise rarely makes an arm look
    worse than it is; t is the step. The draws are new at each step. For Bernoulli rewards the regret is of the order of
    the sum over worse arms of ln(T)/min(gap, epsilon). Block sizes, mu, the posterior and this promise are as a
    reader's notes on the paper have them; its own text could not be read. For other rewards in [0, 1] privacy is the
    same, and we know of no promise.

    The draws of each plan come from a generator of `seed` and the number of epochs before it. They are public, and may
    be shown. A plan has the pulls up to the next release, and 65,536 at most.

    Private because each reward enters the total of one block, which is released once. Noise never comes from `seed`.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        seed: The seed of the draws; by default one from the operating system, which is then kept among the options.
        horizon: The number of pulls in all, if there is an end.
        low: The least reward. Means are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = LazyDPTS(["A", "B"], epsilon=10.0, seed=1)
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> for _ in range(12):  # every reward of A is 0.25, and of B 0.75
    ...     pulls = epochs.plan().pulls
    ...     totals = {arm: count * policy.grid.width // 4 * {"A": 1, "B": 3}[arm] for arm, count in pulls.items()}
    ...     released = epochs.close_steps(totals)
    >>> pulls, epochs.algorithm.unreleased, epochs.algorithm.best_arm
    ({'A': 5, 'B': 256}, {'A': 12, 'B': 0}, 'B')
    >>> released[0].spans
    (('B', 256, 511),)
    """

    key = "lazy-dp-ts"
    kernel = "lazy_dp_ts"
    experimental = "its paper's text could not be read: blocks, index and promise are written from notes"

    seed: Seed | None = None

    def _start(self) -> None:
        super()._start()
        self.seed = new_seed() if self.seed is None else self.seed

    def optimistic(self, times: Any) -> Any:
        """Return mu at an array of time steps: a row for each, a column for each arm."""
        counts = np.array(self._counts)
        means = np.array([self.estimate(arm) for arm in range(len(self.arms))])
        return np.clip(means + 3 * np.log(times)[:, None] / (self.epsilon * counts), 0.0, 1.0)

    def _ahead(self, time: int, most: int) -> dict[int, int]:
        arms, rng = len(self.arms), epoch_rng(self.seed or 0, self.epoch)
        pulls, missing = np.zeros(arms, np.int64), np.array([self._missing(arm) for arm in range(arms)])
        counts, end = np.array(self._counts), time + min(most, _LONGEST)
        while time < end and (pulls < missing).all():
            # No block can be full before this number of steps: none is drawn in vain.
            size = min(int((missing - pulls).min()), end - time, max(1, _DRAWS // arms))
            mu = self.optimistic(np.arange(time, time + size))
            chosen = rng.beta(mu * counts + 1, (1 - mu) * counts + 1).argmax(axis=1)
            pulls += np.bincount(chosen, minlength=arms)
            time += size
        return {arm: count for arm, count in enumerate(pulls.tolist()) if count}
