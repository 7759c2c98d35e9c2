"""Settings: one algorithm with its options on one instance, a number of runs, and their seed."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from discreet._display import Page, Shown
from discreet.core import checks
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.options import field_names
from discreet.core.registry import find
from discreet.lab import instances
from discreet.lab.arms import from_state, to_state
from discreet.lab.instances import Instance
from discreet.lab.rewards import Rewards
from discreet.mechanisms.curator import Curator

ARMS, RUNS, SEED, HORIZON = 5, 30, 2019, 50_000_000  # the paper's defaults, and a seed
RULE_RUNS = 1000  # of a stopping rule if nothing else is said: one takes a tenth of a millisecond
CAP = 2**40  # samples after which a rule's run ends if nothing else is said: more than any mean of interest needs
_SET_HERE = ("arms", "horizon", "policy")  # options that the simulator sets, or takes from a policy in a wrapper
MARKS = 100  # checkpoints of each kind, evenly spaced and log-spaced


@dataclass(frozen=True, slots=True)
class Setting(Shown):
    """One configuration of an experiment. `Setting.of` makes one and checks it.

    Args:
        algorithm: The key of a policy or of a stopping rule.
        instance: The arms of a policy, or the one distribution of a rule's samples.
        options: The algorithm's own options, sorted by name.
        runs: The number of independent runs.
        seed: The seed of all of them.
        horizon: The pulls of a run; None for a rule.
        checkpoints: Times at which regret is recorded, by default about two hundred; none for a rule.
    """

    algorithm: str
    instance: Instance
    options: tuple[tuple[str, Any], ...] = ()
    runs: int = RUNS
    seed: int = SEED
    horizon: int | None = None
    checkpoints: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.horizon is not None and not self.checkpoints:
            object.__setattr__(self, "checkpoints", default_checkpoints(self.horizon))

    @classmethod
    def of(
        cls,
        algorithm: str | type[Algorithm] | Algorithm,
        instance: float | str | Rewards | Instance | Iterable[Any],
        *,
        horizon: float | None = None,
        arms: int | None = None,
        runs: int | None = None,
        seed: int = SEED,
        checkpoints: Iterable[float] | None = None,
        **options: Any,
    ) -> Self:
        """Return a checked setting. The algorithm is built once, so that a bad option is refused here.

        >>> Setting.of("dp-se", "C2", epsilon=0.25).label
        'dp-se(epsilon=0.25) on C2, K = 5, T = 50000000'
        >>> Setting.of("dp-nas", 0.1, alpha=0.1, beta=0.05, epsilon=0.5).label
        'dp-nas(alpha=0.1, beta=0.05, epsilon=0.5) on Bernoulli(0.1)'

        Args:
            algorithm: The key or the class of a registered policy or stopping rule, or an object with the options to
                take.
            instance: For a policy C1 to C4, R1 to R3, an `Instance`, or a list of arms. For a rule the distribution of
                its samples: a `Rewards`, a text that names one, or a number, the mean of samples of 0 and 1.
            horizon: The pulls of a policy's run, by default those of the object, or 50,000,000.
            arms: The number of arms of a named instance.
            runs: The number of runs, by default 30 of a policy and 1000 of a rule.
            seed: The seed of all runs.
            checkpoints: Times at which a policy's regret is recorded.
            **options: The algorithm's own. A rule's range is that of its samples unless `radius`, or `low` and `high`,
                are given; `max_samples` is 2**40 unless it is given.

        Raises:
            ArgumentError: If an argument or option is wrong, or if a rule would never halt.
        """
        key, options = _key_and_options(algorithm, options)
        if isinstance(algorithm, Algorithm) and horizon is None:
            horizon = getattr(algorithm, "horizon", None)
        on: Any = instance  # each kind of algorithm refuses what the other one takes
        start, count = checks.whole("seed", seed, at_least=0), runs if runs is None else checks.whole("runs", runs)
        if find(key).family == "rule":
            distribution = instances.as_rewards(on)
            on, given = Instance(str(distribution), (distribution,)), _rule_options(distribution, options)
            setting = cls(key, on, given, count or RULE_RUNS, start)
        else:
            on = instances.instance(on, arms)
            length = HORIZON if horizon is None else checks.whole("horizon", horizon)
            times = () if checkpoints is None else check_checkpoints(checkpoints, length)
            setting = cls(key, on, tuple(sorted(options.items())), count or RUNS, start, length, times)
        built = setting.build()
        Curator.of(built).check(built.plan())
        for arm in on.rewards:
            arm.check(built.grid)
        if setting.is_rule and options.get("max_samples") is None:
            _check_halting(built, distribution)
        checked = _flat(built.options())  # as plain values: 1 and np.float64(1) are the same epsilon as 1.0
        return setting.with_(options=tuple((name, checked[name]) for name, _ in setting.options))

    def build(self, seed: int = 0) -> Any:
        """Return the algorithm. `seed` is that of its own draws, if it has some and its options have none."""
        kind, given = find(self.algorithm), dict(self.options)
        if not self.is_rule:
            own = {"horizon": self.horizon, "seed": seed}
            own = {name: value for name, value in own.items() if name in field_names(kind, init=True)}
            given = {"arms": range(len(self.instance)), **own, **given}
        return kind.from_options(given)

    def _page(self) -> Page:
        return Page(self.label, {"options": dict(self.options), "runs": self.runs, "seed": self.seed})

    @property
    def is_rule(self) -> bool:
        """True for a stopping rule, False for a policy."""
        return self.horizon is None

    @property
    def distribution(self) -> Rewards:
        """The distribution of a rule's samples."""
        (only,) = self.instance.rewards
        return only

    @property
    def epsilon(self) -> float | None:
        """The algorithm's epsilon; None if it has none."""
        return dict(self.options).get("epsilon")

    @property
    def shown(self) -> dict[str, Any]:
        """The options that somebody chose: not the range of a rule's samples, nor the default cap."""
        given = dict(self.options)
        if self.is_rule:
            if given.get("max_samples") == CAP:
                del given["max_samples"]
            own = self.distribution
            if (given.get("low"), given.get("high")) == (own.low, own.high):
                del given["low"], given["high"]
        return given

    @property
    def other_options(self) -> dict[str, Any]:
        """All options but epsilon, which tables show in a column of its own."""
        return {name: value for name, value in self.options if name != "epsilon"}

    @property
    def variant(self) -> str:
        """The algorithm with its options, as text."""
        return with_options(self.algorithm, self.shown)

    @property
    def label(self) -> str:
        """The whole setting as text."""
        size = "" if self.is_rule else f", K = {len(self.instance)}, T = {self.horizon}"
        return f"{self.variant} on {self.instance.name}{size}"

    @property
    def identity(self) -> str:
        """A digest of all that a run's outcome depends on besides the seed and the run's index.

        The instance's name, the number of runs and the checkpoints are not in it.
        """
        return digest([self.algorithm, [[name, repr(value)] for name, value in self.options], *self._world()])

    def _world(self) -> list[Any]:
        """Return the horizon and the arms, which are the same for all policies."""
        arms = [repr(arm) for arm in self.instance.rewards]
        return arms if self.is_rule else [self.horizon, arms]

    def run_seed(self, index: int) -> np.random.SeedSequence:
        """Return the seed of a run. It depends on the setting and the index only, not on workers or other settings.

        Run `index` of every policy has the same seed, so policies are compared on common random numbers: objects share
        the draws of each arm (see `play`). A kernel draws rewards and noise from one generator in its own order, so
        little more than the start is common. Rules have a seed for each setting, since their failures are added up.
        """
        common = self.identity if self.is_rule else digest(self._world())
        return np.random.SeedSequence([self.seed, int(common[:32], 16), index])

    @property
    def store_key(self) -> tuple[str, str]:
        """A prefix for the name of its file in a store, and all that the result in it depends on."""
        rest = f"{self.runs} {self.seed} {self.checkpoints}"
        return self.algorithm, f"{self.identity} {self.instance.name} {rest}"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        arms = [to_state(arm) for arm in self.instance.rewards]
        return {
            **{name: getattr(self, name) for name in ("algorithm", "horizon", "runs", "seed")},
            "options": dict(self.options),
            "checkpoints": list(self.checkpoints),
            "instance": {"name": self.instance.name, "rewards": arms},
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """Return the setting that `to_dict` described."""
        arms = tuple(from_state(arm) for arm in saved["instance"]["rewards"])
        return cls(
            **{name: saved[name] for name in ("algorithm", "horizon", "runs", "seed")},
            options=tuple(sorted(saved["options"].items())),
            checkpoints=tuple(saved["checkpoints"]),
            instance=Instance(saved["instance"]["name"], arms),
        )

    def with_(self, **changes: Any) -> Self:
        """Return the same setting with some fields changed."""
        return replace(self, **changes)


def digest(parts: list[Any]) -> str:
    """Return a name for JSON values that is the same for equal ones only."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def with_options(algorithm: str, options: Mapping[str, Any]) -> str:
    """Return an algorithm with some options as text.

    >>> with_options("dp-se", {"epsilon": 0.5}), with_options("se", {})
    ('dp-se(epsilon=0.5)', 'se')

    Args:
        algorithm: Its key.
        options: Some of its options.
    """
    inside = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{algorithm}({inside})" if inside else algorithm


def accepts(algorithm: str | type[Algorithm] | Algorithm, option: str) -> bool:
    """Return whether an algorithm takes an option. A wrapper takes those of the policy in it, too.

    Args:
        algorithm: Its key, its class or an object of it.
        option: The name of an option.
    """
    known = field_names(find(algorithm), init=True)
    return option in known or "policy" in known


def _key_and_options(
    algorithm: str | type[Algorithm] | Algorithm, options: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the key of a registered algorithm, and options with those of objects that stand for theirs."""
    wrapped = options.get("policy")
    if isinstance(wrapped, Algorithm):
        options = {**_chosen_options(wrapped), **options, "policy": wrapped.key}
    if isinstance(algorithm, Algorithm):
        options = {**_chosen_options(algorithm), **options}
        algorithm = type(algorithm)
    return (algorithm if isinstance(algorithm, str) else find(algorithm).key), options


def _rule_options(distribution: Rewards, options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return a rule's options with the range of its samples and the default cap, where none are given."""
    given = {name: value for name, value in options.items() if value is not None}
    if not given.keys() & {"radius", "low", "high"}:
        given |= {"low": distribution.low, "high": distribution.high}
    return tuple(sorted({"max_samples": CAP, **given}.items()))


def _check_halting(rule: Any, distribution: Rewards) -> None:
    """Refuse a run without an end: rules allow for half a grid step of rounding in the mean, and never halt below."""
    if abs(distribution.mean) <= rule.grid.rounding * (1 + 1 / rule.alpha):
        raise ArgumentError(
            f"max_samples must be given for {distribution}, whose mean of {distribution.mean} is too close to 0: "
            f"the rule would never halt"
        )


def _chosen_options(algorithm: Algorithm) -> dict[str, Any]:
    """Return the options of an object that are not defaults, apart from those that the simulator sets."""
    inner = getattr(algorithm, "policy", None)
    found = {} if inner is None else {**_chosen_options(inner), "policy": inner.key}
    given, defaults = algorithm.options(), {entry.name: entry.default for entry in fields(algorithm)}
    return found | {name: given[name] for name in given if name not in _SET_HERE and given[name] != defaults[name]}


def _flat(options: dict[str, Any]) -> dict[str, Any]:
    """Return a wrapper's options with those of the policy in it beside them, and others as they are."""
    inner = options.get("policy")
    return options if inner is None else {**inner["options"], **options, "policy": inner["algorithm"]}


def default_checkpoints(horizon: int) -> tuple[int, ...]:
    """Return about two hundred times from 1 to the horizon: half evenly spaced, half evenly in the logarithm.

    >>> default_checkpoints(10)
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    >>> len(default_checkpoints(50_000_000)), default_checkpoints(50_000_000)[-1]
    (194, 50000000)
    """
    even = np.linspace(0, horizon, MARKS + 1)[1:]
    logarithmic = np.geomspace(1, horizon, MARKS)
    times = np.rint(np.concatenate([even, logarithmic])).astype(np.int64)
    return tuple(np.unique(times.clip(1, horizon)).tolist())


def check_checkpoints(checkpoints: Iterable[float], horizon: int) -> tuple[int, ...]:
    """Return times in [1, horizon], sorted. The horizon itself is always one.

    >>> check_checkpoints([1000, 10], horizon=5000)
    (10, 1000, 5000)

    Args:
        checkpoints: The times.
        horizon: The latest time.

    Raises:
        ArgumentError: If one of them is no whole number from 1 to the horizon.
    """
    times = {checks.whole("a checkpoint", time) for time in checkpoints} | {horizon}
    if max(times) > horizon:
        raise ArgumentError(f"checkpoints must not lie past the horizon {horizon}, got {max(times)}")
    return tuple(sorted(times))
