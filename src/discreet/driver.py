"""Ask and tell: the driver that fills a policy's epochs from your own program."""

from __future__ import annotations

import base64
import os
import secrets
import threading
import zlib
from array import array
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple, overload

import numpy as np

from discreet import checks, state
from discreet.bandits.base import Plan, Policy, policy_from_state
from discreet.errors import ArgumentError, FinishedError, PrivacyError, StateError, TicketError, WaitingError
from discreet.guard import Guarded
from discreet.privacy import Arm

_OPEN, _TOLD, _EXTRA = 0, 1, 2
_BLOCKS = 256  # permuted blocks that are dealt at a time


class Ticket(NamedTuple):
    """One pull that was handed out. `id` names it in a message, and `tell` takes it too."""

    arm: Arm
    number: int
    epoch: int
    owner: str

    @property
    def id(self) -> str:
        """A name for this ticket that can travel."""
        return f"{self.owner}-{self.number}"


class Told(StrEnum):
    """What became of a reward."""

    COUNTED = "counted"
    DUPLICATE = "duplicate"
    """Told before; the first reward stands."""
    LATE = "late"
    """Its epoch has closed; the default reward was used."""
    UNUSED = "unused"
    """This pull does not decide anything, so its reward is not kept."""


class Bandit(Guarded):
    """Hands out a policy's pulls as tickets and collects their rewards, in any order.

    - `ask()` gives a ticket, `ask(n)` a list of up to n: fewer only at the end of an epoch or of the
      horizon. Within an epoch arms are dealt in randomly permuted blocks of all planned arms, so the order
      reveals nothing and traffic stays balanced.
    - `tell(ticket, reward)` or `tell(tickets, rewards)`: late, out of order, twice (the first one stands),
      as a batch (all or nothing). The epoch closes by itself when its last reward is in.
    - `expire(...)` gives tickets that will never be told the `default_reward` declared at the start.
    - When all of an epoch's pulls are handed out and rewards are missing, `ask` refuses (`waiting="refuse"`),
      or, with `waiting="serve"`, hands out extra pulls of the same arms whose rewards are not used.

    Safe for many threads of one process. `seed` fixes the order of the arms, which is no secret.

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
        if getattr(policy, "_driven", False):
            raise PrivacyError("this policy already has a driver; two drivers would close the same epochs")
        self.policy = policy
        self.default_reward = default_reward
        self._default = None if default_reward is None else policy.grid.encode(default_reward)
        self.clip = bool(clip)
        self.waiting = checks.choice("waiting", waiting, ("refuse", "serve"))
        self._random = np.random.default_rng(seed)
        self._owner = secrets.token_hex(8)
        self._lock = threading.RLock()
        self._start = self._unused = 0  # the epoch's first ticket number; its tickets that do not learn
        self._arms = array("H")
        self._queue: list[int] = []
        self._begin_epoch()
        policy._driven = True  # type: ignore[attr-defined]
        self._guard()

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
            while len(tickets) < wanted and (self._queue or self._refill() or more_to_serve):
                tickets.append(self._deal())
            return tickets

    def _deal(self) -> Ticket:
        if not self._queue and not self._refill():
            plan = self._plan()
            if not self._queue and not self._refill():
                return self._extra(plan)
        arm = self._queue.pop()
        number = self._start + len(self._arms)
        if self._learns:
            self._status.append(_OPEN)
            self._arms.append(arm)
        else:
            number = self._start + self._unused
            self._unused += 1
        self._dealt[arm] += 1
        return Ticket(self._names[arm], number, self._epoch, self._owner)

    def _plan(self) -> Plan:
        """The open plan, opening the next epoch if the last one is complete."""
        self._same_process()
        plan = self.policy.plan()
        if plan is not None and not plan.learns and self._unused == plan.size > 0:
            self.policy.close()
            self._begin_epoch()
            plan = self.policy.plan()
        if plan is None:
            best = self.policy.best_arm
            raise FinishedError(f"there is nothing left to ask after {self.policy.time} pulls; best arm: {best!r}")
        if not self._names:
            self._begin_epoch()
        return plan

    def _extra(self, plan: Plan) -> Ticket:
        """Every pull of the epoch is out: refuse, or serve one that does not learn."""
        if self.waiting == "refuse":
            raise WaitingError(
                f"all {plan.size} pulls of epoch {plan.epoch} are handed out and {self._missing} rewards are missing: "
                "tell them, expire them, or make the Bandit with waiting='serve'"
            )
        arm = int(self._random.integers(len(self._names)))
        number = self._start + len(self._arms)
        self._status.append(_EXTRA)
        self._arms.append(arm)
        return Ticket(self._names[arm], number, self._epoch, self._owner)

    def _refill(self) -> bool:
        """Deal the next blocks into the queue: each block is one pull of every arm that has some left."""
        left = [planned - dealt for planned, dealt in zip(self._planned, self._dealt, strict=True)]
        if not any(left):
            return False
        ahead = max(self._dealt)
        behind = [
            arm for arm, (dealt, rest) in enumerate(zip(self._dealt, left, strict=True)) if rest and dealt < ahead
        ]
        if behind:  # the rest of a block that was begun before a reload, or arms with more pulls than others
            self._queue = self._random.permutation(behind).tolist()
            return True
        arms = [arm for arm, rest in enumerate(left) if rest]
        blocks = min(_BLOCKS, *(left[arm] for arm in arms)) if len(arms) > 1 else min(_BLOCKS, left[arms[0]])
        self._queue = self._random.permuted(np.tile(arms, (blocks, 1)), axis=1).ravel().tolist()
        return True

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
            raise ArgumentError(f"rewards must be as many as tickets ({len(tickets)}), got {values.size}")
        units = self.policy.grid.encode_checked(values).astype(np.int64).tolist()
        with self._lock:
            numbers = [self._number(ticket) for ticket in tickets]
            return [self._count(number, unit) for number, unit in zip(numbers, units, strict=True)]

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
                chosen = [tickets] if isinstance(tickets, Ticket | str) else list(tickets)
                numbers = [self._number(ticket) for ticket in chosen]
            return sum(self._count(number, self._default) is Told.COUNTED for number in numbers)

    def _number(self, ticket: Ticket | str) -> int:
        if isinstance(ticket, Ticket):
            owner, number = ticket.owner, ticket.number
        elif isinstance(ticket, str):
            owner, _, digits = ticket.rpartition("-")
            number = int(digits) if digits.isdecimal() else -1
        else:
            raise TicketError(f"ticket must be a Ticket or its id, got {ticket!r}")
        if owner != self._owner:
            raise TicketError(f"ticket {ticket!r} was not issued by this bandit; tell it to the one that issued it")
        if not 0 <= number < self._issued:
            raise TicketError(f"ticket {ticket!r} is unknown: this bandit has issued {self._issued} tickets so far")
        return number

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
        self._status[place] = _TOLD
        self._sums[self._arms[place]] += units
        self._missing -= 1
        if not self._missing:
            self._close()
        return Told.COUNTED

    def _close(self) -> None:
        self.policy.close(dict(zip(self._names, self._sums, strict=True)))
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        """Take the policy's next plan; forget everything about the last epoch."""
        self._start = self._issued
        plan = self.policy.plan()
        self._epoch = plan.epoch if plan else self.policy.epoch + 1
        self._names = list(plan.pulls) if plan else []
        self._planned = list(plan.pulls.values()) if plan else []
        self._learns = plan.learns if plan else False
        self._missing = plan.size if plan and plan.learns else 0
        self._dealt = [0] * len(self._names)
        self._sums = [0] * len(self._names)
        self._queue = []
        self._status = bytearray()
        self._arms = array("H")
        self._unused = 0

    # ------------------------------------------------------------------ what anybody may read

    @property
    def _issued(self) -> int:
        """How many tickets were handed out, ever."""
        return self._start + len(self._arms) + self._unused

    @property
    def simulated(self) -> bool:
        """True when the policy's noise comes from a seed, or there is none."""
        return self.policy.simulated

    @property
    def best_arm(self) -> Arm:
        """The arm to prefer by what was released so far; None before the first release."""
        return self.policy.best_arm

    @property
    def pulls(self) -> dict[Arm, int]:
        """How many tickets each arm has had, in closed epochs and in this one."""
        with self._lock:
            return self.policy.pulls | {
                arm: self.policy.pulls[arm] + dealt for arm, dealt in zip(self._names, self._dealt, strict=True)
            }

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
        """Save policy, open tickets and open totals to a file, atomically.

        While an epoch is open the file holds its exact totals and unused noise: it is as sensitive as the
        rewards themselves. Load the newest file once, and go on with that one object.
        """
        self._same_process()
        with self._lock:
            state.write(path, "bandit", self._state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Bandit:
        """The bandit that was saved in a file: same tickets, same noise, same open epoch."""
        saved = state.read(path, "bandit")
        try:
            policy = policy_from_state(saved["policy"])
            bandit = cls(policy, saved["default_reward"], saved["clip"], saved["waiting"])
            bandit._restore(saved)
        except StateError:
            raise
        except (KeyError, TypeError, ValueError, zlib.error) as error:
            raise StateError(f"{path} does not describe a bandit: {error!r}") from error
        return bandit

    def _state(self) -> dict[str, Any]:
        return {
            "policy": self.policy.state(),
            "default_reward": self.default_reward,
            "clip": self.clip,
            "waiting": self.waiting,
            "owner": self._owner,
            "start": self._start,
            "unused": self._unused,
            "dealt": self._dealt,
            "sums": self._sums,
            "missing": self._missing,
            "status": _pack(bytes(self._status)),
            "arms": _pack(np.array(self._arms, dtype="<u2").tobytes()),
        }

    def _restore(self, saved: dict[str, Any]) -> None:
        self._owner = str(saved["owner"])
        self._start = int(saved["start"])
        self._unused = int(saved["unused"])
        self._dealt = [int(count) for count in saved["dealt"]]
        self._sums = [int(total) for total in saved["sums"]]
        self._missing = int(saved["missing"])
        self._status = bytearray(_unpack(saved["status"]))
        self._arms = array("H", np.frombuffer(_unpack(saved["arms"]), dtype="<u2").astype(np.uint16).tolist())
        if not len(self._dealt) == len(self._sums) == len(self._names) or len(self._arms) != len(self._status):
            raise StateError("the state's epoch does not fit its policy's plan")


def _pack(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


def _unpack(packed: str) -> bytes:
    return zlib.decompress(base64.b64decode(packed))
