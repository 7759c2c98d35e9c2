"""`python -m discreet.lab.kernels`: compile the kernels now, so that no simulation waits for it later."""

import numpy as np

from discreet.lab import StoppingSetting
from discreet.lab.kernels import dp_ucb, imed, kl_ucb, thompson_sampling, ucb
from discreet.lab.kernels.randomness import fresh_state
from discreet.lab.stopping import run_rule

if __name__ == "__main__":
    job = np.array([0.6, 0.4]), 1000, fresh_state(0), np.array([1000])
    for kernel in (ucb, imed, thompson_sampling):
        kernel.skip_ahead(*job)
    kl_ucb.skip_ahead(*job, 0.0)
    dp_ucb.skip_ahead(*job, 1.0, 1.0, 0.0)
    for rule, epsilon in (("nas", None), ("dp-nas", 1.0), ("dp-nas-one-sided", 1.0), ("ebstop", None)):
        run_rule(StoppingSetting.of(rule, 0.5, runs=1, alpha=0.5, beta=0.1, epsilon=epsilon))
