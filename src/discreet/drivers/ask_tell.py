"""Ask which arm to pull, and tell its reward: the driver that fills a policy's epochs from your own program."""

import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, overload

import numpy as np

from discreet.core import checks
from discreet.core.errors import ArgumentError, DiscreetError, FinishedError, TicketError, WaitingError
from discreet.core.noise import Noise
from discreet.core.plans import Arm
from discreet.drivers._base import Driver
from discreet.drivers._ticket_driver import WAITING, TicketDriver
from discreet.drivers.open_epoch import OPEN, TOLD
from discreet.drivers.status import Status
from discreet.drivers.tickets import Ticket, Told
from discreet.drivers.windows import Clock, Window

_COUNTED = Told.COUNTED  # looked up once: it takes longer than a comparison
_ONE = (Ticket, str)
_new_tuple = tuple.__new__  # quicker than calling a named tuple's class


class Bandit(TicketDriver):
    """Hands out a policy's pulls as tickets and collects their rewards, in any order.

    - `ask()` returns a ticket, `ask(n)` a list of up to n. Within an epoch arms are dealt in randomly permuted blocks
      of all planned arms, so the order reveals nothing and arms stay balanced.
    - `tell(ticket, reward)` or `tell(tickets, rewards)`: late, out of order, twice (the first one stands), as a batch
      (all or nothing).
    - Without a `window` an epoch closes by itself when its last reward is in, and `expire(...)` gives the
      `default_reward` to tickets that will never be told.
    - With a `window` rewards may come late or never. A reward that is not told within its window counts as the
      `default_reward`, and an epoch closes by the clock alone: at the first `ask` after the window of its last pull.
    - When all of an epoch's pulls are handed out and it is not closed, `ask` refuses (`waiting="refuse"`), or hands out
      extra pulls of the best arm so far, whose rewards are not used (`waiting="serve"`). Serving never ends: when there
      is nothing left to learn, it goes on with the best arm.

    A step-wise policy (`ucb`, `dp-ucb`, `dp-ucb-hybrid`) plans one pull at a time, so it waits for each reward. Threads
    of one process may share a `Bandit`: a ticket is dealt once and a reward is counted once.

    Args:
        policy: A bandit policy. The driver works on a copy; `bandit.policy` is what it has learned.
        noise: A simulated source for studies and tests; by default private noise.
        default_reward: The reward of tickets that expire.
        window: How long a reward is waited for: a timedelta, or the number of tickets that are handed out after its
            own. It needs a `default_reward`.
        clock: A clock to go by instead of the system's. It returns seconds, also after a restart.
        clip: True to move rewards outside of the range to its ends, instead of refusing them.
        waiting: "refuse" or "serve", for asks while all pulls of an epoch are handed out; by default "serve" with a
            window, and "refuse" without.
        seed: The seed of the order of the arms, until a reload. It is no secret.

    >>> import discreet
    >>> policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> bandit = Bandit(policy)
    >>> ticket = bandit.ask()
    >>> bandit.tell(ticket, 1.0)
    <Told.COUNTED: 'counted'>
    >>> bandit.tell(ticket, 0.0)
    <Told.DUPLICATE: 'duplicate'>
    >>> bandit.outstanding
    0
    >>> bandit = Bandit(policy, default_reward=0.0, window=timedelta(hours=24))
    >>> tickets = bandit.ask(1000)
    >>> print(bandit.status())
    epoch 1: 2,070 more of 3,070 pulls are to be handed out; it closes 1 day, 0:00:00 after the last one. 1,000
    served, 0 learned from; best arm by what was released: None
    """

    def __init__(
        self,
        policy: Any,
        noise: Noise | None = None,
        *,
        default_reward: float | None = None,
        window: timedelta | int | None = None,
        clock: Clock | None = None,
        clip: bool = False,
        waiting: str | None = None,
        seed: int | None = None,
    ) -> None:
        self._default_reward = None if default_reward is None else checks.real("default_reward", default_reward)
        self._window = None if window is None else Window.of(window, clock)
        self.clip = bool(clip)
        usual = "refuse" if window is None else "serve"
        self.waiting = usual if waiting is None else checks.choice("waiting", waiting, WAITING)
        self._check_window(clock)
        self._rng = np.random.default_rng(None if seed is None else checks.whole("seed", seed, at_least=0))
        super().__init__(policy, noise)
        if self._plan is not None and not self._plan.learns:
            warnings.warn(
                f"{policy!r} will learn nothing: its first epoch does not fit into the horizon; give more pulls",
                stacklevel=2,
            )

    # ------------------------------------------------------------------ ask

    @overload
    def ask(self) -> Ticket: ...
    @overload
    def ask(self, n: int) -> list[Ticket]: ...
    def ask(self, n: int | None = None) -> Ticket | list[Ticket]:
        """Return the next pull, or a list of up to n: fewer at the end of an epoch or of the horizon.

        Raises:
            FinishedError: There is nothing left to pull. Not with waiting="serve".
            WaitingError: All pulls of the epoch are handed out, and it is not closed. Not with waiting="serve".
            OSError: An epoch was to close, and the file cannot be written. Nothing was released; the next ask tries
                again.
        """
        with self._thread_lock:
            self._check_process()
            now = self._now()
            self._close_if_due(now)
            if n is None:
                return self._deal(now)
            wanted = checks.whole("n", n)
            tickets = [self._deal(now)]
            serves = self.waiting == "serve" and (self._epoch.learns or self._plan is None)
            while len(tickets) < wanted and (serves or not self._epoch.dealer.empty):
                tickets.append(self._deal(now))
            return tickets

    def _deal(self, now: float | None) -> Ticket:
        epoch = self._epoch
        arm = epoch.dealer.deal()
        if arm is None:
            self._pass_unused_epoch()
            epoch = self._epoch
            arm = epoch.dealer.deal()
            if arm is None:
                return self._extra()
        return self._ticket(epoch.names[arm], epoch.hand_out(arm, now))

    def _ticket(self, arm: Arm, number: int) -> Ticket:
        issuer = self._issuers.current
        return _new_tuple(Ticket, (arm, number, self._epoch.number, issuer.name, issuer.tag(number)))

    def _pass_unused_epoch(self) -> None:
        """Close an epoch whose rewards are not used, when all of its pulls are dealt."""
        plan = self._plan
        if plan is not None and not plan.learns:
            with self._commit():
                self._close(plan, None)
        if self._plan is None and self.waiting == "refuse":
            policy: Any = self._algorithm
            raise FinishedError(
                f"there is nothing left to ask after {policy.time} pulls; best arm: {policy.best_arm!r}"
            )

    def _extra(self) -> Ticket:
        """Every pull of the epoch is out: refuse, or serve one that is not used."""
        epoch, policy = self._epoch, self._algorithm  # type: Any, Any
        if self.waiting == "refuse":
            if self._window is None:
                expire = "expire them" if self._default is not None else "declare a default_reward and expire them"
                remedy = f"tell them (see open_tickets), {expire}, give a window after which they expire,"
            else:
                remedy = f"wait until their windows have passed ({self._window} after the last one was handed out),"
            raise WaitingError(
                f"all {epoch.size} pulls of epoch {epoch.number} are handed out and {epoch.missing} rewards are "
                f"missing: {remedy} or make the Bandit with waiting='serve'"
            )
        number, arm = epoch.issued, policy.best_arm
        epoch.extra += 1
        if arm is None:
            choices = epoch.names or list(policy.arms)
            arm = choices[int(self._rng.integers(len(choices)))]
        return self._ticket(arm, number)

    # ------------------------------------------------------------------ tell

    @overload
    def tell(self, ticket: Ticket | str, reward: Any) -> Told: ...
    @overload
    def tell(self, ticket: Sequence[Ticket | str], reward: Any) -> list[Told]: ...
    def tell(self, ticket: Ticket | str | Sequence[Ticket | str], reward: Any) -> Told | list[Told]:
        """Report the reward of a ticket, or the rewards of many tickets at once (all or nothing).

        Args:
            ticket: A ticket, its id, or a list of them.
            reward: The reward, or as many rewards as tickets.

        Returns:
            What became of the reward, or of each.

        Raises:
            ArgumentError: A reward is no number in the range.
            TicketError: A ticket was not issued here.
            OSError: The file could not be written, so nothing was released; tell the reward again.
        """
        if not isinstance(ticket, _ONE):
            return self._tell_many(ticket, reward)
        steps = self._algorithm.grid.encode(reward, self.clip)
        with self._thread_lock:
            return self._count(self._issuers.number(ticket, self._epoch.issued), steps, self._now())

    def _tell_many(self, tickets: Sequence[Ticket | str], rewards: Any) -> list[Told]:
        if not isinstance(tickets, Sequence):
            raise TicketError(f"ticket must be a Ticket, its id, or a list of them, got {tickets!r}")
        grid = self._algorithm.grid
        values = grid.check_array(rewards, self.clip)
        if values.size != len(tickets):
            raise ArgumentError(
                f"rewards must be as many as tickets ({len(tickets)}), got {values.size}; a ticket that has travelled "
                "is told by its id"
            )
        steps = grid.encode_checked(values).astype(np.int64).tolist()
        with self._thread_lock:
            numbers = self._numbers(tickets)
            return self._count_all(list(zip(numbers, steps, strict=True)))

    def expire(self, tickets: Ticket | str | Sequence[Ticket | str] | None = None) -> int:
        """Give the default reward to these tickets, and return how many got it.

        Without tickets: to all that are open; or, with a window, to those of an epoch whose time has come, which then
        closes. So whoever has no more visitors to ask for can still learn from the last ones.

        Raises:
            ArgumentError: No default reward was declared.
            TicketError: A ticket was not issued here.
        """
        default = self._default
        if default is None:
            raise ArgumentError(
                "default_reward must be declared to expire tickets: Bandit(policy, default_reward=0.0); got None"
            )
        with self._thread_lock:
            if tickets is not None:
                several = isinstance(tickets, Sequence) and not isinstance(tickets, _ONE)
                numbers = self._numbers(tickets if several else [tickets])
            elif self._window is not None:
                self._check_process()
                return self._close_if_due(self._now())
            else:
                numbers = [self._epoch.first + place for place in self._epoch.open_places()]
            return self._count_all([(number, default) for number in numbers]).count(_COUNTED)

    def _numbers(self, tickets: Sequence[Any]) -> list[int]:
        issued = self._epoch.issued
        return [self._issuers.number(ticket, issued) for ticket in tickets]

    def _count_all(self, pairs: list[tuple[int, int]]) -> list[Told]:
        """Count many rewards, or none of them when the file cannot be written."""
        told: list[Told] = []
        now = self._now()
        try:
            for number, steps in pairs:
                told.append(self._count(number, steps, now))
        except BaseException:
            for (number, steps), outcome in zip(pairs, told, strict=False):
                if outcome is _COUNTED and number >= self._epoch.first and self._refusal is None:
                    self._epoch.change(number - self._epoch.first, steps, OPEN)
            raise
        return told

    def _count(self, number: int, steps: int, now: float | None) -> Told:
        epoch = self._epoch
        place = number - epoch.first
        if place < 0:
            return Told.LATE
        if place >= len(epoch.status):
            return Told.UNUSED
        if epoch.status[place] != OPEN:
            return Told.DUPLICATE
        self._check_process()
        if now is not None:
            if epoch.is_late(place, now):
                return Told.LATE
            epoch.change(place, steps, TOLD)
        elif epoch.missing > 1:
            epoch.change(place, steps, TOLD)
        else:
            self._close_with(place, steps)
        return _COUNTED

    def _close_with(self, place: int, steps: int) -> None:
        """Count the epoch's last reward and release the epoch. If that fails, the reward does not count."""
        plan, epoch = self._plan, self._epoch
        assert plan is not None
        try:
            with self._commit():
                epoch.change(place, steps, TOLD)
                self._close(plan, epoch.totals())
        except DiscreetError:
            if self._file is None:  # nobody else has put it back
                epoch.change(place, steps, OPEN)
            raise

    # ------------------------------------------------------------------ the window

    def _close_if_due(self, now: float | None) -> int:
        """Close the epoch if the window of its last pull has passed, and return how many took the default.

        Neither what was told nor whether anything was takes part in this: see `discreet.drivers.windows`.
        """
        plan, epoch = self._plan, self._epoch
        if now is None or plan is None or epoch.closes_at is None or now < epoch.closes_at:
            return 0
        assert self._default is not None
        missing = epoch.missing
        with self._commit():
            self._close(plan, epoch.totals(self._default))
        return missing

    def status(self) -> Status:
        """Return which epoch it is at, how many tickets are out, what it waits for, and until when at the latest."""
        with self._thread_lock:
            return Status.of(self._algorithm, self._plan, self._epoch, self._window, self._now())

    # ------------------------------------------------------------------ what anybody may read

    policy = Driver.algorithm

    @property
    def best_arm(self) -> Arm:
        """The arm to prefer by what was released; None before the first release."""
        with self._thread_lock:
            arm: Arm = self._algorithm.best_arm  # type: ignore[attr-defined]
            return arm

    @property
    def default_reward(self) -> float | None:
        """The reward of tickets that expire."""
        return self._default_reward

    @property
    def window(self) -> timedelta | int | None:
        """The time or the number of tickets for which a reward is waited for; None without a limit."""
        if self._window is None:
            return None
        length = self._window.length
        return int(length) if self._window.clock is None else timedelta(seconds=length)

    @property
    def open_tickets(self) -> list[Ticket]:
        """The tickets whose rewards are missing and would count, also those from before a reload."""
        with self._thread_lock:
            epoch = self._epoch
            return [
                self._ticket(epoch.names[epoch.arms[place]], epoch.first + place)
                for place in epoch.open_places(self._now())
            ]

    @property
    def outstanding(self) -> int:
        """The number of tickets whose rewards are missing and would count. Do not publish it: it says who answered."""
        with self._thread_lock:
            return len(self._epoch.open_places(self._now()))

    @property
    def pulls(self) -> dict[Arm, int]:
        """The number of planned pulls that each arm has had, those of the open epoch included."""
        with self._thread_lock:
            pulls = self._algorithm.taken
            for arm, dealt in zip(self._epoch.names, self._epoch.dealer.dealt, strict=True):
                pulls[arm] += dealt
            return pulls

    @property
    def finished(self) -> bool:
        """True when there is nothing left to learn, nor to ask before the horizon."""
        with self._thread_lock:
            plan, policy = self._plan, self._algorithm  # type: Any, Any
            return plan is None or (not plan.learns and self._epoch.handed_out == plan.size == policy.remaining)

    def __repr__(self) -> str:
        with self._thread_lock:
            return f"Bandit({self._algorithm!r}, epoch={self._epoch.number}, outstanding={self.outstanding})"

    def _driver_facts(self) -> dict[str, object]:
        return {"waits for": self.status().waits_for, **super()._driver_facts()}
