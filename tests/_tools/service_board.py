"""A service in the middle of its life, for tests of its pages: experiments in every state and keys of every kind.

It is made once by what people and programs do, and copied for each test.
"""

import json
import shutil
from pathlib import Path

from discreet.service.messages import NewKey, NewPopulation
from tests._tools.service_tools import Clock, World, draft, make_tables

NOW = 1_794_820_000.0
HOUR, DAY = 3600.0, 86400.0
NASTY = "<b onclick=\"alert('x')\">amber</b> & co"
MEANS = {"blue": 0.9, "green": 0.8, "red": 0.87, NASTY: 0.0}  # gaps that are far from all thresholds
DEALT = 1210  # of the open epoch of `button-colour`, in 1.6 days


class Board:
    """A copy of the furnished service: `ids` by name of experiment, `keys` by name of owner."""

    def __init__(self, made, folder):
        path = Path(folder) / "board.db"
        shutil.copy(made, path)
        self.ids, self.keys = json.loads(Path(f"{made}.json").read_text())
        self.clock = Clock(NOW)
        self.world = World(str(path), self.clock)
        self.control = self.world.control

    def path(self, template):
        """An address, with {names} of experiments as their ids."""
        return template.format(**{name.replace("-", "_"): one for name, one in self.ids.items()})

    def deal(self, name, count):
        """New units ask for assignments."""
        dealt = self.control.experiment(name).epoch.dealt
        assert all(one.learn for one in self.world.ask_all(name, [f"more-{dealt + one}" for one in range(count)]))


def furnish(path):
    """Make the service that boards are copies of."""
    make_tables(path)
    world = World(str(path), Clock(NOW - 30 * DAY))
    control = world.control
    control.set_budget("everybody", "40")
    control.create_population(NewPopulation("patients-2026", "20"))
    old = control.make_key(NewKey("old laptop", ["analyse"]))
    world.clock.now = NOW - 20 * DAY
    control.revoke_key(old.about.id)
    _experiments(world)
    world.clock.now = NOW - 9 * HOUR
    ids = {one.name: one.id for one in control.experiments().experiments}
    keys = {
        "admin": world.key,
        "analyst": control.make_key(NewKey("Grace <grace@example.org>", ["analyse"], expires_in=80 * DAY)).key,
        "guest": control.make_key(NewKey("guest", ["analyse"], "button-colour", expires_in=15 * HOUR)).key,
        "program": control.make_key(NewKey("web shop", ["assign", "report"])).key,
    }
    world.database.erase_traces()
    world.database.close()
    Path(f"{path}.json").write_text(json.dumps([ids, keys]))


def _experiments(world):
    control, clock = world.control, world.clock
    clock.now = NOW - 15 * DAY
    world.start("old-layout", arms=["one", "two"])
    control.stop("old-layout")
    control.archive("old-layout")
    world.start(
        "first-dose", "15", arms=["10 mg", "20 mg"], population="patients-2026", privacy_unit="event", window=HOUR
    )
    while control.experiment("first-dose").epoch is not None:
        world.finish_epoch("first-dose", {"10 mg": 0.0, "20 mg": 1.0}.get)
    control.stop("first-dose")
    clock.now = NOW - 6 * DAY
    about = "Which colour of the sign-up button gets more people through?\nA reward is 1 for a sign-up."
    more = {"policy": "dp-se-person", "options": {"beta": 0.05}, "window": HOUR, "description": about}
    world.start("button-colour", "15", arms=list(MEANS), **more)
    for days in (5, 3):
        world.fill("button-colour", MEANS.get)
        clock.now = NOW - days * DAY
        assert world.close("button-colour")
    clock.now = NOW - 1.6 * DAY
    world.ask_all("button-colour", [f"person-{number}" for number in range(1000)])
    world.ask_all("button-colour", [f"person-{1000 + number}" for number in range(DEALT - 1000)])
    clock.now = NOW - 10 * HOUR
    world.start("churn-rate", rule="dp-nas-released", epsilon="5", window=HOUR, options={"alpha": 0.1, "beta": 0.05})
    for _ in range(2):
        world.finish_epoch("churn-rate", lambda arm: 0.04)
    clock.now = NOW - 1200
    world.fill("churn-rate", lambda arm: 0.04)
    clock.now = NOW - 300
    world.start("reminder-time", arms=["morning", "evening"])
    script = {"description": "<script>alert('x')</script>", "options": {"beta": 0.07}}
    control.create(draft("reminder-text", arms=["short & sweet", "long <i>and</i> winding"], **script))
