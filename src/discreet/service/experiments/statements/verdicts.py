"""Sentences about what releases say of the arms, for people who do not know statistics."""

import math
from collections.abc import Sequence
from fractions import Fraction

from discreet import inference
from discreet._wording import duration, plural
from discreet.inference import Comparison
from discreet.service.experiments.descriptions import Description
from discreet.service.experiments.epsilon import as_text
from discreet.service.experiments.statements.numbers import change, number, percent
from discreet.service.messages import Claim

MOST_NAMED = 6
_FOR_PROGRAMS = ": take drifting=True"  # the end of a caution that tells a program what to do


def headline(seen: inference.Summary) -> str:
    """Return which arms may be the best, in a sentence."""
    if not seen.looks:
        return "Nothing can be said yet: the first numbers come when an epoch closes."
    if len(seen.arms) == 1:
        lower, upper = seen.interval(seen.arms[0])
        sure = percent(seen.level)
        return (
            f"The mean is {number(seen.mean(seen.arms[0]))}, {sure} sure between {number(lower)} and {number(upper)}."
        )
    best = [str(arm) for arm in seen.may_be_best]
    if len(best) == len(seen.arms):
        return f"{'Either arm' if len(best) == 2 else f'Any of the {len(best)} arms'} may still be the best."
    if not best:
        return "The releases contradict each other: no arm may be the best. See the cautions."
    if len(best) == 1:
        return f"{best[0]} is the best of {plural(len(seen.arms), 'arm')}: all others are ruled out."
    named = _named(best, "or") if len(best) <= MOST_NAMED else f"One of {plural(len(best), 'arm')}"
    rest = len(seen.arms) - len(best)
    return f"{named} may still be the best; {plural(rest, 'arm')} {'is' if rest == 1 else 'are'} ruled out."


def verdict(one: Comparison) -> str:
    """Return a comparison with the control as a sentence."""
    if math.isnan(one.estimate):
        return f"Nothing was released yet by which {one.arm} and {one.control} can be compared."
    lower, upper = one.interval
    if lower > 0:
        found = f"{one.arm} is better than {one.control}"
    elif upper < 0:
        found = f"{one.arm} is worse than {one.control}"
    elif one.decided:
        found = f"{one.arm} and {one.control} differ, as an earlier look has shown"
    else:
        found = f"{one.arm} cannot be told from {one.control} yet"
    kind = "lift" if one.relative else "difference"
    least, most = (change(end, one.relative) for end in (lower, upper))
    within = f"between {least} and {most}" if math.isfinite(upper) else f"{least} or more"
    return f"{found}: {kind} {change(one.estimate, one.relative)}, {within}."


def claims(seen: inference.Summary, description: Description, promised: Fraction) -> list[Claim]:
    """Return what a summary claims, how surely, of whom, for whom it is private, and what would make it void.

    Args:
        seen: The summary.
        description: The experiment.
        promised: The promise by now, which restored backups make larger.
    """
    return [
        Claim("What is claimed", _claimed(seen)),
        Claim("How surely", _surely(seen)),
        Claim("About whom", _about_whom(seen, description)),
        Claim("For whom it is private", _private(description, promised)),
        Claim("What would make it void", _void(seen, description)),
    ]


def _claimed(seen: inference.Summary) -> str:
    if seen.control is None:
        mean = "average mean so far" if seen.drifting else "true mean"
        return f"The {mean} of the rewards lies between the two numbers that are shown."
    of = ", of the average means so far," if seen.drifting else ""
    kind, meaning = (
        ("lift", f"A lift of +10 % says that an arm’s mean reward is 10 % higher than that of {seen.control}.")
        if seen.grid.floor >= 0
        else ("difference", f"A difference is an arm’s mean reward minus that of {seen.control}.")
    )
    return (
        f"The true {kind}{of} of each arm against {seen.control} lies between the two numbers that are shown, and the "
        f"best arm is one of those that may be the best. {meaning}"
    )


def _surely(seen: inference.Summary) -> str:
    wrong = percent(1 - seen.level)
    more = (
        ""
        if seen.control is None
        else f" The list of arms that may be the best leaves the best one out in at most {wrong} of experiments."
    )
    return (
        f"With confidence {percent(seen.level)} at every look: look as often as you like, and stop when you like. An "
        f"interval misses the truth at any time in at most {wrong} of experiments. That holds for each one by itself: "
        f"whoever reads many must expect a wrong one more often.{more}"
    )


def _about_whom(seen: inference.Summary, description: Description) -> str:
    rewards = plural(sum(seen.rewards(arm) for arm in seen.arms), "reward")
    request = description.request
    missing = f" A reward that never came counts as {number(description.default_reward)}"
    missing += f" after {duration(request.window)}." if request.source == "assignments" else "."
    once = " Each person counts once in an epoch." if request.contribution == "each-epoch" else ""
    once = " Each person counts once." if description.once else once
    return f"About those who were assigned in closed epochs: {rewards}.{missing}{once}"


def _private(description: Description, promised: Fraction) -> str:
    who, whose = ("each person", "one person’s rewards")
    if description.request.privacy_unit == "event":
        who, whose = "each reward by itself; a person with many is protected less", "one reward"
    factor = math.exp(min(float(promised), 700.0))
    more = promised > description.epsilon
    epsilon = f"{as_text(promised)} since a restore" if more else description.request.epsilon
    return (
        f"For {who}, with epsilon {epsilon}: {whose} can make anything that is shown at most "
        f"{number(factor)} times as likely. These statements follow from what was released and cost nothing more."
    )


def _void(seen: inference.Summary, description: Description) -> str:
    found = []
    if not seen.drifting:
        found.append("means that change during the experiment, as by weekday or season")
    elif seen.control is not None:
        found.append("arms that are not shown to the same kind of people at the same time")
    if description.request.contribution == "each-epoch":
        found.append("mostly the same people in each epoch, who count as new ones")
    found.append("one person under many names")
    if seen.control is not None:
        found.append("rewards that are lost for one arm more than for another, since what is lost counts as missing")
    if seen.exact and description.request.source == "totals":
        found.append("rewards between the lowest and the highest one")
    uneven = _unevenly_shown(seen)
    most = f" That matters most for {_named(uneven, 'and')}, which had other shares in some epochs." if uneven else ""
    return f"{'; '.join(found)[:1].upper()}{'; '.join(found)[1:]}.{most}"


def _unevenly_shown(seen: inference.Summary) -> list[str]:
    """Return the arms that were not shown in the same shares as the control throughout, as arms that were dropped."""
    others = [arm for arm in seen.arms if seen.control is not None and arm != seen.control]
    alone = {caution for arm in seen.arms for caution in seen.cautions_of(arm)}
    return [str(arm) for arm in others if not alone.issuperset(seen.cautions_of(arm, seen.control))]


def cautions(seen: inference.Summary) -> list[str]:
    """Return what the releases say against statements about each arm."""
    return list(dict.fromkeys(caution(one) for arm in seen.arms for one in seen.cautions_of(arm)))


def caution(said: str) -> str:
    """Return a caution of a ledger for people: with a capital, a full stop, and without a word for programs."""
    words = said.removesuffix(_FOR_PROGRAMS)
    more = "; the form for means that change holds all the same" if words != said else ""
    return f"{words[:1].upper()}{words[1:]}{more}."


def _named(names: Sequence[str], last: str) -> str:
    return names[0] if len(names) < 2 else f"{', '.join(names[:-1])} {last} {names[-1]}"
