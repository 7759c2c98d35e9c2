"""NAS on doubling times: the first power of two at which its test holds, and what doubling costs."""

import math

import numpy as np
import pytest

from discreet import NAS, DPExponentialNAS, ExponentialNAS

OPTIONS = {"alpha": 0.2, "beta": 0.05, "low": 0.0, "high": 1.0}


@pytest.mark.parametrize("mean", [0.9, 0.4, 0.1])
def test_it_halts_at_the_first_power_of_two_at_which_the_mean_is_known(mean):
    samples = (np.random.default_rng(1).random(200_000) < mean).astype(float)
    result = ExponentialNAS(**OPTIONS).run(samples)
    power = 1
    while True:
        found = samples[: 2**power].mean()
        radius = 0.5 * math.sqrt(2 / 2**power * math.log(4 * power**2 / OPTIONS["beta"]))
        if found >= radius * (1 + 1 / OPTIONS["alpha"]):
            break
        power += 1
    assert result.samples == 2**power
    assert result.estimate == pytest.approx(found)


def test_doubling_takes_at_most_twice_the_samples_and_privacy_more():
    samples = (np.random.default_rng(2).random(10**6) < 0.3).astype(float)
    every, doubling = (kind(**OPTIONS).run(samples).samples for kind in (NAS, ExponentialNAS))
    private = DPExponentialNAS(epsilon=0.1, **OPTIONS).run(samples).samples
    assert doubling <= 2 * every
    assert doubling < private
