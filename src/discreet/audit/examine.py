"""The audit itself: play both sides of each pair, pick an event on some runs, and bound epsilon by the others."""

import math
import time
from collections import UserList
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from discreet._display import Page, Shown
from discreet._display import Table as Rows
from discreet.audit.events import Facts, Table, pick
from discreet.audit.limits import epsilon_limit
from discreet.audit.subjects import Pair, Subject, names, subject
from discreet.core import checks
from discreet.core.algorithm import Algorithm

SECONDS, ERROR = 6.0, 1e-6
STEPS = 100  # of progress, for each algorithm
_PICKING = 1 / 3  # of the runs pick the event
_LEAST, _MOST = 20, 1_000_000  # runs of each side of a pair, for either use

Progress = Callable[[int], None]
Tick = Callable[[float], None]


@dataclass(frozen=True)
class Finding(Shown):
    """The bound that one pair of neighbouring inputs has proved.

    Args:
        pair: The pair's name.
        epsilon: Epsilon is at least this.
        event: The event that tells the inputs apart.
        samples: The number of runs on each input.
    """

    pair: str
    epsilon: float
    event: str
    samples: int

    def _page(self) -> Page:
        return Page(self.pair, {"epsilon at least": self.epsilon, "event": self.event, "runs": self.samples})


@dataclass(frozen=True)
class Audit(Shown):
    """The result of an audit of one algorithm. An audit can refute a claim, and never prove it.

    Args:
        algorithm: The algorithm's name.
        kind: "mechanism", "stopping rule" or "policy".
        claimed: The epsilon that it claims; infinite if it is not private.
        epsilon: A lower bound on the true epsilon.
        error: The largest chance that any bound of the whole call is too high.
        samples: The number of runs.
        seconds: The processor time.
        findings: What each pair of inputs has proved.
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
        """True if it claims to be private at all."""
        return math.isfinite(self.claimed)

    @property
    def violated(self) -> bool:
        """True if its claim is refuted."""
        return self.epsilon > self.claimed

    @property
    def worst(self) -> Finding | None:
        """The finding behind the bound."""
        return max(self.findings, key=lambda finding: finding.epsilon, default=None)

    @property
    def verdict(self) -> str:
        """The result in words."""
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

    def _page(self) -> Page:
        rows = [(one.pair, one.epsilon, one.event, one.samples) for one in self.findings]
        table = Rows(("inputs that differ", "epsilon at least", "by the event", "runs"), rows)
        return Page(str(self), tables=[table] if rows else [])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        claimed = self.claimed if self.private else None
        return {**asdict(self), "claimed": claimed, "violated": self.violated, "verdict": self.verdict}


class Audits(Shown, UserList[Audit]):
    """The audits of one call, in order."""

    @property
    def violated(self) -> bool:
        """True if any claim is refuted."""
        return any(one.violated for one in self)

    @property
    def worst(self) -> Audit | None:
        """The audit whose bound exceeds its claim most, or comes closest to it; None if nothing is private."""
        return max((one for one in self if one.private), key=lambda one: one.epsilon / one.claimed, default=None)

    def _page(self) -> Page:
        figures = [(one.claimed, one.epsilon, one.samples) if one.private else (None,) * 3 for one in self]
        rows = [(one.algorithm, one.kind, *own, one.verdict) for one, own in zip(self, figures, strict=True)]
        table = Rows(("algorithm", "kind", "claimed", "epsilon at least", "runs", "verdict"), rows)
        violations = [(one.algorithm, one.worst) for one in self if one.violated and one.worst]
        found = [f"{name}: {worst.pair}. The event: {worst.event}" for name, worst in violations]
        sure = f"All bounds hold together with confidence 1 - {self[0].error:g}." if self else ""
        return Page("audit", tables=[table], notes=[sure, *found])

    __repr__ = Shown.__str__


def audit(
    *algorithms: str | type[Algorithm] | Algorithm,
    epsilon: float = 1.0,
    seconds: float = SECONDS,
    samples: int | None = None,
    error: float = ERROR,
    options: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
) -> Audits:
    """Try to refute the privacy of algorithms.

    The real objects run on real noise, driven by totals, by ask and tell, as a stream, and across a saved state, on
    inputs that differ in one reward. Of a third of the runs the event is picked that tells the two inputs apart best;
    from the others comes a lower bound on epsilon, by Clopper-Pearson limits of its two probabilities. All bounds of a
    call hold together but for a chance of `error`: an algorithm that is private is accused once in a million calls.

    Args:
        *algorithms: Names of mechanisms, rules and policies, or classes; by default all.
        epsilon: What they are built to claim.
        seconds: The processor time for each algorithm.
        samples: Instead of that, the number of runs on each side of each pair of inputs.
        error: The largest chance that any bound is too high.
        options: Options of what is audited; the others are guessed.
        on_progress: Called with the number of steps that are done; each algorithm has 100.

    Returns:
        The result for each algorithm.

    Raises:
        ArgumentError: A name is unknown, or an option is missing or wrong.

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
    return Audits(replace(audit_one(one, share, wanted, seconds, advance), error=error) for one in chosen)


