"""The messages of the HTTP API: every request and every answer, checked as it is read.

No answer can hold a reward, but for `TestReport`, whose units are not protected: answers hold what was released, what
was planned, and what follows from those.
"""

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Raw, Struct, field, json

MOST_UNITS = 1000
MOST_REWARDS = 10_000
MOST_ARMS = 100
MOST_NAME = 200
MOST_DESCRIPTION = 2000
MOST_WINDOW = 10_000_000
PAGE, MOST_LISTED = 50, 200
MOST_SHOWN = 40
SLUG = "[a-z0-9][a-z0-9-]{0,62}"
DECIMAL = r"[0-9]{1,9}(\.[0-9]{1,18})?"

_END = r"$(?!\n)"  # in Python's patterns a `$` alone lets a line's end pass
_NO_ZERO = r"^[^\x00]*$"  # PostgreSQL takes no zero byte
Name = Annotated[str, Meta(min_length=1, max_length=MOST_NAME, pattern=_NO_ZERO)]
Slug = Annotated[str, Meta(pattern=f"^{SLUG}{_END}", description="lower-case letters, digits and dashes")]
UnitName = Annotated[
    str, Meta(min_length=1, max_length=MOST_NAME, description="who or what is assigned: a person, a visit")
]
Decimal = Annotated[str, Meta(pattern=f"^{DECIMAL}{_END}", description="a number as text, so that it stays exact")]
if TYPE_CHECKING:
    Amount = str
else:  # read from what is written, a number or its text, and kept as text
    Amount = Annotated[
        Raw,
        Meta(
            description="a decimal number above 0, or its text; it is taken exactly as it is written",
            extra_json_schema={
                "type": ["number", "string"], "exclusiveMinimum": 0, "maximum": 1000, "pattern": f"^{DECIMAL}$",
            },
        ),
    ]  # fmt: skip
State = Literal["draft", "running", "paused", "stopped", "archived"]
Scope = Literal["assign", "report", "analyse", "admin"]
PrivacyUnit = Literal["person", "event"]
Contribution = Literal["each-epoch", "once"]
Source = Literal["assignments", "totals"]
Status = Literal["accepted", "late", "unknown"]
TestVerdict = Literal["shown", "not shown", "open"]
EpochState = Literal["open", "closed", "forfeited", "discarded"]
Limit = Annotated[int, Meta(ge=1, le=MOST_LISTED, description="the largest number of things on a page")]
LedgerKind = Literal["budget", "reserve", "release", "forfeit", "refund"]


class Request(Struct, forbid_unknown_fields=True, omit_defaults=False):
    """The base class of requests: unknown fields are refused, so that a typing error does not pass in silence."""


