"""A shop finds its best banner, and nobody learns who clicked: an hour of shoppers in about a minute.

    make shop                                # or: python examples/shop.py --seconds 30 --no-browser

It starts a discreet service of its own, describes an experiment, and sends simulated shoppers through it over HTTP, as
the page of a shop would. On the screen is only what anybody may see: what was planned, and what was released.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from discreet import Client
from discreet.client import Experiment
from discreet.service.messages import ExperimentView, Ledger

CLICKS = {"summer": 0.10, "free shipping": 0.16, "ten percent off": 0.24, "two for one": 0.33}  # how people are
HOUR = 3600
RETURNING = 0.1  # of all visits, by somebody who was here before
AT_ONCE = 4  # visits that are served at the same time
console = Console(highlight=False)


# ---------------------------------------------------------------------- the service


@dataclass(frozen=True)
class Service:
    """A running service.

    Args:
        address: Its address.
        key: A key that may do everything.
    """

    address: str
    key: str


@contextlib.contextmanager
def service(folder: str) -> Iterator[Service]:
    """Run `discreet serve` in another process, on a new database in the folder."""
    command = [sys.executable, "-m", "discreet", "serve", "--database", str(Path(folder) / "shop.db"), "--port", "0"]
    unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*command, "--tick", "0.2"], stdout=subprocess.PIPE, text=True, env=unbuffered) as process:
        try:
            yield read_greeting(process)
        finally:
            process.terminate()


def read_greeting(process: subprocess.Popen[str]) -> Service:
    """Return the address and the key, which a service prints when it starts."""
    address = ""
    for line in process.stdout or ():
        if found := re.search(r" at (http://\S+)", line):
            address = found[1]
        if found := re.search(r"admin key: (\S+)", line):
            return Service(address, found[1])
    raise SystemExit("the service did not start: try `discreet serve` by itself")


# ---------------------------------------------------------------------- the shop


@dataclass
class Shop:
    """Shoppers who come one after the other, and the page that serves them.

    Args:
        banners: The experiment.
        visitors: The number of visits.
        seconds: The time that the simulated hour takes.
        rng: The generator of the shoppers and their moods.
        came: The number of visits so far.
        settled: True when one banner is left.
    """

    banners: Experiment
    visitors: int
    seconds: float
    rng: random.Random
    came: int = 0
    settled: bool = False

    def serve(self, name: str, mood: float) -> None:
        """Serve one visit. Everybody is reported, also who did not click: see `Experiment.trial`.

        Args:
            name: The shopper.
            mood: They click if it is below the banner's rate.
        """
        with self.banners.trial(name) as trial:
            if mood < CLICKS[str(trial.arm)]:
                trial.reward = 1

    def open(self) -> Iterator[None]:
        """Let shoppers in, evenly over the time, until all were here or the experiment is settled."""
        start = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pages:
            while self.came < self.visitors and not self.settled:
                due = min(self.visitors, int(self.visitors * (time.monotonic() - start) / self.seconds) + 1)
                visits = [self.next_visit() for _ in range(min(due - self.came, 50))]
                list(pages.map(lambda visit: self.serve(*visit), visits))
                yield
                time.sleep(0.01)

    def next_visit(self) -> tuple[str, float]:
        """Return the next shopper, and their mood."""
        self.came += 1
        number = self.rng.randrange(self.came) if self.rng.random() < RETURNING else self.came
        return f"shopper-{number}", self.rng.random()

    @property
    def clock(self) -> str:
        """The time of the simulated hour."""
        minutes, seconds = divmod(int(HOUR * self.came / self.visitors), 60)
        return f"{minutes:02}:{seconds:02}"


def run(client: Client, visitors: int, seconds: float, seed: int) -> Shop:
    """Describe the experiment, start it, open the shop, and return it when it is closed.

    Args:
        client: A client of the service.
        visitors: The number of visits.
        seconds: The time that the simulated hour takes.
        seed: The seed of the simulated shoppers.
    """
    plan = client.planner(arms=len(CLICKS), epsilon=1, gap=0.15)
    console.print(f"[bold]The plan[/]: {plan.words}.\n")
    client.create(
        "banners",
        epsilon=1,
        arms=list(CLICKS),
        window=min(60.0, max(0.5, seconds / 60)),
        description="Which banner is clicked most? A reward is 1 if somebody clicked.",
    )
    banners = client.experiment("banners", fallback="summer", default_reward=0.0)
    view = banners.start()
    shop = Shop(banners, visitors, seconds, random.Random(seed))
    looked = time.monotonic()
    with Live(picture(view, shop), console=console, refresh_per_second=8) as screen:
        for _ in shop.open():
            if time.monotonic() - looked > 0.4:
                looked, view = time.monotonic(), banners.view()
                shop.settled = view.settled
                screen.update(picture(view, shop))
        screen.update(picture(banners.view(), shop))
    return shop


# ---------------------------------------------------------------------- what everybody may see


def picture(view: ExperimentView, shop: Shop) -> Group:
    """Return the experiment as a picture. Nothing in it depends on a click that was not released.

    Args:
        view: The experiment as the service shows it.
        shop: The shop.
    """
    epoch = view.epoch
    where = (
        f"epoch {epoch.number}: {epoch.dealt:,} of {epoch.quota:,} shoppers" if epoch else "nothing left to find out"
    )
    cost = f"epsilon spent: {float(view.spent):.2f} of {view.privacy.epsilon}"
    table = Table(box=None, pad_edge=False)
    for heading in ("banner", "noisy rate", "", "shoppers", ""):
        table.add_column(heading, justify="left" if heading in ("banner", "") else "right", no_wrap=True)
    for arm in view.arms:
        rate = "" if arm.mean is None else f"{arm.mean:.3f} ± {arm.radius or 0:.3f}"
        bar = "" if arm.mean is None else "█" * round(30 * min(max(arm.mean, 0), 1))
        said = "best" if arm.name == view.best else "" if arm.viable else f"out: epoch {arm.eliminated_in}"
        style = "bold green" if arm.name == view.best else "" if arm.viable else "dim"
        table.add_row(str(arm.name), rate, bar, f"{arm.assigned:,}", said, style=style)
    return Group(Text(f"{shop.clock}   {shop.came:,} visits   {where}   {cost}"), Text(), table)


def conclude(view: ExperimentView, ledger: Ledger, shop: Shop) -> None:
    """Print the winner and the ledger.

    Args:
        view: The experiment as the service shows it.
        ledger: The ledger of its population.
        shop: The shop.
    """
    console.print()
    if view.best is None:
        console.print(f"[bold]No winner yet[/] after {shop.came:,} visits: give it more (--visitors).")
    else:
        console.print(f"[bold]The winner is {view.best!r}[/], found {shop.clock} minutes into the hour.")
        truth = max(CLICKS, key=lambda arm: CLICKS[arm])
        right = "is" if truth == view.best else "is not"
        console.print(
            f"(The shoppers are simulated, so we know the truth: {truth!r}. It {right} the same.)", style="dim"
        )
    console.print(f"\n[bold]What it cost[/]: {view.privacy.reason}")
    console.print(f"Protected: {view.privacy.neighbours}", style="dim")
    table = Table(title="The ledger", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in ("line", "kind", "epoch", "epsilon", "digest"):
        table.add_column(heading, justify="right" if heading in ("line", "epoch", "epsilon") else "left")
    for entry in ledger.entries:
        epoch = "" if entry.epoch is None else str(entry.epoch)
        table.add_row(str(entry.number), entry.kind, epoch, f"{float(entry.epsilon):.4g}", entry.digest[:12])
    console.print()
    console.print(table)
    left = ledger.population
    console.print(
        f"{left.left} of {left.budget} is left for other experiments; chain intact: {ledger.intact}", style="dim"
    )


# ---------------------------------------------------------------------- the program


def main() -> None:
    """Run the shop, say who won, and leave the dashboard open until somebody ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the hour takes (60)")
    parser.add_argument("--visitors", type=int, default=16_000, help="shoppers in the hour (16000)")
    parser.add_argument("--seed", type=int, default=7, help="of the simulated shoppers; the noise has none (7)")
    parser.add_argument("--no-browser", action="store_true", help="end when the hour is over")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, service(folder) as live:
        with Client(live.address, live.key, patience=30.0, delay=0.1) as client:
            shop = run(client, given.visitors, given.seconds, given.seed)
            view = shop.banners.view()
            shop.banners.stop()  # what was set aside and not spent goes back to the shoppers
            conclude(view, client.ledger(verify=True), shop)
        if not given.no_browser:
            page = f"{live.address}/experiments/{view.id}"
            console.print(f"\nThe dashboard is at {page}\nSign in with {live.key}\nCtrl-C ends it all.", soft_wrap=True)
            webbrowser.open(page)
            with contextlib.suppress(KeyboardInterrupt):
                time.sleep(HOUR)


if __name__ == "__main__":
    main()
