"""Regret against the number of arms: the roads that the paper describes and does not take, DP-SE and DP-UCB.

Section 4 of Sajed and Sheffet (2019) argues in words that sparse vectors for pairs of arms, for each arm, or one that
halts K - 1 times make regret grow like K^2, and that epochs make it grow like K. Here it is measured.

The instance has one good arm, and all others lie one gap behind it. Then every suboptimal arm costs the same, the
regret is K - 1 times that of one arm, and the question is whether that one depends on K. Epsilon is small enough for
the noises of sparse vectors to weigh more than sampling already with two arms, so that what is seen is the term in
epsilon: K^2/epsilon has no gap in it, K/gap has. Decisions at doubling times, and DP-SE's gaps of 2^-e, make regret a
staircase in the gap. So each mean is one over gaps that are evenly spread, in logarithms, over a factor of two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from discreet._pictures import Colour, Line, Panel, Picture
from discreet.bandits.dp_ucb import PRESETS
from discreet.lab.arms import Bernoulli
from discreet.lab.instances import Instance
from discreet.lab.results import Simulation
from discreet.lab.setting import SEED, Setting
from discreet.lab.simulate import simulate_all
from discreet.reproduction._findings import Findings, setting_of

BEST, WIDEST = 0.9, 0.8
"""The mean of the good arm, and the largest gap."""
LEVEL = 0.95
"""The level of intervals."""
RESAMPLED = 2000
Floats = NDArray[np.float64]


class Road(NamedTuple):
    """A policy whose regret is measured against K.

    Attributes:
        policy: The policy's key.
        name: Its name in figures and sentences.
        law: The powers of K and of K - 1 in its regret: K - 1 arms cost regret, and noises grow with the number of
            vectors (or trees) that share epsilon.
        preset: The form of DP-UCB; None for others.
        colour: Its colour in figures.
        style: Its line style in figures.
        marker: Its marker in figures.
    """

    policy: str
    name: str
    law: tuple[int, int]
    preset: str | None = None
    colour: str = Colour.BLACK
    style: str = "-"
    marker: str = "o"

    @property
    def power(self) -> int:
        """The power of K that its regret is expected to grow with, for many arms."""
        return sum(self.law)

    def law_at(self, arms: Floats) -> Floats:
        """Return its law at these numbers of arms."""
        result: Floats = arms ** self.law[0] * (arms - 1) ** self.law[1]
        return result


ROADS = (
    Road("dp-se-pairs", "a sparse vector for each pair", (0, 2), None, Colour.PINK, "--", "s"),
    Road("dp-se-arms", "a sparse vector for each arm", (1, 1), None, Colour.GREEN, "--", "^"),
    Road("dp-se-one-vector", "one that halts K - 1 times", (0, 2), None, Colour.SKY, "--", "v"),
    Road("dp-ucb", "DP-UCB as published", (1, 1), PRESETS[1], Colour.AMBER, ":", "P"),
    Road("dp-ucb", "DP-UCB without its factor K", (0, 1), PRESETS[0], Colour.ORANGE, ":", "X"),
    Road("dp-se-svt", "DP-SE's forerunner", (0, 1), None, Colour.BLACK, "-", "D"),
    Road("dp-se", "DP-SE", (0, 1), None, Colour.BLUE, "-", "o"),
)
"""The three roads first, then what they are compared with."""
START = Road("dp-se-difference", "the difference of two arms", (0, 0), None, Colour.GREY, "", "*")
"""The paper's starting point, which is for two arms."""


