"""`discreet intervals`: what a saved state says of its arms, with intervals that are valid at all looks together."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _options as opt
from discreet.cli._console import check_picture, save_picture, show, show_json
from discreet.core.errors import ArgumentError
from discreet.core.ledger import Ledger
from discreet.core.plans import Arm
from discreet.drivers.reading import read_ledger
from discreet.inference import Summary, summary
from discreet.lab.results import finite

LEVEL = "The chance that an interval holds the true value, at all looks together."
BINARY = "All rewards are 0 or 1 (the ends of their range): exact intervals, where blocks were fixed in advance."
DRIFTING = "Means may change during the run: statements are about averages so far."
AIM = "The number of rewards of an arm at which intervals shall be narrowest, if it was fixed in advance."


@opt.command(
    "discreet intervals state.json --control A",
    "discreet intervals state.json --control A --binary --level 0.99 --json",
)
def _intervals(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A state that `save` has written.")],
    *,
    control: Annotated[str | None, opt.option("ARM", "The arm that others are compared with.")] = None,
    level: Annotated[float, opt.real(LEVEL)] = 0.95,
    binary: Annotated[bool, opt.flag(BINARY, "--binary")] = False,
    drifting: Annotated[bool, opt.flag(DRIFTING, "--drifting")] = False,
    aim: Annotated[int | None, opt.whole(AIM)] = None,
    figure: Annotated[Path | None, opt.picture("means and intervals over time")] = None,
    json: opt.Json = False,
) -> None:
    """Say what was released of each arm: mean, interval, lift against a control, and which arms may be the best.

    Intervals and p-values are valid at all looks together: run it as often as you like. It follows from what was
    released, so it costs no epsilon. A state that a running program keeps is refused: ask that program.
    """
    check_picture(figure)
    try:
        ledger = read_ledger(file)
    except FileNotFoundError as error:
        raise ArgumentError(str(error)) from error
    chosen = None if control is None else _arm(ledger, control)
    seen = summary(ledger, chosen, level, binary=binary, drifting=drifting, aim=aim)
    if json:
        show_json(_to_json(seen))
    else:
        show(str(seen))
    if figure is not None:
        save_picture(seen.plot(), figure)


def _arm(ledger: Ledger, text: str) -> Arm:
    """Return the arm that a text names."""
    found = [arm for arm in ledger.arms if str(arm) == text]
    if not found:
        raise ArgumentError(f"--control must be one of {', '.join(map(str, ledger.arms))}, got {text}")
    return found[0]


def _to_json(seen: Summary) -> dict[str, Any]:
    """Return a summary as JSON values; unknown and infinite numbers are null."""
    return {
        "level": seen.level,
        "control": seen.control,
        "exact": seen.exact,
        "drifting": seen.drifting,
        "arms": [finite(row) for row in seen.rows()],
        "needs": list(seen.needs),
        "cautions": list(seen.cautions),
    }
