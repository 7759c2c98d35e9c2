"""What is simulated: one policy with its options on one instance, so many runs from one seed."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from discreet.bandits import Policy
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import Noise, SimulatedNoise
from discreet.core.options import parameters_of
from discreet.core.registry import POLICIES, make_policy
from discreet.lab import instances
from discreet.lab.arms import from_state, to_state
from discreet.lab.instances import Instance

ARMS, RUNS, SEED, HORIZON = 5, 30, 2019, 50_000_000  # the paper's defaults, and a seed
MARKS = 100  # checkpoints of each kind, evenly spaced and log-spaced
RESERVED = ("arms", "horizon", "noise")


@dataclass(frozen=True, slots=True)
class Setting:
    """One configuration of an experiment, checked; `options` are the policy's own, sorted by name."""

    policy: str
    instance: Instance
    horizon: int
    options: tuple[tuple[str, Any], ...] = ()
    runs: int = RUNS
    seed: int = SEED
    checkpoints: tuple[int, ...] = ()
    """Moments at which regret is written down; about two hundred if none are given."""

    def __post_init__(self) -> None:
        if not self.checkpoints:
            object.__setattr__(self, "checkpoints", default_checkpoints(self.horizon))

    @classmethod
    def of(
        cls,
        policy: str,
        instance: str | Instance | Iterable[Any],
        *,
        horizon: float = HORIZON,
        arms: int | None = None,
        runs: int = RUNS,
        seed: int = SEED,
        checkpoints: Iterable[float] | None = None,
        **options: Any,
    ) -> Self:
        """A setting from what a person writes. The policy is built once, so that a bad option is refused here.

        >>> Setting.of("dp-se", "C2", epsilon=0.25).label
        'dp-se(epsilon=0.25) on C2, K = 5, T = 50000000'
        """
        length = checks.whole("horizon", horizon)
        for name in RESERVED:
            if name in options:
                raise ArgumentError(f"{name} is not an option of the policy here: the simulator sets it")
        setting = cls(
            policy,
            instances.instance(instance, arms),
            length,
            tuple(sorted(options.items())),
            checks.whole("runs", runs),
            checks.whole("seed", seed, at_least=0),
            () if checkpoints is None else check_checkpoints(checkpoints, length),
        )
        built = setting.build()
        for arm in setting.instance.rewards:
            arm.check(built.grid)
        checked = built.options()  # as plain values: 1 and np.float64(1) are the same epsilon as 1.0
        return setting.with_(options=tuple((name, checked[name]) for name, _ in setting.options))

    def make(self, noise: Noise, seed: int = 0) -> Policy:
        """The policy itself, on this noise; if it takes a seed too and its options have none, on this one."""
        given: dict[str, Any] = dict(self.options)
        known = parameters(self.policy)
        if "horizon" in known:
            given["horizon"] = self.horizon
        if "noise" in known:
            given["noise"] = noise
        if "seed" in known:
            given.setdefault("seed", seed)
        return make_policy(self.policy, range(len(self.instance)), **given)

    def build(self) -> Policy:
        """The policy, to look at its formulas."""
        return self.make(SimulatedNoise(0))

    @property
    def epsilon(self) -> float | None:
        """The policy's epsilon; None if it has none."""
        return dict(self.options).get("epsilon")

    @property
    def other_options(self) -> dict[str, Any]:
        """All options but epsilon, which tables show in a column of its own."""
        return {name: value for name, value in self.options if name != "epsilon"}

    @property
    def variant(self) -> str:
        """The policy with its options."""
        return with_options(self.policy, dict(self.options))

    @property
    def label(self) -> str:
        """What it is, for a person."""
        return f"{self.variant} on {self.instance.name}, K = {len(self.instance)}, T = {self.horizon}"

    @property
    def identity(self) -> str:
        """A digest of all that a run's outcome depends on besides the seed and its number.

        The instance's name, the number of runs and the checkpoints are not in it.
        """
        return digest([self.policy, [[name, repr(value)] for name, value in self.options], *self._world()])

    @property
    def world(self) -> str:
        """A digest of what a policy meets: the horizon and what the arms pay. It is the same for all policies."""
        return digest(self._world())

    def _world(self) -> list[Any]:
        return [self.horizon, [repr(arm) for arm in self.instance.rewards]]

    def run_seed(self, number: int) -> np.random.SeedSequence:
        """What the randomness of run `number` comes from: nothing about workers, or about what else is simulated.

        Neither the policy nor its options are in it, so run `number` of every policy starts from the same seed, and
        policies are compared on common random numbers. Objects then share the luck of each arm (see `play`). A kernel
        draws rewards and noise from one stream, in its own order: there, little more than the start is common.
        """
        return np.random.SeedSequence([self.seed, int(self.world[:32], 16), number])

    @property
    def store_key(self) -> tuple[str, str]:
        """A name for its file in a store, and all that the result in it depends on."""
        rest = f"{self.runs} {self.seed} {self.checkpoints}"
        return self.policy, f"{self.identity} {self.instance.name} {rest}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        fields = {name: getattr(self, name) for name in ("policy", "horizon", "runs", "seed")}
        arms = [to_state(arm) for arm in self.instance.rewards]
        return {
            **fields,
            "options": dict(self.options),
            "checkpoints": list(self.checkpoints),
            "instance": {"name": self.instance.name, "rewards": arms},
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """What `to_dict` gave."""
        fields = {name: saved[name] for name in ("policy", "horizon", "runs", "seed")}
        arms = tuple(from_state(arm) for arm in saved["instance"]["rewards"])
        return cls(
            **fields,
            options=tuple(sorted(saved["options"].items())),
            checkpoints=tuple(saved["checkpoints"]),
            instance=Instance(saved["instance"]["name"], arms),
        )

    def with_(self, **changes: Any) -> Self:
        """The same with some fields changed."""
        return replace(self, **changes)


def digest(parts: list[Any]) -> str:
    """A name for what these parts say."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def with_options(policy: str, options: Mapping[str, Any]) -> str:
    """A policy with some options, for a person.

    >>> with_options("dp-se", {"epsilon": 0.5}), with_options("se", {})
    ('dp-se(epsilon=0.5)', 'se')
    """
    inside = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{policy}({inside})" if inside else policy


def parameters(policy: str) -> Mapping[str, inspect.Parameter]:
    """What a policy's constructor takes; nothing if there is no such policy, which `make_policy` says best."""
    known = isinstance(policy, str) and policy in POLICIES
    return parameters_of(POLICIES[policy]) if known else {}


def accepts(policy: str, option: str) -> bool:
    """Whether a registered policy takes an option; a wrapper that passes options on takes all."""
    known = parameters(policy)
    return option in known or any(entry.kind is entry.VAR_KEYWORD for entry in known.values())


def default_checkpoints(horizon: int) -> tuple[int, ...]:
    """About two hundred moments from 1 to the horizon: half of them evenly spaced, half evenly in the logarithm.

    >>> default_checkpoints(10)
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    >>> len(default_checkpoints(50_000_000)), default_checkpoints(50_000_000)[-1]
    (194, 50000000)
    """
    even = np.linspace(0, horizon, MARKS + 1)[1:]
    logarithmic = np.geomspace(1, horizon, MARKS)
    moments = np.rint(np.concatenate([even, logarithmic])).astype(np.int64)
    return tuple(np.unique(moments.clip(1, horizon)).tolist())


def check_checkpoints(checkpoints: Iterable[float], horizon: int) -> tuple[int, ...]:
    """Moments in [1, horizon], sorted; the horizon itself is always one.

    >>> check_checkpoints([1000, 10], horizon=5000)
    (10, 1000, 5000)
    """
    moments = {checks.whole("a checkpoint", moment) for moment in checkpoints} | {horizon}
    if max(moments) > horizon:
        raise ArgumentError(f"checkpoints must not lie past the horizon {horizon}, got {max(moments)}")
    return tuple(sorted(moments))
