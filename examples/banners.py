"""Four banners, rewards that come up to a day late or never, and nobody who is not served.

python examples/banners.py            a few weeks of simulated visitors, in some seconds
python examples/banners.py --seed 3   other visitors

A visitor buys, or not. Two thirds report back, within a day; one third never does, which counts as "did not buy". The
window closes each epoch by the clock, so nobody has to call anything but `ask` and `tell`.
"""

import argparse
import heapq
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

import discreet

RATES = {"sea": 0.05, "sun": 0.08, "tea": 0.06, "red": 0.04}  # of visitors who buy
DAY = 86_400.0
A_DAY = 5_000  # visitors
SILENT = 1 / 3  # of visitors whose reward never comes


class Clock:
    """The time of the simulation, in seconds. A real program needs none: the system's is used."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@dataclass
class Outcome:
    """What has happened.

    Args:
        best: The arm that was found.
        visitors: How many were served until then.
        learned: How many of them it has learned from.
        bought: How many visitors bought.
        status: The last status.
    """

    best: object
    visitors: int
    learned: int
    bought: int
    status: discreet.Status


def make_bandit(clock: Clock, noise: discreet.SimulatedNoise | None = None, seed: int | None = None) -> discreet.Bandit:
    """Return the bandit: the recommended policy, and a window of a day. Noise and seed are for tests."""
    policy = discreet.recommend(list(RATES), epsilon=1.0, goal="best-arm", beta=0.05, delayed=True).make()
    return discreet.Bandit(policy, noise, default_reward=0.0, window=timedelta(hours=24), clock=clock, seed=seed)


def visit(bandit: discreet.Bandit, clock: Clock, rng: np.random.Generator, say: bool = False) -> Outcome:
    """Serve visitors until the best banner is known.

    Args:
        bandit: The bandit.
        clock: Its clock.
        rng: What decides who comes when, and who buys.
        say: True to print the status once a simulated day.
    """
    on_their_way: list[tuple[float, str, float]] = []  # when a reward arrives, its ticket, and the reward
    visitors = bought = 0
    while not bandit.finished:
        clock.now += rng.exponential(DAY / A_DAY)
        while on_their_way and on_their_way[0][0] <= clock.now:
            _, ticket_id, reward = heapq.heappop(on_their_way)
            bandit.tell(ticket_id, reward)
        ticket = bandit.ask()  # always a banner to show
        visitors += 1
        buys = bool(rng.random() < RATES[ticket.arm])
        bought += buys
        if rng.random() >= SILENT:
            heapq.heappush(on_their_way, (clock.now + rng.random() * DAY, ticket.id, float(buys)))
        if say and visitors % A_DAY == 0:
            print(f"day {clock.now / DAY:4.1f}: {bandit.status()}")
    status = bandit.status()
    return Outcome(bandit.best_arm, visitors, status.learned, bought, status)


def main() -> None:
    """Run it with real noise, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the visitors; the noise is private, and has none")
    seed = parser.parse_args().seed
    clock = Clock()
    found = visit(make_bandit(clock), clock, np.random.default_rng(seed), say=True)
    print(
        f"the best banner is {found.best!r}: {found.visitors:,} visitors in {clock.now / DAY:.1f} days, all of them "
        f"served; {found.learned:,} of them taught it something, and {found.bought:,} bought"
    )


if __name__ == "__main__":
    main()
