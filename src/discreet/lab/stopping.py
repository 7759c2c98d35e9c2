"""Simulating stopping rules: how many samples they take, and how often their estimate breaks its promise.

NAS, DP-NAS, the one-sided rule, DP-Bernstein, EBStop and EBGStop on samples of two values take an exact compiled
kernel. A rule that says how many samples it needs before its next decision gets their total in one draw. Everything
else is fed to the rule object.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import _version, checks
from discreet.errors import ArgumentError
from discreet.grid import CHUNK
from discreet.lab.arms import Bernoulli, Discrete, Empirical, Rewards, from_state, to_state
from discreet.lab.engines import Engine
from discreet.lab.fast import SlowWarning
from discreet.lab.instances import as_rewards
from discreet.lab.results import QUANTILES, finite, interval, read_file, write_file
from discreet.lab.setting import SEED, with_options
from discreet.lab.simulate import run_all
from discreet.lab.store import Store
from discreet.noise import Noise, SimulatedNoise
from discreet.registry import RULES, make_rule
from discreet.stopping import DPNAS, NAS, DPBernstein, DPOneSidedNAS, EBGStop, EBStop, StoppingRule

if TYPE_CHECKING:
    import pandas as pd

RUNS = 1000
CAP = 2**40
"""The samples after which a run ends if nothing else is said: more than any rule needs on a mean worth knowing."""
ARRAYS = ("samples", "estimates", "reached")
KERNELED = (NAS, DPNAS, DPOneSidedNAS, DPBernstein, EBStop, EBGStop)
"""The rules that have a kernel for samples of two values."""
_FIRST_CHUNK = 256  # samples fed at first, and twice as many each time: few are drawn in vain


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
        discreet.errors.ArgumentError: max_samples must be given for Discrete(-1:1, 1:1), whose mean of 0.0 is too
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
    return inspect.signature(RULES[rule]).parameters if known else {}


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


@dataclass(frozen=True, eq=False, repr=False)
class StoppingRuns:
    """All runs of one setting. Arrays have an entry for each run; nothing depends on how they were computed.

    >>> runs = simulate_rule("dp-exp-nas", 0.5, runs=100, seed=1, alpha=0.1, beta=0.05, epsilon=1.0)
    >>> runs.method, int(runs.samples.max()), int(runs.failed.sum()), int(runs.unfinished.sum())
    ('blocks', 4096, 0, 0)
    """

    setting: StoppingSetting
    samples: NDArray[np.int64]
    """The samples taken until the rule halted; `max_samples` where it did not."""
    estimates: NDArray[np.float64]
    """What it then said; NaN where it did not halt."""
    reached: NDArray[np.bool_]
    """Whether it halted."""
    seconds: float
    """How long it took, on however many workers, added up."""
    method: str
    """'kernel', 'blocks' or 'object'."""

    def __str__(self) -> str:
        found = self.statistics()
        between = f" (95 % interval {found['low']:,.0f} to {found['high']:,.0f})" if found["low"] >= 0 else ""
        mean = f"{found['mean']:,.0f} samples"
        mean = f"at least {mean}" if found["unfinished"] else f"{mean}{between}"
        return (
            f"{self.setting.label}: mean {mean}, {found['runs']} "
            f"{'run' if found['runs'] == 1 else 'runs'}, {found['failures']} failed, {found['unfinished']} unfinished"
        )

    __repr__ = __str__

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.samples)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """The runs whose estimate broke the promise: it is further from the mean than alpha |mean|."""
        mean, alpha = self.setting.rewards.mean, self.setting.build().alpha
        return np.asarray(self.reached & (np.abs(self.estimates - mean) > alpha * abs(mean)))

    @property
    def unfinished(self) -> NDArray[np.bool_]:
        """The runs that came to the cap without an estimate."""
        return ~self.reached

    @property
    def failure_rate(self) -> float:
        """The share of all runs that failed: beta is its bound."""
        return float(self.failed.mean())

    def statistics(self) -> dict[str, Any]:
        """The number of samples in figures; an unfinished run counts with its cap, so that a mean is then too small.

        The interval is Student's t for the mean, cut to what is possible.
        """
        most = dict(self.setting.options).get("max_samples", np.inf)
        samples = self.samples.astype(np.float64)
        low, high = np.clip(interval(samples), 1.0, most).tolist()
        quantiles = np.quantile(samples, list(QUANTILES.values()))
        return {
            "mean": float(samples.mean()),
            "low": low,
            "high": high,
            **dict(zip(QUANTILES, map(float, quantiles), strict=True)),
            "worst": int(self.samples.max()),
            "failures": int(self.failed.sum()),
            "unfinished": int(self.unfinished.sum()),
            "runs": len(samples),
            "seconds": self.seconds,
            "method": self.method,
        }

    def description(self) -> dict[str, Any]:
        """The setting in columns."""
        options = dict(self.setting.options)
        main = {name: options.get(name, np.nan) for name in ("epsilon", "alpha", "beta")}
        others = {name: value for name, value in self.setting.shown.items() if name not in main}
        return {
            "rule": self.setting.rule,
            **main,
            "options": json.dumps(others),
            "rewards": str(self.setting.rewards),
            "true_mean": self.setting.rewards.mean,
            "seed": self.setting.seed,
        }

    def summary_row(self) -> dict[str, Any]:
        """The setting and its statistics: a row of a table."""
        return {**self.description(), **self.statistics()}

    def summary(self) -> pd.DataFrame:
        """The setting and its statistics as a table of one row."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame([self.summary_row()])

    def to_pandas(self) -> pd.DataFrame:
        """A tidy table: a row for each run."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.run_columns())

    def run_columns(self) -> dict[str, Any]:
        """Columns of a row for each run."""
        return {
            **self.description(),
            "run": np.arange(len(self.samples)),
            "samples": self.samples,
            "estimate": self.estimates,
            "reached": self.reached,
            "failed": self.failed,
        }

    def to_dict(self) -> dict[str, Any]:
        """The setting, the statistics and all runs as JSON values."""
        return {
            **finite(self.description()),
            "options": dict(self.setting.options),
            "samples": finite(self.statistics()),
            "samples_by_run": self.samples.tolist(),
            "estimate_by_run": [
                value if reached else None for value, reached in zip(self.estimates.tolist(), self.reached, strict=True)
            ],
            "simulated": True,
            "version": _version.__version__,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file (numpy's npz with a description in it), all or nothing."""
        described = {"setting": self.setting.to_dict(), "seconds": self.seconds, "method": self.method}
        write_file(Path(path), {"stopping": described}, {name: getattr(self, name) for name in ARRAYS})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """What `save` wrote."""
        return read_file(Path(path), cls._from_file)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Mapping[str, Any]) -> Self:
        described = header["stopping"]
        setting = StoppingSetting.from_dict(described["setting"])
        found = {name: arrays[name] for name in ARRAYS}
        return cls(setting, **found, seconds=described["seconds"], method=described["method"])


