"""Experiments that are sequential tests: what they ask of a description, their verdicts, and how long they take."""

import dataclasses
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from discreet._wording import duration, plural, rounded
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.plans import Plan
from discreet.sequential import DPOpenEndedTest, DPSequentialTest, DPTwoSampleTest
from discreet.sequential.forecast import Outlook
from discreet.service.errors import invalid
from discreet.service.experiments.statements.numbers import number, percent
from discreet.service.experiments.statements.remembered import Remembered
from discreet.service.experiments.tokens import MOST_SLOTS
from discreet.service.messages import (
    ExperimentPlan,
    NewExperiment,
    PlannedEpoch,
    PlannedOutlook,
    PlannerRequest,
    TestVerdict,
)

ARM_TESTS = (DPTwoSampleTest, DPOpenEndedTest)
KEYS = {kind.key for kind in ARM_TESTS}
T = TypeVar("T")
_LEAST_EPSILON = 0.01  # exact laws are as long as its inverse
_MOST_FORECAST = 8  # arms; of more, the forecast is that of one pair
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def fitted(request: NewExperiment, key: str) -> NewExperiment:
    """Return a request with what a test needs: its control first, and rewards that are as it supposes.

    Args:
        request: The request.
        key: The key of its algorithm.

    Raises:
        ServiceProblem: The request contradicts the test.
    """
    options = request.options
    if key in KEYS and request.control is not None and request.arms and request.control != request.arms[0]:
        raise invalid(
            "control", f"control must be the first arm in a test, {request.arms[0]!r}, got {request.control!r}"
        )
    if key == DPTwoSampleTest.key:
        if request.drifting:
            raise invalid("drifting", f"{key} needs means that stay; with drifting take {DPOpenEndedTest.key}")
        return msgspec.structs.replace(request, binary=True)
    if key == DPOpenEndedTest.key:
        drifting = request.drifting or options.get("drifting") is True
        return msgspec.structs.replace(request, drifting=drifting, options={**options, "drifting": drifting})
    if key == DPSequentialTest.key and options.get("binary", True) is True:
        return msgspec.structs.replace(request, binary=True)
    return request


def first_plan(algorithm: Algorithm) -> Plan | None:
    """Return the plan of the first epoch; of a test, if it is small enough to be computed.

    Args:
        algorithm: The algorithm before its first epoch.

    Raises:
        ArgumentError: A test would be too large.
    """
    if not isinstance(algorithm, ARM_TESTS):
        return algorithm.plan()
    people = algorithm.usual * len(algorithm.arms)
    if people > MOST_SLOTS:
        raise ArgumentError(
            "epsilon must be larger, or the effect: even without privacy this test would take "
            f"{people:.3g} people, and {MOST_SLOTS:,} is the most that is planned for"
        )
    if isinstance(algorithm, DPTwoSampleTest) and algorithm.epsilon < _LEAST_EPSILON:
        least = f"epsilon must be at least {_LEAST_EPSILON:g} for {algorithm.key}"
        raise ArgumentError(f"{least}, got {algorithm.epsilon:g}")
    return _once(("first", *_key(algorithm)), algorithm.plan)


def _key(test: Algorithm) -> tuple[Hashable, ...]:
    """Return all that a test depends on before its first epoch."""
    return test.key, repr(sorted(test.options().items()))


_known = Remembered(256)
_one_at_a_time = threading.Lock()


def _once(key: Hashable, compute: Callable[[], T]) -> T:
    """Return what was computed for a key, or refused; no two tests are computed at the same time."""

    def attempt() -> tuple[T | None, str | None]:
        try:
            return compute(), None
        except ArgumentError as error:
            return None, str(error)

    with _one_at_a_time:
        found, refusal = _known.get(key, attempt)
    if refusal is not None:
        raise ArgumentError(refusal)
    return found  # type: ignore[return-value]


def verdicts(algorithm: Algorithm) -> dict[int, TestVerdict]:
    """Return the verdict on each arm by its index; nothing for what is no test of arms."""
    if not isinstance(algorithm, ARM_TESTS):
        return {}
    words: dict[str | None, TestVerdict] = {None: "open", "shown": "shown", "not shown": "not shown"}
    return {int(str(arm)): words[verdict] for arm, verdict in algorithm.verdicts.items()}


