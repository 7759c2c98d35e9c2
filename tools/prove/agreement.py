"""Formulas, computed by the Python code and by the definitions of the proofs on the same inputs, and compared.

Whatever is compared is a list of integers; a rational number is two of them. Each comparison gives Coq an expression
for its list, and has the code's own list at hand.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tools.prove import coq

from discreet.core.errors import PrivacyError
from discreet.core.grid import Grid
from discreet.core.noise import SimulatedNoise, scale_for
from discreet.core.plans import CounterQuery, Measure, Plan, ThresholdQuery, TotalsQuery
from discreet.core.privacy import Privacy, Unit, share
from discreet.core.releases import Kind
from discreet.core.statistics import Statistic
from discreet.mechanisms import BinaryTree, Curator, HybridCounter, SparseVector
from discreet.mechanisms.sparse_vector import OF_ARMS
from discreet.testing.exact import ScriptedNoise, probability
from discreet.theory.person_level import HALF, THIRD, epoch_epsilon

_IMPORTS = """
Require Import Reals ZArith QArith List Bool.
Require Import Discreet.Rewards Discreet.Grid Discreet.Trees Discreet.OpenNodes Discreet.Hybrid Discreet.Counting.
Require Import Discreet.SparseVector Discreet.Formulas.
Import ListNotations.
Open Scope Z_scope.
Set Printing Width 1000000.
Set Printing Depth 1000000.
Definition both (q : Q) : list Z := [Qnum q; Zpos (Qden q)].
Definition bit (b : bool) : Z := if b then 1 else 0.
Definition each_item (n : nat) (f : nat -> list Z) : list Z := flat_map f (seq 1 n).
Definition item (l : list Z) (i : nat) : Z := nth (i - 1) l 0.
Definition of_nat := Z.of_nat.
Definition nowhere := (0%nat, 0%nat).
"""


class Comparison(NamedTuple):
    """A formula on many inputs.

    Attributes:
        name: The formula.
        expression: Coq's expression for the list.
        expected: The code's list.
        agrees: Whether Coq's list agrees with the code's.
    """

    name: str
    expression: str
    expected: list[int]
    agrees: Callable[[list[int], list[int]], bool] = list.__eq__


def compare(folder: Path) -> dict[str, int]:
    """Return how many numbers were compared, by formula.

    Args:
        folder: The folder in which the proofs have been checked.

    Raises:
        AssertionError: The proofs and the code disagree.
    """
    compared: dict[str, int] = {}
    comparisons = list(_comparisons())
    text = _IMPORTS + "".join(f"Eval vm_compute in ({one.expression}).\n" for one in comparisons)
    answers = re.findall(r"^\s+= (\[.*\])(?:%Z)?\n\s+: list Z$", coq.check("Agreement", text, folder), re.M)
    for one, answer in zip(comparisons, answers, strict=True):
        found = [int(number) for number in re.findall(r"-?\d+", answer)]
        assert one.agrees(found, one.expected), f"the proofs and the code disagree on {one.name}: {one.expression}"
        compared[one.name] = compared.get(one.name, 0) + len(found)
    return compared


# ---------------------------------------------------------------------- how numbers are written


def _q(number: float | Fraction) -> str:
    exact = Fraction(number)
    return f"({exact.numerator} # {exact.denominator})"


def _list(items: Iterable[Any]) -> str:
    return "[" + "; ".join(f"({one})" if isinstance(one, int) else str(one) for one in items) + "]"


def _parts(numbers: Iterable[Fraction]) -> list[int]:
    return [part for number in numbers for part in (number.numerator, number.denominator)]


def _fractions(found: list[int]) -> list[Fraction]:
    return [Fraction(over, under) for over, under in zip(found[::2], found[1::2], strict=True)]


# ---------------------------------------------------------------------- the comparisons


def _comparisons() -> Iterator[Comparison]:
    rng = random.Random(18)
    yield from _noise()
    yield from _scales()
    yield from _grids(rng)
    yield from _statistics(rng)
    yield from _trees(rng)
    yield from _prices(rng)
    yield from _spans(rng)
    yield from _folded_noise()
    yield from _sparse_vectors(rng)
    yield from _ends_of_vectors()


def _noise() -> Iterator[Comparison]:
    """Compare the mass function, which the proofs have as a function of the factor from one integer to the next."""
    for decay in (Fraction(1, 100), Fraction(1, 2), Fraction(3, 4), Fraction(99, 100)):
        scale = -1 / math.log(decay)
        values = [*range(-9, 10), 30]
        expected = _parts(Fraction(probability(value, scale)) for value in values)
        yield Comparison(
            "mass function",
            f"flat_map (fun z => both (mass_by_decay {_q(decay)} z)) {_list(values)}",
            expected,
            _nearly,
        )


def _nearly(found: list[int], expected: list[int]) -> bool:
    pairs = zip(_fractions(found), _fractions(expected), strict=True)
    return all(abs(one - other) <= Fraction(1, 10**12) * other for one, other in pairs)


def _scales() -> Iterator[Comparison]:
    """Check that scales are enough, and that the next smaller float is not."""
    for sensitivity in (1, 3, 2**20, 3 * 2**20, 20 * 2**20 + 7):
        for epsilon in (0.01, 0.1, 1 / 3, 0.7, 1.0, 2.5):
            scale = scale_for(sensitivity, epsilon)
            yield Comparison("scales", _is_least(scale, f"{_q(sensitivity)} {_q(epsilon)}"), [1, 0])


def _is_least(scale: float, wanted: str) -> str:
    """Return Coq's expression for [1; 0] if a scale is enough and the next smaller float is not."""
    less = math.nextafter(scale, 0.0)
    return f"[bit (is_enough {_q(scale)} {wanted}); bit (is_enough {_q(less)} {wanted})]"