# ---------------------------------------------------------------------- one run

Played = tuple[bool, int, float]
"""Whether the rule halted, the samples it took, and its estimate (NaN where it did not halt)."""
Play = Callable[[np.random.SeedSequence], Played]
"""From a run's seed to its outcome."""


def find_play(setting: StoppingSetting) -> tuple[Play, str]:
    """The fastest exact way to play a setting, and its name."""
    rule = setting.build()
    kernel = find_rule_kernel(rule, setting.rewards)
    if kernel:
        return kernel, "kernel"
    if rule.plan() > 1:
        return lambda seed: _by_object(setting, seed, _in_blocks), "blocks"
    return lambda seed: _by_object(setting, seed, _in_chunks), "object"


def find_rule_kernel(rule: StoppingRule, law: Rewards) -> Play | None:
    """The exact kernel for this rule object and these samples, or None where there is none."""
    values = two_values(law)
    if type(rule) not in KERNELED or values is None or rule.max_samples is None:
        return None
    try:
        from discreet.lab.kernels import bernstein, stopping  # noqa: PLC0415  (numba takes a second, where it is used)
        from discreet.lab.kernels.randomness import fresh_state  # noqa: PLC0415
    except ImportError as error:  # not there, or there and broken
        if rule.plan() == 1:  # others get blocks of samples, which are fast as well
            hint(error.name or "numba")
        return None
    grid, cap = rule.grid, rule.max_samples
    coin = stopping.coin_on(grid, *values, cap)
    if coin is None:
        return None
    if isinstance(rule, DPBernstein):
        parts = bernstein.rule_of(rule)
        return lambda seed: bernstein.play(coin, parts, fresh_state(seed), cap)
    if isinstance(rule, EBStop):
        bounds = stopping.bernstein_of(rule, coin)
        return lambda seed: stopping.empirical_bernstein(coin, bounds, fresh_state(seed), cap)
    kernel: Callable[..., Any] = stopping.nas
    formulas: tuple[Any, ...] = (stopping.curve_of(rule),) if isinstance(rule, NAS) else ()
    if isinstance(rule, DPNAS):
        kernel, formulas = stopping.dp_nas, (*formulas, rule._sparse.scale, rule._laplace.scale)
    elif isinstance(rule, DPOneSidedNAS):
        tests = rule.first_test, stopping.limits_of(rule, cap)
        kernel, formulas = stopping.one_sided_nas, (*tests, rule._sparse.scale, rule._laplace.scale)

    def play(seed: np.random.SeedSequence) -> Played:
        reached, samples, total = kernel(coin, *formulas, fresh_state(seed), cap)
        return reached, samples, grid.mean(total - samples * grid.floor, samples) if reached else np.nan

    return play


