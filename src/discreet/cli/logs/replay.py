"""`discreet replay`: any policy or stopping rule on the rows of a log."""

from typing import Annotated

import typer

from discreet.cli import _options as opt
from discreet.cli.logs import _log as log_options
from discreet.core.registry import POLICIES, RULES


@opt.command(
    "discreet replay dp-se events.parquet --arm variant --reward converted --unit user --epsilon 1 -O horizon=1e6",
    "discreet replay dp-nas clicks.csv --reward clicked --epsilon 1 -O alpha=0.1 -O beta=0.05 -O low=0 -O high=1",
)
def _replay(
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM",
            help="The short name of a policy or a stopping rule.",
            autocompletion=opt.completion({**POLICIES, **RULES}),
        ),
    ],
    log: log_options.LogArgument,
    *,
    arm: Annotated[str | None, opt.option("COLUMN", "The column of arms; none for a stopping rule.", "--arm")] = None,
    reward: log_options.RewardColumn,
    unit: log_options.UnitColumn = None,
    epsilon: Annotated[float | None, opt.real("The privacy parameter, for private algorithms.")] = None,
    order: log_options.OrderColumn = None,
    where: log_options.Where = None,
    missing: log_options.Missing = None,
    clip: log_options.Clip = False,
    options: opt.OptionTexts = None,
    json: opt.Json = False,
) -> None:
    """Run a policy or a stopping rule on the rows of a log, as if they came in now. The noise is real.

    Each epoch takes the next rows of its arms. The whole log is checked first, which costs no epsilon.

    The exit code is 3 when the log ends before there is an answer.
    """
    from discreet.logs import replay  # noqa: PLC0415  (needs Ibis)

    with log_options.remedies():
        answer = replay(
            algorithm, log, arm=arm, reward=reward, unit=unit, order=order, where=log_options.read_where(where),
            missing=log_options.read_missing(missing), clip=clip, **opt.read_options(options, epsilon, _REFUSED),
        )  # fmt: skip
    log_options.report(answer, json)


_REFUSED = {
    **{name: f"use --{name}" for name in ("arm", "reward", "unit", "order", "where", "missing", "clip")},
    **dict.fromkeys(("algorithm", "log"), "it is an argument"),
    "arms": "they are those of the log",
    "heading": "the columns are named by it",
    "noise": "it is real here",
}
