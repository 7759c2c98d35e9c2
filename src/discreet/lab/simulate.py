"""The simulator: many runs of many settings, by kernels or objects, on any engine.

Algorithms that decide after every step have compiled kernels (see docs/simulation.md). All others are played as
objects.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.core.algorithm import Algorithm
from discreet.core.plans import Plan
from discreet.lab.carried import is_shipped, may_start_processes, pack_class, unpack_class
from discreet.lab.engines import Engine, Serial, make_engine
from discreet.lab.instances import Instance
from discreet.lab.kernels import find_program, find_steps
from discreet.lab.progress import progress_bar
from discreet.lab.results import NEVER, POLICY_ARRAYS, RULE_ARRAYS, Results, Simulation, join
from discreet.lab.rewards import Rewards
from discreet.lab.runs import one_run, play, seeded
from discreet.lab.setting import SEED, Setting
from discreet.lab.store import Store
from discreet.lab.sweep import Entry, Name, league

_FEW_STEPS = 200_000  # in fewer, worker processes take longer to start than they save
_STEPS_OF_RULE = 1000  # that take as long as one run of a rule as an object, about
_TIMED_PULLS = 500  # to estimate how long a simulation takes
_SHORT_RUN = 1000  # pulls, to compile a kernel
_compiled_rules: set[str] = set()


def run_setting(setting: Setting, indices: range | None = None) -> Simulation:
    """Simulate runs of a setting, one after the other.

    Args:
        setting: The setting.
        indices: The indices of the runs, by default all.
    """
    indices = range(setting.runs) if indices is None else indices
    run, method = (_rule_runner if setting.is_rule else _policy_runner)(setting)
    if method == "kernel":
        _compile(setting, run)
    start = time.perf_counter()
    rows = zip(*map(run, indices), strict=True)
    kinds = RULE_ARRAYS if setting.is_rule else POLICY_ARRAYS
    arrays: dict[str, Any] = {name: np.array(row, kind) for (name, kind), row in zip(kinds.items(), rows, strict=True)}
    return Simulation(setting, arrays, time.perf_counter() - start, method)


def _compile(setting: Setting, run: Callable[[int], object]) -> None:
    """Have this process compile the kernel of a setting, which takes seconds once, before its runs are timed."""
    if setting.is_rule:
        if setting.algorithm not in _compiled_rules:
            run(0)
            _compiled_rules.add(setting.algorithm)
        return
    horizon = min(setting.horizon or _SHORT_RUN, _SHORT_RUN)
    _policy_runner(setting.with_(horizon=horizon, checkpoints=(horizon,)))[0](0)


def _policy_runner(setting: Setting) -> tuple[Callable[[int], tuple[Any, ...]], str]:
    """Return a function from the index of a run to its row of each array, and its name."""
    policy = setting.build()
    program = find_program(policy, setting.instance)
    steps = None if program is not None else find_steps(policy, setting.instance)
    gaps, times = setting.instance.gaps, np.array(setting.checkpoints, np.int64)
    never = np.full(gaps.size, NEVER)

    def run(index: int) -> tuple[Any, ...]:
        if steps is not None:
            counts, dropped = steps(*seeded(setting, index), times), never
        elif program is None:
            one = one_run(setting, index)
            counts, dropped = one.counts, one.dropped
        else:
            found = program(setting.horizon, setting.run_seed(index).generate_state(4, np.uint64), times)
            counts, dropped = found if isinstance(found, tuple) else (found, never)
        # Not counts @ gaps: its last digit would depend on the other checkpoints, and on the machine.
        return (counts * gaps).sum(axis=1), counts[:, gaps == 0].sum(axis=1), counts[-1], dropped

    return run, "object" if program is None and steps is None else "kernel"


def _rule_runner(setting: Setting) -> tuple[Callable[[int], tuple[Any, ...]], str]:
    """Return a function from the index of a run to its row of each array, and its name."""
    rule = setting.build()
    program = find_program(rule, setting.instance)

    def run(index: int) -> tuple[int, float, bool]:
        if program is not None:
            reached, samples, estimate = program(setting.run_seed(index).generate_state(4, np.uint64))
            return int(samples), float(estimate), bool(reached)
        one = one_run(setting, index)
        return one.samples, np.nan if one.estimate is None else one.estimate, one.halted

    return run, "kernel" if program is not None else "blocks" if _in_blocks(rule.plan()) else "object"


def _in_blocks(plan: Plan) -> bool:
    """Return True if totals of many samples are drawn at a time."""
    return plan.spaced or not plan.many_tests


def run_part(part: tuple[Setting, range]) -> Simulation:
    """Simulate some runs of a setting: the task of a worker."""
    return run_setting(*part)


def run_carried(part: tuple[bytes, Setting, range]) -> Simulation:
    """Simulate some runs of a setting in another process, where the algorithm's own class may be unknown."""
    unpack_class(part[0])
    return run_setting(*part[1:])