def _grids(rng: random.Random) -> Iterator[Comparison]:
    for low, high, bits in ((0.0, 1.0, 20), (0.0, 1.0, 0), (-1.0, 1.0, 3), (0.3, 7.9, 5), (-250.0, 1e4, 10)):
        grid = Grid(low, high, bits)
        rewards = [low, high, low - 1, high + 3, (low + high) / 2, *(rng.uniform(low, high) for _ in range(20))]
        halves = [grid.step * (grid.floor + k + 0.5) for k in range(min(6, grid.width))]  # half to even
        rewards += [half for half in halves if low <= half <= high]
        expected = [grid.floor, grid.width, *(grid.encode(reward, clip=True) for reward in rewards)]
        same = grid.encode_checked(grid.check_array(np.array(rewards), clip=True))
        assert expected[2:] == [int(one) for one in same]
        written = f"{{| low := {_q(low)}; high := {_q(high)}; step := {_q(grid.step)} |}}"
        encoded = f"map (encode {written}) {_list(map(_q, rewards))}"
        yield Comparison("grid", f"floor {written} :: Grid.width {written} :: {encoded}", expected)


def _statistics(rng: random.Random) -> Iterator[Comparison]:
    for width, count in ((1, 7), (10, 12), (1000, 31), (2**20, 40)):
        rewards = [rng.randint(0, width) for _ in range(count)]
        accumulator = Statistic.PAIRS.accumulator(width)
        for start in range(0, count, 5):  # in pieces that do not fit the pairs
            accumulator.add(np.array(rewards[start : start + 5]))
        data, cells = f"(item {_list(rewards)})", f"(seq 1 {count})"
        yield Comparison(
            "statistics", f"[squares {width} {data} {cells}; total {data} {cells}]", list(accumulator.values)
        )
        largest = f"[of_nat {count} / 2 * {width}; of_nat {count} * {width}]"
        yield Comparison("largest statistics", largest, list(Statistic.PAIRS.largest(width, count)))
        assert Statistic.PAIRS.sensitivities(width) == (width, width)  # Grid.squares_sensitivity, total_sensitivity


