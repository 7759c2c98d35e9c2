"""Option types that carry their check: `epsilon: Positive` declares an option, its type and its check at once."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.plans import Arm


def check_arms(name: str, arms: Any) -> tuple[Arm, ...]:
    """Return at least two different names of arms. Any JSON scalar is a name.

    Args:
        name: The option's name, for messages.
        arms: The names.

    Raises:
        ArgumentError: There are fewer than two, one appears twice, or one is not a JSON scalar.

    >>> check_arms("arms", ["A", "B", "A"])
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: arms must be different, got 'A' twice
    """
    if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
        raise ArgumentError(f"{name} must be a list of names such as ['A', 'B'], got {arms!r}")
    names = tuple(arm.item() if isinstance(arm, np.generic) else arm for arm in arms)
    if len(names) < 2:
        raise ArgumentError(f"{name} must be at least two, got {list(names)!r}")
    seen: set[Arm] = set()
    for arm in names:
        scalar = arm is None or isinstance(arm, str | int | float)
        if not scalar or (isinstance(arm, float) and not math.isfinite(arm)):
            raise ArgumentError(f"an arm must be a string, a finite number, a boolean or None, got {arm!r}")
        if arm in seen:
            raise ArgumentError(f"{name} must be different, got {arm!r} twice")
        seen.add(arm)
    return names


def _check_seed(name: str, value: Any) -> int:
    return checks.whole(name, value, at_least=0)


def _check_not_negative(name: str, value: Any) -> float:
    number = checks.real(name, value)
    if number < 0:
        raise ArgumentError(f"{name} must not be negative, got {value!r}")
    return number


def _check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name} must be True or False, got {value!r}")
    return bool(value)


class OneOf(NamedTuple):
    """The check of an option that is one of a few words.

    Attributes:
        words: The words.
    """

    words: tuple[str, ...]

    def __call__(self, name: str, value: Any) -> str:
        """Return the value if it is one of the words."""
        return checks.choice(name, value, self.words)


Arms = Annotated[Sequence[Arm], check_arms]
Real = Annotated[float, checks.real]
Positive = Annotated[float, checks.positive]
NotNegative = Annotated[float, _check_not_negative]
Probability = Annotated[float, checks.fraction]
Count = Annotated[int, checks.whole]
Seed = Annotated[int, _check_seed]
Flag = Annotated[bool, _check_flag]


class CheckedOption(NamedTuple):
    """One option of a dataclass, with the check that its type carries.

    Attributes:
        name: The option's name.
        check: Takes the name and a value, and returns the value that is kept.
        may_be_none: True if None is a value of its own.
    """

    name: str
    check: Callable[[str, Any], Any]
    may_be_none: bool


@cache
def checked_options(kind: type[Any]) -> tuple[CheckedOption, ...]:
    """Return the options of a dataclass whose types carry a check."""
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for option in dataclasses.fields(kind):
        hint = hints[option.name]
        choices = (hint,) if get_origin(hint) is Annotated else get_args(hint)
        check = next((one.__metadata__[0] for one in choices if get_origin(one) is Annotated), None)
        if option.init and check is not None:
            found.append(CheckedOption(option.name, check, type(None) in choices))
    return tuple(found)


@cache
def field_names(kind: type[Any], *, init: bool) -> tuple[str, ...]:
    """Return the names of a dataclass's options, or of its learned fields.

    Args:
        kind: The dataclass.
        init: True for options, False for learned fields.
    """
    return tuple(field.name for field in dataclasses.fields(kind) if field.init is init)


@cache
def learned_fields(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a dataclass's learned fields without its caches, which are not compared."""
    return tuple(field.name for field in dataclasses.fields(kind) if not field.init and field.compare)


@cache
def required_options(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of the options that have no default."""
    missing = dataclasses.MISSING
    return tuple(
        field.name
        for field in dataclasses.fields(kind)
        if field.init and field.default is missing and field.default_factory is missing
    )
