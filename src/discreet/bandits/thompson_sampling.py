"""Thompson sampling (Thompson 1933): an arm is pulled as often as it is believed to be the best."""

from dataclasses import dataclass
from itertools import starmap

from discreet.bandits._seeds import epoch_rng, new_seed
from discreet.bandits._step_wise import StepWisePolicy
from discreet.core.options import Seed
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class ThompsonSampling(StepWisePolicy):
    """Pulls the arm with the largest draw of Beta(S + 1, n - S + 1), S being the sum of its n rewards so far.

    That is the posterior of a Bernoulli variable whose mean could be anything at first. For Bernoulli rewards the
    regret grows as slowly as Lai and Robbins allow: the sum over worse arms of gap ln(T)/kl(mean, best mean) (Kaufmann
    et al. 2012, Agrawal and Goyal 2013). Other rewards in [0, 1] count as a fraction of a success and a fraction of a
    failure. We know of no promise for that. Where one is needed, throw a coin of probability r for a reward r, and tell
    its outcome: the regret is then that of the coins (Agrawal and Goyal).

    The draws of each pull come from a generator of `seed` and the number of pulls before it, so they can be repeated.
    Not private: sums are exact.

    Args:
        arms: The names of the arms.
        seed: The seed of the draws; by default one from the operating system, which is then kept among the options.
        horizon: The number of pulls in all, if there is an end.
        low: The least reward. Sums are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import Bandit
    >>> bandit = Bandit(ThompsonSampling(["A", "B"], seed=1))
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 0.75 if ticket.arm == "B" else 0.25)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 9, 'B': 991})
    """

    key = "ts"
    kernel = "thompson_sampling"
    tries_each_first = False

    seed: Seed | None = None

    def _start(self) -> None:
        super()._start()
        self.seed = new_seed() if self.seed is None else self.seed

    def posterior(self, arm: int) -> tuple[float, float]:
        """Return both parameters of the Beta distribution of an arm's mean; `arm` is its index."""
        return self.posteriors()[arm]

    def posteriors(self) -> list[tuple[float, float]]:
        """Return both parameters of each arm's distribution."""
        width, pulls = self.grid.width, self.pulls
        return [((total := steps / width) + 1, pulls[arm] - total + 1) for arm, steps in enumerate(self._totals)]

    def choose(self, time: int) -> int:
        """Return the index of the arm to pull at a time step: of the largest draw."""
        draws = list(starmap(epoch_rng(self.seed or 0, self.epoch).beta, self.posteriors()))
        return draws.index(max(draws))
