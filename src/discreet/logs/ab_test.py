"""An A/B test on a log in one call: is a variant better than the control? With its lift, interval and verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from discreet._wording import plural
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.noise import Noise
from discreet.core.plans import Arm
from discreet.drivers.stream import Stream
from discreet.inference import Summary, summary
from discreet.logs._prepare import Reading
from discreet.logs.answer import Answer
from discreet.logs.from_log import OpenRows, Where, answered, open_rows, text_of
from discreet.recommend import recommend
from discreet.sequential import DPOpenEndedTest, DPTwoSampleTest

SHOWN, NOT_SHOWN = "shown", "not shown"
_PILOT_ALPHA, _PILOT_BETA = 0.25, 0.1  # how well the control's rate is estimated before the test is planned
_PILOT_ROWS = 256  # that are read at a time
_PILOT_SHARE = 0.25  # of the control's rows, at most


class Pilot(NamedTuple):
    """An estimate of the control's rate, from rows that the test does not use.

    Attributes:
        rate: The estimated rate, as a share of the range.
        rows: The number of rows.
    """

    rate: float
    rows: int


@dataclass(frozen=True)
class TestAnswer(Answer):
    """The verdict of a test on a log. All of it may be published.

    Args:
        algorithm: The test, with all that it has learned.
        privacy: What is promised.
        reading: How the log was read.
        reason: Why it ended, in words.
        log_rows: The number of selected rows of the log that could be used.
        available: The number of units of each arm, each with one row.
        used: The number of rows of each arm that were read, those of the pilot included.
        pilot: How the control's rate was found; None if it was given.
    """

    __test__ = False  # not a test of pytest

    pilot: Pilot | None = None

    @property
    def control(self) -> Arm:
        """The control."""
        return self.algorithm.arms[0]  # type: ignore[no-any-return]

    @property
    def verdicts(self) -> Mapping[Arm, str | None]:
        """The verdict on each other arm: "shown" or "not shown"; None if the log ended before there was one."""
        return self.algorithm.verdicts  # type: ignore[no-any-return]

    @property
    def shown(self) -> bool:
        """True if an arm was shown to be better than the control (or not worse than the margin)."""
        return SHOWN in self.verdicts.values()

    @cached_property
    def summary(self) -> Summary:
        """All else that may be said of the arms: means, lifts and intervals, at no further epsilon."""
        return summary(self.ledger, control=self.control, binary=isinstance(self.algorithm, DPTwoSampleTest))

    @property
    def claim(self) -> str:
        """The verdict on each arm in words, with its lift."""
        if not self.ledger:
            return f"No verdict: {self.reason}."
        return " ".join(self._sentence(arm, verdict) for arm, verdict in self.verdicts.items())

    def _headline(self) -> tuple[str, list[str]]:
        """Return the verdicts in one line, and of several arms a sentence on each."""
        verdicts = self.verdicts
        if len(verdicts) == 1 or not self.ledger:
            return self.claim, []
        shown, missed, open_ones = (
            " and ".join(str(arm) for arm, said in verdicts.items() if said == verdict)
            for verdict in (SHOWN, NOT_SHOWN, None)
        )
        parts = [
            f"{self._claimed()}: {shown}" if shown else "",
            f"not shown to be: {missed}" if missed else "",
            f"no verdict: {open_ones}" if open_ones else "",
        ]
        said = "; ".join(filter(None, parts))
        return f"{said[0].upper()}{said[1:]}.", [self._sentence(*each) for each in verdicts.items()]

    def _claimed(self) -> str:
        margin = self.algorithm.margin
        worse = f" by {margin * self._range:g} or more" if margin else ""
        return f"{'not worse' if margin else 'better'} than {self.control}{worse}"

    def _sentence(self, arm: Arm, verdict: str | None) -> str:
        """Return the verdict on an arm, for people who do not know statistics."""
        test, control, claimed = self.algorithm, self.control, self._claimed()
        found, level = self.difference(arm)
        mean, base = self.summary.mean(arm), self.summary.mean(control)
        lift = f", a lift of {100 * (mean / base - 1):+.3g} %" if base > 0 <= test.grid.low else ""
        seen = (
            f"a mean of {mean:.4g} against {base:.4g}{lift}; the difference lies between {found[0]:+.3g} and "
            f"{found[1]:+.3g} with confidence {100 * level:.4g} %"
        )
        if verdict is None:
            return f"No verdict on {arm}: {self.reason}. So far, {seen}."
        if verdict == SHOWN:
            return f"{arm} is {claimed}: {seen}. Such a verdict is false with probability {test.alpha:g} at most."
        if test.beta is None or not test.effect:
            return f"{arm} was not shown to be {claimed}: {seen}."
        effect = f"{test.effect * self._range:.3g}"
        expected = f"{test.grid.low + test.base_rate * self._range:.3g}"
        missed = f"A lead of {effect} over {expected} would have been missed with probability {test.beta:g}."
        return f"{arm} was not shown to be {claimed}: {seen}. {missed}"

    @property
    def void(self) -> str:
        """The conditions that would make the verdict void, in a sentence."""
        reading, test = self.reading, self.algorithm
        found = ["arms that were not given to people by chance"]
        if reading.unit is None:
            found.append("people with several rows, if no unit is named")
        if reading.order is not None and not getattr(test, "drifting", False):
            found.append(f"means that change along {reading.order!r}")
        found.append("rows that are lost for one arm more than for another")
        return f"Void if there are {', '.join(found[:-1])}, or {found[-1]}."

    def _notes(self) -> list[str]:
        return [self.void, *super()._notes()]

    @property
    def _viable(self) -> Sequence[Arm]:
        """All arms: a test does not look for the best one, so that none is gone."""
        return self.algorithm.arms  # type: ignore[no-any-return]

    def difference(self, arm: Arm) -> tuple[tuple[float, float], float]:
        """Return the interval of an arm's mean minus the control's, and its confidence.

        With a verdict of planned looks it is the one that agrees with it; else the one that holds at all looks.

        Args:
            arm: The arm.
        """
        test = self.algorithm
        exact = test.interval(arm) if isinstance(test, DPTwoSampleTest) else None
        if exact is None:
            return self.summary.difference(arm).interval, self.summary.level
        return (exact[0] * self._range, exact[1] * self._range), test.confidence(arm)

    @property
    def _range(self) -> float:
        return float(self.algorithm.grid.high - self.algorithm.grid.low)

    @property
    def source(self) -> str:
        """The number of rows that were read, of how many, in a sentence."""
        said = super().source
        if self.pilot is None:
            return said
        rate = self.algorithm.grid.low + self.pilot.rate * self._range
        return f"{said} {plural(self.pilot.rows, 'row')} of {self.control} said that its mean is about {rate:.3g}."

    def table(self) -> list[dict[str, Any]]:
        """Return what was released of each arm: mean, rows, difference with its interval, p-value and verdict."""
        found = []
        for row in super().table():
            arm = row["arm"]
            row.pop("left", None)
            more: dict[str, Any] = dict.fromkeys(("difference", "lower", "upper", "p", "verdict"))
            if arm == self.control:
                more["verdict"] = "control"
            elif row["mean"] is not None:
                (lower, upper), _ = self.difference(arm)
                more["difference"] = self.summary.mean(arm) - self.summary.mean(self.control)
                more |= {"lower": lower, "upper": upper, "p": self.algorithm.p_value(arm)}
                more["verdict"] = self.verdicts[arm] or "open"
            found.append({**row, **more})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        test = self.algorithm
        return {
            **super().to_dict(),
            "control": self.control,
            "verdicts": dict(self.verdicts),
            "shown": self.shown,
            "void": self.void,
            "base_rate": test.base_rate,
            "effect": test.effect,
            "margin": test.margin,
            "pilot_rows": self.pilot.rows if self.pilot else 0,
        }


def ab_test(
    log: Any,
    *,
    arm: str,
    reward: str,
    control: str,
    unit: str | None = None,
    epsilon: float,
    lift: float | None = None,
    effect: float | None = None,
    base_rate: float | None = None,
    margin: float = 0.0,
    alpha: float = 0.05,
    beta: float = 0.2,
    open_ended: bool = False,
    arms: Sequence[str] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    order: str | None = None,
    where: Where | None = None,
    missing: float | str | None = None,
    clip: bool = False,
    noise: Noise | None = None,
) -> TestAnswer:
    """Test whether variants are better than a control, privately, from as few rows of a log as that takes.

    Args:
        log: The log; see `best_arm`.
        arm: The column of arms.
        reward: The column of rewards: 0 and 1, or true and false. With `open_ended`, any numbers in the range.
        control: The arm that others are compared with.
        unit: The column that says whom epsilon protects. Of each one row is used. None if each row is a unit.
        epsilon: The largest privacy loss of one unit, above 0.
        lift: The smallest lift that is worth finding: 0.1 is 10 % more than the control.
        effect: Instead of a lift: the smallest difference of means.
        base_rate: The control's mean that you expect. By default it is estimated from some of the control's rows,
            which the test does not use.
        margin: How much lower a mean than the control's may be and still pass: above 0 for non-inferiority.
        alpha: The largest chance that any variant passes that should not.
        beta: The chance of missing a variant that is better by the effect.
        open_ended: True for the test of evidence, which takes rewards of any law, and more rows.
        arms: The arms that there may be; by default all that there are.
        low: The least reward that there can be, whatever the data.
        high: The largest reward that there can be.
        order: The column by which rows are taken; by default a random order.
        where: The rows to use; see `best_arm`.
        missing: The reward of a cell without a number, or "skip" to leave such rows out.
        clip: True to move rewards into the range, instead of refusing those outside.
        noise: A simulated source for studies and tests; by default private noise.

    Returns:
        The verdict, the lift with its interval, what is promised of them, and all that was released.

    Raises:
        ArgumentError: An argument is wrong, or the log has rows that cannot be used as they are. Nothing was drawn. Or
            the control's rate could not be estimated, or no test can be planned from it; the message says what that
            has spent.
    """
    if (lift is None) == (effect is None):
        raise ArgumentError(
            f"give lift or effect, the least that is worth finding; got lift={lift!r}, effect={effect!r}"
        )
    size = checks.positive("lift", lift) if effect is None else checks.real("effect", effect)
    if effect is None and low < 0:
        raise ArgumentError(f"lift needs low >= 0, or it means nothing, got low={low!r}; give effect instead")
    grid, kind = Grid(low, high), DPOpenEndedTest if open_ended else DPTwoSampleTest
    shares = high - low

    def design(mean: float) -> dict[str, Any]:
        found = size * mean if effect is None else size
        return {"base_rate": (mean - low) / shares, "effect": found / shares, "margin": margin / shares,
                "alpha": alpha, "beta": beta, "epsilon": epsilon, "low": low, "high": high}  # fmt: skip

    guess = low + shares * max(0.01, 2 * margin / shares) if base_rate is None else checks.real("base_rate", base_rate)
    kind(["A", "B"], **design(guess))  # checks the options before the log is read
    reading = Reading(reward, arm, unit, order, where, missing, clip)
    with open_rows(log, reading, grid, arms) as found:
        names = _control_first(found.arms, text_of(control))
        test, pilot = kind(names, **design(guess)), None
        if base_rate is None:  # nothing was drawn so far
            pilot = _pilot(found, names[0], epsilon, noise)
            try:
                test = kind(names, **design(low + pilot.rate * shares))
                test.plan()
            except ArgumentError as error:
                raise ArgumentError(f"{error}.{_spent(epsilon, pilot.rows, names[0])}") from error
        answer = answered(test, found, noise)
    return TestAnswer(**{each.name: getattr(answer, each.name) for each in fields(answer)}, pilot=pilot)


def _control_first(names: list[str], control: str) -> list[str]:
    if control not in names:
        raise ArgumentError(f"control must be one of {', '.join(map(repr, names))}, got {control!r}")
    return [control, *(name for name in names if name != control)]


def _pilot(found: OpenRows, control: str, epsilon: float, noise: Noise | None) -> Pilot:
    """Estimate the control's rate from its first rows.

    Args:
        found: The log.
        control: The control.
        epsilon: The largest privacy loss of one unit.
        noise: A simulated source, or None.
    """
    grid = found.grid
    most = int(_PILOT_SHARE * found.rows.available.get(control, 0))
    advice = recommend(goal="mean", epsilon=epsilon, alpha=_PILOT_ALPHA, beta=_PILOT_BETA, low=0.0, high=1.0)
    stream = Stream(advice.make(), noise)  # of rewards as shares of the range
    while not stream.finished and stream.samples < most:
        steps = found.rows.next(control, min(_PILOT_ROWS, most - stream.samples))
        stream.feed(steps / grid.width)
    result = stream.result
    if not result.reached or result.estimate is None:
        spent = _spent(epsilon, stream.samples, control) if stream.ledger else ""
        raise ArgumentError(
            f"base_rate must be given: {plural(stream.samples, 'row')} of {control!r} were not enough to estimate it, "
            f"and no more than a quarter of its rows are used for that.{spent}"
        )
    return Pilot(min(max(result.estimate, 1e-9), 1 - 1e-9), stream.samples)


def _spent(epsilon: float, rows: int, control: str) -> str:
    """Return what the estimate of the control's rate has spent, as a sentence after another one."""
    return (
        f" The estimate of the control's rate has spent epsilon = {epsilon:g} on {plural(rows, 'row')} of {control!r}."
    )
