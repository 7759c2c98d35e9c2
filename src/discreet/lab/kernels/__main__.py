"""`python -m discreet.lab.kernels`: compile the kernels now, so that no simulation waits for it later."""

from typing import Any

from discreet.lab import StoppingSetting, simulate
from discreet.lab.fast import KERNELED
from discreet.lab.setting import accepts
from discreet.lab.stopping import run_rule

if __name__ == "__main__":
    for policy in KERNELED:
        options = {"epsilon": 1.0, "beta": 0.1}
        given: dict[str, Any] = {name: value for name, value in options.items() if accepts(policy.key, name)}
        simulate(policy.key, [0.6, 0.4], horizon=1000, runs=1, **given)
    for rule in ("nas", "ebstop", "dp-nas", "dp-nas-one-sided", "dp-bernstein"):
        epsilon = 1.0 if rule.startswith("dp-") else None
        run_rule(StoppingSetting.of(rule, 0.5, runs=1, alpha=0.5, beta=0.1, epsilon=epsilon))