class WithAmounts(Request):
    """The base class of requests with amounts of epsilon, which stay exact: a JSON number is never a float here."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, Raw):
                setattr(self, name, _amount(name, bytes(value).decode()))


def _amount(name: str, written: str) -> str:
    """Return the text of a decimal from JSON."""
    text = str(json.decode(written)) if written.startswith('"') else written
    if not re.fullmatch(DECIMAL, text):
        shown = written if len(written) <= MOST_SHOWN else f"{written[:MOST_SHOWN]}..."
        places = "at most 9 digits before the point and 18 after it"
        raise ValueError(f"{name} must be a decimal number such as 1 or 0.5, with {places}, got {shown}")
    return text


# ---------------------------------------------------------------------- experiments


class NewExperiment(WithAmounts):
    """A new experiment: its arms, its population, and its epsilon. It cannot be changed once it has started.

    A bandit has `arms` and a `policy`; a private running mean has a `rule` instead. `privacy_unit` "person" protects
    everything that one person ever reports: a person counts once in each epoch (`contribution` "each-epoch", for
    policies whose epsilon halves from epoch to epoch) or once in the whole experiment ("once"). "event" protects one
    reward. `epsilon` is charged to the `population`'s budget when the experiment starts.

    Attributes:
        options: More options of the policy or rule, such as `beta`, `horizon` or `alpha`.
        default_reward: The value of a reward that never comes: `low` if nothing is said.
        window: Seconds from an assignment until its reward must be in.
        source: "assignments" if the service assigns; "totals" if an event log is aggregated elsewhere and its totals
            sent.
        control: The arm that others are compared with in summaries: the first one if nothing is said.
        binary: True if a reward is the lowest or the highest and nothing between, such as a click. Others are moved to
            the nearer end. Intervals are then narrower.
        drifting: True if means may change during the experiment, such as by weekday. Summaries are then about averages
            so far, and their intervals a little wider.
    """

    name: Slug
    epsilon: Amount
    arms: Annotated[list[Name], Meta(max_length=MOST_ARMS)] = field(default_factory=list)
    policy: str | None = None
    rule: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    low: float = 0.0
    high: float = 1.0
    default_reward: float | None = None
    window: Annotated[float, Meta(gt=0, le=MOST_WINDOW)] = 3600.0
    privacy_unit: PrivacyUnit = "person"
    contribution: Contribution | None = None
    population: Slug = "everybody"
    source: Source = "assignments"
    description: Annotated[str, Meta(max_length=MOST_DESCRIPTION)] = ""
    control: Name | None = None
    binary: bool = False
    drifting: bool = False


class PrivacyLabel(Struct):
    """The promise of privacy, in numbers and in words: shown with every experiment.

    Attributes:
        theorem: The theorem by which it holds, by its name in `proofs`, or that it is argued by hand.
    """

    epsilon: Decimal
    unit: PrivacyUnit
    contribution: Contribution | None
    neighbours: str
    reason: str
    public: str
    not_promised: str
    theorem: str = ""


class ArmView(Struct):
    """An arm by what was released about it. `mean` and `radius` are of its last release.

    Attributes:
        assigned: In closed epochs: public, since it was planned.
    """

    name: str | None
    viable: bool
    assigned: int
    mean: float | None
    radius: float | None
    eliminated_in: int | None


class ReleaseView(Struct):
    """One noisy total, as it was released.

    Attributes:
        scale: The scale of the discrete Laplace noise in `value`.
        radius: The mean lies within this of the noisy mean, for sampling and noise together, with probability 95 %.
    """

    epoch: int
    arm: str | None
    count: int
    mean: float
    value: float
    scale: float
    radius: float
    epsilon: Decimal
    kind: str


class EpochView(Struct):
    """One epoch: all of it follows from what was released before, and from who came when.

    Attributes:
        epsilon: The cost to a unit of privacy that is in it.
        threshold: The distance from the best noisy mean at which an arm is dropped, where the policy has such a number.
    """

    number: int
    state: EpochState
    planned: dict[str, int]
    learns: bool
    quota: int
    dealt: int
    epsilon: Decimal
    opened_at: float
    full_at: float | None
    due_at: float | None
    closed_at: float | None
    threshold: float | None
    releases: list[ReleaseView]
    eliminated: list[str]


class ExperimentView(Struct):
    """An experiment as anybody with the scope `analyse` sees it.

    Attributes:
        spent: Of epsilon, by releases so far.
        settled: True if nothing is left to find out.
        estimate: Of a rule that has halted: the mean, with its promise in `answer`.
        answer: Of a rule that has ended, and of a test of arms: what was found out, in words.
        problem: In lists: why nothing is shown that follows from its releases; null as a rule.
        test_until: When the test of a draft ends by itself; null if there is none. Units of a test are not protected.
        control: The arm that others are compared with; null for a rule.
        binary: True if rewards are the lowest or the highest one, and nothing between.
        drifting: True if means may change during the experiment.
        verdicts: Of a test of arms: its verdict on each arm but the control, which `answer` has in words.
    """

    id: str
    name: str
    state: State
    description: str
    algorithm: str
    kind: Literal["policy", "rule"]
    options: dict[str, Any]
    low: float
    high: float
    default_reward: float
    window: float
    population: str
    source: Source
    privacy: PrivacyLabel
    spent: Decimal
    arms: list[ArmView]
    epoch: EpochView | None
    best: str | None
    settled: bool
    estimate: float | None
    answer: str | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    problem: str | None = None
    test_until: float | None = None
    control: str | None = None
    binary: bool = False
    drifting: bool = False
    verdicts: dict[str, TestVerdict] = field(default_factory=dict)


class ExperimentsQuery(Request):
    """A choice of experiments, by a part of the name or of the population's name, and by state. Empty is any.

    Attributes:
        after: `next` of the page before; empty for the first one.
    """

    search: Annotated[str, Meta(max_length=MOST_NAME, pattern=_NO_ZERO)] = ""
    state: State | Literal[""] = ""
    limit: Limit = PAGE
    after: Annotated[str, Meta(pattern=rf"^([0-4]\.[0-9]{{1,9}})?{_END}")] = ""


class Experiments(Struct):
    """A page of experiments: those that go on first, the newest first.

    Attributes:
        next: The place where the next page begins; null on the last one.
    """

    experiments: list[ExperimentView]
    next: str | None


class Epochs(Struct):
    """All epochs of an experiment, oldest first."""

    epochs: list[EpochView]


class Releases(Struct):
    """All releases of an experiment, oldest first."""

    releases: list[ReleaseView]


# ---------------------------------------------------------------------- what the releases say of the arms


class SummaryQuery(Request):
    """The options of a summary. Those left out are as the experiment says.

    Attributes:
        control: The arm that others are compared with.
        level: The confidence of each statement, at all looks together; rounded to 4 digits.
        drifting: True for statements that hold if means change during the experiment.
    """

    control: Annotated[str, Meta(max_length=MOST_NAME, pattern=_NO_ZERO)] = ""
    level: Annotated[float, Meta(ge=0.5, le=0.9999)] = 0.95
    drifting: bool | None = None


class Comparison(Struct):
    """An arm compared with the control, by what was released of both.

    Attributes:
        value: The lift (0.1 is 10 % more) or, where rewards may be negative, the difference; null if it is unknown.
        lower: The lower end of its interval.
        upper: The upper end; null if nothing limits it yet.
        p_value: The p-value of "both are equally good".
        decided: True if it is ruled out that both are equally good.
        verdict: The conclusion in a sentence.
    """

    value: float | None
    lower: float
    upper: float | None
    p_value: float
    decided: bool
    verdict: str


class ArmSummary(Struct):
    """Statements about an arm, by the releases.

    Attributes:
        name: The arm's name; null for a rule.
        rewards: The number of rewards in its releases, missing ones included: as many as were planned.
        mean: The released mean; null before the first release.
        lower: The lower end of its interval.
        upper: The upper end.
        may_be_best: True if it is not ruled out that it is the best arm.
        against_control: The comparison; null for the control itself, and where nothing can be said.
    """

    name: str | None
    rewards: int
    mean: float | None
    lower: float
    upper: float
    may_be_best: bool
    against_control: Comparison | None


class ArmAtLook(Struct):
    """An arm at a look: its lift or difference, or the mean of a rule, with its interval.

    Attributes:
        name: The arm's name; null for a rule.
        value: The value that was released.
        lower: The lower end of its interval.
        upper: The upper end; null if nothing limits it yet.
    """

    name: str | None
    value: float
    lower: float
    upper: float | None


class Look(Struct):
    """The statements that could be made after an epoch.

    Attributes:
        epoch: The epoch's number.
        at: When it closed.
        rewards: The rewards of all arms in releases up to then.
        arms: The arms of which something could be said.
    """

    epoch: int
    at: float | None
    rewards: int
    arms: list[ArmAtLook]


class Claim(Struct):
    """A part of what a summary claims.

    Attributes:
        about: A heading.
        words: The claim.
    """

    about: str
    words: str


class Summary(Struct):
    """Lifts against a control, and which arms may be the best: valid at every look, and all from releases.

    Attributes:
        experiment: The experiment's id.
        control: The arm that others are compared with; null for a rule.
        relative: True if arms are compared by lifts; False if by differences, since rewards may be negative.
        level: The confidence of each statement, at all looks together.
        drifting: True if statements hold also where means change during the experiment.
        exact: True if intervals are by the exact law of rewards that are the lowest or the highest.
        releases: The number of releases.
        rewards: The number of rewards in them.
        headline: Which arms may be the best, in a sentence.
        arms: All arms, in the experiment's order.
        claims: What is claimed, how surely, of whom, for whom it is private, and what would make it void.
        cautions: What the releases themselves say against it.
        looks: What could be said at earlier looks, the oldest first; some of them where there are many.
    """

    experiment: str
    control: str | None
    relative: bool
    level: float
    drifting: bool
    exact: bool
    releases: int
    rewards: int
    headline: str
    arms: list[ArmSummary]
    claims: list[Claim]
    cautions: list[str]
    looks: list[Look]


class LedgerRow(Struct):
    """A release as the digest of a report counts it. Steps are those of the grid.

    Attributes:
        entry: Its number, from 1.
        first: The first of the arm's rewards that it covers.
        last: The last of them.
        steps: The released integer.
        scale: The scale of its noise, in steps.
    """

    entry: int
    epoch: int
    kind: str
    arm: str | None
    first: int
    last: int
    steps: int | None
    mean: float | None
    scale: float
    epsilon: float
    simulated: bool
    tests: int | None
    above: bool | None


class ReleasedOfArm(Struct):
    """All releases of one kind about one arm.

    Attributes:
        rewards: The number of rewards that they cover.
        epsilon: What the dearest of them costs each of its rewards.
        scale: The largest scale of noise, in rewards.
        mechanism: How they were made.
    """

    arm: str | None
    kind: str
    releases: int
    rewards: int
    epsilon: float
    scale: float
    mechanism: str


class PrivacyReport(Struct):
    """The privacy report of an experiment, for the file: it holds releases and options, and may be published.

    Attributes:
        made_at: When it was made.
        made_by: The versions of what the promise rests on.
        spent: Of epsilon, by releases so far, as the budget's ledger has it.
        paid: The same, added up anew from all releases.
        kept: True if that is within the promise; after a restore, if what is charged is.
        verdict: The same in a sentence.
        sha256: The digest of `entries`, as JSON with sorted keys and without spaces.
        checked: How the promise is checked, and what can be repeated.
    """

    made_at: float
    made_by: dict[str, str]
    experiment: str
    name: str
    population: str
    description: str
    state: State
    algorithm: str
    options: dict[str, Any]
    privacy: PrivacyLabel
    spent: Decimal
    paid: float
    kept: bool
    verdict: str
    releases: int
    released: list[ReleasedOfArm]
    sha256: str
    checked: list[str]
    entries: list[LedgerRow]


# ---------------------------------------------------------------------- assign and report


class AssignRequest(Request):
    """A request for assignments: of named units, or (at event level) of a number of nameless ones."""

    units: Annotated[list[UnitName], Meta(min_length=1, max_length=MOST_UNITS)] | None = None
    count: Annotated[int, Meta(ge=1, le=MOST_UNITS)] | None = None


class Assignment(Struct, omit_defaults=True):
    """The assignment of one unit. Without `learn` its reward is not needed, and `assignment` is null.

    Attributes:
        test: True in test mode, and left out otherwise: what is reported for this unit is not protected.
    """

    unit: str | None
    arm: str | None
    assignment: str | None
    epoch: int | None
    learn: bool
    deadline: float | None
    test: bool = False


class Assignments(Struct):
    """One assignment for each unit, in the order of the request."""

    assignments: list[Assignment]


class RewardRequest(Request):
    """One reward. Values outside the declared range are moved to its end."""

    reward: float


class BatchedReward(Request):
    """A reward of a batch."""

    assignment: Annotated[str, Meta(max_length=200)]
    reward: float


class RewardBatch(Request):
    """Many rewards; each is taken or refused by itself."""

    rewards: Annotated[list[BatchedReward], Meta(min_length=1, max_length=MOST_REWARDS)]


class Receipt(Struct):
    """The status of a reward."""

    status: Status


class Receipts(Struct):
    """The status of each reward of a batch, in its order."""

    statuses: list[Status]


class EpochTotals(Request):
    """The exact totals of the open epoch, in grid steps, of an experiment that is fed from an event log."""

    epoch: int
    totals: dict[str, Annotated[int, Meta(ge=0)]]


class PlanView(Struct):
    """The plan of an open epoch: the number of contributions of each arm, and the grid of rewards."""

    epoch: int
    pulls: dict[str, int]
    learns: bool
    low: float
    high: float
    step: float
    floor: int
    width: int


# ---------------------------------------------------------------------- test mode


class Finding(Struct):
    """Something that was found out about an integration in a test.

    Attributes:
        level: "problem" if it would spoil the experiment, "hint" if it may be meant so, "well" if nothing is wrong.
        kind: A short name of it.
        words: What was seen.
        advice: What to do.
    """

    level: Literal["problem", "hint", "well"]
    kind: str
    words: str
    advice: str


class TestedUnitView(Struct):
    """A unit of a test, and what was sent for it. It is not protected.

    Attributes:
        asks: How often it was asked for.
        reward: The first reward as it was sent; null if none came.
        told_at: When that came.
        again: The number of further rewards, which would not count.
        counts_as: What it would count as in a running experiment; null while its reward may still come.
    """

    number: int
    unit: str | None
    arm: str | None
    asked_at: float
    asks: int
    deadline: float
    reward: float | None
    told_at: float | None
    again: int
    counts_as: float | None


class TestReport(Struct):
    """A test of a draft: all that was sent, and what is wrong with it. Its units are not protected.

    Attributes:
        state: "open"; "full" once it takes no more units, but still rewards; or "ended".
        warning: That the units are not protected, in words.
        ends_at: When it ends by itself.
        deleted_at: When all of it will be deleted, unless it is ended by hand or the experiment starts before.
        rewards: The number of units with a reward.
        unknown: The number of reports whose token this service did not make, as far as they can be told to be of this
            test, and up to 100.
        assignments: The newest first.
    """

    experiment: str
    state: Literal["open", "full", "ended"]
    warning: str
    began_at: float
    ends_at: float
    deleted_at: float
    units: int
    rewards: int
    unknown: int
    findings: list[Finding]
    assignments: list[TestedUnitView]


# ---------------------------------------------------------------------- populations, keys, planning


class NewPopulation(WithAmounts):
    """People who may be in several experiments, and what all of these together may cost one of them."""

    name: Slug
    budget: Amount


class NewBudget(WithAmounts):
    """Another budget for a population: never less than is reserved."""

    budget: Amount


class LedgerEntry(Struct):
    """One line of a population's ledger; `digest` chains it to the line before."""

    number: int
    population: str
    experiment: str | None
    epoch: int | None
    kind: LedgerKind
    epsilon: Decimal
    at: float
    digest: str


