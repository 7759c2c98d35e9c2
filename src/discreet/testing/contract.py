"""The contract of algorithms as a function: for discreet's own tests, and for algorithms of your own."""

import dataclasses
import json
import pickle
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.algorithm import Algorithm
from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.noise import Noise, SimulatedNoise
from discreet.core.plans import Arm, CounterQuery, Plan, Query, SamplesQuery, ThresholdQuery, TotalsQuery, VectorsQuery
from discreet.core.privacy import Privacy, Theorem, Unit
from discreet.drivers.totals import Totals


def check_algorithm(algorithm: Algorithm, closes: int = 12, noise: Noise | None = None) -> None:
    """Check that an algorithm is a public value that learns from releases alone.

    It must hold nothing but its options, its learned fields and what follows from them: no exact total, no mechanism,
    no noise, no lock, no file, no generator. Planning must change nothing. Its copies must learn apart from it. It must
    be the same when it is pickled, rebuilt from its options and its ledger, or resumed from its options and a snapshot;
    options and snapshot must survive JSON. A new algorithm is also run for some epochs, on a copy, and checked after
    each. What it asks for must be what the theorem that it names (`Privacy.theorem`) is about. If it says that its
    blocks are fixed, they must be the same for other rewards.

    Args:
        algorithm: A policy or a stopping rule. It is not changed.
        closes: The largest number of plans to close. Arms pay a fixed reward each, the first one the least.
        noise: A simulated source; by default one of a fixed seed.

    Raises:
        AssertionError: It does not keep the contract. The message says what is wrong.

    >>> import discreet
    >>> policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> check_algorithm(policy)
    >>> policy.exact_total = 12
    >>> check_algorithm(policy)
    Traceback (most recent call last):
        ...
    AssertionError: dp-se.exact_total is neither a declared field nor a cached property
    """
    _check_value(algorithm)
    if algorithm.epoch or any(algorithm.taken.values()):
        return
    if algorithm.fixed_blocks:
        _check_blocks(algorithm, closes)
    driver = Totals(algorithm, noise or SimulatedNoise(0))
    for _ in range(closes):
        plan = driver.plan()
        if plan is None:
            return
        before = driver.algorithm
        planned = before.plan()  # the driver's may be its first test alone
        _check_theorem(before, plan)
        kept, ledger, twin = json.dumps(before.snapshot()), list(before.ledger), before.copy()
        releases = driver.close_steps(fixed_totals(plan, before.grid))
        after = driver.algorithm
        twin.learn(releases)
        unchanged = json.dumps(before.snapshot()) == kept and list(before.ledger) == ledger
        _require(unchanged and _same(before.plan(), planned), f"{before.key} changes when a copy of it learns")
        _require(twin == after, f"a copy of {before.key} learns something else from the same releases")
        _check_value(after)


def fixed_totals(plan: Plan, grid: Grid, *, falling: bool = False) -> dict[Arm, Any] | None:
    """Return totals of a plan's arms that pay a fixed reward each: 1/(K+1), 2/(K+1), ... of the range.

    Args:
        plan: The plan to fill.
        grid: The grid that rewards are rounded to.
        falling: True for the same in reverse order: the first arm pays most.
    """
    query, size = plan.query, len(plan.pulls) + 1
    if query is None:
        return None
    totals: dict[Arm, Any] = {}
    for place, (arm, count) in enumerate(plan.pulls.items(), 1):
        reward = grid.width * (size - place if falling else place) // size
        if isinstance(query, SamplesQuery):
            totals[arm] = np.full(count, reward)
        elif isinstance(query, ThresholdQuery) and plan.many_tests:
            totals[arm] = np.diff(query.counts, prepend=query.counts[-1] - count) * reward
        elif len(plan.statistic.parts) == 1:
            totals[arm] = count * reward
        else:
            sums = plan.statistic.accumulator(grid.width)
            sums.add(np.full(count, reward))
            totals[arm] = sums.values
    return totals


def covers(theorem: Theorem, unit: Unit, query: Query) -> bool:
    """Return True if a theorem is about a query, where these are protected.

    Args:
        theorem: The theorem.
        unit: Whom a promise protects.
        query: What a plan asks for.

    >>> covers(Theorem.TREES, Unit.REWARD, CounterQuery(1.0, horizon=100))
    True
    >>> covers(Theorem.REWARDS, Unit.PERSON, TotalsQuery((1.0,)))
    False
    """
    if theorem is Theorem.REWARDS:
        return unit is Unit.REWARD and isinstance(query, TotalsQuery | ThresholdQuery | VectorsQuery)
    if theorem is Theorem.PERSONS:
        return unit is Unit.PERSON and isinstance(query, TotalsQuery) and not query.held
    if theorem is Theorem.BY_HAND or not isinstance(query, CounterQuery):
        return False
    protected = Unit.ROW if theorem is Theorem.ROWS else Unit.REWARD
    return unit is protected and (query.horizon is None) == (theorem is Theorem.HYBRIDS)


def _check_theorem(algorithm: Algorithm, plan: Plan) -> None:
    """Check that a plan asks for nothing but what the theorem that the algorithm names is about."""
    privacy: Privacy = algorithm.privacy
    if plan.query is None or not privacy.promised or privacy.theorem is Theorem.BY_HAND:
        return
    named = privacy.theorem is not None and covers(privacy.theorem, privacy.unit, plan.query)
    asks = f"{type(plan.query).__name__} for a {privacy.unit}"
    _require(named, f"{algorithm.key} names the theorem {privacy.theorem}, which is not about a {asks}")


