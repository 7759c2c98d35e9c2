"""`discreet best-arm`: the best arm of a log, from as few of its rows as that takes."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as opt
from discreet.cli._console import check_picture, save_picture
from discreet.cli.logs import _log as log_options


@opt.command(
    "discreet best-arm events.parquet --arm variant --reward converted --unit user --epsilon 1",
    "discreet best-arm events.csv --arm variant --reward spent --unit user --epsilon 1 --high 500 --clip --missing 0",
)
def _best_arm(
    log: log_options.LogArgument,
    *,
    arm: log_options.ArmColumn,
    reward: log_options.RewardColumn,
    unit: log_options.UnitColumn = None,
    epsilon: log_options.Epsilon,
    beta: Annotated[float, opt.real("How often the answer may be wrong: 0.05 is once in 20 times.")] = 0.05,
    low: log_options.Low = 0.0,
    high: log_options.High = 1.0,
    order: log_options.OrderColumn = None,
    where: log_options.Where = None,
    missing: log_options.Missing = None,
    clip: log_options.Clip = False,
    figure: Annotated[Path | None, opt.picture("the means over the epochs")] = None,
    json: opt.Json = False,
) -> None:
    """Find the best arm of a log, privately, reading only as many rows as that takes. The noise is real.

    The whole log is checked first, which costs no epsilon. What is found is not private.

    The range (--low and --high) must be known without looking at the data: one taken from them leaks.

    The exit code is 3, and no arm is named, when the log ends before one is the best.
    """
    from discreet.logs import best_arm  # noqa: PLC0415  (needs Ibis)

    check_picture(figure)
    with log_options.remedies():
        answer = best_arm(
            log, arm=arm, reward=reward, unit=unit, epsilon=epsilon, beta=beta, low=low, high=high, order=order,
            where=log_options.read_where(where), missing=log_options.read_missing(missing), clip=clip,
        )  # fmt: skip
    try:
        log_options.report(answer, json)
    finally:
        if figure is not None:
            save_picture(answer.plot(), figure)
