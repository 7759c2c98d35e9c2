"""Ask which arm to pull, and tell its reward: the driver that fills a policy's epochs from your own program."""

import base64
import threading
import warnings
import zlib
from array import array
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, overload

import numpy as np

from discreet.core import checks
from discreet.core.errors import (
    ArgumentError,
    DiscreetError,
    FinishedError,
    StateError,
    TicketError,
    WaitingError,
)
from discreet.core.noise import Noise
from discreet.core.plans import Arm
from discreet.drivers._base import Driver
from discreet.drivers.tickets import Dealer, Issuer, Ticket, Told

_OPEN, _TOLD, _EXTRA = 0, 1, 2  # the states of a ticket
_COUNTED = Told.COUNTED  # looked up once: it takes longer than a comparison
_ONE = (Ticket, str)
_new_tuple = tuple.__new__  # quicker than calling a named tuple's class


class Bandit(Driver):
    """Hands out a policy's pulls as tickets and collects their rewards, in any order.

    - `ask()` returns a ticket, `ask(n)` a list of up to n: fewer only at the end of an epoch or of the horizon. Within
      an epoch arms are dealt in randomly permuted blocks of all planned arms, so the order reveals nothing and arms
      stay balanced.
    - `tell(ticket, reward)` or `tell(tickets, rewards)`: late, out of order, twice (the first one stands), as a batch
      (all or nothing). The epoch closes by itself when its last reward is in.
    - `expire(...)` gives the `default_reward` to tickets that will never be told.
    - When all of an epoch's pulls are handed out and rewards are missing, `ask` refuses (`waiting="refuse"`), or, with
      `waiting="serve"`, hands out extra pulls of the same arms whose rewards are not used.

    A step-wise policy (`ucb`, `dp-ucb`, `dp-ucb-hybrid`) plans one pull at a time, so it waits for each reward. Threads
    of one process may share a `Bandit`: a ticket is dealt once and a reward is counted once.

    Args:
        policy: A bandit policy. The driver works on a copy; `bandit.policy` is what it has learned.
        noise: A simulated source for studies and tests; by default private noise.
        default_reward: The reward of tickets that expire.
        clip: True to move rewards outside of the range to its ends, instead of refusing them.
        waiting: "refuse" or "serve", for asks while all pulls of an epoch are handed out.
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
    """

    kind = "bandit"
    family = "policy"

    def __init__(
        self,
        policy: Any,
        noise: Noise | None = None,
        *,
        default_reward: float | None = None,
        clip: bool = False,
        waiting: str = "refuse",
        seed: int | None = None,
    ) -> None:
        self._default_reward = None if default_reward is None else checks.real("default_reward", default_reward)
        self.clip = bool(clip)
        self.waiting = checks.choice("waiting", waiting, ("refuse", "serve"))
        self._rng = np.random.default_rng(None if seed is None else checks.whole("seed", seed, at_least=0))
        super().__init__(policy, noise)
        if self._plan is not None and not self._plan.learns:
            warnings.warn(
                f"{policy!r} will learn nothing: its first epoch does not fit into the horizon; give more pulls",
                stacklevel=2,
            )

    def _begin(self, algorithm: Any, noise: Noise | None) -> None:
        super()._begin(algorithm, noise)
        self._thread_lock = threading.RLock()
        self._issuer = Issuer()
        self._issuers: dict[str, tuple[Issuer, int]] = {}  # from before a reload, and how many tickets each has issued
        self._default = None if self._default_reward is None else algorithm.grid.encode(self._default_reward)
        self._first = self._unused = 0  # the number of the epoch's first ticket; its tickets that are not counted on
        self._arms = array("I")  # the arm index of each ticket of the epoch

    def __getstate__(self) -> dict[str, Any]:
        with self._thread_lock:
            return {name: value for name, value in self.__dict__.items() if name != "_thread_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._thread_lock = threading.RLock()

    # ------------------------------------------------------------------ ask

    @overload
    def ask(self) -> Ticket: ...
    @overload
    def ask(self, n: int) -> list[Ticket]: ...
    def ask(self, n: int | None = None) -> Ticket | list[Ticket]:
        """Return the next pull, or a list of up to n.

        Raises:
            FinishedError: There is nothing left to pull.
            WaitingError: All pulls of the epoch are handed out, and rewards are missing.
        """
        with self._thread_lock:
            if n is None:
                return self._deal()
            wanted = checks.whole("n", n)
            tickets = [self._deal()]
            more_to_serve = self.waiting == "serve" and self._learns
            while len(tickets) < wanted and (more_to_serve or not self._dealer.empty):
                tickets.append(self._deal())
            return tickets

    def _deal(self) -> Ticket:
        self._check_process()
        arm = self._dealer.deal()
        if arm is None:
            self._pass_unused_epoch()
            arm = self._dealer.deal()
            if arm is None:
                return self._extra()
        if not self._learns:
            self._unused += 1
            return self._ticket(arm, self._issued - 1)
        return self._issue(arm, _OPEN)

    def _issue(self, arm: int, status: int) -> Ticket:
        number = self._first + len(self._arms)
        self._arms.append(arm)
        self._status.append(status)
        return self._ticket(arm, number)

    def _ticket(self, arm: int, number: int) -> Ticket:
        issuer = self._issuer
        return _new_tuple(Ticket, (self._names[arm], number, self._epoch, issuer.name, issuer.tag(number)))

    def _pass_unused_epoch(self) -> None:
        """Close an epoch whose rewards are not used, when all of its pulls are dealt."""
        plan = self._plan
        if plan is not None and not plan.learns:
            with self._commit():
                self._close(plan, None)
        if self._plan is None:
            policy: Any = self._algorithm
            raise FinishedError(
                f"there is nothing left to ask after {policy.time} pulls; best arm: {policy.best_arm!r}"
            )

    def _extra(self) -> Ticket:
        """Every pull of the epoch is out: refuse, or serve one that is not used."""
        assert self._plan is not None
        if self.waiting == "refuse":
            expire = "expire them" if self._default is not None else "declare a default_reward and expire them"
            raise WaitingError(
                f"all {self._plan.size} pulls of epoch {self._epoch} are handed out and {self._missing} rewards are "
                f"missing: tell them (see open_tickets), {expire}, or make the Bandit with waiting='serve'"
            )
        return self._issue(int(self._rng.integers(len(self._names))), _EXTRA)

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
            return self._count(self._number(ticket), steps)

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
            numbers = [self._number(ticket) for ticket in tickets]
            return self._count_all(list(zip(numbers, steps, strict=True)))

    def expire(self, tickets: Ticket | str | Sequence[Ticket | str] | None = None) -> int:
        """Give the default reward to these tickets, or to all that are open, and return how many got it.

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
            if tickets is None:
                numbers = [self._first + place for place, status in enumerate(self._status) if status == _OPEN]
            else:
                several = isinstance(tickets, Sequence) and not isinstance(tickets, _ONE)
                numbers = [self._number(ticket) for ticket in (tickets if several else [tickets])]
            return self._count_all([(number, default) for number in numbers]).count(_COUNTED)

    def _number(self, ticket: Any) -> int:
        """Return the number of a ticket that was issued here."""
        if isinstance(ticket, Ticket):
            _, number, _, name, tag = ticket
        elif isinstance(ticket, str):
            name, number, tag = _parse(ticket)
        else:
            raise TicketError(f"ticket must be a Ticket or its id, got {ticket!r}")
        issuer = self._issuer
        if name == issuer.name:
            issued = self._first + len(self._arms) + self._unused
        elif name in self._issuers:
            issuer, issued = self._issuers[name]
        else:
            raise TicketError(f"ticket {ticket!r} was not issued by this bandit; tell it to the one that issued it")
        if type(number) is not int or not 0 <= number < issued or issuer.tag(number) != tag:
            raise TicketError(f"ticket {ticket!r} is unknown to this bandit; ask again")
        return number

    def _count_all(self, pairs: list[tuple[int, int]]) -> list[Told]:
        """Count many rewards, or none of them when the file cannot be written."""
        told: list[Told] = []
        try:
            for number, steps in pairs:
                told.append(self._count(number, steps))
        except BaseException:
            for (number, steps), outcome in zip(pairs, told, strict=False):
                if outcome is _COUNTED and number >= self._first and self._refusal is None:
                    self._change(number - self._first, steps, _OPEN)
            raise
        return told

    def _count(self, number: int, steps: int) -> Told:
        place = number - self._first
        if place < 0:
            return Told.LATE
        if not self._learns:
            return Told.UNUSED
        status = self._status[place]
        if status != _OPEN:
            return Told.DUPLICATE if status == _TOLD else Told.UNUSED
        self._check_process()
        if self._missing > 1:
            self._change(place, steps, _TOLD)
        else:
            self._close_epoch(place, steps)
        return _COUNTED

    def _change(self, place: int, steps: int, status: int) -> None:
        """Count a ticket's reward, or take it back."""
        sign = 1 if status == _TOLD else -1
        self._status[place] = status
        self._sums[self._arms[place]] += sign * steps
        self._missing -= sign

    def _close_epoch(self, place: int, steps: int) -> None:
        """Count the epoch's last reward and release the epoch. If that fails, the reward does not count."""
        plan = self._plan
        assert plan is not None
        try:
            with self._commit():
                self._change(place, steps, _TOLD)
                self._close(plan, dict(zip(self._names, self._sums, strict=True)))
        except DiscreetError:
            if self._file is None:  # nobody else has put it back
                self._change(place, steps, _OPEN)
            raise

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
    def open_tickets(self) -> list[Ticket]:
        """The tickets whose rewards are missing, also those from before a reload."""
        with self._thread_lock:
            return [
                self._ticket(arm, self._first + place)
                for place, (arm, status) in enumerate(zip(self._arms, self._status, strict=True))
                if status == _OPEN
            ]

    @property
    def outstanding(self) -> int:
        """The number of tickets whose rewards are missing."""
        with self._thread_lock:
            return self._status.count(_OPEN)

    @property
    def pulls(self) -> dict[Arm, int]:
        """The number of planned pulls that each arm has had, those of the open epoch included."""
        with self._thread_lock:
            pulls = self._algorithm.taken
            for arm, dealt in zip(self._names, self._dealer.dealt, strict=True):
                pulls[arm] += dealt
            return pulls

    @property
    def finished(self) -> bool:
        """True when there is nothing left to ask."""
        with self._thread_lock:
            plan, policy = self._plan, self._algorithm  # type: Any, Any
            return plan is None or (not plan.learns and self._unused == plan.size == policy.remaining)

    def __repr__(self) -> str:
        with self._thread_lock:
            return f"Bandit({self._algorithm!r}, epoch={self._epoch}, outstanding={self.outstanding})"

    def _driver_facts(self) -> dict[str, object]:
        with self._thread_lock:
            plan, left = self._plan, {"open tickets": self.outstanding}
            if plan is not None and self._learns:
                left["rewards until the epoch closes"] = self._missing
            return {**left, **super()._driver_facts()}

    # ------------------------------------------------------------------ the open epoch

    def _open(self) -> None:
        self._first = self._issued
        super()._open()
        plan = self._plan
        pulls = plan.pulls if plan is not None else {}
        self._epoch = plan.epoch if plan is not None else self._algorithm.epoch + 1
        self._learns = plan is not None and plan.learns
        self._names = list(pulls)
        self._dealer = Dealer(list(pulls.values()), self._rng)
        self._missing = sum(pulls.values()) if self._learns else 0
        self._sums = [0] * len(pulls)  # exact
        self._status = bytearray()
        self._arms = array("I")
        self._unused = 0

    @property
    def _issued(self) -> int:
        """The number of tickets that were handed out, ever."""
        return self._first + len(self._arms) + self._unused

    # ------------------------------------------------------------------ saving

    def _lock(self) -> AbstractContextManager[Any]:
        return self._thread_lock

    def _driver_options(self) -> dict[str, Any]:
        return {"default_reward": self._default_reward, "clip": self.clip, "waiting": self.waiting}

    def _load_options(self, public: dict[str, Any]) -> None:
        default = public["default_reward"]
        self._default_reward = None if default is None else checks.real("default_reward", default)
        self.clip = bool(public["clip"])
        self.waiting = checks.choice("waiting", public["waiting"], ("refuse", "serve"))
        self._rng = np.random.default_rng()

    def _open_state(self) -> dict[str, Any]:
        known = {issuer.key: issued for issuer, issued in self._issuers.values()}
        return {
            "issuers": {**known, self._issuer.key: self._issued},
            "first": self._first,
            "unused": self._unused,
            "dealt": list(self._dealer.dealt),
            "sums": list(self._sums),
            "status": _pack(bytes(self._status)),
            "arms": _pack(np.array(self._arms, dtype="<u4").tobytes()),
        }

    def _comparable(self, head: dict[str, Any]) -> dict[str, Any]:
        state = head["secret"].get("open")
        if not state:
            return super()._comparable(head)
        others = {key: issued for key, issued in state["issuers"].items() if key != self._issuer.key}
        tickets = {name: _unpack(state[name]).hex() for name in ("status", "arms")}  # compressed alike or not
        secret = {**head["secret"], "open": {**state, "issuers": others, **tickets}}
        return {"public": head["public"], "secret": secret}

    def _restore_open(self, state: dict[str, Any]) -> None:
        Bandit._open(self)
        if not state:
            return
        self._issuers = {}
        for key, issued in state["issuers"].items():
            if key != self._issuer.key:
                issuer = Issuer(str(key))
                self._issuers[issuer.name] = issuer, int(issued)
        self._first, self._unused = int(state["first"]), int(state["unused"])
        self._dealer.dealt = [int(count) for count in state["dealt"]]
        self._sums = [int(total) for total in state["sums"]]
        self._status = bytearray(_unpack(state["status"]))
        self._arms = array("I", np.frombuffer(_unpack(state["arms"]), dtype="<u4").tolist())
        self._missing -= self._status.count(_TOLD)
        self._check_tickets()

    def _check_tickets(self) -> None:
        """Refuse a state that is whole but makes no sense at once, not at the next close."""
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
            and len(self._sums) == len(planned)
            and all(0 <= total <= told * self._algorithm.grid.width for total in self._sums)
            and (self._missing > 0 or not self._learns)
            and min(self._first, self._unused) >= 0
            and all(0 <= issued <= self._issued for _, issued in self._issuers.values())
        )
        if not fits:
            raise StateError("the saved tickets do not fit the saved plan")


def _parse(text: str) -> tuple[str, int, str]:
    """Return the parts of a ticket's id: issuer, number and tag."""
    parts = text.split("-")
    if len(parts) == 3 and parts[1].isdecimal() and parts[1].isascii() and len(parts[1]) < 20:
        return parts[0], int(parts[1]), parts[2]
    raise TicketError(f"ticket must be a Ticket or its id, got {text!r}")


def _pack(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


def _unpack(packed: str) -> bytes:
    return zlib.decompress(base64.b64decode(packed))