def _trees(rng: random.Random) -> Iterator[Comparison]:
    horizons = [1, 2, 3, 4, 7, 8, 9, 100, 1000, 4096]
    levels = [BinaryTree(horizon).next_share() for horizon in horizons]
    yield Comparison("levels of trees", f"map (fun n => of_nat (levels n)) (map Z.to_nat {_list(horizons)})", levels)
    items = [rng.randint(0, 9) for _ in range(70)]
    tree, hybrid, nodes, parts = BinaryTree(70), HybridCounter(), [], []
    for one in items:
        nodes += tree.add(one)[1:]
        divided = hybrid.next_share()
        kind, size, total = hybrid.add(one)
        parts += [divided, int(kind == Kind.TOTAL), size, total]
    x = f"(item {_list(items)})"
    node = f"[of_nat (size t); node_total {x} t (after {x} (t - 1)%nat)]"
    yield Comparison("nodes of trees", f"each_item 70 (fun t => {node})", nodes)
    covered = "(if is_power t then block t else map (Nat.add (2 ^ exponent t)) (covered (t - 2 ^ exponent t)))"
    sums = f"let cells := {covered}%nat in [of_nat (length cells); total {x} cells]"
    for horizon in (1, 7, 100, None):
        for bits, epsilon in ((0, 0.1), (10, 1 / 3), (20, 1.0)):
            curator = _curator(bits)
            for epoch in range(1, 2 if horizon else 20):
                (released,) = curator.release(Plan(epoch, {1: 1}, CounterQuery(epsilon, horizon)), {1: 0})
                divided = f"levels {horizon}" if horizon else f"Hybrid.share {epoch}"
                wanted = f"(inject_Z (of_nat ({divided}) * {2**bits})) {_q(epsilon)}"
                yield Comparison("scales of nodes", _is_least(released.scale, wanted), [1, 0])
    counter = f"of_nat (Hybrid.share t) :: bit (is_power t) :: ({sums})"
    yield Comparison("nodes of hybrid counters", f"each_item 70 (fun t => {counter})", parts)


def _prices(rng: random.Random) -> Iterator[Comparison]:
    """Compare what the curator grants with the exact sums; what a number costs with its price; shares of epsilon."""
    for unit in (Unit.REWARD, Unit.PERSON, Unit.ROW):
        for epsilon in (0.1, 0.3, 1.0):
            for size in (1, 2, 3, 5, 7, 11):
                arms, spent, prices = 1, (), tuple(rng.choice([0.5, 1.0, 1.01]) * epsilon / size for _ in range(size))
                if unit is Unit.PERSON:
                    spent, prices = prices[1:], prices[:1]
                if unit is Unit.ROW:
                    arms, prices = size, (rng.choice([epsilon / size, share(epsilon, size)]),)
                curator = Curator(Grid(0.0, 1.0), Privacy(epsilon, unit, ""), SimulatedNoise(1), spent=spent,
                                  taken=dict.fromkeys(range(arms), 0))  # fmt: skip
                asked = [*spent, *prices * arms]
                granted = int(_grants(curator, TotalsQuery(prices)))
                yield Comparison(
                    "prices granted", f"[bit (is_paid_by {_q(epsilon)} {_list(map(_q, asked))})]", [granted]
                )
    for width in (1, 2**20):
        for epsilon in (0.1, 1 / 3, 1.0):
            scale = scale_for(width, epsilon)
            yield Comparison("price of a number", f"both (loss_of 1 {width} {_q(scale)})",
                             _parts([Fraction(epsilon)]), _just_below)  # fmt: skip
    for part in (HALF, THIRD):
        for epsilon in (0.1, 1.0):
            epochs = range(8)
            expected = _parts(Fraction(epoch_epsilon(epsilon, epoch + 1, part)) for epoch in epochs)
            shares = f"flat_map (fun e => both (share_of {_q(epsilon)} {_q(part)} e)) (seq 0 8)"
            yield Comparison("shares of epochs", shares, expected, lambda found, code: _just_below(code, found))


