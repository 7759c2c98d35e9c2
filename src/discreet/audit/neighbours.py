"""Neighbouring inputs for any policy or rule, found by trying and not by name.

Levels of rewards are moved by bisection until the object's decisions hang in the balance, since that is where one
reward can matter. Then one reward is changed by as much as it can be: an early one, a late one, or the only answer;
and where a person is protected, one of each epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.audit.events import Facts, Table
from discreet.audit.inputs import PersonRewards, Rewards
from discreet.audit.play import ENTRY, by_stream, by_sums, by_tickets, by_totals
from discreet.bandits import Policy
from discreet.core.privacy import Unit
from discreet.stopping import StoppingRule

Levels = tuple[int, ...]

LENGTHS = (2**10, 2**13)  # of streams
_TRIES, _MIXED, _BISECTIONS = 10, 8, 16  # runs a level; the most that may agree if decisions are open; levels


@dataclass(frozen=True)
class Pair:
    """Two neighbouring inputs, each as a function that plays a fresh object on it, and a share of the time."""

    name: str
    one: Callable[[], Facts]
    other: Callable[[], Facts]
    share: float


def policy_pairs(make: Callable[[], Policy]) -> list[Pair]:
    """For a policy with two arms: a reward of the first epoch, a later one, and one where nobody else answers."""
    width, first = make().grid.width, make().plan()
    levels = balance(
        lambda levels: by_totals(make(), Rewards(levels, 0, 1, levels[0])),
        [((level, level), (level, 0)) for level in (width // 2, width)],
    )
    early, silent = Rewards(levels, 0, 1, 0), Rewards((0, 0), 1, 1, 0)
    late = replace(early, pull=2 + (next(iter(first.pulls.values())) if first else 0))
    saved = partial(by_totals, reload=True)
    pairs = [
        pair("the first reward, by totals", by_totals, make, early, 0.5),
        pair("a later reward, by totals, saved and loaded", saved, make, late, 0.25),
        pair("the only answer, by tickets", by_tickets, make, silent, 0.25),
    ]
    if make().privacy.unit is Unit.PERSON:
        # Equal arms stay, so that there are several epochs to be in.
        person = PersonRewards((width // 2, width // 2), 0, 1, 0)
        pairs.append(pair("a reward of each epoch, by totals, saved and loaded", saved, make, person, 1.0))
    return with_releases(pairs)


def rule_pairs(make: Callable[[], StoppingRule]) -> list[Pair]:
    """For a rule: the first sample, and one half-way to the end, with a reload on either side of it."""
    width = make().grid.width
    length = next((n for n in LENGTHS if by_stream(make(), Rewards((width,), 0, 1, width), n)["halted"]), LENGTHS[0])

    def steady(levels: Levels) -> Facts:
        return by_stream(make(), Rewards(levels, 0, 1, levels[0]), length)

    levels = balance(steady, [((width,), (width // 2,))])
    middle = max(1, min(steady(levels)["samples"] for _ in range(_TRIES)) // 2)
    early = Rewards(levels, 0, 1, 0)
    late = replace(early, pull=middle + 1)
    stream, sums = partial(by_stream, length=length), partial(by_sums, length=length)
    saved = partial(stream, cuts=(middle, middle + 1))
    pairs = [
        pair("the first sample, as a stream", stream, make, early, 0.5),
        pair("a later sample, as a stream, saved and loaded", saved, make, late, 0.25),
    ]
    if make().plan() == 1 or type(make())._take is not StoppingRule._take:  # else it takes no totals
        pairs.append(pair("a later sample, by totals", sums, make, late, 0.25))
    return with_releases(pairs)


def pair(
    name: str, way: Callable[[Any, Rewards], Facts], make: Callable[[], Any], rewards: Rewards, share: float
) -> Pair:
    """The pair in which the chosen reward is as small, and as large, as it can be."""
    one, other = rewards.changed(make().grid.width)
    return Pair(name, lambda: way(make(), one), lambda: way(make(), other), share)


def with_releases(pairs: list[Pair]) -> list[Pair]:
    """The pairs whose runs get as far as a ledger, with all of the time; all of them if none does."""
    useful = [one for one in pairs if any(fact.startswith(ENTRY) for fact in one.one())] or pairs
    whole = sum(one.share for one in useful)
    return [replace(one, share=one.share / whole) for one in useful]


def balance(play: Callable[[Levels], Facts], paths: list[tuple[Levels, Levels]]) -> Levels:
    """Levels on one of the paths at which runs decide differently; the start of the first where there are none.

    A path whose ends decide differently is halved until its middle does both.
    """
    for start, end in paths:
        usual, agreed = usual_decision(play, start)
        if agreed <= _MIXED:
            return start
        other, agreed = usual_decision(play, end)
        if agreed <= _MIXED:
            return end
        near, far = start, end
        for _ in range(_BISECTIONS if other != usual else 0):
            middle = tuple((one + two) // 2 for one, two in zip(near, far, strict=True))
            found, agreed = usual_decision(play, middle)
            if agreed <= _MIXED:
                return middle
            near, far = (middle, far) if found == usual else (near, middle)
        if other != usual:
            return near
    return paths[0][0]


def usual_decision(play: Callable[[Levels], Facts], levels: Levels) -> tuple[Hashable, int]:
    """What most of a few runs decide, and how many agree."""
    decisions = Table([play(levels) for _ in range(_TRIES)]).decisions
    return Counter(decisions).most_common(1)[0]