def sentence(found: Mapping[str, TestVerdict], control: str, options: Mapping[str, Any], width: float = 1.0) -> str:
    """Return the verdicts of a test as sentences: what is claimed, and with which error.

    Args:
        found: The verdict on each arm but the control.
        control: The control.
        options: The options of the test.
        width: The largest reward minus the least: margin and effect are shares of it.

    >>> options = {"alpha": 0.05, "beta": 0.2, "effect": 0.003, "margin": 0.0}
    >>> print(sentence({"B": "shown"}, "A", options))
    B is better than A. Such a claim is wrong in at most 5 % of tests.
    >>> print(sentence({"B": "open"}, "A", options))
    Whether B is better than A is still open.
    >>> print(sentence({"B": "not shown"}, "A", options))
    B was not shown to be better than A. If it were better by 0.003, that would be missed in at most 20 % of tests.
    """
    margin = options.get("margin") or 0.0
    better = f"not worse than {control} by {number(margin * width)} or more" if margin else f"better than {control}"
    by_verdict = {kind: [arm for arm, one in found.items() if one == kind] for kind in ("shown", "not shown", "open")}
    parts = []
    if shown := by_verdict["shown"]:
        parts.append(f"{_listed(shown, 'and')} {_are(shown)} {better}. Such a claim is wrong in at most "
                     f"{percent(options['alpha'])} of tests.")  # fmt: skip
    if hidden := by_verdict["not shown"]:
        parts.append(f"{_listed(hidden, 'and')} {'was' if len(hidden) == 1 else 'were'} not shown to be {better}.")
        if options.get("beta") is not None and options.get("effect"):
            missed = f"would be missed in at most {percent(options['beta'])} of tests"
            one = "it" if len(hidden) == 1 else "one of them"
            parts.append(f"If {one} were better by {number(options['effect'] * width)}, that {missed}.")
    if waiting := by_verdict["open"]:
        parts.append(f"Whether {_listed(waiting, 'or')} is {better} is still open.")
    return " ".join(parts)


def _listed(names: Sequence[str], last: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


# ---------------------------------------------------------------------- planning


def plan_test(wanted: PlannerRequest, gap: float, options: Mapping[str, Any]) -> ExperimentPlan:
    """Return how many people and how long a test takes, if there is nothing to find and if there is.

    Args:
        wanted: The request.
        gap: The smallest difference of interest.
        options: The options of the experiment that would be made.

    Raises:
        ServiceProblem: No such test can be computed.
    """
    kind = next(kind for kind in ARM_TESTS if kind.key == wanted.policy)
    names = [_LETTERS[index] if wanted.arms <= len(_LETTERS) else f"arm {index}" for index in range(wanted.arms)]
    try:
        test = kind(**{**options, "arms": names})
        rows = _once(("forecast", *_key(test)), lambda: _forecast(test))
    except ArgumentError as error:
        raise invalid("gap", str(error)) from error
    each_look = test.block * wanted.arms

    def seconds(people: float | None) -> float | None:
        if people is None or wanted.per_hour is None:
            return None
        return people / wanted.per_hour * 3600 + people / each_look * wanted.window

    outlooks = [
        PlannedOutlook(
            row.hypothesis, row.mean, row.median, row.high, row.at_most, row.shown, seconds(row.mean),
            seconds(row.high), seconds(row.at_most),
        )
        for row in rows
    ]  # fmt: skip
    looks = _looks(test, wanted, seconds)
    most = rows[0].at_most
    return ExperimentPlan(test.key, looks, most, seconds(most), _words(wanted, gap, rows, seconds), None, outlooks)


def _forecast(test: DPTwoSampleTest | DPOpenEndedTest) -> list[Outlook]:
    """Return what a test takes under each hypothesis; of many arms, by what one of them and the control take."""
    count = len(test.arms)
    if count <= _MOST_FORECAST:
        return list(test.forecast())
    pair = type(test)(**{**test.options(), "arms": [test.arms[0], test.arms[-1]], "alpha": test.arm_alpha})
    return [
        dataclasses.replace(
            row, mean=row.mean * count / 2, median=row.median * count / 2, high=row.high * count / 2,
            at_most=None if row.at_most is None else row.at_most * count // 2,
        )
        for row in pair.forecast()
    ]  # fmt: skip


def _looks(test: DPTwoSampleTest | DPOpenEndedTest, wanted: PlannerRequest, seconds: Any) -> list[PlannedEpoch]:
    """Return the planned looks as epochs; an open-ended test has no last one, and none is told."""
    if isinstance(test, DPOpenEndedTest):
        return []
    return [
        PlannedEpoch(
            look.number, look.shows_from, test.block, look.rewards * wanted.arms, wanted.epsilon,
            seconds(look.rewards * wanted.arms),
        )
        for look in test.looks
    ]  # fmt: skip


def _words(wanted: PlannerRequest, gap: float, rows: Sequence[Any], seconds: Any) -> str:
    null, effect = rows
    time = seconds(effect.mean)
    takes = "" if time is None else f" or {duration(time)}"
    most = "" if effect.at_most is None else f", and never more than {effect.at_most:,}"
    alone = (
        ". Computed for one arm and the control, as if each arm took as long" if wanted.arms > _MOST_FORECAST else ""
    )
    return (
        f"A test of {plural(wanted.arms, 'arm')} for a difference of {gap:.4g} takes about {rounded(effect.mean):,} "
        f"people{takes} on average if the difference is there, and {rounded(null.mean):,} if it is not{most}. It finds "
        f"the difference in {percent(round(effect.shown, 3))} of tests, and a false one in at most "
        f"{percent(wanted.alpha)}{alone}"
    )