def audit_one(one: Subject, error: float, samples: int | None, seconds: float, advance: Progress) -> Audit:
    """Audit one algorithm.

    Args:
        one: The algorithm.
        error: The largest chance that any of its bounds is too high.
        samples: The number of runs on each side of each pair; None to go by time.
        seconds: The processor time.
        advance: Called with the number of steps that are done.
    """
    start = time.process_time()
    pairs = one.find_pairs() if math.isfinite(one.epsilon) else []
    left = max(seconds - (time.process_time() - start), seconds / 2)
    findings: list[Finding] = []
    before, told = 0.0, 0

    def tell(share: float) -> None:
        nonlocal told
        if (steps := int(STEPS * share) - told) > 0:
            told += steps
            advance(steps)

    for pair in pairs:
        tick = partial(lambda before, share, done: tell(before + share * done), before, pair.share)
        findings.append(compare(pair, error / len(pairs), samples, left * pair.share, tick))
        before += pair.share
    tell(1.0)
    bound = max((finding.epsilon for finding in findings), default=0.0)
    runs = 2 * sum(finding.samples for finding in findings)
    spent = time.process_time() - start
    return Audit(one.name, one.kind, one.epsilon, bound, error, runs, spent, tuple(findings))


def compare(pair: Pair, error: float, samples: int | None, seconds: float, tick: Tick) -> Finding:
    """Bound epsilon by one pair of inputs, in both directions.

    The runs that pick the event also decide the number of the others, which is fixed before the first of them: a count
    that is stopped at a moment that depends on it has no such limits.

    Args:
        pair: The pair.
        error: The largest chance that the bound is too high; each direction has half of it.
        samples: The number of runs on each side; None to go by time.
        seconds: The processor time.
        tick: Called with the share of the work that is done.
    """
    pair.one()  # what is imported and compiled at first use does not count
    start = time.process_time()

    def spent(runs: int) -> float:
        """Return the share of the time for picking that has passed, within limits on the number of runs."""
        passed = (time.process_time() - start) / (seconds * _PICKING)
        return passed if _LEAST <= runs < _MOST else float(runs >= _MOST)

    def taken(of: float) -> Callable[[int], float]:
        return lambda runs: runs / int(of)

    picking = spent if samples is None else taken(samples * _PICKING)
    one, other = _play(pair, picking, lambda done: tick(_PICKING * done))
    if samples is None:
        each = (time.process_time() - start) / len(one)
        samples = len(one) + min(_MOST, max(_LEAST, int(seconds * (1 - _PICKING) / each)))
    counted, against = _play(pair, taken(samples - len(one)), lambda done: tick(_PICKING + (1 - _PICKING) * done))
    deviations = math.sqrt(2 * math.log(4 / error))
    best, said = 0.0, "none"
    for here, there, hits, others in ((one, other, counted, against), (other, one, against, counted)):
        event = pick(here, there, deviations)
        if event is not None:
            bound = epsilon_limit(event.count(hits), event.count(others), len(hits), error / 2)
            if bound > best:
                best, said = bound, str(event)
    return Finding(pair.name, best, said, samples)


def _play(pair: Pair, done: Callable[[int], float], tick: Tick) -> tuple[Table, Table]:
    """Return runs of both sides, played in turn until the share of the work that so many runs have done is 1."""
    one: list[Facts] = []
    other: list[Facts] = []
    while (share := done(len(one))) < 1:
        if not len(one) % _LEAST:
            tick(share)
        one.append(pair.one())
        other.append(pair.other())
    return Table(one), Table(other)
