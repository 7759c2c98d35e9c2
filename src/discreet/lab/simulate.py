"""The simulator: plays a policy against an instance, an epoch at a time.

Within an epoch the pulls are fixed in advance, so an arm needs only the sum of its rewards: a run of 5e7 pulls
costs as much as its few epochs. Step-wise policies with a compiled kernel take it (see docs/simulation.md).
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.bandits import Policy
from discreet.bandits._policy import cut_short
from discreet.core.errors import ArgumentError
from discreet.core.noise import SimulatedNoise
from discreet.core.privacy import Arm
from discreet.lab import instances
from discreet.lab.engines import Engine, Serial, make_engine
from discreet.lab.fast import find_kernel
from discreet.lab.instances import Instance
from discreet.lab.results import NEVER, Results, Simulation, join
from discreet.lab.setting import HORIZON, RUNS, SEED, Setting, accepts
from discreet.lab.store import Store, Stored


class Runs(Stored, Protocol):
    """What an engine's work asks of a setting: how many runs there are, and where their result is kept."""

    @property
    def runs(self) -> int:
        """How many independent runs."""
        ...


Job = TypeVar("Job", bound=Runs)
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Run:
    """One simulated run: how often each arm was pulled, and when each was dropped."""

    pulls: Any
    """Pulls of each arm at the end."""
    counts: Any
    """Pulls by checkpoint and arm."""
    dropped: tuple[int, ...]
    """The pulls made when each arm was dropped from the race; NEVER for those that were not."""
    best_arm: Arm
    """What the policy prefers at the end."""


def play(
    policy: Policy,
    on: Instance | Iterable[Any],
    generator: np.random.Generator,
    horizon: int | None = None,
    checkpoints: Sequence[int] = (),
) -> Run:
    """Play a policy object up to a horizon (by default its own; without any, until it finishes).

    Within an epoch the arms take turns. A policy that finishes early goes on with the arm that it prefers, or if it
    has released nothing with all arms in turn.

    Each arm pays from a child generator of its own. So its luck does not depend on when and how often the others are
    pulled, nor on the noise, and policies that start from the same seed share it as far as their epochs allow. Where
    an arm's epochs are equally long, as those of step-wise policies are, it pays the very same.

    >>> from discreet import DPSuccessiveElimination, SimulatedNoise
    >>> from discreet.lab import instance
    >>> policy = DPSuccessiveElimination(range(5), epsilon=0.25, horizon=5e7, noise=SimulatedNoise(seed=1))
    >>> run = play(policy, instance("C2"), np.random.default_rng(1))
    >>> float(run.pulls @ instance("C2").gaps), run.dropped
    (4829.625, (-1, 36129, 13715, 13715, 13715))
    """
    on, own = instances.instance(on), policy.horizon
    end = horizon if horizon is not None else (math.inf if own is None else own)
    for pays in on.rewards:
        pays.check(policy.grid)
    own_luck = zip(policy.arms, on.rewards, generator.spawn(len(policy.arms)), strict=True)
    draw = {arm: partial(pays._total, luck) for arm, pays, luck in own_luck}  # checked, so without checks
    track = Track(policy.arms, checkpoints)
    while track.time < end and (plan := policy.plan()):
        if plan.size > end - track.time:
            track.pull(plan.pulls, int(end - track.time))
            break
        policy.close({arm: draw[arm](count, policy.grid) for arm, count in plan.pulls.items()} if plan.learns else None)
        track.pull(plan.pulls, plan.size)
        track.note_dropped(getattr(policy, "viable", policy.arms))
    if track.time < end < math.inf:
        rest = int(end) - track.time
        preferred = policy.arms if policy.best_arm is None else (policy.best_arm,)
        track.pull(dict.fromkeys(preferred, rest), rest)
    return Run(track.pulls, track.counts, track.dropped, policy.best_arm)


