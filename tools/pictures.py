"""Make the pictures of the README and the docs' first pages anew: `make pictures`.

Regret against pulls on the paper's instance C2, by the lab; what a noisy total says of two neighbouring worlds; and the
dashboard, of a service that runs on this machine for a minute with the shop of `examples/`.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import discreet
from discreet import Client
from discreet._pictures import Colour, Line, Panel, Picture, draw
from discreet.lab.figures import curve
from discreet.theory import regret_lower_bound

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
NAMES = {
    "dp-ucb": ("DP-UCB, on trees", Colour.ORANGE),
    "dp-se": ("DP-SE, of the paper", Colour.BLUE),
    "dp-chernoff-imed": ("dp-chernoff-imed, recommended", Colour.GREEN),
}
INSTANCE, EPSILON, HORIZON, RUNS = "C2", 0.5, 5e7, 50
WIDTH, HEIGHT = 1180, 900
BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


def regret() -> Path:
    """Draw regret against pulls, with the lower bound, and return the file."""
    simulations = [
        discreet.lab.simulate(policy, INSTANCE, HORIZON, RUNS, epsilon=EPSILON, progress=False) for policy in NAMES
    ]
    lines = [
        curve(one, f"{name}: {one.outcome.mean():,.0f}", colour)
        for one, (name, colour) in zip(simulations, NAMES.values(), strict=True)
    ]
    pulls = np.geomspace(100, HORIZON, 60)
    bound = regret_lower_bound(simulations[0].setting.instance.means.tolist(), pulls, EPSILON)
    lines.append(Line(f"lower bound: {bound[-1]:,.0f}", pulls, bound, Colour.BLACK, "--", width=1.0))
    title = f"5 arms, epsilon = {EPSILON}: mean of {RUNS} runs, and where they end"
    panel = Panel(title, lines, x_log=True, y_log=True, y_from=10, labels_at_ends=False)
    figure = draw(Picture("regret-over-time", "", [panel], columns=1, stretch=1.3))
    path = PICTURES / "regret-over-time.png"
    figure.savefig(path, dpi=110, bbox_inches="tight")
    return path


def worlds() -> Path:
    """Draw the probabilities of a noisy total in two worlds that differ in one click, and return the file."""
    seen = np.arange(190, 212)
    panels = []
    for epsilon in (1.0, 0.1):
        ratio = np.exp(-epsilon)
        chances = [(1 - ratio) / (1 + ratio) * ratio ** np.abs(seen - total) for total in (200, 201)]
        most = (chances[1] / chances[0]).max()
        lines = [
            Line("200 people have clicked", seen, chances[0], Colour.BLUE, marker="o"),
            Line("201 people have clicked", seen, chances[1], Colour.ORANGE, "--", "s"),
        ]
        title = f"epsilon = {epsilon:g}: likelier by a factor of {most:.2f} at most"
        panels.append(Panel(title, lines, x_label="released total", y_label="probability", y_from=0, whole_x=True))
    path = PICTURES / "two-worlds.png"
    draw(Picture("two-worlds", "", panels)).savefig(path, dpi=130, bbox_inches="tight")
    return path


def dashboard(visitors: int, seconds: float) -> Path:
    """Run the shop on a service of its own, take a picture of its experiment, and return the file.

    Args:
        visitors: The number of simulated shoppers.
        seconds: The time that they take.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    shop = runpy.run_path(str(ROOT / "examples" / "shop.py"))
    path = PICTURES / "dashboard.png"
    with tempfile.TemporaryDirectory() as folder, shop["service"](folder) as live:
        with Client(live.address, live.key, patience=30.0, delay=0.1) as client:
            view = shop["run"](client, visitors, seconds, 7).banners.view()
        with sync_playwright() as play:
            installed = next((one for one in BROWSERS if Path(one).exists()), None)
            browser = play.chromium.launch(executable_path=installed, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            page.goto(f"{live.address}/login")
            page.get_by_label("Your key").fill(live.key)
            page.get_by_role("button", name="Sign in").click()
            page.goto(f"{live.address}/experiments/{view.id}")
            time.sleep(1)  # the chart is drawn by a script
            page.screenshot(path=str(path))
            browser.close()
    return path


def main() -> None:
    """Make all pictures."""
    print(regret())
    print(worlds())
    print(dashboard(visitors=16_000, seconds=45.0))  # until there is a winner


if __name__ == "__main__":
    sys.exit(main())
