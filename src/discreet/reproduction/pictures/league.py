"""The picture of the league."""

from typing import Any

import numpy as np

from discreet._pictures import Cloud, Colour, Line, Panel, Picture
from discreet.reproduction.studies.evaluation import RECOMMENDED
from discreet.reproduction.studies.league import BASELINE, LeagueFindings

TITLES = {"paper": "the paper's instances", "rare": "rare rewards (0.5 % to 5 %)"}
COLOURS = {RECOMMENDED: Colour.BLUE, BASELINE: Colour.ORANGE}


def league_picture(found: LeagueFindings) -> Picture:
    """Return the distance of every policy from the lower bound, as a picture."""
    panels, policies = [], dict(enumerate(found.study.policies))
    for kind, title in TITLES.items():
        clouds = [
            Cloud("", place, values, COLOURS.get(policy, Colour.GREY), "o", _times(values))
            for place, policy in policies.items()
            for values in (found.ratios(policy, kind),)
        ]
        limit = Line("the lower bound", [-0.5, len(policies) - 0.5], [1, 1], Colour.BLACK, "--")
        ticks = [(place, policy.replace("-", "-\n")) for place, policy in policies.items()]
        top = 5 * max(max(cloud.values) for cloud in clouds)  # with room for the numbers
        common: dict[str, Any] = {"x_label": "", "y_label": "regret over the bound", "y_log": True, "y_to": top}
        panels.append(Panel(title, [limit], clouds, ticks=ticks, **common))
    return Picture(
        "league", "How far is every private policy from the lowest possible regret?", panels, columns=1, stretch=2.5
    )


def _times(values: list[float]) -> str:
    """A median as a multiple."""
    median = float(np.median(values))
    return f"{median:.1f}" if median < 10 else f"{median:.0f}"
