"""A control that remembers in memory, with experiments as they look in the middle of their lives."""

from __future__ import annotations

import dataclasses
import hashlib
from decimal import Decimal
from itertools import count
from typing import Any

import msgspec

from discreet.service.http.errors import ServiceProblem
from discreet.service.http.messages import (
    AlgorithmView,
    ArmView,
    EpochView,
    ExperimentPlan,
    ExperimentView,
    KeyView,
    Ledger,
    LedgerEntry,
    MadeKey,
    NewExperiment,
    NewKey,
    NewPopulation,
    PlannedEpoch,
    PopulationView,
    PrivacyLabel,
    ReleaseView,
)

NOW = 1_794_820_000.0
HOUR, DAY = 3600.0, 86400.0
NASTY = "<b onclick=\"alert('x')\">amber</b> & co"
ARMS = ["blue", "green", "red", NASTY]
MEANS = {
    1: {"blue": 0.334, "green": 0.192, "red": 0.301, NASTY: 0.152},
    2: {"blue": 0.297, "green": 0.241, "red": 0.268, NASTY: 0.118},
    3: {"blue": 0.3124, "green": 0.2293, "red": 0.2871},
}
EACH = {1: 180, 2: 1020, 3: 4980, 4: 21_400}
THRESHOLD = {1: 0.212, 2: 0.1403, 3: 0.0712}
SPENT = {1: "0.5", 2: "0.25", 3: "0.125", 4: "0.0625"}
RADIUS = {1: 0.0837, 2: 0.0341, 3: 0.0152}

ADMIN = "dk_admin_4f1c"
ANALYST = "dk_analyse_77aa"
GUEST = "dk_guest_0c0c"
PROGRAM = "dk_program_1234"

ALGORITHMS = [
    AlgorithmView(
        "dp-bai-sharp",
        "policy",
        "Drops arms until one is left: the best, with probability 1 - beta.",
        {"beta": None, "horizon": None, "ratio": 2.0},
        ["beta"],
        ["person", "event"],
    ),
    AlgorithmView(
        "dp-chernoff-imed",
        "policy",
        "Shows better arms more often, with little regret on the way.",
        {"horizon": None},
        ["horizon"],
        ["event"],
    ),
    AlgorithmView(
        "dp-bernstein",
        "rule",
        "One mean within a factor 1 ± alpha; the samples it takes follow the variance.",
        {"alpha": None, "beta": None, "max_samples": None},
        ["alpha", "beta"],
        ["person", "event"],
    ),
]


def label(epsilon: str = "1", unit: str = "person") -> PrivacyLabel:
    return PrivacyLabel(
        epsilon=epsilon,
        unit=unit,
        contribution="each-epoch" if unit == "person" else None,
        neighbours="logs that differ in the rewards of one person",
        reason="a person enters one noisy total of an epoch, and the epsilons of all epochs add up to less than 1",
        public="who was assigned, when, and to which arm; when epochs close; every noisy total",
        not_promised="who took part is not hidden, and whoever runs this service sees rewards as they come in",
    )


def release(epoch: int, arm: str | None, each: int, mean: float, radius: float, epsilon: str) -> ReleaseView:
    scale = 1 / float(epsilon)
    return ReleaseView(epoch, arm, each, mean, mean * each, scale, radius, epsilon, "noisy total of an arm")


def button_epochs() -> list[EpochView]:
    epochs, opened = [], NOW - 6 * DAY
    for number, gone in ((1, []), (2, [NASTY]), (3, ["green"])):
        arms = list(MEANS[number])
        quota = EACH[number] * len(arms)
        full = opened + quota * 10
        epochs.append(
            EpochView(
                number=number,
                state="closed",
                planned=dict.fromkeys(arms, EACH[number]),
                learns=True,
                quota=quota,
                dealt=quota,
                epsilon=SPENT[number],
                opened_at=opened,
                full_at=full,
                due_at=full + HOUR,
                closed_at=full + HOUR + 2,
                threshold=THRESHOLD[number],
                releases=[
                    release(number, arm, EACH[number], MEANS[number][arm], RADIUS[number], SPENT[number])
                    for arm in arms
                ],
                eliminated=gone,
            )
        )
        opened = full + HOUR + 2
    return [*epochs, open_epoch(4, {"blue": EACH[4], "red": EACH[4]}, 13_210, NOW - 1.6 * DAY, SPENT[4])]


