"""Other people's UCB1 on the job of our kernels: Bernoulli arms, index mean + sqrt(2 ln t / n).

PEERS maps a name to a function of the arms' means, the number of pulls and a seed, which gives the final
pseudo-regret, so that it is seen to be the same job. A peer is imported when it is called: a missing one raises
ModuleNotFoundError, and the first call is slower than the next.
"""

# ruff: noqa: PLC0415
import math
import random
from collections.abc import Callable, Sequence


def regret(means: Sequence[float], counts: Sequence[float]) -> float:
    return float(sum((max(means) - mean) * count for mean, count in zip(means, counts, strict=True)))


def plain_python(means: Sequence[float], pulls: int, seed: int) -> float:
    """What a careful user could write without any library: lists and math."""
    chances, uniform = [float(mean) for mean in means], random.Random(seed).random
    arms = len(chances)
    totals, counts, averages, roots = [0] * arms, [0] * arms, [0.0] * arms, [0.0] * arms
    for time in range(1, pulls + 1):
        if time <= arms:
            arm = time - 1
        else:
            width = math.sqrt(2 * math.log(time))
            indices = [average + width * root for average, root in zip(averages, roots, strict=True)]
            arm = indices.index(max(indices))
        totals[arm] += uniform() < chances[arm]
        counts[arm] += 1
        averages[arm], roots[arm] = totals[arm] / counts[arm], 1 / math.sqrt(counts[arm])
    return regret(chances, counts)


def river(means: Sequence[float], pulls: int, seed: int) -> float:
    """river 0.26: with delta = 1 the index is ours, but with ln(t - 1) for ln t."""
    from river import bandit

    chances, uniform = [float(mean) for mean in means], random.Random(seed).random
    policy, arms, counts = bandit.UCB(delta=1, seed=seed), list(range(len(chances))), [0] * len(chances)
    for _ in range(pulls):
        arm = policy.pull(arms)
        policy.update(arm, uniform() < chances[arm])
        counts[arm] += 1
    return regret(chances, counts)


def pymab_experiment(means: Sequence[float], pulls: int, seed: int) -> float:
    """pymab 2.0 as documented, in Rust. Its time goes into checking, in Python, every number of the result."""
    import pymab
    from pymab.policies import UCBPolicy

    environment = pymab.BanditEnvironment(means=means, reward_model=pymab.BernoulliReward())
    config = pymab.ExperimentConfig(horizon=pulls, n_replicates=1, seed=seed, backend="rust")
    policies = {"ucb": UCBPolicy(n_arms=len(means), c=2.0)}  # sqrt(c ln t / n)
    result = pymab.Experiment(environment=environment, policies=policies, config=config).run()
    return float(pulls * max(means) - result.expected_rewards.sum())


def pymab_loop(means: Sequence[float], pulls: int, seed: int) -> float:
    """pymab 2.0 one pull at a time: the policy in Rust, the loop in Python."""
    import numpy as np
    from pymab.policies import UCBPolicy

    chances, uniform = [float(mean) for mean in means], random.Random(seed).random
    policy, generator = UCBPolicy(n_arms=len(chances), c=2.0), np.random.default_rng(seed)
    for _ in range(pulls):
        arm = policy.select_action(rng=generator)
        policy.update(action=arm, reward=uniform() < chances[arm])
    return regret(chances, policy.counts)


def pymab(means: Sequence[float], pulls: int, seed: int) -> float:
    """The fastest pymab 2.0: the Rust call inside its Experiment, without the checks. It is private there.

    It keeps the means of all arms at every pull, 9 K + 32 bytes a pull, and cannot be told not to.
    """
    import pymab as package
    from pymab import _backend
    from pymab.policies import UCBPolicy

    output = _backend.run_native_experiment(
        environment=package.BanditEnvironment(means=means, reward_model=package.BernoulliReward()),
        policies={"ucb": UCBPolicy(n_arms=len(means), c=2.0)},
        horizon=pulls,
        n_replicates=1,
        seed=seed,
        reward_coupling="common",
        record_contexts=False,
    )
    return float(pulls * max(means) - output.expected_rewards.sum())


PEERS: dict[str, Callable[[Sequence[float], int, int], float]] = {
    "plain_python": plain_python,
    "river": river,
    "pymab": pymab,
    "pymab_experiment": pymab_experiment,
    "pymab_loop": pymab_loop,
}

PUBLIC = ("river", "pymab_experiment", "pymab_loop")
"""What those libraries offer their users; `pymab` is a private call inside one of them, and shown for fairness."""