def _curator(bits: int) -> Curator:
    """Return a curator of one arm, on a grid of 2**bits steps."""
    return Curator(Grid(0.0, 1.0, bits), Privacy(1.0, Unit.REWARD, ""), SimulatedNoise(1), taken={1: 0})


def _grants(curator: Curator, query: TotalsQuery) -> bool:
    try:
        curator._charge(query)
    except PrivacyError:
        return False
    return True


def _just_below(found: list[int], most: list[int]) -> bool:
    """Return whether numbers are at most others, and by a rounding only."""
    pairs = zip(_fractions(found), _fractions(most), strict=True)
    return all(other * (1 - Fraction(1, 2**50)) <= one <= other for one, other in pairs)


def _spans(rng: random.Random) -> Iterator[Comparison]:
    """Compare which rewards are in which totals, where arms are held and series end."""
    for _ in range(12):
        curator = Curator(Grid(0.0, 1.0, 0), Privacy(1.0, Unit.REWARD, ""), SimulatedNoise(1), taken={1: 0, 2: 0})
        epochs, expected, series = [], [], 0
        for epoch in range(1, 9):
            pulls = {arm: rng.randint(1, 5) for arm in (1, 2) if rng.random() < 0.8} or {1: 2}
            held = frozenset(arm for arm in pulls if rng.random() < 0.4)
            plan = Plan(epoch, pulls, TotalsQuery((1.0,), held, (series,)))
            for release in curator.release(plan, dict.fromkeys(pulls, 0)):
                expected += release.spans[0]
            ends = rng.random() < 0.3  # what waits is erased
            series += ends
            given = "".join(f"if Nat.eqb a {arm} then {count} else " for arm, count in pulls.items())
            shown = "".join(f"Nat.eqb a {arm} || " for arm in pulls if arm not in held)
            epochs.append(
                f"{{| pulls := fun a => ({given}0)%nat; Counting.released := fun a => {shown}false; "
                f"kept := fun _ => {str(not ends).lower()} |}}"
            )
        ends_of = "[of_nat (fst (hd nowhere s)); of_nat (snd (hd nowhere s)); of_nat (snd (last s nowhere))]"
        totals = f"all_totals [1%nat; 2%nat] (fun _ => 0%nat) (fun _ => 0%nat) {_list(epochs)}"
        yield Comparison("rewards in totals", f"flat_map (fun s => {ends_of}) ({totals})", expected)


