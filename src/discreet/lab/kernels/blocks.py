"""The blocks of the lazy policies, compiled: 1, 2, 4, ... rewards of an arm, each released once and alone."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import binomial, laplace


@compiled
def fill(state, chances, means, sizes, missing, epsilon, arm, count):
    """Put rewards into an arm's block, and return whether it is full, and then released.

    A block's rewards decide nothing before it is full, so they are one binomial then. Noise is a continuous Laplace:
    the objects' lies on a grid a millionth of a reward wide, which is nothing beside it.

    Args:
        state: The generator's state, which is advanced.
        chances: The arms' means.
        means: The released mean of each arm's last whole block, which is updated.
        sizes: The size of each arm's last whole block, which is updated.
        missing: The rewards that each arm's open block still needs.
        epsilon: The policy's epsilon.
        arm: The arm's index.
        count: The number of rewards.
    """
    missing[arm] -= count
    if missing[arm]:
        return False
    size = max(1, 2 * sizes[arm])
    means[arm] = (binomial(state, size, chances[arm]) + laplace(state, 1 / epsilon)) / size
    sizes[arm], missing[arm] = size, 2 * size
    return True
