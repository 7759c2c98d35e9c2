"""The inputs of the golden files: scripted noise, rewards and streams. Pure numpy; no `discreet` needed.

Copy this file (or what a test needs of it) next to the tests of the new code. Everything is integer arithmetic, so the
inputs are the same on every machine and for every version of numpy.
"""

import numpy as np

_MASK = 2**64 - 1


def mix(*parts):
    """A 64-bit hash of whole numbers: splitmix64, chained."""
    state = 0
    for part in parts:
        state = (state + part + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state


def mix_range(start, stop, *parts):
    """`[mix(*parts, n) for n in range(start, stop)]` as an array, fast."""
    with np.errstate(over="ignore"):
        state = np.arange(start, stop, dtype=np.uint64) + np.uint64((mix(*parts) + 0x9E3779B97F4A7C15) & _MASK)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


# ---------------------------------------------------------------------- noise


def noise_value(script, scale, index):
    """Draw number `index` (0, 1, ...) of all draws of this scale; `script` is the JSON value of a run."""
    kind, *seed = script
    whole = round(scale)
    if kind == "zero":
        return 0
    if kind == "constant":
        return whole * 7 // 10
    factor = mix(*seed, whole, index) % 4001 - 2000  # "varied": up to 4 scales, most often less than 1
    return whole * factor * abs(factor) // 10**6


class NoiseByScale:
    """One sequence for each scale, counted as draws are made: for code that draws at the release."""

    simulated = True

    def __init__(self, script):
        self.script = script
        self.used = {}

    def draws(self, scale, count):
        key = round(scale)
        start = self.used.get(key, 0)
        self.used[key] = start + count
        values = [noise_value(self.script, scale, index) for index in range(start, start + count)]
        return np.array(values, dtype=np.int64)


# ---------------------------------------------------------------------- rewards of policies


class Rewards:
    """What arms pay, in grid steps above the floor. `spec` is the JSON value "rewards" of a run."""

    def __init__(self, spec, width):
        self.spec, self.width = spec, width
        self.prefixes = {}

    def total(self, arm, before, count):
        """The total of rewards number before + 1 to before + count of the arm with this index."""
        if self.spec["kind"] == "flat":
            return round(count * self.spec["means"][arm] * self.width)
        heads = self.heads(arm, before + count)
        return int(heads[before + count] - heads[before]) * self.width

    def heads(self, arm, most):
        """How many of an arm's first n coins came up, for each n."""
        known = self.prefixes.get(arm)
        if known is None or known.size <= most:
            size = max(1024, 2 * most)
            coins = mix_range(1, size + 1, self.spec["seed"], arm) % np.uint64(1000) < self.spec["permille"][arm]
            known = self.prefixes[arm] = np.concatenate([[0], np.cumsum(coins)])
        return known


# ---------------------------------------------------------------------- streams of rules


def stream(spec):
    """The samples that a rule is fed, as float64. `spec` is the JSON value "stream" of a run."""
    values, length = np.array(spec["values"], dtype=np.float64), spec["length"]
    if spec["kind"] == "cycle":
        return values[np.arange(length) % values.size]
    hashes = mix_range(1, length + 1, spec["seed"])
    if spec["kind"] == "coins":  # the first value so many times in a thousand, else the second
        return np.where(hashes % np.uint64(1000) < spec["permille"], values[0], values[1])
    return values[(hashes % np.uint64(values.size)).astype(np.int64)]  # "dice": each value as often
