"""An answer from a log: what is claimed, how surely, for whom it is private, and from how many rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

from discreet._display import Page, Shown, Table
from discreet._pictures import Picture, draw, png_of
from discreet._wording import plural
from discreet.core.history import Mean, picture_of, running_means
from discreet.core.ledger import Ledger, spent
from discreet.core.plans import Arm
from discreet.core.privacy import Privacy
from discreet.logs._prepare import SKIP, Reading

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_TITLE = 70  # letters in a line above a picture


@dataclass(frozen=True)
class Answer(Shown):
    """The result of an algorithm on a log. All of it may be published.

    Args:
        algorithm: The algorithm, with all that it has learned.
        privacy: What is promised.
        reading: How the log was read.
        reason: Why it ended, in words.
        log_rows: The number of selected rows of the log that could be used.
        available: The number of units of each arm, each with one row.
        used: The number of rows of each arm that were read.
    """

    algorithm: Any
    privacy: Privacy
    reading: Reading
    reason: str
    log_rows: int
    available: Mapping[Arm, int]
    used: Mapping[Arm, int]

    @property
    def reached(self) -> bool:
        """True if the algorithm has reached its promise, so that there is an answer."""
        learned = self.algorithm
        if learned.family == "rule":
            return bool(learned.halted)
        return bool(getattr(learned, "settled", learned.best_arm is not None))

    @property
    def best_arm(self) -> Arm:
        """The best arm; None for a rule, and where it was not reached."""
        return self.algorithm.best_arm if self.algorithm.family == "policy" and self.reached else None

    @property
    def mean(self) -> float | None:
        """The mean that a rule has estimated; None where it was not reached."""
        return self.algorithm.estimate if self.algorithm.family == "rule" else None

    @property
    def rows_read(self) -> int:
        """The number of rows that were read: one of each unit, as many as the algorithm has asked for."""
        return sum(self.used.values())

    @property
    def epsilon(self) -> float:
        """The largest privacy loss of a unit; infinite if nothing is promised."""
        return self.privacy.epsilon

    @property
    def ledger(self) -> Ledger:
        """All that was released."""
        return self.algorithm.ledger  # type: ignore[no-any-return]

    @property
    def simulated(self) -> bool:
        """True if the noise came from a seed."""
        return self.privacy.simulated

    # ------------------------------------------------------------------ in words

    @property
    def claim(self) -> str:
        """The claim, with its probability, in a sentence."""
        learned = self.algorithm
        if learned.family == "rule":
            if not self.reached:
                return f"No mean: {self.reason}."
            moved = f" of the values as moved into [{learned.grid.low:g}, {learned.grid.high:g}]" * self.reading.clip
            return (
                f"The mean is {self.mean:.6g}, within {100 * learned.alpha:g}% of the true mean{moved} with "
                f"probability {1 - learned.beta:.12g}, if the rows are independent draws."
            )
        if not self.reached:
            left = ", ".join(map(str, learned.viable))
            return f"No best arm: {self.reason}. It may be one of {left}."
        return self._found()

    def _found(self) -> str:
        """Return what a policy has found, and how surely, as far as it promises that."""
        learned, arms = self.algorithm, len(self.algorithm.arms)
        if hasattr(learned, "verdicts"):
            said = ", ".join(f"{arm} {verdict}" for arm, verdict in learned.verdicts.items())
            return f"Better than {learned.control}: {said}. A false verdict has probability {learned.alpha:g} at most."
        wrong = getattr(learned, "failure", None) or getattr(learned, "beta", None)
        if wrong is None:
            return (
                f"{self.best_arm} has the highest noisy mean of {arms} arms; how surely it is the best is not promised."
            )
        surely = f"with probability {1 - wrong:.12g} at least, if rows are independent draws"
        return f"{self.best_arm} is the best of {arms} arms, {surely}."

    def _headline(self) -> tuple[str, list[str]]:
        """Return the first line of its page, and the sentences that say more."""
        return self.claim, []

    @property
    def whom(self) -> str:
        """For whom it is private, and why."""
        privacy, unit = self.privacy, self.reading.unit
        if not privacy.promised:
            return f"Not private: {privacy.reason}."
        everybody = f"for each {unit!r}, with all rows that it has" if unit is not None else "for each row"
        unless = "" if unit is not None else "; somebody with m rows is covered with m times that"
        assert privacy.theorem is not None
        why = f"{privacy.reason}; {privacy.theorem.words}"
        skipped = " Whether a reward is missing is not hidden." if self.reading.missing == SKIP else ""
        simulated = " Simulated: the noise came from a seed, and protects nobody." if self.simulated else ""
        return f"Private, epsilon = {self.epsilon:g} {everybody}{unless}: {why}.{skipped}{simulated}"

    @property
    def source(self) -> str:
        """The number of rows that were read, of how many, in a sentence."""
        units = sum(self.available.values())
        each = (
            f" of {plural(units, 'unit')} in {self.reading.unit!r}, one of each"
            if self.reading.unit is not None
            else ""
        )
        order = f"by {self.reading.order!r}" if self.reading.order is not None else "in random order"
        return f"It read {plural(self.rows_read, 'row')} {order}; the log has {self.log_rows:,}{each}."

    def _page(self) -> Page:
        rows = self.table()
        tables = [Table(list(rows[0]), [list(row.values()) for row in rows])] if rows else []
        drawn = (lambda: png_of(self._picture())) if any(self._means().values()) else None
        title, more = self._headline()
        notes = [*more, *self._notes()]
        return Page(title, tables=tables, notes=notes, picture=drawn, about="means over the epochs")

    def _notes(self) -> list[str]:
        """Return the sentences at the end of its page."""
        return [self.whom, self.source]

    # ------------------------------------------------------------------ as data

    def table(self) -> list[dict[str, Any]]:
        """Return what was released of each arm: its noisy mean, a radius that holds with probability 95 %, its rows.

        Of an arm that was eliminated, `left` is the epoch.
        """
        left = self._left() if self.algorithm.family == "policy" else {}
        found = []
        for arm, count in self.used.items():
            estimates = self.estimates(arm)
            mean, radius = estimates[-1][1:] if estimates else (None, None)
            row = {"arm": arm, "mean": mean, "radius": radius, "rows": count}
            found.append(row if left is None else {**row, "left": left.get(arm)})
        return found if self.algorithm.family == "policy" else []

    def estimates(self, arm: Arm = None) -> list[tuple[int, float, float]]:
        """Return an arm's noisy mean of all its rewards so far, over the epochs: (epoch, mean, radius).

        The radius holds with probability 95 %, for each by itself. A rule that releases no totals has its estimate
        alone, with the radius that it promises.

        Args:
            arm: The arm; None for a rule.
        """
        return [(one.epoch, one.mean, one.radius) for one in self._means()[arm]]

    def _means(self) -> dict[Arm, list[Mean]]:
        """Return the means of each arm, as long as it had more rewards."""
        learned = self.algorithm
        found: dict[Arm, list[Mean]] = {arm: [] for arm in self.used}
        for one in running_means(self.ledger, learned.grid, self.ledger.epochs):
            if not found[one.arm] or found[one.arm][-1].rewards < one.rewards:
                found[one.arm].append(one)
        if self.mean is not None and not found[None]:
            found[None] = [Mean(learned.epoch, None, self.rows_read, self.mean, learned.alpha * self.mean)]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        learned, promised = self.algorithm, self.privacy.promised
        return {
            "algorithm": learned.key,
            "reached": self.reached,
            **({"best_arm": self.best_arm} if learned.family == "policy" else {"mean": self.mean}),
            **{name: getattr(learned, name) for name in ("alpha", "beta") if hasattr(learned, name)},
            "claim": self.claim,
            "reason": self.reason,
            "private": self.whom,
            "epsilon": self.epsilon if promised else None,
            "epsilon_spent": spent(self.ledger) if promised else None,
            "theorem": self.privacy.theorem,
            "simulated": self.simulated,
            "unit": self.reading.unit,
            "low": learned.grid.low,
            "high": learned.grid.high,
            "clip": self.reading.clip,
            "missing": self.reading.missing,
            "rows_read": self.rows_read,
            "log_rows": self.log_rows,
            "log_units": sum(self.available.values()),
            "arms": self.table(),
        }

    def to_json(self) -> str:
        """Return the answer as a JSON document."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_pandas(self) -> pd.DataFrame:
        """Return what was released of each arm, or of a rule after each release, as a data frame."""
        import pandas as pd  # noqa: PLC0415

        if self.algorithm.family == "policy":
            return pd.DataFrame(self.table())
        return pd.DataFrame(self.estimates(), columns=["epoch", "mean", "radius"])

    def plot(self) -> Figure:
        """Return a picture of the noisy means over epochs, with their radii."""
        return draw(self._picture())

    def _picture(self) -> Picture:
        title = "noisy means of all rewards so far"
        made = picture_of(self._means(), self.algorithm.grid, title, self._viable, self.best_arm)
        return replace(made, title=fill(self._headline()[0], _TITLE))

    @property
    def _viable(self) -> Sequence[Arm] | None:
        """The arms that are not shown as gone; None for all."""
        return self.algorithm.viable if self.algorithm.family == "policy" else None

    def _left(self) -> dict[Arm, int]:
        """Return the epoch at whose end each arm that is not viable was eliminated."""
        learned = self.algorithm
        fresh = type(learned).from_options(learned.options())
        left: dict[Arm, int] = {}
        for releases in learned.ledger.by_epoch():
            fresh.learn(releases)
            for arm in set(learned.arms) - set(fresh.viable) - set(left):
                left[arm] = fresh.epoch
        return left
