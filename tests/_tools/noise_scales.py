"""The noise scales that the proofs ask for, and those that algorithms really ask for."""

import math
from unittest.mock import patch

import numpy as np
from scipy import optimize

import discreet
from tests._tools import examples

EPSILON = 0.5


class Asked:
    """Noise of zeros that remembers every scale it was asked for."""

    simulated = True

    def __init__(self):
        self.scales = set()

    def draws(self, scale, count):
        self.scales.add(scale)
        return np.zeros(count, dtype=np.int64)


def scales_of(name):
    """Return the scales that an algorithm asks for in a short life, in full rewards over epsilon."""
    noise = Asked()
    if name in discreet.RULES:
        with patch("discreet.stopping.dp_mean.look_pays", return_value=True):  # also at this epsilon
            made = examples.rule(name, epsilon=EPSILON)
        discreet.Stream(made, noise).feed(np.ones(1000))
        width, paid = made.grid.width, ()
    else:
        row = {"preset": name} if name == "mishra-thakurta-2015" else {}
        made = examples.policy("dp-ucb" if row else name, epsilon=EPSILON, **row)
        width = made.grid.width
        paid = ({"A": width, "B": width}, {"A": width, "B": 0})  # equal arms for many epochs, others for a decision
    for rewards in paid:
        driver = discreet.Totals(made, noise)
        for _ in range(12):
            if plan := driver.plan():
                driver.close_steps({arm: count * rewards[arm] for arm, count in plan.pulls.items()})
    return {round(scale * EPSILON / width, 5) for scale in noise.scales}


def one_sided_scales(alpha, beta):
    """1/x and 1/(1 - x) for the share x of epsilon that makes ln(8/beta)/x + ln(4/beta)/(alpha (1 - x)) least."""
    tests, release = math.log(8 / beta), math.log(4 / beta) / alpha
    share = optimize.minimize_scalar(lambda x: tests / x + release / (1 - x), bounds=(0.01, 0.99), method="bounded",
                                     options={"xatol": 1e-12}).x  # fmt: skip
    return {round(1 / share, 5), round(1 / (1 - share), 5)}


SCALES = {
    "dp-nas": {6, 2},  # 3 d/(epsilon/2) for the tests, d/(epsilon/2) for the release
    "dp-exp-nas": {6, 2},
    "dp-nas-released": {1},
    "dp-bernstein": {round(1 / 0.9, 5), 10},  # the total at nine tenths of epsilon, the squares at one
    "dp-inverse": {1},  # d/epsilon for the level and the tests; nothing else is released
    "dp-mean": {2, 1},  # half of epsilon for each part of a look; then those of the rule that is chosen
    "dp-nas-one-sided": one_sided_scales(alpha=0.5, beta=0.1),
    "dp-se-svt": {6, 2},
    "dp-se-modified": {6, 2},
    "dp-se-difference": {6, 2},
    "dp-se-pairs": {6, 2},  # two arms are one pair
    "dp-se-one-vector": {6, 2},  # which halts once
    "dp-se-arms": {round(6 / 0.9, 5), 20},  # two vectors: 3 d/(0.9 epsilon/2), d/(0.1 epsilon/2)
    "dp-se": {1},
    "dp-bai": {1},
    "dp-se-sharp": {1},
    "dp-bai-sharp": {1},
    "dp-ab": {1},
    "dp-ab-open": {1},
    "dp-test": {1},
    "dp-bai-evidence": {1},
    "dp-bai-budget": {1},
    "dp-se-person": {2, 4, 8, 16},  # a half of epsilon, a quarter, and so on: four epochs fit into the horizon
    "dp-se-sharp-person": {round(3 * 1.5**epoch, 5) for epoch in range(5)},
    "adap-ucb": {1},
    "adap-klucb": {1},
    "dp-klucb": {1},
    "dp-imed": {1},
    "dp-chernoff-imed": {1},
    "dp-paired-imed": {1},
    "lazy-ucb": {1},
    "lazy-dp-ts": {1},
    "guess-and-double": {1},
    "dp-ucb": {11},  # floor(log2 2000) + 1 levels
    "mishra-thakurta-2015": {22},  # and two arms
    "dp-ucb-hybrid": {2, 4},  # blocks at epsilon/2; trees of one and of two levels at epsilon/2
}