def open_epoch(number: int, planned: dict[str, int], dealt: int, opened: float, epsilon: str) -> EpochView:
    quota = sum(planned.values())
    full = NOW - 1200 if dealt == quota else None
    ripe = None if full is None else full + HOUR
    return EpochView(
        number, "open", planned, True, quota, dealt, epsilon, opened, full, ripe, None, None, releases=[], eliminated=[]
    )


def view(name: str, state: str, arms: list[ArmView], **changes: Any) -> ExperimentView:
    first = ExperimentView(
        id=f"exp_{name.replace('-', '')}",
        name=name,
        state=state,
        description="",
        algorithm="dp-bai-sharp",
        kind="policy",
        options={"beta": 0.05},
        low=0.0,
        high=1.0,
        default_reward=0.0,
        window=HOUR,
        population="everybody",
        source="assignments",
        privacy=label(),
        spent="0",
        arms=arms,
        epoch=None,
        best=None,
        settled=False,
        estimate=None,
        answer=None,
        created_at=NOW - 7 * DAY,
        started_at=None if state == "draft" else NOW - 6 * DAY,
        ended_at=NOW - DAY if state in ("stopped", "archived") else None,
    )
    return msgspec.structs.replace(first, **changes)


def button_colour() -> ExperimentView:
    epochs = button_epochs()
    gone = {NASTY: 2, "green": 3}
    arms = []
    for arm in ARMS:
        last = max(number for number, means in MEANS.items() if arm in means)
        assigned = sum(EACH[number] for number, means in MEANS.items() if arm in means)
        arms.append(ArmView(arm, arm not in gone, assigned, MEANS[last][arm], RADIUS[last], gone.get(arm)))
    return view(
        "button-colour",
        "running",
        arms,
        description="Which colour of the sign-up button gets more people through?\nA reward is 1 for a sign-up.",
        spent="0.875",
        epoch=epochs[-1],
        best="blue",
    )


def plain_arms(*names: str) -> list[ArmView]:
    return [ArmView(name, True, 0, None, None, None) for name in names]


def experiments() -> dict[str, tuple[ExperimentView, list[EpochView]]]:
    fresh = open_epoch(1, {"morning": 240, "evening": 240}, 0, NOW - 300, "0.5")
    sampling = open_epoch(3, {"": 4096}, 4096, NOW - 5 * HOUR, "0.125")
    halted = [
        release(1, None, 1024, 0.051, 0.02, "0.5"),
        release(2, None, 2048, 0.0467, 0.012, "0.25"),
    ]
    churn = [
        sampled_epoch(1, 1024, halted[0], NOW - 9 * HOUR),
        sampled_epoch(2, 2048, halted[1], NOW - 7 * HOUR),
        sampling,
    ]
    all_of_them = [
        (button_colour(), button_epochs()),
        (
            view("reminder-time", "running", plain_arms("morning", "evening"), epoch=fresh, started_at=NOW - 300),
            [fresh],
        ),
        (
            view(
                "churn-rate",
                "running",
                [ArmView(None, True, 7168, 0.0467, 0.012, None)],
                kind="rule",
                algorithm="dp-bernstein",
                options={"alpha": 0.1, "beta": 0.05},
                spent="0.75",
                epoch=sampling,
            ),
            churn,
        ),
        (
            view(
                "reminder-text",
                "draft",
                plain_arms("short & sweet", "long <i>and</i> winding"),
                description="<script>alert('x')</script>",
                created_at=NOW - 2 * HOUR,
            ),
            [],
        ),
        (
            view(
                "first-dose",
                "stopped",
                [
                    ArmView("10 mg", False, 1200, 0.41, 0.03, 2),
                    ArmView("20 mg", True, 1200, 0.52, 0.03, None),
                ],
                population="patients-2026",
                best="20 mg",
                spent="0.75",
            ),
            [],
        ),
        (view("old-layout", "archived", plain_arms("one", "two"), best=None, spent="0.5"), []),
    ]
    return {each.id: (each, epochs) for each, epochs in all_of_them}


def sampled_epoch(number: int, quota: int, released: ReleaseView, opened: float) -> EpochView:
    return EpochView(
        number,
        "closed",
        {"": quota},
        True,
        quota,
        quota,
        released.epsilon,
        opened,
        opened + HOUR,
        opened + 2 * HOUR,
        opened + 2 * HOUR + 1,
        None,
        releases=[released],
        eliminated=[],
    )


