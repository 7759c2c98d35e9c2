"""The audit itself: play both sides of each pair, pick an event on some runs, and bound epsilon by the others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from discreet.audit.events import Facts, Table, pick
from discreet.audit.limits import epsilon_limit
from discreet.audit.neighbours import Pair
from discreet.audit.subjects import Subject, names, subject
from discreet.core import checks

SECONDS, ERROR = 6.0, 1e-6
STEPS = 100  # of progress, for each algorithm
_PICKING = 1 / 3  # of the runs pick the event
_LEAST, _MOST = 20, 1_000_000  # runs of each side of a pair, for either use

Progress = Callable[[int], None]
Tick = Callable[[float], None]


@dataclass(frozen=True)
class Finding:
    """What one pair of neighbouring inputs proved: epsilon is at least this, by this event."""

    pair: str
    epsilon: float
    event: str
    samples: int


@dataclass(frozen=True)
class Audit:
    """What an audit of one algorithm found.

    `epsilon` is a lower bound: an audit can refute a claim, and never prove it. `samples` is the number of runs, and
    `error` the chance that any of the bounds of the whole call is too high.
    """

    algorithm: str
    kind: str
    claimed: float
    epsilon: float
    error: float
    samples: int
    seconds: float
    findings: tuple[Finding, ...]

    @property
    def private(self) -> bool:
        """Whether it claims to be private at all."""
        return math.isfinite(self.claimed)

    @property
    def violated(self) -> bool:
        """Whether its claim is refuted."""
        return self.epsilon > self.claimed

    @property
    def worst(self) -> Finding | None:
        """The finding behind the bound."""
        return max(self.findings, key=lambda finding: finding.epsilon, default=None)

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.private:
            return "not private: nothing to audit"
        return "VIOLATION" if self.violated else "no violation found"

    def __str__(self) -> str:
        if not self.private or not self.worst:
            return f"{self.algorithm}: {self.verdict}"
        return (
            f"{self.algorithm}: epsilon is at least {self.epsilon:.3f}, claimed {self.claimed:g}: {self.verdict} "
            f"({self.samples:,} runs; {self.worst.pair}; confidence 1 - {self.error:g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        claimed = self.claimed if self.private else None
        return {**asdict(self), "claimed": claimed, "violated": self.violated, "verdict": self.verdict}


def audit(
    *algorithms: str,
    epsilon: float = 1.0,
    seconds: float = SECONDS,
    samples: int | None = None,
    error: float = ERROR,
    options: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
) -> list[Audit]:
    """Try to refute the privacy of algorithms, by name; of all mechanisms, rules and policies if none is named.

    The real objects run on real noise, driven by totals, by ask and tell, as a stream, and across a saved state, on
    inputs that differ in one reward. Of a third of the runs the event is picked that tells the two inputs apart best;
    the others give a lower bound on epsilon, from Clopper-Pearson limits of its two probabilities. All bounds of a
    call hold together but for a chance of `error`: an algorithm that is private is accused once in a million calls.

    `seconds` of processor time go to each algorithm, or `samples` runs on each side of each pair. `options` go to
    what is audited; what is not given is guessed (`epsilon` as here). A policy or rule of your own is found once it
    is registered (`discreet.register`).

    >>> (found,) = audit("laplace", samples=1000)
    >>> found.violated, found.epsilon > 0.2
    (False, True)
    >>> print(audit("ucb")[0])
    ucb: not private: nothing to audit
    """
    checks.positive("epsilon", epsilon)
    checks.positive("seconds", seconds)
    checks.fraction("error", error)
    wanted = None if samples is None else checks.whole("samples", samples, at_least=3 * _LEAST)
    chosen = [subject(name, epsilon, options or {}) for name in algorithms or names()]
    advance = on_progress or (lambda steps: None)
    share = error / len(chosen)
    return [replace(audit_one(one, share, wanted, seconds, advance), error=error) for one in chosen]


def audit_one(one: Subject, error: float, samples: int | None, seconds: float, advance: Progress) -> Audit:
    """Audit one algorithm; any of its bounds is too high with a chance of at most `error`."""
    start = time.process_time()
    pairs = one.find_pairs() if math.isfinite(one.epsilon) else []
    left = max(seconds - (time.process_time() - start), seconds / 2)
    steps = StepCounter(advance)
    findings = []
    for pair in pairs:
        findings.append(compare(pair, error / len(pairs), samples, left * pair.share, steps.part(pair.share)))
    steps.finish()
    bound = max((finding.epsilon for finding in findings), default=0.0)
    runs = 2 * sum(finding.samples for finding in findings)
    spent = time.process_time() - start
    return Audit(one.name, one.kind, one.epsilon, bound, error, runs, spent, tuple(findings))


def compare(pair: Pair, error: float, samples: int | None, seconds: float, tick: Tick) -> Finding:
    """Bound epsilon by one pair of inputs: in both directions, each with half of the chance of error.

    The runs that pick the event also tell how many others there is time for, so that this number is fixed before the
    first of them: stopping a count at a moment that depends on it would spoil its limits.
    """
    start = time.process_time()
    one, other = pick_runs(pair, samples, seconds * _PICKING, tick)
    if samples is None:
        each = (time.process_time() - start) / len(one)
        samples = len(one) + min(_MOST, max(_LEAST, int(seconds * (1 - _PICKING) / each)))
    counted, against = play_both(pair, samples - len(one), lambda done: tick(_PICKING + (1 - _PICKING) * done))
    deviations = math.sqrt(2 * math.log(4 / error))
    best, said = 0.0, "none"
    for here, there, hits, others in ((one, other, counted, against), (other, one, against, counted)):
        event = pick(here, there, deviations)
        if event is not None:
            bound = epsilon_limit(event.count(hits), event.count(others), len(hits), error / 2)
            if bound > best:
                best, said = bound, str(event)
    return Finding(pair.name, best, said, samples)


def pick_runs(pair: Pair, samples: int | None, seconds: float, tick: Tick) -> tuple[Table, Table]:
    """The runs that pick the event: a part of the samples, or as many as there is time for."""
    if samples is not None:
        return play_both(pair, int(samples * _PICKING), lambda done: tick(_PICKING * done))
    start = time.process_time()
    one: list[Facts] = []
    other: list[Facts] = []
    while len(one) < _LEAST or (time.process_time() - start < seconds and len(one) < _MOST):
        one.append(pair.one())
        other.append(pair.other())
        if not len(one) % _LEAST:
            tick(_PICKING * min(1.0, (time.process_time() - start) / seconds))
    return Table(one), Table(other)


def play_both(pair: Pair, runs: int, tick: Tick) -> tuple[Table, Table]:
    """Runs of both sides, in turn."""
    one: list[Facts] = []
    other: list[Facts] = []
    for run in range(runs):
        one.append(pair.one())
        other.append(pair.other())
        if not run % _LEAST:
            tick(run / runs)
    return Table(one), Table(other)


class StepCounter:
    """Turns shares of one algorithm's work into whole steps of a progress bar."""

    def __init__(self, advance: Progress) -> None:
        self._advance, self._told, self._before = advance, 0, 0.0

    def part(self, share: float) -> Tick:
        """For the next part of the work: takes how much of it is done."""
        before, self._before = self._before, self._before + share
        return lambda done: self._tell(int(STEPS * (before + share * done)))

    def finish(self) -> None:
        """All is done."""
        self._tell(STEPS)

    def _tell(self, steps: int) -> None:
        if steps > self._told:
            self._advance(steps - self._told)
            self._told = steps