class Track:
    """Counts of pulls, written down at checkpoints without keeping the steps between them."""

    def __init__(self, arms: Sequence[Arm], checkpoints: Sequence[int]) -> None:
        self.time = 0
        self._numbers = {arm: number for number, arm in enumerate(arms)}
        self._checkpoints = checkpoints
        self._next = 0
        self.pulls = np.zeros(len(arms), np.int64)
        self._viable = len(arms)
        self._dropped = [NEVER] * len(arms)
        self.counts = np.zeros((len(checkpoints), len(arms)), np.int64)

    @property
    def dropped(self) -> tuple[int, ...]:
        """When each arm left the race."""
        return tuple(self._dropped)

    def pull(self, epoch: Mapping[Arm, int], size: int) -> None:
        """The first `size` pulls of an epoch in which arms take turns."""
        start = self.time
        self.time += size
        until = bisect_right(self._checkpoints, self.time, self._next)
        if until > self._next:
            moments = np.array(self._checkpoints[self._next : until]) - start
            self.counts[self._next : until] = self.pulls
            self._note(epoch, moments, slice(self._next, until))
            self._next = until
        self._add(self.pulls, epoch if size == sum(epoch.values()) else cut_short(epoch, size))

    def _note(self, epoch: Mapping[Arm, int], moments: Any, rows: slice) -> None:
        """Add what was pulled in the epoch by these moments, counted from its start, to the rows."""
        if len(set(epoch.values())) == 1:  # nearly always: all arms so many times
            rounds, rest = np.divmod(moments, len(epoch))
            for place, arm in enumerate(epoch):
                self.counts[rows, self._numbers[arm]] += rounds + (place < rest)
            return
        for row, moment in zip(self.counts[rows], moments.tolist(), strict=True):
            self._add(row, cut_short(epoch, moment))

    def _add(self, counts: Any, pulls: Mapping[Arm, int]) -> None:
        for arm, count in pulls.items():
            counts[self._numbers[arm]] += count

    def note_dropped(self, viable: Sequence[Arm]) -> None:
        """Write down who has left."""
        if len(viable) < self._viable:
            self._viable = len(viable)
            for arm, number in self._numbers.items():
                if arm not in viable and self._dropped[number] == NEVER:
                    self._dropped[number] = self.time


def one_run(setting: Setting, number: int) -> Run:
    """Run `number` of a setting, played as the policy object: rewards, noise and its own draws have a seed each."""
    rewards, noise, own = setting.run_seed(number).spawn(3)
    policy = setting.make(SimulatedNoise(noise), int(own.generate_state(1, np.uint64)[0]) >> 1)
    return play(policy, setting.instance, np.random.default_rng(rewards), setting.horizon, setting.checkpoints)


def run_setting(setting: Setting, numbers: range | None = None) -> Simulation:
    """All runs of a setting, or some of them, one after the other."""
    numbers = range(setting.runs) if numbers is None else numbers
    start = time.perf_counter()
    policy = setting.build()
    kernel = find_kernel(policy, setting.instance, setting.horizon, setting.checkpoints)
    gaps = setting.instance.gaps
    regret = np.empty((len(numbers), len(setting.checkpoints)))
    best_pulls = np.empty(regret.shape, np.int64)
    pulls = np.empty((len(numbers), gaps.size), np.int64)
    dropped = np.full(pulls.shape, NEVER)
    for row, number in enumerate(numbers):
        if kernel:
            counts = kernel(setting.run_seed(number))
            if isinstance(counts, tuple):
                counts, dropped[row] = counts
        else:
            run = one_run(setting, number)
            counts, dropped[row] = run.counts, run.dropped
        # Not counts @ gaps: its last digit would depend on the other checkpoints, and on the machine.
        regret[row], pulls[row] = (counts * gaps).sum(axis=1), counts[-1]
        best_pulls[row] = counts[:, gaps == 0].sum(axis=1)
    seconds = time.perf_counter() - start
    return Simulation(setting, regret, best_pulls, pulls, dropped, seconds, "kernel" if kernel else "object")


def run_part(part: tuple[Setting, range]) -> Simulation:
    """Some runs of a setting: what travels to a worker."""
    return run_setting(*part)


def split(setting: Job, pieces: int) -> list[tuple[Job, range]]:
    """The runs of a setting in so many pieces, or fewer if there are fewer runs."""
    edges = np.linspace(0, setting.runs, min(pieces, setting.runs) + 1).astype(int)
    return [(setting, range(start, stop)) for start, stop in pairwise(edges.tolist())]


