"""The checker of integrations: from what was sent in a test to what is wrong with it, in words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from discreet._wording import duration, plural
from discreet.service.experiments.descriptions import Description
from discreet.service.messages import Finding, TestedUnitView
from discreet.service.storage.schema import TestedUnit

TestState = Literal["open", "full", "ended"]
ENOUGH = 5
"""The number of units, rewards or requests from which on it is odd that all are the same."""
MANY = 20
"""The number of units from which on it is odd that none came twice."""
_REPORT = "Send PUT /v1/rewards/{assignment} with the token of the assignment, and a key with the scope report"


def view(description: Description, unit: TestedUnit, now: float) -> TestedUnitView:
    """Return a unit of a test as the team sees it, with what it would count as.

    Args:
        description: The experiment's description.
        unit: The unit.
        now: The time.
    """
    sent = {name: getattr(unit, name) for name in ("number", "unit", "asked_at", "asks", "deadline")}
    told = {name: getattr(unit, name) for name in ("reward", "told_at", "again")}
    return TestedUnitView(arm=description.arms[unit.arm], counts_as=_counts_as(description, unit, now), **sent, **told)


def _counts_as(description: Description, unit: TestedUnit, now: float) -> float | None:
    if unit.reward is not None and unit.told_at is not None and unit.told_at <= unit.deadline:
        return description.worth(unit.reward)
    return description.default_reward if unit.deadline < now else None


def check(
    description: Description, units: Sequence[TestedUnitView], *, unknown: int, stale: int, now: float
) -> list[Finding]:
    """Return what is wrong with an integration, the worst first; or that all is well.

    Args:
        description: The experiment's description.
        units: All units of the test, with what was sent for them.
        unknown: The number of reports whose token this service did not make.
        stale: The number of reports with a token of an earlier test.
        now: The time.
    """
    found = [*_about_tokens(unknown, stale)]
    if not units:
        words = "Nobody was assigned yet."
        advice = "Send POST /v1/experiments/{name}/assignments with units, and a key with the scope assign."
        return [*found, Finding("problem", "no-units", words, advice)]
    found += [*_about_rewards(description, units, now), *_about_units(description, units)]
    found.sort(key=lambda one: one.level != "problem")
    return found if any(one.level == "problem" for one in found) else [_well(description, units, found), *found]


def _well(description: Description, units: Sequence[TestedUnitView], hints: Sequence[Finding]) -> Finding:
    rewards = [one.reward for one in units if one.reward is not None]
    words = "Nothing is wrong so far" if hints else "All is well"
    words += f": {plural(len(units), 'unit')}, {plural(len(rewards), 'reward')}"
    if rewards:
        words += f" from {min(rewards):g} to {max(rewards):g}"
    if len(description.arms) > 1:
        words += f", {len({one.arm for one in units})} of {len(description.arms)} arms"
    return Finding("well", "well", f"{words}.", "Start the experiment. All of this will be thrown away then.")


def _about_tokens(unknown: int, stale: int) -> Iterator[Finding]:
    if unknown:
        words = f"{_up_to(unknown)} came with a token that this service did not make."
        advice = (
            "Send the whole text that was answered as assignment: not the unit's name, and not cut, changed or of "
            "another service. If other programs use the same key, they may be theirs."
        )
        yield Finding("problem", "unknown-tokens", words, advice)
    if stale:
        words = f"{_up_to(stale)} came with a token of an earlier test, and would be thrown away."
        yield Finding("hint", "old-tokens", words, "Ask for assignments again: tokens end with their test.")


def _up_to(count: int) -> str:
    return f"{plural(count, 'report')}{' or more' if count >= 100 else ''}"


def _about_rewards(description: Description, units: Sequence[TestedUnitView], now: float) -> Iterator[Finding]:
    told = [one for one in units if one.reward is not None]
    missing = [one for one in units if one.reward is None]
    default = f"a missing reward counts as {description.default_reward:g}"
    waiting = sum(one.deadline >= now for one in missing)
    in_time = f" For {plural(waiting, 'unit')} there is time left." if waiting else ""
    if not told:
        words = f"No reward came for {plural(len(units), 'unit')}.{in_time}"
        yield Finding("problem", "no-rewards", words, f"{_REPORT}. Report zeros too: {default}.")
        return
    if 2 * len(told) < len(units):
        words = f"Only {len(told)} of {plural(len(units), 'unit')} have a reward.{in_time}"
        advice = f"Report for every unit, zeros too: {default}, and whoever reports successes only shows who had one."
        yield Finding("hint" if waiting else "problem", "few-rewards", words, advice)
    yield from _about_values(description, [one.reward for one in told if one.reward is not None])
    yield from _about_times(description, told)
    by_arm = Counter(one.arm for one in units)
    silent = sorted({arm or "" for arm in by_arm if by_arm[arm] >= ENOUGH} - {one.arm or "" for one in told})
    if silent:
        words = f"No reward came for {_named(silent)}, but for others."
        yield Finding(
            "problem", "silent-arms", words, "See that every arm's code reports, also the one without a change."
        )


def _about_values(description: Description, rewards: Sequence[float]) -> Iterator[Finding]:
    low, high = description.request.low, description.request.high
    outside = [one for one in rewards if not low <= one <= high]
    if outside:
        share = f"All {len(rewards)}" if len(outside) == len(rewards) else f"{len(outside)} of {len(rewards)}"
        least, most = min(outside), max(outside)
        found = f"{least:g}" if least == most else f"from {least:g} to {most:g}"
        are = "is" if len(outside) == 1 < len(rewards) else "are"
        words = f"{share} rewards {are} outside {low:g} to {high:g} ({found}): each would be moved to the nearer end."
        advice = "Divide rewards so that they fit, or change the draft's range (low, high), which cannot be done later."
        kind = "all-out-of-range" if len(outside) == len(rewards) else "some-out-of-range"
        yield Finding("problem", kind, words, advice)
    between = [one for one in rewards if low < one < high] if description.request.binary else []
    if between:
        words = (
            f"{len(between)} of {len(rewards)} rewards lie between {low:g} and {high:g}, though they are said to be "
            "binary: each would be moved to the nearer end."
        )
        yield Finding("problem", "between", words, "Report one of the two, or make a draft that is not binary.")
    if len(rewards) >= ENOUGH and len(set(rewards)) == 1:
        advice = "Report what happened, for everybody: also 0 for those who did nothing."
        yield Finding("problem", "same-reward", f"All {len(rewards)} rewards are {rewards[0]:g}.", advice)


def _about_times(description: Description, told: Sequence[TestedUnitView]) -> Iterator[Finding]:
    late = sum(one.told_at is not None and one.told_at > one.deadline for one in told)
    if late:
        window = duration(description.request.window)
        words = f"{plural(late, 'reward')} came after the window of {window}, and would be thrown away."
        advice = "Report earlier, or give the draft a longer window, which cannot be done later."
        yield Finding("problem", "late-rewards", words, advice)
    again = sum(one.again for one in told)
    if again:
        words = f"{plural(again, 'reward')} came for units that had one already: the first one stands."
        yield Finding("hint", "again", words, "That is well if they were sent again to be sure, with the same value.")


def _about_units(description: Description, units: Sequence[TestedUnitView]) -> Iterator[Finding]:
    asks = sum(one.asks for one in units)
    if len(units) == 1 and asks >= ENOUGH:
        name = "without a name" if units[0].unit is None else f"{units[0].unit!r}"
        words = f"All {asks} assignments were of one unit, {name}."
        yield Finding("problem", "same-unit", words, "Send each person's own name, such as the id of an account.")
    elif len(units) == asks >= MANY and description.request.privacy_unit == "person":
        words = f"None of {asks} units was asked for twice."
        advice = (
            "If people come back, each needs the same name every time: an account's id, not a new number for every "
            "visit. Otherwise a person counts several times, and is protected less than promised."
        )
        yield Finding("hint", "new-units", words, advice)


def _named(arms: Sequence[str]) -> str:
    return ", ".join(map(repr, arms)) if any(arms) else "the mean"
