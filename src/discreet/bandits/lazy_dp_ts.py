"""Lazy-DP-TS (Hu and Hegde 2022): Thompson sampling from optimistic posteriors of the last of doubling blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from discreet.bandits._lazy import LazyPolicy
from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Arm

_LONGEST = 2**16  # steps that are planned at a time: less than 0.1 s for five arms
_DRAWS = 2**18  # draws that are kept in memory at a time


class LazyDPTS(LazyPolicy):
    """Pulls the arm with the largest draw of Beta(mu n + 1, (1 - mu) n + 1), where its last whole block has n rewards.

    mu is the block's released mean plus 3 ln(t)/(epsilon n), moved into [0, 1], so that noise rarely makes an arm look
    worse than it is; t is the step. The draws are new at each step. For Bernoulli rewards the regret is of the order of
    the sum over worse arms of ln(T)/min(gap, epsilon). Block sizes, mu, the posterior and this promise are as a
    reader's notes on the paper have them; its own text could not be read. For other rewards in [0, 1] privacy
    is the same, and we know of no promise.

    The draws are public randomness, as they follow from what was released and from `seed`; they may be shown. A plan
    has the pulls up to the next release, and 65,536 at most.

    Parameters: `epsilon`; `horizon`, if there is one (it only ends the run); `seed` of the draws, by default from the
    operating system. Noise never comes from it.

    >>> from discreet import SimulatedNoise
    >>> policy = LazyDPTS(["A", "B"], epsilon=10.0, seed=1, noise=SimulatedNoise(seed=1))
    >>> for _ in range(12):  # every reward of A is 0.25, and of B 0.75
    ...     pulls = policy.plan().pulls
    ...     totals = {arm: count * policy.grid.width // 4 * {"A": 1, "B": 3}[arm] for arm, count in pulls.items()}
    ...     released = policy.close(totals)
    >>> pulls, policy.unreleased, policy.best_arm
    ({'A': 6, 'B': 256}, {'A': 9, 'B': 0}, 'B')
    >>> released[0].spans
    (('B', 256, 511),)
    """

    key = "lazy-dp-ts"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        seed: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(arms, epsilon=epsilon, horizon=horizon, low=low, high=high, noise=noise)
        self.seed = None if seed is None else checks.whole("seed", seed, at_least=0)
        self._random = np.random.Generator(np.random.PCG64(self.seed))

    def optimistic(self, steps: Any) -> Any:
        """Mu at some steps, a row for each, by arm."""
        counts = np.array(self._counts)
        means = np.array([self.estimate(number) for number in range(len(self.arms))])
        return np.clip(means + 3 * np.log(steps)[:, None] / (self.epsilon * counts), 0.0, 1.0)

    def _choose(self, steps: Any) -> Any:
        """The arms to pull at some steps."""
        mu, counts = self.optimistic(steps), np.array(self._counts)
        return self._random.beta(mu * counts + 1, (1 - mu) * counts + 1).argmax(axis=1)

    def _ahead(self, step: int, most: int) -> dict[int, int]:
        arms = len(self.arms)
        pulls, missing = np.zeros(arms, np.int64), np.array([self._missing(number) for number in range(arms)])
        end = step + min(most, _LONGEST)
        while step < end and (pulls < missing).all():
            # No block can be full before so many steps: none is drawn in vain.
            size = min(int((missing - pulls).min()), end - step, max(1, _DRAWS // arms))
            pulls += np.bincount(self._choose(np.arange(step, step + size)), minlength=arms)
            step += size
        return {number: count for number, count in enumerate(pulls.tolist()) if count}

    def _progress(self) -> dict[str, Any]:
        return {**super()._progress(), "random": self._random.bit_generator.state}

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._random.bit_generator.state = progress["random"]