def _folded_noise() -> Iterator[Comparison]:
    """Compare the noises of one-sided tests, B and A, with the law of the proofs: what the code makes of each draw."""
    values, draws = range(8), range(-9, 10)
    query = ThresholdQuery((1,), (2**60,), 0.7, None, Measure.ONE_SIDED)
    for decay in (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
        scale = -1 / math.log(decay)
        laws: list[dict[int, Fraction]] = [{}, {}]
        for draw in draws:
            vector = SparseVector(query, (1,), Grid(0.0, 1.0, 3), ScriptedNoise([draw]))
            vector.answer(Plan(1, {1: 1}, query), {1: 0}, {1: 0})
            other = SparseVector(query, (1,), Grid(0.0, 1.0, 3), ScriptedNoise([draw]))
            assert vector._threshold_noise is not None
            for law, value in zip(laws, (vector._threshold_noise, -int(other._test_noise(1)[0])), strict=True):
                law[value] = law.get(value, Fraction(0)) + Fraction(probability(draw, scale))
        for law in laws:
            expected = _parts(law.get(value, Fraction(0)) for value in values)
            folded = f"flat_map (fun z => both (folded_by_decay {_q(decay)} z)) {_list(values)}"
            yield Comparison("folded noise", folded, expected, _nearly)


def _ends_of_vectors() -> Iterator[Comparison]:
    """Compare what a sparse vector costs, and how many totals it releases where it halts."""
    for measure, others in ((Measure.ONE_SIDED, ()), (Measure.DISTANCE, ()), (Measure.SPREAD, (2, 3))):
        arms = (1, *others)
        for epsilon, release in ((0.7, 0.3), (0.5, 0.1), (1.0, None), (1 / 3, None)):
            query = ThresholdQuery((1,), (-(2**60),), epsilon, release, measure)  # it halts at once
            curator = Curator(
                Grid(0.0, 1.0), Privacy(1.0, Unit.REWARD, ""), SimulatedNoise(1), taken=dict.fromkeys(arms, 0)
            )
            _, *totals = curator.release(Plan(1, dict.fromkeys(arms, 1), query), dict.fromkeys(arms, 0))
            scale = "None" if release is None else "(Some 1%R)"
            told = f"of_nat (length (told nat 1%nat {_list(f'{arm}%nat' for arm in others)} {scale}))"
            yield Comparison("totals at the halt", f"[{told}]", [len(totals)])
            price = f"both (Qred (vector_price {_q(epsilon)} {'None' if release is None else f'(Some {_q(release)})'}))"
            yield Comparison("price of a sparse vector", price, _parts([sum(map(Fraction, query.prices))]))


def _sparse_vectors(rng: random.Random) -> Iterator[Comparison]:
    """Compare the scales of tests, and what they measure."""
    for bits, share_of_totals in ((0, 0.1), (10, 1 / 3), (20, 0.5)):
        plan = Plan(1, {1: 1}, ThresholdQuery((1,), (-(2**60),), 0.5, share_of_totals))  # it halts at once
        *_, total = _curator(bits).release(plan, {1: 0})
        wanted = f"{_q(2**bits)} {_q(share_of_totals)}"
        yield Comparison("scales at the halt", _is_least(total.scale, wanted), [1, 0])
    names = {Measure.DISTANCE: "Distance", Measure.SPREAD: "Spread", Measure.ONE_SIDED: "OneSided", Measure.LAG: "Lag"}
    for measure, name in names.items():
        for grid in (Grid(0.0, 1.0, 3), Grid(-1.0, 1.0, 3)):
            arms = (1, 2, 3) if measure in OF_ARMS else (1,)
            for release in (None, 0.3):
                query = ThresholdQuery((1,), (0,), 0.7, release, measure)
                vector = SparseVector(query, arms, grid, SimulatedNoise(1))
                wanted = f"{_q(grid.width)} {_q(0.7)}"
                factor = f"is_enough ({_q(vector.scale)} / inject_Z (factor {name})) {wanted}"
                less = f"is_enough ({_q(math.nextafter(vector.scale, 0))} / inject_Z (factor {name})) {wanted}"
                yield Comparison("scales of tests", f"[bit ({factor}); bit ({less})]", [1, 0])
            for _ in range(10):
                count = rng.randint(1, 5)
                rewards = {arm: [rng.randint(0, grid.width) for _ in range(count)] for arm in arms}
                vector._sums, vector._count = {arm: sum(rewards[arm]) for arm in arms}, count
                flat = [reward for arm in arms for reward in rewards[arm]]
                of_arm = f"fun a => seq (1 + (a - 1) * {count}) {count}"
                test = f"{{| new := ({of_arm})%nat; limit := 0 |}}"
                others = _list(f"{arm}%nat" for arm in arms[1:])
                measured = f"measured nat nat ({grid.floor}) {name} 1%nat {others} (item {_list(flat)}) [{test}]"
                yield Comparison("measures of tests", f"[{measured}]", [vector._measured(measure)])