def _check_blocks(algorithm: Algorithm, closes: int) -> None:
    """Check that it was fixed in advance where each release of an arm ends, whatever the rewards are."""
    found: list[dict[Arm, list[tuple[int, int]]]] = []
    for falling in (False, True):
        driver, spans = Totals(algorithm, SimulatedNoise(int(falling))), dict[Arm, list[tuple[int, int]]]()
        for _ in range(closes):
            plan = driver.plan()
            if plan is None:
                break
            driver.close_steps(fixed_totals(plan, algorithm.grid, falling=falling))
        for release in driver.ledger:
            for arm, first, last in release.spans:
                spans.setdefault(arm, []).append((first, last))
        found.append(spans)
    for arm in found[0].keys() & found[1].keys():
        same = all(one == other for one, other in zip(found[0][arm], found[1][arm], strict=False))
        _require(same, f"{algorithm.key} says that its blocks are fixed, and those of {arm!r} depend on the rewards")


def _require(kept: bool, sentence: str) -> None:
    if not kept:
        raise AssertionError(sentence)


# ---------------------------------------------------------------------- one object as it is


def _check_value(algorithm: Algorithm) -> None:
    """Check an algorithm as it stands."""
    key = algorithm.key
    _check_fields(key, algorithm)
    options = _through_json(f"{key}.options()", algorithm.options())
    state = _through_json(f"{key}.snapshot()", algorithm.snapshot())
    _check_cached(algorithm, type(algorithm).from_options(options))
    plan = algorithm.plan()
    _require(_same(algorithm.plan(), plan), f"{key} plans something else when it is asked again")
    _require(algorithm.snapshot() == state, f"{key} changes when it plans")
    ways: dict[str, Callable[[], Algorithm]] = {
        "copied": algorithm.copy,
        "pickled": lambda: pickle.loads(pickle.dumps(algorithm)),
        "resumed from its options and a snapshot": lambda: type(algorithm).from_options(options).resume(state),
    }
    if not algorithm.reads_samples:
        epochs = list(algorithm.ledger.by_epoch())
        ways["rebuilt from its options and its ledger"] = lambda: type(algorithm).from_options(options).replay(epochs)
    for way, make in ways.items():
        try:
            twin = make()
        except Exception as error:
            raise AssertionError(f"{key} cannot be {way}: {error!r}") from error
        difference = _first_difference(algorithm, twin)
        _require(twin == algorithm and not difference, f"{key} is not the same when it is {way}: {difference}")
        _require(_same(twin.plan(), plan), f"{key} plans something else when it is {way}")


def _first_difference(one: Algorithm, other: Algorithm) -> str:
    """Return the first option or learned field that differs; empty if none does."""
    mine, yours = ({**each.options(), **each.snapshot()} for each in (one, other))
    for name, value in mine.items():
        if yours.get(name) != value:
            return f"{name} is {yours.get(name)!r}, not {value!r}"
    return ""


def _through_json(name: str, value: Any) -> Any:
    """Return a value that was written as JSON and read again, if it is the same."""
    try:
        again = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{name} is no JSON: {error}") from error
    _require(again == value, f"{name} is not the same after JSON: use lists, not tuples, and keys that are strings")
    return again


def _same(one: Plan | None, other: Plan | None) -> bool:
    return bool(_plain(one) == _plain(other))


def _plain(value: Any) -> Any:
    """Return a plan, or a part of one, in values that can be compared."""
    if isinstance(value, np.ndarray | range):
        return list(value)
    if isinstance(value, Mapping):
        return list(value.items())
    return [type(value).__name__, *map(_plain, value)] if isinstance(value, tuple) else value


# ---------------------------------------------------------------------- what it holds


def _check_fields(path: str, algorithm: Algorithm) -> None:
    """Check that all attributes are declared, and hold public values."""
    kind = type(algorithm)
    declared = {field.name for field in dataclasses.fields(algorithm)}
    for name, value in vars(algorithm).items():
        known = name in declared or isinstance(getattr(kind, name, None), cached_property)
        _require(known, f"{path}.{name} is neither a declared field nor a cached property")
        _check_public(f"{path}.{name}", value)


def _check_cached(algorithm: Algorithm, fresh: Algorithm) -> None:
    """Check that cached properties are those of a fresh object with the same options, but for tables that grow."""
    for name, value in vars(algorithm).items():
        if isinstance(getattr(type(algorithm), name, None), cached_property) and not isinstance(value, dict):
            same = _plain(value) == _plain(getattr(fresh, name))
            _require(same, f"{algorithm.key}.{name} is cached, and does not follow from the options")


def _check_public(path: str, value: Any) -> None:
    """Check that a value cannot hide a secret: it is made of numbers, words, and public values of the package."""
    if value is None or isinstance(value, bool | int | float | str | range | np.number | Ledger):
        return
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return
    if isinstance(value, Algorithm):
        _check_fields(path, value)
        return
    parts: Iterable[Any]
    if isinstance(value, Mapping):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type) and type(value).__hash__ is not None:  # frozen
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        raise AssertionError(f"{path} holds a {type(value).__name__}: an algorithm holds nothing but public values")
    for part in parts:
        _check_public(path, part)
