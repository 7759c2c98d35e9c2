"""The paper's algorithms, transcribed line by line, slow and plain: the oracles of the real ones.

They take the noise as given numbers (in units of the rewards) and work on floats, as printed.
"""

from math import log, sqrt


def algorithm_1(xs, epsilon, alpha, beta, radius, b, a, final, rounding):
    """DP-NAS with B = b, A_t = a[t - 1], L = final: (estimate, t), or None if the samples run out.

    rounding(t) is what the grid adds to the threshold of the sum, against halting; as printed it is 0.
    """
    sigma1 = sigma2 = 12 * radius / epsilon
    sigma3 = 4 * radius / epsilon
    t, total = 0, 0.0
    for x in xs:
        t += 1
        total += x
        mean = total / t
        h = radius * sqrt(2 / t * log(16 * t**2 / beta))
        c = sigma1 * log(4 / beta) + sigma2 * log(8 * t**2 / beta) + sigma3 / alpha * log(4 / beta)
        if abs(mean) >= h * (1 + 1 / alpha) + (c + b + a[t - 1] + rounding(t)) / t:
            return mean + final / t, t
    return None


def algorithm_2(xs, epsilon, alpha, beta, radius, b, a, final, rounding):
    """DP exponential NAS with B = b, A_(2^k) = a[k - 1], L = final."""
    sigma1 = sigma2 = 12 * radius / epsilon
    sigma3 = 4 * radius / epsilon
    k, t, total = 0, 0, 0.0
    stream = iter(xs)
    while True:
        k += 1
        while t < 2**k:
            x = next(stream, None)
            if x is None:
                return None
            t += 1
            total += x
        mean = total / t
        c = sigma1 * log(4 / beta) + sigma2 * log(8 * k**2 / beta) + sigma3 / alpha * log(4 / beta)
        h = radius * sqrt(2 / t * log(16 * k**2 / beta))
        if abs(mean) >= h * (1 + 1 / alpha) + (c + b + a[k - 1] + rounding(t)) / t:
            return mean + final / t, t


def algorithm_3(rewards, arms, horizon, epsilon, beta, noises):
    """DP-SE: rewards(arm) gives the next reward of an arm, noises(scale) the next Laplace noise. Returns pulls."""
    s = list(range(arms))
    t, epoch = 0, 0
    pulls = [0] * arms
    while len(s) > 1:
        epoch += 1
        r = 0
        mean = dict.fromkeys(s, 0.0)
        delta = 2.0**-epoch
        size = len(s)
        r_e = max(
            32 * log(8 * size * epoch**2 / beta) / delta**2,
            8 * log(4 * size * epoch**2 / beta) / (epsilon * delta),
        ) + 1  # fmt: skip
        while r < r_e:
            r += 1
            for i in s:
                if t == horizon:
                    return pulls
                t += 1
                pulls[i] += 1
                mean[i] += (rewards(i) - mean[i]) / r
        h = sqrt(log(8 * size * epoch**2 / beta) / (2 * r_e))
        c = log(4 * size * epoch**2 / beta) / (r_e * epsilon)
        private = {i: mean[i] + noises(1 / (epsilon * r)) for i in s}
        best = max(private.values())
        s = [j for j in s if not best - private[j] > 2 * h + 2 * c]
    pulls[s[0]] += horizon - t
    return pulls


