"""Policies of other libraries in the lab. They choose an arm, see its reward and choose again: they are not private."""

import copy
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from discreet.bandits._seeds import new_seed
from discreet.bandits._step_wise import StepWisePolicy
from discreet.core.errors import ArgumentError
from discreet.core.options import Seed
from discreet.core.registry import register
from discreet.core.releases import Release


@dataclass(kw_only=True)
class ForeignPolicy(StepWisePolicy):
    """A policy of another library, which holds its state itself: `in_lab` makes one.

    Its rewards are handed over as they are, so it is not private.

    Args:
        arms: The names of the arms.
        seed: The seed of its own draws; by default one from the operating system.
        horizon: The number of pulls in all, if there is an end.
        low: The least reward.
        high: The largest reward.
    """

    tries_each_first = False
    original: ClassVar[Any]

    seed: Seed | None = None
    _foreign: Any = field(init=False, repr=False, compare=False, default=None)
    _rng: Any = field(init=False, repr=False, compare=False, default=None)

    def _start(self) -> None:
        super()._start()
        self.seed = new_seed() if self.seed is None else self.seed
        self._rng = np.random.default_rng(self.seed)
        small = self.seed % 2**32  # river takes no larger one
        river = hasattr(self.original, "pull")
        has_seed = river and "seed" in self.original._get_params()
        self._foreign = self.original.clone(*([{"seed": small}] if has_seed else []))
        if not river and self._foreign.n_arms != len(self.arms):
            known = self._foreign.n_arms
            raise ArgumentError(f"arms must be as many as those of the policy, {known}, got {len(self.arms)}")

    def choose(self, time: int) -> int:
        """Return the index of the arm that the policy chooses."""
        if hasattr(self._foreign, "pull"):
            return int(self._foreign.pull(list(range(len(self.arms)))))
        return int(self._foreign.select_action(rng=self._rng))

    def copy(self) -> Self:
        """Return an equal object that learns apart from this one."""
        twin = super().copy()
        twin._foreign, twin._rng = copy.deepcopy(self._foreign), copy.deepcopy(self._rng)
        return twin

    def _decide(self, releases: Any) -> None:
        super()._decide(releases)
        release: Release = releases[0]
        arm, reward = self._index[release.arm], self.grid.mean(release.steps, 1)
        if hasattr(self._foreign, "pull"):
            self._foreign.update(arm, reward)
        else:
            self._foreign.update(action=arm, reward=reward)


def in_lab(policy: Any, key: str | None = None) -> type[ForeignPolicy]:
    """Return a policy of river or pymab as one that the lab takes.

    `compare(["dp-se", "ucb", in_lab(river.bandit.UCB(delta=1))], "C2", horizon=1e5)`

    Args:
        policy: The policy. Each run begins with a clone of it, with a seed of its own.
        key: Its name in tables; by default the library's and the class's.

    Raises:
        ArgumentError: It is a policy of neither.
    """
    library = type(policy).__module__.split(".")[0]
    known = hasattr(policy, "clone") and (hasattr(policy, "pull") or hasattr(policy, "select_action"))
    if not known:
        raise ArgumentError(f"policy must be one of river or pymab, such as river.bandit.UCB(delta=1), got {policy!r}")
    name = type(policy).__name__.removesuffix("Policy")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
    own = {
        "key": key or f"{library}-{words}",
        "original": policy,
        "__doc__": f"{type(policy).__name__} of {library}.",
        "__module__": "discreet_foreign",  # no module that can be imported, so it travels to workers as a whole
    }
    return register(dataclass(kw_only=True)(type(f"{library}_{name}", (ForeignPolicy,), own)))