def simulate_all(
    settings: Sequence[Setting],
    engine: Engine | str | None = None,
    *,
    store: Store | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Results:
    """All settings on one engine (or its name), which is started and ended here; without one, in this thread.

    A task is a whole setting; where there are too few to keep workers busy, settings are split into runs. What a
    store holds already is not simulated again, and each setting is stored as soon as it is finished.
    `on_progress` is told after each task how many runs it has finished.
    """
    return Results(
        run_all(settings, run_part, join, load=Simulation.load, engine=engine, store=store, on_progress=on_progress)
    )


def run_all(
    settings: Sequence[Job],
    work: Callable[[tuple[Job, range]], Outcome],
    assemble: Callable[[Sequence[Outcome], Job], Outcome],
    *,
    load: Callable[[Path], Outcome],
    engine: Engine | str | None,
    store: Store | None,
    on_progress: Callable[[int], None] | None,
) -> list[Outcome]:
    """What `simulate_all` does, for settings of any kind: `work` plays some runs of one, `assemble` joins them."""
    found: dict[int, Outcome] = {}
    for place, setting in enumerate(settings):
        stored = store.get(setting, load) if store else None
        if stored is not None:
            found[place] = stored
            if on_progress:
                on_progress(setting.runs)
    missing = [place for place in range(len(settings)) if place not in found]
    engine = make_engine(engine) if isinstance(engine, str) else engine or Serial()
    workers = getattr(engine, "workers", 1)
    pieces = 1 if len(missing) >= 4 * workers else -(-4 * workers // max(1, len(missing)))
    parts = [(place, part) for place in missing for part in split(settings[place], pieces)]
    waiting = {place: {} for place in missing}  # type: dict[int, dict[range, Outcome]]
    with engine if engine and parts else Serial() as running:
        for number, result in running.run(work, [part for _, part in parts]):
            place, (setting, numbers) = parts[number]
            waiting[place][numbers] = result
            if on_progress:
                on_progress(len(numbers))
            if sum(map(len, waiting[place])) == setting.runs:
                done = waiting.pop(place)
                found[place] = assemble([done[part] for part in sorted(done, key=lambda part: part.start)], setting)
                if store:
                    store.put(found[place])
    return [found[place] for place in range(len(settings))]


def simulate(
    policy: str,
    instance: str | Instance | Iterable[Any] = "C2",
    horizon: float = HORIZON,
    runs: int = RUNS,
    seed: int = SEED,
    *,
    arms: int | None = None,
    checkpoints: Iterable[float] | None = None,
    engine: Engine | str | None = None,
    **options: Any,
) -> Simulation:
    """Independent runs of a registered policy on an instance, on simulated noise.

    `instance` is C1 to C4 or R1 to R3 (with `arms` arms), an `Instance`, or a list of arms; `options` are the
    policy's. The result depends on what is simulated and on the seed, and not on the engine, its workers, or on what
    else is simulated.

    >>> result = simulate("dp-se", "C2", horizon=5e7, runs=10, seed=7, epsilon=0.25)
    >>> print(result)
    dp-se(epsilon=0.25) on C2, K = 5, T = 50000000: mean regret 4,830 (95 % interval 4,830 to 4,830), 10 runs, 0 failed
    """
    setting = Setting.of(
        policy, instance, horizon=horizon, arms=arms, runs=runs, seed=seed, checkpoints=checkpoints, **options
    )
    return simulate_all([setting], engine)[0]


Entry = str | tuple[str, Mapping[str, Any]]
"""A policy of a league, alone or with options of its own."""
LEAGUE = ("dp-se", "dp-ucb", "se", "ucb")


def compare(
    policies: Iterable[Entry] = LEAGUE,
    instance: str | Instance | Iterable[Any] = "C2",
    horizon: float = HORIZON,
    runs: int = RUNS,
    seed: int = SEED,
    *,
    arms: int | None = None,
    checkpoints: Iterable[float] | None = None,
    engine: Engine | str | None = None,
    **options: Any,
) -> Results:
    """A league of policies on one instance; an option goes to each policy that has it, such as `epsilon`.

    A policy may bring options of its own: `["dp-se", "dp-ucb", ("dp-ucb", {"preset": "thesis"})]`. Run i of every
    policy starts from the same seed.
    """
    common = {
        "instance": instances.instance(instance, arms),
        "horizon": horizon,
        "runs": runs,
        "seed": seed,
        "checkpoints": None if checkpoints is None else list(checkpoints),
    }
    names = [policies] if isinstance(policies, str) else list(policies)
    return simulate_all(league(names, options, common), engine)


def league(policies: Sequence[Entry], options: Mapping[str, Any], common: Mapping[str, Any]) -> list[Setting]:
    """A setting for each policy; an option goes to each that has it, and to one at least."""
    if not policies:
        raise ArgumentError("policies must name at least one policy, got none")
    entries = [(entry, {}) if isinstance(entry, str) else entry for entry in policies]
    settings = [
        Setting.of(policy, **common, **{**{name: options[name] for name in options if accepts(policy, name)}, **own})
        for policy, own in entries
    ]
    names = [policy for policy, _ in entries]
    for name, value in options.items():
        if not any(accepts(policy, name) for policy in names):
            raise ArgumentError(f"none of {', '.join(names)} has an option {name!r}, got {name}={value!r}")
    return settings