class Exponent(NamedTuple):
    """A fitted power of K, with an interval of level `LEVEL`."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, slots=True)
class RoadsStudy:
    """The settings to simulate.

    Args:
        arms: Numbers of arms K.
        gaps: The number of gaps within a factor of two.
        runs: Runs of each setting.
        ucb_runs: Runs of each setting of DP-UCB, whose regret hardly varies.
        horizon: Pulls of a run: enough for the slowest road to drop all arms.
        epsilon: The privacy parameter.
        seed: Seed of all runs.
    """

    arms: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    gaps: int = 4
    runs: int = 8
    ucb_runs: int = 2
    horizon: int = 10**9
    epsilon: float = 0.25
    seed: int = SEED

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Return a small study: up to sixteen arms, two gaps, few runs."""
        small: dict[str, Any] = {"arms": (2, 4, 8, 16), "gaps": 2, "runs": 3, "ucb_runs": 1}
        return cls(**{**small, **changes})

    @property
    def roads(self) -> tuple[Road, ...]:
        """All policies that are measured."""
        return (*ROADS, START)

    def arms_of(self, road: Road) -> tuple[int, ...]:
        """Return the numbers of arms of a road."""
        return self.arms if road != START else (2,)

    def gap(self, number: int) -> float:
        """Return gap number 0, 1, ..., from the largest on."""
        return float(WIDEST * 2.0 ** (-number / self.gaps))

    def setting(self, road: Road, arms: int, number: int) -> Setting:
        """Return the setting of a road.

        Args:
            road: The road.
            arms: The number of arms.
            number: The number of the gap.
        """
        gap = self.gap(number)
        rewards = (Bernoulli(BEST), *[Bernoulli(BEST - gap)] * (arms - 1))
        more: dict[str, Any] = {} if road.preset is None else {"preset": road.preset}
        return setting_of(
            road.policy, Instance(f"one gap of {gap:.3f}", rewards), epsilon=self.epsilon, horizon=self.horizon,
            runs=self.runs if road.preset is None else self.ucb_runs, seed=self.seed, checkpoints=(self.horizon,),
            **more,
        )  # fmt: skip

    def settings(self) -> list[Setting]:
        """Return all settings, the slowest first so that no worker waits for another at the end."""
        return [
            self.setting(road, arms, number)
            for arms in sorted(self.arms, reverse=True)
            for road in self.roads
            for number in range(self.gaps)
            if arms in self.arms_of(road)
        ]

    def run(self, **how: Any) -> "RoadsFindings":
        """Simulate everything that the store does not have yet.

        Args:
            **how: `engine`, `store` and `on_progress` of `simulate_all`.
        """
        return RoadsFindings(self, simulate_all(self.settings(), **how))