def withdrawn(rewards, arms, horizon, epsilon, beta, noises, modified):
    """The sparse-vector DP-SE of the withdrawn text, and its modified form. Returns pulls."""
    s = list(range(arms))
    t = 0
    pulls = [0] * arms
    while len(s) > 1:
        r = level = 0
        total = dict.fromkeys(s, 0.0)
        b = noises(6 / epsilon)
        release = [noises(2 / epsilon) for _ in s]
        while True:
            level += 1
            while r < 2**level:
                r += 1
                for i in s:
                    if t == horizon:
                        return pulls
                    t += 1
                    pulls[i] += 1
                    total[i] += rewards(i)
            a = noises(6 / epsilon)
            h = sqrt(log(16 * arms * len(s) * level**2 / beta) / (2 * r))
            c = 6 * log(4 * arms / beta) / epsilon + 6 * log(8 * arms * level**2 / beta) / epsilon
            c += (4 if modified else 16) * log(4 * arms * len(s) / beta) / epsilon
            spread = (max(total.values()) - min(total.values())) / r
            if spread > (2 if modified else 10) * h + (a + b + c) / r:
                break
        private = {i: (total[i] + noise) / r for i, noise in zip(s, release, strict=True)}
        best = max(private.values())
        margin = 2 * h + 4 * log(4 * arms * len(s) / beta) / (epsilon * r)
        s = [j for j in s if not best - private[j] > margin]
    pulls[s[0]] += horizon - t
    return pulls


def vectors_of(kind, s, arms, phase):
    """The sparse vectors of a road, by name: the arms that each measures, and releases at its halt."""
    if kind == "pairs":
        return {(i, j): [i, j] for i in s for j in s if i < j}
    if kind == "arms":
        return {i: [i, *(j for j in range(arms) if j != i)] for i in s}
    return {phase: list(s)}


def road(kind, rewards, arms, horizon, epsilon, beta, noises):
    """Eliminations by sparse vectors that share rewards: of "pairs", of "arms", or "one" that goes on. Returns pulls.

    Written by their docstrings, one reward at a time. `noises(scale)` draws a Laplace variable.
    """
    s, pulls, totals = list(range(arms)), [0] * arms, [0.0] * arms
    most, share, n = (arms, 0.9, 1) if kind == "arms" else (arms - 1, 0.5, arms)
    scale, z = 3 * most / (share * epsilon), most / ((1 - share) * epsilon)
    y = z * log(8 * n / beta)
    thresholds, t, k, r, until, phase = {}, 0, 0, 0, 2, 0
    while len(s) > 1 and t + (until - r) * len(s) <= horizon:
        while r < until:
            r += 1
            for i in s:
                t += 1
                pulls[i] += 1
                totals[i] += rewards(i)
        k += 1
        x = sqrt(r * log(4 * arms * k**2 / beta))
        lead = {"pairs": max(x, 2 * y), "arms": x, "one": x + 2 * y}[kind]
        limit = lead + scale * (log(4 * n / beta) + log(8 * n * k**2 / beta))
        vectors = vectors_of(kind, s, arms, phase)
        thresholds |= {name: noises(scale) for name in vectors if name not in thresholds}
        halted = {}
        for name, members in vectors.items():
            own = [totals[i] for i in members]
            measure = max(own) - (own[0] if kind == "arms" else min(own))
            if measure >= limit + thresholds[name] + noises(scale):
                halted[name] = members
        for name, members in halted.items():
            noisy = {i: totals[i] + noises(z) for i in members}
            behind = name if kind == "arms" else min(noisy, key=noisy.get)
            if behind in s and len(s) > 1:
                s.remove(behind)
        phase += bool(halted)
        until = r + 1 if kind == "one" and halted else 2 * r
    for turn in range(horizon - t):  # an epoch that is cut short, or the last arm
        pulls[s[turn % len(s)]] += 1
    return pulls


def successive_elimination(rewards, arms, horizon, beta):
    """Successive Elimination, a round at a time, on rewards in [0, 1]: pulls, and by arm the round that dropped it."""
    s = list(range(arms))
    pulls = [0] * arms
    total = [0.0] * arms
    dropped = {}
    t, r = 0, 0
    while len(s) > 1:
        r += 1
        for i in s:
            if t == horizon:
                return pulls, dropped
            t += 1
            pulls[i] += 1
            total[i] += rewards(i)
        radius = sqrt(log(4 * arms * r**2 / beta) / (2 * r))
        best = max(total[i] / r for i in s)
        dropped |= {j: r for j in s if best - total[j] / r > 2 * radius}
        s = [j for j in s if j not in dropped]
    pulls[s[0]] += horizon - t
    return pulls, dropped