@dataclasses.dataclass
class FakeControl:
    """Everything that the dashboard asks for, from memory. `time` may be set."""

    time: float = NOW
    session_secret: bytes = b"0" * 32

    def __post_init__(self) -> None:
        self._experiments = experiments()
        self._populations = {"everybody": "10", "patients-2026": "2"}
        self.secrets = {ADMIN: "k1", ANALYST: "k2", PROGRAM: "k3", GUEST: "k4"}
        self._keys = {
            "k1": KeyView("k1", "Ada", ["admin"], None, NOW - 30 * DAY, None, None),
            "k2": KeyView("k2", "Grace <grace@example.org>", ["analyse"], None, NOW - 9 * DAY, NOW + 80 * DAY, None),
            "k3": KeyView("k3", "web shop", ["assign", "report"], None, NOW - 7 * DAY, None, None),
            "k4": KeyView("k4", "guest", ["analyse"], "exp_buttoncolour", NOW - DAY, NOW + DAY, None),
            "k5": KeyView("k5", "old laptop", ["analyse"], None, NOW - 90 * DAY, None, NOW - 20 * DAY),
        }
        self.intact = True
        self._number = count(1)

    def now(self) -> float:
        return self.time

    # ------------------------------------------------------------------ experiments

    def experiments(self) -> list[ExperimentView]:
        return [each for each, _ in self._experiments.values()]

    def experiment(self, identity: str) -> ExperimentView:
        if identity not in self._experiments:
            raise ServiceProblem(404, "not found", f"there is no experiment {identity!r}")
        return self._experiments[identity][0]

    def epochs(self, identity: str) -> list[EpochView]:
        self.experiment(identity)
        return self._experiments[identity][1]

    def create(self, new: NewExperiment) -> ExperimentView:
        if any(each.name == new.name for each in self.experiments()):
            raise ServiceProblem(409, "The name is taken", f"There is an experiment {new.name} already.", "name")
        return self._keep(new)

    def replace(self, identity: str, new: NewExperiment) -> ExperimentView:
        self.experiment(identity)
        del self._experiments[identity]
        return self._keep(new)

    def _keep(self, new: NewExperiment) -> ExperimentView:
        made = view(
            new.name,
            "draft",
            plain_arms(*new.arms),
            description=new.description,
            algorithm=new.policy or new.rule,
            kind="policy" if new.policy else "rule",
            options=new.options,
            low=new.low,
            high=new.high,
            default_reward=new.low if new.default_reward is None else new.default_reward,
            window=new.window,
            population=new.population,
            source=new.source,
            privacy=label(new.epsilon, new.privacy_unit),
            created_at=self.time,
        )
        self._experiments[made.id] = (made, [])
        return made

    def delete(self, identity: str) -> None:
        self._must_be(identity, "draft")
        del self._experiments[identity]

    def _must_be(self, identity: str, *states: str) -> None:
        state = self.experiment(identity).state
        if state not in states:
            raise ServiceProblem(409, "conflict", f"the experiment is {state}, so this cannot be done")

    def _to(self, identity: str, state: str, *before: str, **changes: Any) -> ExperimentView:
        self._must_be(identity, *before)
        old, epochs = self._experiments[identity]
        new = msgspec.structs.replace(old, state=state, **changes)
        self._experiments[identity] = (new, epochs)
        return new

    def start(self, identity: str) -> ExperimentView:
        draft = self.experiment(identity)
        left = next(each.left for each in self.populations() if each.name == draft.population)
        if Decimal(draft.privacy.epsilon) > Decimal(left):
            raise ServiceProblem(409, "Not enough budget", f"{draft.population} has {left} left.", "epsilon")
        epoch = open_epoch(1, {arm.name or "": 240 for arm in draft.arms}, 0, self.time, "0.5")
        started = self._to(identity, "running", "draft", started_at=self.time, epoch=epoch)
        self._experiments[identity] = (started, [epoch])
        return started

    def pause(self, identity: str) -> ExperimentView:
        return self._to(identity, "paused", "running")

    def resume(self, identity: str) -> ExperimentView:
        return self._to(identity, "running", "paused")

    def stop(self, identity: str) -> ExperimentView:
        return self._to(identity, "stopped", "running", "paused", epoch=None, ended_at=self.time)

    def archive(self, identity: str) -> ExperimentView:
        return self._to(identity, "archived", "stopped")

    def deal(self, identity: str, more: int) -> None:
        """What traffic does: the open epoch gets fuller."""
        old, epochs = self._experiments[identity]
        epoch = msgspec.structs.replace(old.epoch, dealt=old.epoch.dealt + more)
        self._experiments[identity] = (msgspec.structs.replace(old, epoch=epoch), [*epochs[:-1], epoch])

    # ------------------------------------------------------------------ populations, keys, plans

    def populations(self) -> list[PopulationView]:
        return [self._population(name) for name in self._populations]

    def _population(self, name: str) -> PopulationView:
        budget = Decimal(self._populations[name])
        reserved = sum(
            (Decimal(e.privacy.epsilon) for e in self.experiments() if e.population == name and e.state != "draft"),
            Decimal(0),
        )
        return PopulationView(name, str(budget), str(reserved), str(budget - reserved))

    def ledger(self, population: str) -> Ledger:
        if population not in self._populations:
            raise ServiceProblem(404, "There is no such population", f"No population is called {population}.")
        lines: list[LedgerEntry] = []

        def write(experiment: str | None, epoch: int | None, kind: str, epsilon: str, at: float) -> None:
            digest = hashlib.sha256(f"{len(lines)} {population}".encode()).hexdigest()
            lines.append(LedgerEntry(len(lines) + 1, population, experiment, epoch, kind, epsilon, at, digest))

        write(None, None, "budget", self._populations[population], NOW - 30 * DAY)
        for each, epochs in self._experiments.values():
            if each.population == population and each.state != "draft":
                write(each.id, None, "reserve", each.privacy.epsilon, each.started_at or NOW)
                for epoch in epochs:
                    if epoch.closed_at:
                        write(each.id, epoch.number, "release", epoch.epsilon, epoch.closed_at)
        return Ledger(self._population(population), lines, self.intact)

    def create_population(self, new: NewPopulation) -> PopulationView:
        if new.name in self._populations:
            raise ServiceProblem(409, "The name is taken", f"There is a population {new.name} already.", "name")
        self._populations[new.name] = new.budget
        return self._population(new.name)

    def keys(self) -> list[KeyView]:
        return list(self._keys.values())

    def key(self, identity: str) -> KeyView | None:
        return self._keys.get(identity)

    def make_key(self, new: NewKey) -> MadeKey:
        number = next(self._number)
        about = KeyView(
            f"n{number}",
            new.name,
            new.scopes,
            new.experiment,
            self.time,
            None if new.expires_in is None else self.time + new.expires_in,
            None,
        )
        self._keys[about.id] = about
        secret = f"dk_{'-'.join(new.scopes)}_{hashlib.sha256(new.name.encode()).hexdigest()[:43]}"
        self.secrets[secret] = about.id
        both = {"report", "analyse"} <= set(new.scopes)
        warning = "whoever holds it sees single rewards, and what was made of them." if both else None
        return MadeKey(secret, about, warning)

    def revoke_key(self, identity: str) -> KeyView:
        if identity not in self._keys:
            raise ServiceProblem(404, "There is no such key", "It may have been revoked long ago.")
        self._keys[identity] = msgspec.structs.replace(self._keys[identity], revoked_at=self.time)
        return self._keys[identity]

    def authenticate(self, key: str) -> KeyView | None:
        found = self._keys.get(self.secrets.get(key, ""))
        if found is None or found.revoked_at is not None:
            return None
        return found if found.expires_at is None or self.time < found.expires_at else None

    def algorithms(self) -> list[AlgorithmView]:
        return ALGORITHMS

    def plan(
        self,
        arms: int,
        epsilon: str,
        beta: float,
        gap: float,
        *,
        policy: str | None = None,
        per_hour: float | None = None,
        window: float = 0,
        privacy_unit: str = "person",
    ) -> ExperimentPlan:
        if gap >= 1:
            raise ServiceProblem(422, "No such gap", "The gap must be below the range of rewards, which is 1.", "gap")
        planned, total, width = [], 0, 0.4
        for number in range(1, 20):
            each = round(12 / width**2)
            total += each * arms
            ends = None if per_hour is None else total / per_hour * HOUR + number * window
            planned.append(PlannedEpoch(number, width, each, total, str(Decimal(epsilon) / 2**number), ends))
            if width <= gap:
                break
            width = max(gap, width / 2)
        words = (
            f"{total:,} assignments of {arms} arms tell every gap of {gap:g} or more, with probability {1 - beta:g}."
        )
        return ExperimentPlan(policy or "dp-bai-sharp", planned, total, planned[-1].ends_after, words)
