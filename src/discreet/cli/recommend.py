"""`discreet recommend`: which policy to take, and why."""

from typing import Annotated

from discreet.cli._console import show, show_json
from discreet.cli._options import Json, command, flag, option, real, whole
from discreet.recommend import GOALS, UNITS
from discreet.recommend import recommend as find_policy


@command(
    "discreet recommend --arms 4 --epsilon 1 --goal best-arm --beta 0.05",
    "discreet recommend --arms 3 --epsilon 0.5 --horizon 1e6 --at-once 200",
    "discreet recommend --arms 4 --epsilon 1 --goal best-arm --delayed",
)
def _recommend(
    *,
    arms: Annotated[int, whole("How many arms there are.")],
    epsilon: Annotated[float, real("The largest privacy loss of one unit.")],
    goal: Annotated[
        str, option("NAME", f"{' or '.join(GOALS)}: show the best arm as often as possible, or find it.")
    ] = "regret",
    horizon: Annotated[int | None, whole("How many pulls there are in all, if you know; 1e6 is fine.")] = None,
    beta: Annotated[float, real("For best-arm: how often the arm that is found may be a wrong one.")] = 0.05,
    at_once: Annotated[int, whole("For regret: how many people may need an arm at the same time.")] = 1,
    delayed: Annotated[bool, flag("Rewards come hours or days later, or never.", "--delayed")] = False,
    drifting: Annotated[bool, flag("All arms' rewards change together over time.", "--drifting")] = False,
    unit: Annotated[str, option("NAME", f"Whom epsilon covers: a {' or a '.join(UNITS)} who comes back.")] = "reward",
    json: Json = False,
) -> None:
    """Name the private policy to take for a goal, with its options and the reason."""
    found = find_policy(
        arms,
        epsilon=epsilon,
        horizon=horizon,
        goal=goal,
        beta=beta,
        at_once=at_once,
        delayed=delayed,
        drifting=drifting,
        unit=unit,
    )
    if json:
        show_json({"policy": found.policy, "options": found.options, "reason": found.reason})
        return
    options = "".join(f", {name}={value!r}" for name, value in found.options.items())
    show(f"{found.policy}", "bold")
    show("")
    show(f"{found.reason[0].upper()}{found.reason[1:]}", wrap=True)
    show("")
    show(f'discreet.make_policy("{found.policy}", arms{options})')