class PopulationView(Struct):
    """A population, its budget and what is left of it."""

    name: str
    budget: Decimal
    reserved: Decimal
    left: Decimal


class PopulationsQuery(Request):
    """A page of populations.

    Attributes:
        after: `next` of the page before; empty for the first one.
    """

    limit: Limit = PAGE
    after: Annotated[str, Meta(pattern=f"^({SLUG})?{_END}")] = ""


class Populations(Struct):
    """A page of populations, by name.

    Attributes:
        next: The place where the next page begins; null on the last one.
    """

    populations: list[PopulationView]
    next: str | None


class LedgerQuery(Request):
    """A part of a ledger.

    Attributes:
        after: `next` of the page before.
        verify: True to check the whole ledger now, which takes a while where it is long.
    """

    limit: Limit = PAGE
    after: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0
    verify: bool = False


class Ledger(Struct):
    """A page of a ledger, oldest line first.

    Lines and sums are checked in the background, and all over again each hour.

    Attributes:
        next: The place where the next page begins; null on the last one.
        intact: False if the last check found a line or a sum that was changed.
        verified: The number of the last line that was checked.
        verified_at: When that was; null before the first check.
        problems: What was found.
    """

    population: PopulationView
    entries: list[LedgerEntry]
    next: int | None
    intact: bool
    verified: int
    verified_at: float | None
    problems: list[str]


