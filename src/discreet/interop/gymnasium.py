"""An environment of gymnasium from an instance of the lab."""

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np

from discreet.core import checks
from discreet.lab import instances
from discreet.lab.instances import Instance


class BanditEnv(gymnasium.Env):  # type: ignore[misc]
    """A bandit as an environment: an action is an arm's index, and there is nothing to observe.

    An episode is truncated at the horizon. The information of a step has the regret of its pull.

    Args:
        on: The name of a known instance, an instance, or a list of arms.
        horizon: The number of pulls in an episode; None for no end.
        arms: The number of arms of a known instance.

    >>> env = BanditEnv("C2", horizon=100)
    >>> _ = env.reset(seed=1)
    >>> env.action_space, env.step(0)
    (Discrete(5), (0, 1.0, False, False, {'regret': 0.0}))
    """

    def __init__(
        self, on: str | Instance | Iterable[Any] = "C2", horizon: int | None = None, arms: int | None = None
    ) -> None:
        self.instance = instances.instance(on, arms)
        self.horizon = None if horizon is None else checks.whole("horizon", horizon)
        self.action_space = gymnasium.spaces.Discrete(len(self.instance))
        self.observation_space = gymnasium.spaces.Discrete(1)
        self._gaps, self._time = self.instance.gaps, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: The seed of the rewards; None goes on with the generator as it is.
            options: Nothing.
        """
        super().reset(seed=seed)
        self._time = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Pull an arm.

        Args:
            action: The arm's index.
        """
        arm = int(checks.whole("action", action if isinstance(action, int) else np.asarray(action).item(), at_least=0))
        reward = float(self.instance.rewards[arm].sample(self.np_random, 1)[0])
        self._time += 1
        return 0, reward, False, self._time == self.horizon, {"regret": float(self._gaps[arm])}