class RoadsFindings(Findings[RoadsStudy]):
    """The results of the study, looked up by road and number of arms."""

    def of(self, road: Road, arms: int) -> list[Simulation]:
        """Return the results of a road, a simulation for each gap.

        Args:
            road: The road.
            arms: The number of arms.
        """
        return [self[self.study.setting(road, arms, number)] for number in range(self.study.gaps)]

    def regret(self, road: Road) -> Floats:
        """Return the mean regret by number of arms: over runs, then over gaps."""
        return np.array([np.mean([one.mean for one in self.of(road, arms)]) for arms in self.study.arms_of(road)])

    def exponent(self, road: Road) -> Exponent:
        """Return the power of K that fits the mean regret, by least squares in logarithms.

        The interval is by bootstrap: gaps are drawn again (the same ones for all K), and for each the runs.

        Args:
            road: The road.
        """
        arms = np.array(self.study.arms, dtype=float)
        every = np.array([[one.final for one in self.of(road, count)] for count in self.study.arms])  # K, gap, run
        sizes, gaps, runs = every.shape
        rng = np.random.default_rng([self.study.seed, ROADS.index(road)])
        chosen = rng.integers(gaps, size=(RESAMPLED, 1, gaps, 1))
        again = rng.integers(runs, size=(RESAMPLED, sizes, gaps, runs))
        means = every[np.arange(sizes)[None, :, None, None], chosen, again].mean(axis=(2, 3))
        value = float(slopes(arms, every.mean(axis=(1, 2))[None])[0])
        low, high = np.quantile(slopes(arms, means), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Exponent(value, float(low), float(high))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each road: the power of K that fits its regret, the one that fits its law, and its regrets."""
        arms, table = np.array(self.study.arms, dtype=float), []
        for road in ROADS:
            power, low, high = self.exponent(road)
            regrets = dict(zip(self.study.arms, self.regret(road).tolist(), strict=True))
            row = {"road": road.name, "policy": road.policy, "preset": road.preset or "", "expected": road.power}
            row |= {"power": power, "power_low": low, "power_high": high}
            row["law"] = float(slopes(arms, road.law_at(arms)[None])[0])
            table.append({**row, **{f"regret_{count}": regret for count, regret in regrets.items()}})
        return table

    @property
    def failed(self) -> int:
        """The number of runs that ended with a worse arm pulled most."""
        return sum(int(one.failed.sum()) for one in self.results)


def slopes(arms: Floats, regrets: Floats) -> Floats:
    """Return the least-squares slope of log regret against log K, for each row of regrets.

    Args:
        arms: The numbers of arms.
        regrets: A row of regrets for each slope.

    >>> slopes(np.array([2.0, 4.0, 8.0]), np.array([[1.0, 4.0, 16.0], [3.0, 6.0, 12.0]])).round(9).tolist()
    [2.0, 1.0]
    """
    x = np.log(arms) - np.log(arms).mean()
    result: Floats = np.log(regrets) @ x / (x @ x)
    return result


def roads_headlines(found: RoadsFindings) -> list[str]:
    """Return the findings in sentences, all computed."""
    rows, study = found.rows, found.study

    def listed(power: int) -> str:
        chosen = [row for row in rows if row["expected"] == power]
        return ", ".join(
            f"{row['road']} {Exponent(row['power'], row['power_low'], row['power_high'])}" for row in chosen
        )

    laws = {ROADS[place].law: row["law"] for place, row in enumerate(rows)}
    times = [float(found.regret(road)[-1] / found.regret(ROADS[-1])[-1]) for road in ROADS[:3]]
    return [
        f"From {study.arms[0]} to {study.arms[-1]} arms of one gap at epsilon = {study.epsilon:g}, regret fits these "
        f"powers of K, with {100 * LEVEL:g} % intervals. Where K^2 is expected: {listed(2)}. Where K is: {listed(1)}.",
        f"Over the same K, (K - 1)^2 itself fits {laws[0, 2]:.2f} (pairs, one vector), K (K - 1) fits {laws[1, 1]:.2f} "
        f"(each arm, DP-UCB as published), and K - 1 fits {laws[0, 1]:.2f} (the others).",
        f"With {study.arms[-1]} arms the roads that the paper does not take have {times[0]:.0f} (pairs), "
        f"{times[1]:.0f} (each arm) and {times[2]:.0f} times (one vector) DP-SE's regret.",
    ]


def roads_picture(found: RoadsFindings) -> Picture:
    """Return regret against K as a picture, with K - 1 and (K - 1)^2 to compare."""
    study, lines = found.study, []
    several = np.array(study.arms, dtype=float)
    for road in ROADS:
        label = f"{road.name}: K^{found.exponent(road).value:.2f}"
        lines.append(Line(label, study.arms, found.regret(road), road.colour, road.style, road.marker))
    start = found.regret(START)
    lines.append(Line(START.name, [2], start, START.colour, START.style, START.marker))
    lowest = float(found.regret(ROADS[-1])[0])
    for power, (label, style) in {2: ("(K - 1)^2", ":"), 1: ("K - 1", "-.")}.items():
        lines.append(Line(label, several, lowest / 20 * (several - 1) ** power, Colour.GREY, style, width=0.9))
    panel = Panel(
        f"one gap, ε = {study.epsilon:g}, T = {study.horizon:.0e}".replace("e+0", "e"), lines, x_label="arms K",
        y_label="final pseudo-regret", x_log=True, y_log=True, ticks=[(arms, str(arms)) for arms in study.arms],
    )  # fmt: skip
    title = "The roads not taken (Section 4): regret against the number of arms"
    return Picture("roads", title, [panel], columns=1, stretch=1.25)
