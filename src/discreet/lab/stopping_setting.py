"""What is simulated of a stopping rule: the rule with its options, the law of its samples, how many runs."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import Noise, SimulatedNoise
from discreet.core.options import parameters_of
from discreet.core.registry import RULES, make_rule
from discreet.lab.arms import Rewards, from_state, to_state
from discreet.lab.instances import as_rewards
from discreet.lab.setting import SEED, with_options
from discreet.stopping import StoppingRule

RUNS = 1000
CAP = 2**40
"""The samples after which a run ends if nothing else is said: more than any rule needs on a mean worth knowing."""


@dataclass(frozen=True, slots=True)
class StoppingSetting:
    """A stopping rule on independent samples of one law, checked; `options` are the rule's own, sorted by name."""

    rule: str
    rewards: Rewards
    options: tuple[tuple[str, Any], ...]
    runs: int = RUNS
    seed: int = SEED

    @classmethod
    def of(
        cls, rule: str, rewards: float | str | Rewards, *, runs: int = RUNS, seed: int = SEED, **options: Any
    ) -> Self:
        """A setting from what a person writes. The rule is built once, so that a bad option is refused here.

        `rewards` is what a sample's law is called in `discreet.lab`: a number is the mean of a coin that shows 0 or
        1. The range is theirs unless `radius`, or `low` and `high`, say otherwise. `max_samples` is 2**40 unless it
        is given, and it must be where the mean is too close to 0 for the rule to halt at all.

        >>> StoppingSetting.of("dp-nas", 0.1, alpha=0.1, beta=0.05, epsilon=0.5).label
        'dp-nas(alpha=0.1, beta=0.05, epsilon=0.5) on Bernoulli(0.1)'
        >>> StoppingSetting.of("nas", "discrete(-1:1, 1:1)", alpha=0.1, beta=0.05)
        Traceback (most recent call last):
            ...
        discreet.core.errors.ArgumentError: max_samples must be given for Discrete(-1:1, 1:1), whose mean of 0.0 is too
        close to 0: the rule would never halt
        """
        if "noise" in options:
            raise ArgumentError("noise is not an option of the rule here: the simulator sets it")
        law, known = as_rewards(rewards), parameters(rule)
        given = {name: value for name, value in options.items() if value is not None}
        if not given.keys() & {"radius", "low", "high"}:
            given |= {name: getattr(law, name) for name in ("low", "high") if name in known}
        if "max_samples" in known:
            given.setdefault("max_samples", CAP)
        setting = cls(
            rule,
            law,
            tuple(sorted(given.items())),
            checks.whole("runs", runs),
            checks.whole("seed", seed, at_least=0),
        )
        built = setting.build()
        _check_rewards(law, built, capped=options.get("max_samples") is not None)
        checked = built.options()  # as plain values: 1 and np.float64(1) are the same epsilon as 1.0
        return setting.with_(options=tuple((name, checked[name]) for name, _ in setting.options))

    def make(self, noise: Noise) -> StoppingRule:
        """The rule itself, on this noise."""
        given: dict[str, Any] = dict(self.options)
        if "noise" in parameters(self.rule):
            given["noise"] = noise
        return make_rule(self.rule, **given)

    def build(self) -> StoppingRule:
        """The rule, to look at its formulas."""
        return self.make(SimulatedNoise(0))

    @property
    def epsilon(self) -> float | None:
        """The rule's epsilon; None if it has none."""
        return dict(self.options).get("epsilon")

    @property
    def shown(self) -> dict[str, Any]:
        """The options that somebody chose: not the samples' own range, and not the default cap."""
        given = dict(self.options)
        own = given.get("low") == self.rewards.low and given.get("high") == self.rewards.high
        hidden = {"max_samples"} if given.get("max_samples") == CAP else set()
        hidden |= {"low", "high"} if own else set()
        return {name: value for name, value in given.items() if name not in hidden}

    @property
    def variant(self) -> str:
        """The rule with its options."""
        return with_options(self.rule, self.shown)

    @property
    def label(self) -> str:
        """What it is, for a person."""
        return f"{self.variant} on {self.rewards}"

    @property
    def identity(self) -> str:
        """A digest of all that a run's outcome depends on besides the seed and its number."""
        text = json.dumps([self.rule, [[name, repr(value)] for name, value in self.options], repr(self.rewards)])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def store_key(self) -> tuple[str, str]:
        """A name for its file in a store, and all that the result in it depends on."""
        return f"rule-{self.rule}", f"{self.identity} {self.runs} {self.seed}"

    def run_seed(self, number: int) -> np.random.SeedSequence:
        """What the randomness of run `number` comes from: nothing about workers, or about other settings."""
        return np.random.SeedSequence([self.seed, int(self.identity[:32], 16), number])

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        fields = {name: getattr(self, name) for name in ("rule", "runs", "seed")}
        return {**fields, "options": dict(self.options), "rewards": to_state(self.rewards)}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """What `to_dict` gave."""
        fields = {name: saved[name] for name in ("rule", "runs", "seed")}
        return cls(**fields, options=tuple(sorted(saved["options"].items())), rewards=from_state(saved["rewards"]))

    def with_(self, **changes: Any) -> Self:
        """The same with some fields changed."""
        return replace(self, **changes)


def parameters(rule: str) -> Mapping[str, inspect.Parameter]:
    """What a rule's constructor takes; nothing if there is no such rule, which `make_rule` says best."""
    known = isinstance(rule, str) and rule in RULES
    return parameters_of(RULES[rule]) if known else {}


def _check_rewards(law: Rewards, rule: StoppingRule, *, capped: bool) -> None:
    """Refuse samples that the rule would refuse, and an endless run."""
    grid = rule.grid
    if not grid.low <= law.low <= law.high <= grid.high:
        raise ArgumentError(
            f"rewards must lie in the rule's range [{grid.low}, {grid.high}], got {law} in [{law.low}, {law.high}]; "
            f"widen low/high or radius"
        )
    # The rules allow for half a grid step of rounding in the mean, so below this they never halt.
    if not capped and rule.max_samples is not None and abs(law.mean) <= grid.step / 2 * (1 + 1 / rule.alpha):
        raise ArgumentError(
            f"max_samples must be given for {law}, whose mean of {law.mean} is too close to 0: "
            f"the rule would never halt"
        )