def two_values(law: Rewards) -> tuple[float, float, float] | None:
    """The smaller value, the larger one and its probability, of samples that take two values or fewer; else None.

    >>> two_values(Bernoulli(0.1)), two_values(Discrete([1, -1], [3, 1])), two_values(Empirical([0, 1, 2]))
    ((0.0, 1.0, 0.1), (-1.0, 1.0, 0.75), None)
    """
    if isinstance(law, Bernoulli):
        return 0.0, 1.0, law.mean
    if isinstance(law, Discrete):
        values, chances = law._paid.tolist(), law._chances.tolist()
    elif isinstance(law, Empirical):
        values, chances = law._distinct.tolist(), law._chances.tolist()
    else:
        return None
    different = sorted(set(values))
    if len(different) > 2:
        return None
    chance = sum(chance for value, chance in zip(values, chances, strict=True) if value == different[-1])
    return different[0], different[-1], min(chance, 1.0)


@cache
def hint(missing: str) -> None:
    """Say once how to get the kernels."""
    warnings.warn(
        f"{missing} is not installed, so every sample of a stopping rule is drawn and tested; "
        f"pip install 'discreet[lab]' makes that up to thousands of times faster",
        SlowWarning,
        stacklevel=2,
    )


def _by_object(
    setting: StoppingSetting,
    seed: np.random.SeedSequence,
    fill: Callable[[StoppingRule, Rewards, np.random.Generator], None],
) -> Played:
    """A run of the rule object itself."""
    rewards, noise = seed.spawn(2)
    rule = setting.make(SimulatedNoise(noise))
    fill(rule, setting.rewards, np.random.default_rng(rewards))
    result = rule.result
    return result.reached, result.samples, np.nan if result.estimate is None else result.estimate


def _in_blocks(rule: StoppingRule, law: Rewards, generator: np.random.Generator) -> None:
    """Give the rule the total of as many samples as it plans."""
    while count := rule.plan():
        rule.close(law._total(generator, count, rule.grid))


def _in_chunks(rule: StoppingRule, law: Rewards, generator: np.random.Generator) -> None:
    """Feed the rule with samples."""
    size = _FIRST_CHUNK
    while not rule.finished:
        rule.feed(law.sample(generator, size))
        size = min(2 * size, CHUNK)


# ---------------------------------------------------------------------- many runs


def run_rule(setting: StoppingSetting, numbers: range | None = None) -> StoppingRuns:
    """All runs of a setting, or some of them, one after the other."""
    numbers = range(setting.runs) if numbers is None else numbers
    start = time.perf_counter()
    play, method = find_play(setting)
    samples, estimates = np.empty(len(numbers), np.int64), np.empty(len(numbers))
    reached = np.empty(len(numbers), np.bool_)
    for row, number in enumerate(numbers):
        reached[row], samples[row], estimates[row] = play(setting.run_seed(number))
    return StoppingRuns(setting, samples, estimates, reached, time.perf_counter() - start, method)


def run_rule_part(part: tuple[StoppingSetting, range]) -> StoppingRuns:
    """Some runs of a setting: what travels to a worker."""
    return run_rule(*part)


def join_runs(parts: Sequence[StoppingRuns], setting: StoppingSetting) -> StoppingRuns:
    """One result from parts that have its runs, in order."""
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
    return StoppingRuns(setting, **arrays, seconds=sum(part.seconds for part in parts), method=parts[0].method)


def simulate_rules(
    settings: Sequence[StoppingSetting],
    engine: Engine | str | None = None,
    *,
    store: Store | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> list[StoppingRuns]:
    """All settings on one engine (or its name), with a store if there is one: as `simulate_all` does for policies."""
    return run_all(
        settings,
        run_rule_part,
        join_runs,
        load=StoppingRuns.load,
        engine=engine,
        store=store,
        on_progress=on_progress,
    )


def simulate_rule(
    rule: str,
    rewards: float | str | Rewards,
    runs: int = RUNS,
    seed: int = SEED,
    *,
    engine: Engine | str | None = None,
    **options: Any,
) -> StoppingRuns:
    """Independent runs of a registered stopping rule on independent samples, on simulated noise.

    `rewards` is a number (the mean of a coin that shows 0 or 1), a text or a `Rewards`; `options` are the rule's. The
    samples' range is that of the rewards unless the options say otherwise, and a run ends after 2**40 samples. The
    result depends on what is simulated and on the seed, and not on the engine, its workers, or on what else is
    simulated.

    >>> print(simulate_rule("dp-nas", 0.1, runs=100, seed=7, alpha=0.1, beta=0.05, epsilon=0.5))
    dp-nas(alpha=0.1, beta=0.05, epsilon=0.5) on Bernoulli(0.1): mean 192,462 samples (95 % interval 191,901 to
    193,023), 100 runs, 0 failed, 0 unfinished
    """
    setting = StoppingSetting.of(rule, rewards, runs=runs, seed=seed, **options)
    return simulate_rules([setting], engine)[0]
