"""A policy of this library in river."""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

from river.bandit.base import Policy as Base

from discreet.bandits import Policy
from discreet.core.errors import ArgumentError
from discreet.core.noise import SimulatedNoise
from discreet.drivers import Bandit, Ticket


class RiverPolicy(Base):  # type: ignore[misc]
    """A bandit policy for river: `pull` asks, and `update` tells.

    A reward goes to the oldest pull of its arm that has none yet. While rewards are missing, extra pulls of the same
    arms are handed out.

    Args:
        policy: A policy of this library. The driver works on a copy, so it can be given twice.
        seed: A seed of simulated noise, for studies: then it can be copied. None for private noise.

    >>> import discreet
    >>> policy = RiverPolicy(discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000), seed=1)
    >>> for _ in range(5000):
    ...     arm = policy.pull(["A", "B"])
    ...     policy.update(arm, 1.0 if arm == "B" else 0.0)
    >>> policy.bandit.best_arm, policy.ranking
    ('B', ['B', 'A'])
    """

    def __init__(self, policy: Policy, seed: int | None = None) -> None:
        super().__init__()
        self.policy, self.seed = policy, seed
        noise = None if seed is None else SimulatedNoise(seed)
        self.bandit = Bandit(policy, noise, waiting="serve", seed=seed)
        self._open: defaultdict[Any, deque[Ticket]] = defaultdict(deque)

    def pull(self, arm_ids: Sequence[Any]) -> Any:
        """Return the arm to pull next.

        Args:
            arm_ids: The arms, which must be the policy's.

        Raises:
            ArgumentError: They are others.
        """
        if len(arm_ids) != len(self.policy.arms) or not set(arm_ids) <= set(self.policy.arms):
            raise ArgumentError(f"arm_ids must be the policy's arms, {list(self.policy.arms)!r}, got {list(arm_ids)!r}")
        return self._pull(arm_ids)

    def _pull(self, arm_ids: Sequence[Any]) -> Any:
        ticket = self.bandit.ask()
        self._open[ticket.arm].append(ticket)
        return ticket.arm

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Tell the reward of an arm's oldest pull that has none yet.

        Args:
            arm_id: The arm.
            *reward_args: The reward.
            **reward_kwargs: Nothing.

        Raises:
            ArgumentError: The arm has no such pull.
        """
        if not self._open[arm_id]:
            raise ArgumentError(f"arm_id must be an arm that was pulled and has no reward yet, got {arm_id!r}")
        self.bandit.tell(self._open[arm_id][0], *reward_args, **reward_kwargs)
        self._open[arm_id].popleft()
        self._counts[arm_id] += 1
        self._n += 1

    @property
    def ranking(self) -> list[Any]:
        """The arms by what was released: the best one, then those that may still be it, then the others."""
        policy = self.bandit.policy
        viable = set(policy.viable)
        return sorted(policy.arms, key=lambda arm: (arm != policy.best_arm, arm not in viable))

    def __repr__(self) -> str:
        return f"RiverPolicy({self.policy!r}, seed={self.seed})"