def split(setting: Setting, pieces: int) -> list[tuple[Setting, range]]:
    """Return the runs of a setting in pieces.

    Args:
        setting: The setting.
        pieces: The number of pieces, at most that of the runs.
    """
    edges = np.linspace(0, setting.runs, min(pieces, setting.runs) + 1).astype(int)
    return [(setting, range(start, stop)) for start, stop in pairwise(edges.tolist())]


def simulate_all(
    settings: Sequence[Setting],
    engine: Engine | str | None = None,
    *,
    store: Store | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Results:
    """Simulate settings of policies and rules.

    A task is a whole setting; where there are too few to keep workers busy, settings are split into runs.

    Args:
        settings: The settings.
        engine: An engine, which is started and ended here, its name, or "auto"; None runs in this thread.
        store: Results in it are not simulated again, and each setting is stored as soon as it is finished.
        on_progress: Called after each task with the number of runs that it has finished.
    """
    found: dict[int, Simulation] = {}
    for index, setting in enumerate(settings):
        stored = store.get(setting) if store else None
        if stored is not None:
            found[index] = stored
            if on_progress:
                on_progress(setting.runs)
    missing = [index for index in range(len(settings)) if index not in found]
    if isinstance(engine, str):
        engine = choose_engine([settings[index] for index in missing], engine)
    engine = engine or Serial()
    workers = getattr(engine, "workers", 1)
    pieces = 1 if len(missing) >= 4 * workers else -(-4 * workers // max(1, len(missing)))
    parts = [(index, part) for index in missing for part in split(settings[index], pieces)]
    waiting: dict[int, dict[range, Simulation]] = {index: {} for index in missing}
    with engine if parts else Serial() as running:
        for task, result in _results(running, [part for _, part in parts]):
            index, (setting, indices) = parts[task]
            waiting[index][indices] = result
            if on_progress:
                on_progress(len(indices))
            if sum(map(len, waiting[index])) == setting.runs:
                done = waiting.pop(index)
                found[index] = join([done[part] for part in sorted(done, key=lambda part: part.start)], setting)
                if store:
                    store.put(found[index])
    return Results(found[index] for index in range(len(settings)))


def _results(engine: Engine, parts: Sequence[tuple[Setting, range]]) -> Iterator[tuple[int, Simulation]]:
    """Run parts of settings. An algorithm of one's own travels with them to other processes."""
    if not engine.elsewhere or all(is_shipped(setting.algorithm) for setting, _ in parts):
        return engine.run(run_part, parts)
    return engine.run(run_carried, [(pack_class(setting.algorithm), setting, runs) for setting, runs in parts])


def simulate(
    algorithm: Name,
    instance: float | str | Rewards | Instance | Iterable[Any] = "C2",
    horizon: float | None = None,
    runs: int | None = None,
    seed: int = SEED,
    *,
    arms: int | None = None,
    checkpoints: Iterable[float] | None = None,
    engine: Engine | str | None = "auto",
    progress: bool | None = None,
    **options: Any,
) -> Simulation:
    """Simulate independent runs of a policy or of a stopping rule, on simulated noise.

    The result depends on the setting and the seed, and not on the engine, its workers, or on what else is simulated.

    >>> print(simulate("dp-se", "C2", horizon=5e7, runs=10, seed=7, epsilon=0.25))
    dp-se(epsilon=0.25) on C2, K = 5, T = 50000000: mean regret 4,830 (95 % interval 4,830 to 4,830), 10 runs, 0 failed
    >>> print(simulate("dp-nas", 0.1, runs=100, seed=7, alpha=0.1, beta=0.05, epsilon=0.5))
    dp-nas(alpha=0.1, beta=0.05, epsilon=0.5) on Bernoulli(0.1): mean 192,462 samples (95 % interval 191,901 to
    193,023), 100 runs, 0 failed, 0 unfinished

    Args:
        algorithm: The key or the class of a registered policy or stopping rule, or an object with the options to take.
        instance: For a policy C1 to C4 or R1 to R3, an `Instance`, or a list of arms. For a rule the distribution of
            its samples: a number (the mean of samples of 0 and 1), a text or a `Rewards`.
        horizon: The pulls of a policy's run, by default 50,000,000.
        runs: The number of runs, by default 30 of a policy and 1000 of a rule.
        seed: The seed of all runs.
        arms: The number of arms of a named instance.
        checkpoints: Times at which a policy's regret is recorded, by default about two hundred.
        engine: Where to run: "auto", an engine, its name, or None for this thread.
        progress: True for a bar with the time that is left; None shows one in a notebook or a terminal, where it takes
            longer than a moment.
        **options: The algorithm's own.
    """
    given: dict[str, Any] = {"horizon": horizon, "arms": arms, "runs": runs, "seed": seed, "checkpoints": checkpoints}
    return _watched([Setting.of(algorithm, instance, **given, **options)], engine, progress)[0]


LEAGUE = ("dp-se", "dp-ucb", "se", "ucb")


def _watched(settings: Sequence[Setting], engine: Engine | str | None, progress: bool | None) -> Results:
    """Simulate settings with a progress bar."""
    what = settings[0].algorithm if len(settings) == 1 else f"{len(settings)} settings"
    with progress_bar(f"simulating {what}", sum(one.runs for one in settings), progress) as advance:
        return simulate_all(settings, engine, on_progress=advance)


def compare(
    algorithms: Entry | Iterable[Entry] = LEAGUE,
    instance: float | str | Rewards | Instance | Iterable[Any] = "C2",
    horizon: float | Sequence[float] | None = None,
    runs: int | None = None,
    seed: int = SEED,
    *,
    arms: int | Sequence[int] | None = None,
    checkpoints: Iterable[float] | None = None,
    engine: Engine | str | None = "auto",
    progress: bool | None = None,
    **options: Any,
) -> Results:
    """Simulate several policies, or several rules, on one instance. Run i of every policy starts from the same seed.

    A list is swept over: `epsilon=[0.1, 1.0]`, `horizon=[1e5, 1e6]`, `arms=[5, 10]` or any other option. The result's
    `plot()` then shows regret against it.

    >>> found = compare(["dp-se", "se"], "C2", horizon=1e5, runs=5, epsilon=[0.5, 1.0])
    >>> [(one.setting.variant, round(one.mean)) for one in found]
    [('dp-se(epsilon=0.5)', 3437), ('dp-se(epsilon=1.0)', 3036), ('se', 895)]

    Args:
        algorithms: Their keys, classes or objects. One may bring options of its own:
            `["dp-se", MyPolicy, ("dp-ucb", {"preset": "thesis"})]`.
        instance: As in `simulate`.
        horizon: The pulls of a policy's run, by default 50,000,000; or several to sweep over.
        runs: The number of runs of each.
        seed: The seed of all runs.
        arms: The number of arms of a named instance, or several to sweep over.
        checkpoints: Times at which a policy's regret is recorded.
        engine: As in `simulate`.
        progress: True for a bar with the time that is left; None shows one in a notebook or a terminal, where it takes
            longer than a moment.
        **options: Each goes to all algorithms that have it, such as `epsilon`.
    """
    on = list(instance) if isinstance(instance, Iterable) and not isinstance(instance, str) else instance
    times = None if checkpoints is None else list(checkpoints)
    common = {"instance": on, "horizon": horizon, "arms": arms, "runs": runs, "seed": seed, "checkpoints": times}
    alone = isinstance(algorithms, str | type | Algorithm)
    entries: Any = [algorithms] if alone else list(algorithms)  # type: ignore[arg-type]
    settings = league(entries, options, common)
    return _watched(settings, engine, progress)


# ---------------------------------------------------------------------- choosing an engine


def choose_engine(
    settings: Sequence[Setting], name: str | None = "auto", workers: int | None = None, address: str | None = None
) -> Engine:
    """Return the engine of a name, or the best one for these settings.

    Kernels release Python's lock and objects that play whole epochs are quick, so threads are best. Objects that decide
    after every step hold the lock: if there is much of that, processes are best.

    Args:
        settings: What is to be simulated.
        name: The engine's name; "auto" or None for the best one.
        workers: The number of workers, by default one for each usable processor.
        address: The address of a Dask or Ray cluster.
    """
    if name in ("auto", None):
        steps = sum(_slow_steps(setting) for setting in settings)
        name = "processes" if steps > _FEW_STEPS and may_start_processes() else "threads"
    return make_engine(name, workers, address)


def _slow_steps(setting: Setting) -> int:
    """Return the number of steps that are played one by one, or one round of all arms at a time, as objects."""
    algorithm = setting.build()
    if find_program(algorithm, setting.instance) is not None:
        return 0
    if not setting.is_rule and find_steps(algorithm, setting.instance) is not None:
        return 0
    if setting.is_rule:
        return setting.runs * _STEPS_OF_RULE
    return setting.runs * (setting.horizon or 0) if first_epoch(setting) <= len(setting.instance) else 0


def first_epoch(setting: Setting) -> int:
    """Return the number of pulls that a policy plans at first."""
    plan = setting.build().plan()
    return plan.size if plan else setting.horizon or 0


def expected_wait(settings: Sequence[Setting], workers: int) -> tuple[float, list[str]]:
    """Return the seconds for policies that are played one pull at a time, and their keys. A few pulls are timed.

    Args:
        settings: What is to be simulated.
        workers: The number of workers.
    """
    seconds, keys = 0.0, set()
    for setting in settings:
        horizon = setting.horizon or 0
        if horizon > _TIMED_PULLS and _slow_steps(setting) and first_epoch(setting) == 1:
            start = time.perf_counter()
            play(setting.build(), setting.instance, np.random.default_rng(0), horizon=_TIMED_PULLS)
            seconds += (time.perf_counter() - start) / _TIMED_PULLS * horizon * setting.runs / workers
            keys.add(setting.algorithm)
    return seconds, sorted(keys)
