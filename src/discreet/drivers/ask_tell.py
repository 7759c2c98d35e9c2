"""Ask and tell: the driver that fills a policy's epochs from your own program."""

from __future__ import annotations

import base64
import os
import secrets
import threading
import warnings
import zlib
from array import array
from collections.abc import Sequence
from typing import Any, Self, overload

import numpy as np

from discreet.bandits._policy import Plan, Policy
from discreet.core import checks
from discreet.core.errors import ArgumentError, FinishedError, PrivacyError, StateError, TicketError, WaitingError
from discreet.core.privacy import Arm, Privacy, Release
from discreet.core.registry import rebuild
from discreet.drivers._kept import Kept
from discreet.drivers.tickets import Dealer, Ticket, Told

_OPEN, _TOLD, _EXTRA = 0, 1, 2


class Bandit(Kept):
    """Hands out a policy's pulls as tickets and collects their rewards, in any order.

    - `ask()` gives a ticket, `ask(n)` a list of up to n: fewer only at the end of an epoch or of the
      horizon. Within an epoch arms are dealt in randomly permuted blocks of all planned arms, so the order
      reveals nothing and traffic stays balanced.
    - `tell(ticket, reward)` or `tell(tickets, rewards)`: late, out of order, twice (the first one stands),
      as a batch (all or nothing). The epoch closes by itself when its last reward is in.
    - `expire(...)` gives tickets that will never be told the `default_reward` declared at the start.
    - When all of an epoch's pulls are handed out and rewards are missing, `ask` refuses (`waiting="refuse"`),
      or, with `waiting="serve"`, hands out extra pulls of the same arms whose rewards are not used.

    A step-wise policy (`ucb`, `dp-ucb`, `dp-ucb-hybrid`) plans one pull at a time, so it waits for each reward.
    Safe for many threads of one process: a ticket is dealt once and a reward is counted once, since a lock makes each
    call whole. `seed` fixes the order of the arms until a reload; it is no secret.

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
    """

    kind = "bandit"

    def __init__(
        self,
        policy: Policy,
        default_reward: float | None = None,
        clip: bool = False,
        waiting: str = "refuse",
        seed: int | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise ArgumentError(f"policy must be a discreet policy, got {policy!r}")
        if policy._driven:
            raise PrivacyError("this policy already has a driver; two drivers would close the same epochs")
        self.policy = policy
        self.noise = policy.noise
        self._default_reward = None if default_reward is None else checks.real("default_reward", default_reward)
        self._default = None if default_reward is None else policy.grid.encode(self._default_reward)
        self.clip = bool(clip)
        self.waiting = checks.choice("waiting", waiting, ("refuse", "serve"))
        self._random = np.random.default_rng(None if seed is None else checks.whole("seed", seed, at_least=0))
        self._owner = secrets.token_hex(8)
        self._owners: dict[str, int] = {}  # names from before a reload, and how many tickets they cover
        self._lock = threading.RLock()
        self._start = self._unused = 0  # the epoch's first ticket number; its tickets that do not learn
        self._arms = array("I")  # the arm of each ticket of the epoch
        self._guard()
        self._begin_epoch()
        policy._driven = True
        self._custody, policy._custody = policy._custody, None
        if self._custody is not None:
            self._custody.pass_on(policy, self)  # the file that the policy was loaded from
        if self._names and not self._learns and not policy.ledger:
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
        """The next pull, or up to n of them."""
        with self._lock:
            if n is None:
                return self._deal()
            wanted = checks.whole("n", n)
            tickets = [self._deal()]
            more_to_serve = self.waiting == "serve" and self._learns
            while len(tickets) < wanted and (more_to_serve or not self._dealer.empty):
                tickets.append(self._deal())
            return tickets

    def _deal(self) -> Ticket:
        self._same_process()
        arm = self._dealer.deal()
        if arm is None:
            plan = self._next_plan()
            arm = self._dealer.deal()
            if arm is None:
                return self._extra(plan)
        if not self._learns:
            self._unused += 1
            return Ticket(self._names[arm], self._issued - 1, self._epoch, self._owner)
        return self._issue(arm, _OPEN)

    def _issue(self, arm: int, status: int) -> Ticket:
        number = self._start + len(self._arms)
        self._arms.append(arm)
        self._status.append(status)
        return Ticket(self._names[arm], number, self._epoch, self._owner)

    def _next_plan(self) -> Plan:
        """The plan when all of its pulls are dealt: the open one, or the next if this one does not learn."""
        plan = self.policy.plan()
        if plan is not None and not plan.learns:
            self.policy._close_epoch(None)
            self._begin_epoch()
            plan = self.policy.plan()
        if plan is None:
            best = self.policy.best_arm
            raise FinishedError(f"there is nothing left to ask after {self.policy.time} pulls; best arm: {best!r}")
        return plan

    def _extra(self, plan: Plan) -> Ticket:
        """Every pull of the epoch is out: refuse, or serve one that does not learn."""
        if self.waiting == "refuse":
            expire = "expire them" if self._default is not None else "declare a default_reward and expire them"
            raise WaitingError(
                f"all {plan.size} pulls of epoch {plan.epoch} are handed out and {self._missing} rewards are missing: "
                f"tell them (see open_tickets), {expire}, or make the Bandit with waiting='serve'"
            )
        return self._issue(int(self._random.integers(len(self._names))), _EXTRA)

    # ------------------------------------------------------------------ tell

    @overload
    def tell(self, ticket: Ticket | str, reward: Any) -> Told: ...
    @overload
    def tell(self, ticket: Sequence[Ticket | str], reward: Any) -> list[Told]: ...
    def tell(self, ticket: Ticket | str | Sequence[Ticket | str], reward: Any) -> Told | list[Told]:
        """Report the reward of a ticket, or the rewards of many tickets at once (all or nothing)."""
        if not isinstance(ticket, Ticket | str):
            return self._tell_many(ticket, reward)
        units = self.policy.grid.encode(reward, self.clip)
        with self._lock:
            return self._count(self._number(ticket), units)

    def _tell_many(self, tickets: Sequence[Ticket | str], rewards: Any) -> list[Told]:
        if not isinstance(tickets, Sequence):
            raise TicketError(f"ticket must be a Ticket, its id, or a list of them, got {tickets!r}")
        values = self.policy.grid.check_array(rewards, self.clip)
        if values.size != len(tickets):
            raise ArgumentError(
                f"rewards must be as many as tickets ({len(tickets)}), got {values.size}; a ticket that has travelled "
                "is told by its id"
            )
        units = self.policy.grid.encode_checked(values).astype(np.int64).tolist()
        with self._lock:
            numbers = [self._number(ticket) for ticket in tickets]
            return self._count_all(list(zip(numbers, units, strict=True)))

    def expire(self, tickets: Ticket | str | Sequence[Ticket | str] | None = None) -> int:
        """Give the default reward to these tickets, or to all that are still open; tells how many."""
        if self._default is None:
            raise ArgumentError(
                "default_reward must be declared to expire tickets: Bandit(policy, default_reward=0.0); got None"
            )
        with self._lock:
            if tickets is None:
                numbers = [self._start + place for place, status in enumerate(self._status) if status == _OPEN]
            else:
                several = isinstance(tickets, Sequence) and not isinstance(tickets, Ticket | str)
                numbers = [self._number(ticket) for ticket in (tickets if several else [tickets])]
            return self._count_all([(number, self._default) for number in numbers]).count(Told.COUNTED)

    def _number(self, ticket: Any) -> int:
        if isinstance(ticket, Ticket):
            owner, number = ticket.owner, ticket.number
        elif isinstance(ticket, str):
            owner, _, digits = ticket.rpartition("-")
            number = int(digits) if digits.isdecimal() and len(digits) < 20 else -1
        else:
            raise TicketError(f"ticket must be a Ticket or its id, got {ticket!r}")
        issued = self._issued if owner == self._owner else self._owners.get(owner)
        if issued is None:
            raise TicketError(f"ticket {ticket!r} was not issued by this bandit; tell it to the one that issued it")
        if not isinstance(number, int) or not 0 <= number < issued:
            raise TicketError(f"ticket {ticket!r} is unknown: this bandit has {issued} tickets of that name; ask again")
        return number

    def _count_all(self, pairs: list[tuple[int, int]]) -> list[Told]:
        """Count many rewards, or none of them when the file cannot be written."""
        told: list[Told] = []
        try:
            for number, units in pairs:
                told.append(self._count(number, units))
        except OSError:
            for (number, units), outcome in zip(pairs, told, strict=False):
                if outcome is Told.COUNTED and number >= self._start:
                    self._change(number - self._start, units, _OPEN)
            raise
        return told

    def _count(self, number: int, units: int) -> Told:
        place = number - self._start
        if place < 0:
            return Told.LATE
        if not self._learns:
            return Told.UNUSED
        status = self._status[place]
        if status != _OPEN:
            return Told.DUPLICATE if status == _TOLD else Told.UNUSED
        self._same_process()
        self._change(place, units, _TOLD)
        if not self._missing:
            try:
                self._keep()  # ahead of the release: after a crash the file can only repeat it, never vary it
            except BaseException:
                self._change(place, units, _OPEN)
                raise
            self._close()
        return Told.COUNTED

    def _change(self, place: int, units: int, status: int) -> None:
        """Count a ticket's reward, or take it back."""
        sign = 1 if status == _TOLD else -1
        self._status[place] = status
        self._sums[self._arms[place]] += sign * units
        self._missing -= sign

    def _close(self) -> None:
        """Every reward is in: release, and forget everything about this epoch.

        If the file cannot be written after the release, that is no error: as it is, it leads to the same release.
        """
        self.policy._close_epoch(dict(zip(self._names, self._sums, strict=True)))
        self._begin_epoch()
        try:
            self._keep()
        except OSError as error:
            warnings.warn(f"{error}: an epoch has closed, which a reload would only repeat", stacklevel=2)

    def _begin_epoch(self) -> None:
        self._start = self._issued
        plan = self.policy.plan()
        self._epoch = plan.epoch if plan else self.policy.epoch + 1
        self._names = list(plan.pulls) if plan else []
        self._dealer = Dealer(list(plan.pulls.values()) if plan else [], self._random)
        self._learns = plan.learns if plan else False
        self._missing = plan.size if plan and plan.learns else 0
        self._sums = [0] * len(self._names)
        self._status = bytearray()
        self._arms = array("I")
        self._unused = 0

    # ------------------------------------------------------------------ what anybody may read

    @property
    def _issued(self) -> int:
        """How many tickets were handed out, ever."""
        return self._start + len(self._arms) + self._unused

    @property
    def default_reward(self) -> float | None:
        """What `expire` gives to tickets that were never told."""
        return self._default_reward

    @property
    def open_tickets(self) -> list[Ticket]:
        """The tickets that still count on their reward, also those from before a reload."""
        with self._lock:
            return [
                Ticket(self._names[arm], self._start + place, self._epoch, self._owner)
                for place, (arm, status) in enumerate(zip(self._arms, self._status, strict=True))
                if status == _OPEN
            ]

    @property
    def privacy(self) -> Privacy:
        """The policy's promise."""
        return self.policy.privacy

    @property
    def ledger(self) -> tuple[Release, ...]:
        """Everything that was released so far, in order."""
        return self.policy.ledger

    @property
    def best_arm(self) -> Arm:
        """The arm to prefer by what was released so far; None before the first release."""
        return self.policy.best_arm

    @property
    def pulls(self) -> dict[Arm, int]:
        """How many planned pulls each arm has had so far, those of the open epoch included."""
        with self._lock:
            pulls = self.policy.pulls
            for arm, dealt in zip(self._names, self._dealer.dealt, strict=True):
                pulls[arm] += dealt
            return pulls

    @property
    def outstanding(self) -> int:
        """Tickets that are handed out and still count on their reward."""
        with self._lock:
            return self._status.count(_OPEN)

    @property
    def finished(self) -> bool:
        """True when there is nothing left to ask."""
        with self._lock:
            plan = self.policy.plan()
            if plan is None:
                return True
            return not plan.learns and self._unused == plan.size and self.policy.remaining == plan.size

    def __repr__(self) -> str:
        return f"Bandit({self.policy!r}, epoch={self._epoch}, outstanding={self.outstanding})"

    # ------------------------------------------------------------------ saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save policy, open tickets and open totals to a file, atomically, and keep it up to date at every close.

        From the first save of a private bandit on, the file is written before an epoch's totals are released
        and again after, so that what was released can never be released differently after a crash. What a
        crash can lose are tickets and rewards since the last save or close. While an epoch is open the file
        holds its exact totals and unused noise: it is as sensitive as the rewards themselves. It stays locked as
        long as this object lives, or until `detach`: no other process can load it. Never go on from an older
        copy of the file. (A step-wise policy closes at every pull, so its file is written at every pull, ledger
        and all: keep those short.)
        """
        with self._lock:
            self._store(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The bandit that was saved in a file: same tickets, same noise, same open epoch.

        Tickets that were handed out after the file was written are unknown to it: ask again. A private bandit's file
        is loaded once at a time (see `discreet.drivers._kept`).
        """
        bandit = super().load(path)
        if bandit._learns and not bandit._missing:
            bandit._close()  # the program ended between writing the file and releasing
        return bandit

    @classmethod
    def _build(cls, body: dict[str, Any]) -> Bandit:
        bandit = cls(rebuild("policy", body["policy"]), body["default_reward"], body["clip"], body["waiting"])
        bandit._revive(body)
        return bandit

    def _keep(self) -> None:
        """Bring the file up to date, if there is one and something private is at stake."""
        if self._file is not None and self._private:
            self.save(self._file)

    def _dump(self) -> dict[str, Any]:
        self._same_process()
        return {
            "policy": self.policy._dump(),
            "default_reward": self.default_reward,
            "clip": self.clip,
            "waiting": self.waiting,
            "owners": {**self._owners, self._owner: self._issued},
            "start": self._start,
            "unused": self._unused,
            "dealt": self._dealer.dealt,
            "sums": self._sums,
            "missing": self._missing,
            "status": _pack(bytes(self._status)),
            "arms": _pack(np.array(self._arms, dtype="<u4").tobytes()),
        }

    def _comparable(self, body: dict[str, Any]) -> dict[str, Any]:
        others = {owner: issued for owner, issued in body["owners"].items() if owner != self._owner}
        tickets = {name: _unpack(body[name]).hex() for name in ("status", "arms")}  # compressed alike or not
        return {**body, "owners": others, **tickets}

    def _revive(self, saved: dict[str, Any]) -> None:
        self._owners = {str(owner): int(issued) for owner, issued in saved["owners"].items()}
        self._start = int(saved["start"])
        self._unused = int(saved["unused"])
        self._dealer.dealt = [int(count) for count in saved["dealt"]]
        self._sums = [int(total) for total in saved["sums"]]
        self._missing = int(saved["missing"])
        self._status = bytearray(_unpack(saved["status"]))
        self._arms = array("I", np.frombuffer(_unpack(saved["arms"]), dtype="<u4").tolist())
        self._check_tickets()

    def _check_tickets(self) -> None:
        """A state that is whole but makes no sense is refused at once, not at the next close."""
        told, extra = self._status.count(_TOLD), self._status.count(_EXTRA)
        planned = self._dealer.planned
        dealt = [0] * len(planned)
        for arm, status in zip(self._arms, self._status, strict=True):
            dealt[arm] += status != _EXTRA
        if not self._learns:
            dealt = self._dealer.dealt if sum(self._dealer.dealt) == self._unused else []
        fits = (
            dealt == self._dealer.dealt
            and all(0 <= count <= most for count, most in zip(dealt, planned, strict=True))
            and self._status.count(_OPEN) + told + extra == len(self._status)
            and self._missing == (sum(planned) - told if self._learns else 0)
            and len(self._sums) == len(planned)
            and all(0 <= total <= told * self.policy.grid.width for total in self._sums)
            and min(self._start, self._unused) >= 0
            and all(0 <= issued <= self._issued for issued in self._owners.values())
        )
        if not fits:
            raise StateError("the saved tickets do not fit the saved plan")


def _pack(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


def _unpack(packed: str) -> bytes:
    return zlib.decompress(base64.b64decode(packed))
