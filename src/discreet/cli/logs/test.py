"""`discreet test`: whether variants are better than a control, by a log, from as few of its rows as that takes."""

from typing import Annotated

import typer

from discreet.cli import _options as opt
from discreet.cli.forecast import read_share
from discreet.cli.logs import _log as log_options
from discreet.core.errors import ArgumentError

NOT_SHOWN = 4  # the exit code


@opt.command(
    "discreet test events.csv --arm variant --reward converted --control A --epsilon 1 --lift 10%",
    "discreet test events.csv --arm variant --reward converted --control A --epsilon 1 --base-rate 3% --effect 0.3%",
    "discreet test events.csv --arm variant --reward spent --control A --epsilon 1 --high 500 --lift 10% --open-ended",
)
def _test(
    log: log_options.LogArgument,
    *,
    arm: log_options.ArmColumn,
    reward: log_options.RewardColumn,
    control: Annotated[str, opt.option("NAME", "The arm that the others are compared with.")],
    unit: log_options.UnitColumn = None,
    epsilon: log_options.Epsilon,
    lift: Annotated[
        float | None, opt.option("SHARE", "The smallest lift worth finding; 10% of 3% is 3.3%.", parser=read_share)
    ] = None,
    effect: Annotated[
        float | None, opt.option("SHARE", "Instead: the smallest difference of means.", parser=read_share)
    ] = None,
    base_rate: Annotated[
        float | None,
        opt.option(
            "SHARE",
            "The control's mean that you expect.",
            parser=read_share,
            show_default="estimated from some of its rows",
        ),
    ] = None,
    margin: Annotated[
        float, opt.option("SHARE", "How much lower a mean may be and still pass.", parser=read_share)
    ] = 0.0,
    alpha: Annotated[float, opt.real("How often a variant may pass that should not: 0.05 is once in 20 times.")] = 0.05,
    beta: Annotated[float, opt.real("How often a variant with that lift may be missed.")] = 0.2,
    open_ended: Annotated[
        bool, opt.flag("Take rewards of any law in the range, which needs more rows.", "--open-ended")
    ] = False,
    low: log_options.Low = 0.0,
    high: log_options.High = 1.0,
    order: log_options.OrderColumn = None,
    where: log_options.Where = None,
    missing: log_options.Missing = None,
    clip: log_options.Clip = False,
    json: opt.Json = False,
) -> None:
    """Test whether variants are better than a control, privately, reading only as many rows as that takes.

    The noise is real. The whole log is checked first, which costs no epsilon. What is found is not private.

    The exit code is 0 if a variant was shown to be better, 4 if none was, and 3 if the log ended before a verdict.
    """  # fmt: skip
    from discreet.logs import ab_test  # noqa: PLC0415  (needs Ibis)

    if (lift is None) == (effect is None):
        raise ArgumentError("give --lift or --effect, the least that is worth finding, such as --lift 10%")
    with log_options.remedies():
        answer = ab_test(
            log, arm=arm, reward=reward, control=control, unit=unit, epsilon=epsilon, lift=lift, effect=effect,
            base_rate=base_rate, margin=margin, alpha=alpha, beta=beta, open_ended=open_ended, low=low, high=high,
            order=order, where=log_options.read_where(where), missing=log_options.read_missing(missing), clip=clip,
        )  # fmt: skip
    log_options.report(answer, json)
    if not answer.shown:
        raise typer.Exit(NOT_SHOWN)
