"""Reading forms: each field has a value, or a message that is shown next to it."""

import math
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from discreet.service.dashboard.formatting import sentence
from discreet.service.errors import ServiceProblem
from discreet.service.messages import DECIMAL, SLUG

T = TypeVar("T")


class Fields:
    """The values of a form, read one by one. `errors` has a message for each field that is wrong.

    `status` is the status of the page that shows it.

    Args:
        values: The texts that were typed, by field.

    >>> fields = Fields({"epsilon": "0,5", "beta": "2", "gap": "0.1"})
    >>> fields.decimal("epsilon"), fields.number("gap", above=0)
    ('', 0.1)
    >>> fields.number("beta", above=0, below=1)
    nan
    >>> for name, message in fields.errors.items():
    ...     print(f"{name}: {message}")
    epsilon: Write it with a point: 0.5.
    beta: It must be below 1.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = dict(values)
        self.errors: dict[str, str] = {}
        self.status = 200

    def text(self, name: str) -> str:
        """Return the text that was typed."""
        return self.values.get(name, "").strip()

    def error(self, name: str) -> str:
        """Return the message about a field; empty if it is right."""
        return self.errors.get(name, "")

    def refuse(self, name: str, message: str) -> None:
        """Set the message about a field, unless it has one.

        Args:
            name: The field.
            message: The message.
        """
        self.errors.setdefault(name, message)
        self.status = 422

    def needed(self, name: str, message: str) -> str:
        """Return a text that must not be empty.

        Args:
            name: The field.
            message: The message if it is empty.
        """
        text = self.text(name)
        if not text:
            self.refuse(name, message)
        return text

    def slug(self, name: str) -> str:
        """Return a short name that can be a part of an address."""
        text = self.needed(name, "Give it a name.")
        if text and not re.fullmatch(SLUG, text):
            self.refuse(name, "Use lower-case letters, digits and dashes only, 63 at most, such as green-button.")
        return text

    def decimal(self, name: str) -> str:
        """Return a number above 0 as text, so that budgets add up exactly."""
        text = self.needed(name, "Give a number, such as 1 or 0.5.")
        if text and not re.fullmatch(DECIMAL, text):
            point = text.replace(",", ".", 1)
            is_comma = re.fullmatch(DECIMAL, point)
            self.refuse(name, f"Write it with a point: {point}." if is_comma else "Give a number, such as 1 or 0.5.")
        elif text and float(text) == 0:
            self.refuse(name, "It must be above 0.")
        return "" if name in self.errors else text

    def number(
        self,
        name: str,
        *,
        above: float = -math.inf,
        below: float = math.inf,
        least: float = -math.inf,
        most: float = math.inf,
        empty: float | None = None,
    ) -> float:
        """Return a number within bounds; NaN if it is refused.

        Args:
            name: The field.
            above: The number must be larger than this.
            below: The number must be smaller than this.
            least: The smallest number.
            most: The largest number.
            empty: The number if nothing was typed; None if something must be.
        """
        text = self.text(name)
        if not text and empty is not None:
            return empty
        try:
            value = float(text.replace(" ", ""))
        except ValueError:
            value = math.nan
        message = _complaint(value, above, below, least, most)
        if message:
            self.refuse(name, message)
            return math.nan
        return value

    def optional_number(self, name: str, *, above: float = -math.inf, below: float = math.inf) -> float | None:
        """Return a number; None if nothing was typed.

        Args:
            name: The field.
            above: The number must be larger than this.
            below: The number must be smaller than this.
        """
        return self.number(name, above=above, below=below) if self.text(name) else None

    def whole(self, name: str, *, least: int, most: int) -> int:
        """Return a whole number within bounds; the least one if it is refused.

        Args:
            name: The field.
            least: The smallest number.
            most: The largest number.
        """
        value = self.number(name, least=least, most=most)
        if not math.isfinite(value):
            return least
        if value != int(value):
            self.refuse(name, "Give a whole number.")
        return int(value)

    def submit(self, save: Callable[[], T]) -> T | None:
        """Return the result of saving the form; None if a field is wrong, also as the service finds."""
        if not self.errors:
            try:
                return save()
            except ServiceProblem as problem:
                self.take(problem)
                self.status = problem.status
        return None

    def take(self, problem: ServiceProblem) -> None:
        """Put the service's message next to the field that it names, or above all of them."""
        name = (problem.field or "").removeprefix("$.").removeprefix("options.")
        name = "algorithm" if name in ("policy", "rule") and name not in self.values else name
        if name == "options":  # such a complaint begins with the option that it is about
            name = problem.detail.partition(" ")[0]
        known = (field for field in (name, f"option.{name}") if field in self.values)
        self.refuse(next(known, ""), sentence(problem.detail))


def _complaint(value: float, above: float, below: float, least: float, most: float) -> str | None:
    if not math.isfinite(value):
        return "Give a number."
    if value <= above:
        return f"It must be above {above:g}."
    if value >= below:
        return f"It must be below {below:g}."
    if value < least:
        return f"It must be {least:,g} or more."
    return f"It must be {most:,g} or less." if value > most else None