class BudgetPart(Struct):
    """An experiment's part of a budget.

    Attributes:
        epsilon: What is reserved for it; once it has ended, what it has spent.
        unit: Whom its epsilon protects.
    """

    experiment: str
    name: str
    state: State
    unit: PrivacyUnit
    epsilon: Decimal


class PopulationReportQuery(Request):
    """A report on a population.

    Attributes:
        delta: The delta at which it also says what all experiments cost together; at least 1e-12.
    """

    delta: Annotated[float, Meta(ge=1e-12, lt=1)] = 1e-6


class PopulationReport(Struct):
    """The most that all experiments on a population cost one of its people, together.

    Attributes:
        made_at: When it was made.
        experiments: The number of experiments that have a part of the budget.
        delta: The delta that was asked for.
        epsilon_at_delta: What they cost at this delta: never above the sum, which alone is enforced.
        words: What is promised, in sentences.
        parts: The experiments, those that go on first; the first 200.
        intact: False if the last check found a line of the ledger, or a sum, that was changed.
        verified: The number of the last line that was checked.
    """

    made_at: float
    population: PopulationView
    experiments: int
    delta: float
    epsilon_at_delta: float
    words: list[str]
    parts: list[BudgetPart]
    intact: bool
    verified: int


class NewKey(Request):
    """A request for a key: its scopes, its experiment (null: all), and its lifetime in seconds."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4)]
    experiment: Name | None = None
    expires_in: Annotated[float, Meta(gt=0, le=315_360_000)] | None = None


class KeyView(Struct):
    """A key without its secret, which is not stored."""

    id: str
    name: str
    scopes: list[Scope]
    experiment: str | None
    created_at: float
    expires_at: float | None
    revoked_at: float | None


class MadeKey(Struct):
    """A new key: the only time that `key` is shown."""

    key: str
    about: KeyView
    warning: str | None


class KeysQuery(Request):
    """A page of keys.

    Attributes:
        after: `next` of the page before; empty for the first one.
    """

    limit: Limit = PAGE
    after: Annotated[str, Meta(pattern=f"^([0-9a-f]{{8}})?{_END}")] = ""


class Keys(Struct):
    """A page of keys, the newest first.

    Attributes:
        next: The place where the next page begins; null on the last one.
    """

    keys: list[KeyView]
    next: str | None


class PlannerRequest(Request):
    """A request for a plan: the number of arms, epsilon, and the gap to find with probability 1 - beta.

    Attributes:
        gap: The gap as a share of the rewards' range.
        base_rate: The rate that you expect of all arms but the best, of rewards of 0 and 1: for a forecast of what it
            will take, beside the worst case.
        lift: Instead of the gap, with a base rate: how much higher the best rate is, as a share of it.
        beta: How often the answer may be wrong (0.05), or of a test: how often the gap may be missed (0.2).
        policy: The policy; a test such as `dp-ab` also needs a base rate.
        alpha: Of a test: how often it may find what is not there.
    """

    arms: Annotated[int, Meta(ge=2, le=MOST_ARMS)]
    epsilon: Decimal
    gap: Annotated[float, Meta(gt=0, le=1)] | None = None
    base_rate: Annotated[float, Meta(gt=0, lt=1)] | None = None
    lift: Annotated[float, Meta(gt=0)] | None = None
    beta: Annotated[float, Meta(gt=0, lt=1)] | None = None
    policy: str | None = None
    per_hour: Annotated[float, Meta(gt=0)] | None = None
    window: Annotated[float, Meta(ge=0, le=MOST_WINDOW)] = 0.0
    privacy_unit: PrivacyUnit = "person"
    alpha: Annotated[float, Meta(gt=0, lt=1)] = 0.05


class PlannedEpoch(Struct):
    """One epoch of a plan, in the worst case that no arm goes earlier.

    Attributes:
        gap: The gap from which on an arm is dropped after this epoch; of a test, the lead that shows an arm better.
        total: Assignments of all arms up to here.
        ends_after: Seconds from the start, at the given rate of assignments and window.
    """

    number: int
    gap: float
    each: int
    total: int
    epsilon: Decimal
    ends_after: float | None


class PlanForecast(Struct):
    """The length of an experiment, by simulating it on the expected rates.

    Attributes:
        mean: Assignments on average.
        median: What half of all experiments take at most.
        high: What 95 % of all experiments take at most.
        right: The share of experiments that found the right arm.
        seconds: The time on average, at the given rate of assignments and window.
        high_seconds: The time that 95 % of all experiments take at most.
    """

    mean: float
    median: float
    high: float
    right: float
    seconds: float | None
    high_seconds: float | None


class PlannedOutlook(Struct):
    """The assignments of all arms that a test takes under one hypothesis.

    Attributes:
        hypothesis: What is supposed to be true, in words.
        mean: Assignments on average.
        median: What half of all tests take at most.
        high: What 95 % of all tests take at most.
        at_most: What every test takes at most; null for a test without an end.
        shown: The chance that the test shows what it looks for.
        seconds: The time on average, at the given rate of assignments and window.
        high_seconds: The time that 95 % of all tests take at most.
        most_seconds: The time that every test takes at most.
    """

    hypothesis: str
    mean: float
    median: float
    high: float
    at_most: int | None
    shown: float
    seconds: float | None
    high_seconds: float | None
    most_seconds: float | None


class ExperimentPlan(Struct):
    """The number of assignments that an experiment takes, and the time, before it is run.

    Attributes:
        epochs: The epochs in the worst case, whatever the rates.
        total: Assignments in the worst case; null for a test without an end.
        seconds: The time in the worst case.
        forecast: What it will take if rates are as expected; null without a base rate, and for tests.
        outlooks: Of a test: what it takes if there is nothing to find, and if there is.
    """

    policy: str
    epochs: list[PlannedEpoch]
    total: int | None
    seconds: float | None
    words: str
    forecast: PlanForecast | None
    outlooks: list[PlannedOutlook] = field(default_factory=list)


class AlgorithmView(Struct):
    """A policy or rule that the service can run.

    Attributes:
        options: Each option's default; null for what must be given or may be left out.
    """

    name: str
    kind: Literal["policy", "rule"]
    about: str
    options: dict[str, Any]
    required: list[str]
    units: list[PrivacyUnit]


class Algorithms(Struct):
    """All algorithms."""

    algorithms: list[AlgorithmView]


class Problem(Struct, omit_defaults=True):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None


class Health(Struct):
    """The state of a process.

    Attributes:
        reasons: The reasons why it is unavailable.
    """

    status: Literal["ok", "unavailable"]
    reasons: list[str] = field(default_factory=list)
