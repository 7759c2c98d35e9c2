"""`discreet plot`: the regret of a results file, against pulls or against what was swept over."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli._console import check_picture, save_picture, show
from discreet.cli._options import command, flag, option
from discreet.lab.results import Results


@command("discreet compare --epsilon 0.25 --output league.npz", "discreet plot league.npz --log -o league.pdf")
def _plot(
    file: Annotated[Path, typer.Argument(metavar="FILE.npz", help="What --output of simulate or compare wrote.")],
    output: Annotated[
        Path | None, option("FILE", "A .png, .pdf or .svg.", "--output", "-o", show_default="FILE.png")
    ] = None,
    log: Annotated[bool, flag("Logarithmic axes.", "--log")] = False,
    against: Annotated[
        str | None,
        option("OPTION", "The x-axis: pulls, epsilon, horizon, arms or another option.", show_default="what was swept"),
    ] = None,
) -> None:
    """Draw the regret of a results file: means, with bands from the 5 % to the 95 % quantile.

    It is drawn against pulls, or against an option that was swept over.
    """
    target = output or file.with_suffix(".png")
    check_picture(target)
    save_picture(Results.load(file).plot(log=log, against=against), target)
    show(str(target))
