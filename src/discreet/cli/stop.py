"""What `stop` does: build a rule with real noise, feed it a column, and say what is promised."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Any

import typer

from discreet.cli.arguments import NUMBER, first_sentence, real, whole
from discreet.cli.console import complain, counted, show, show_json
from discreet.cli.reproduction import Interrupted
from discreet.cli.streams import read_numbers
from discreet.core import privacy
from discreet.core.errors import ArgumentError
from discreet.core.registry import RULES, make_rule
from discreet.stopping import StoppingResult, StoppingRule

RULE = "dp-bernstein"
NOT_REACHED = 3  # the exit code


def build_rule(name: str, epsilon: float | None, **options: Any) -> StoppingRule:
    """The rule, with errors that speak of the command's options."""
    if name in RULES:
        private = RULES[name].privacy_reason is not None
        if private and epsilon is None:
            raise ArgumentError(f"{name} is private and needs --epsilon, such as --epsilon 1")
        if not private and epsilon is not None:
            others = ", ".join(sorted(key for key, kind in RULES.items() if kind.privacy_reason is not None))
            raise ArgumentError(f"{name} is not private and takes no --epsilon, got {epsilon:g}; private are {others}")
    low, high, radius = (options[key] for key in ("low", "high", "radius"))
    if radius is None and (low is None or high is None):
        raise ArgumentError(
            "give the range of the samples as --low and --high, or as --radius: it must be known without looking at "
            "the data, since a range taken from them would say something about them"
        )
    return make_rule(name, **options, **({} if epsilon is None else {"epsilon": epsilon}))


def run_rule(rule: StoppingRule, source: str, column: str | None, *, header: bool | None = None) -> StoppingResult:
    """Feed the rule until it halts or the source ends; a failure says what was spent before it."""
    bounds = () if rule.clip else (rule.grid.low, rule.grid.high)
    with closing(read_numbers(source, column, *bounds, header=header)) as numbers:
        try:
            return rule.run(numbers)
        except ArgumentError as error:
            told = f"{error}. This message quotes the data, and is not private. {spent(rule)}"
            raise ArgumentError(told.strip()) from error
        except KeyboardInterrupt as error:
            raise Interrupted(f"no mean after {counted(rule.samples, 'sample')}. {spent(rule)}".strip()) from error


def report(rule: StoppingRule, result: StoppingResult, *, json: bool) -> None:
    """Say what came out; raises the exit code when that is no mean."""
    if json:
        epsilon = None if math.isinf(result.epsilon) else result.epsilon
        spent_so_far = None if epsilon is None else privacy.spent(rule.ledger)
        found = {**asdict(result), "epsilon": epsilon, "epsilon_spent": spent_so_far}
        ahead = rule.ahead
        more = {"clip": rule.clip, "next_decision": rule.samples + ahead if ahead else None}
        show_json({"rule": rule.key, "low": rule.grid.low, "high": rule.grid.high, **more, **found})
    elif result.reached:
        tell(rule, result)
    else:
        complain(shortfall(rule), "no mean: ")
    if not result.reached:
        raise typer.Exit(NOT_REACHED)


def tell(rule: StoppingRule, result: StoppingResult) -> None:
    """A mean and its promise."""
    clipped = f" of the values as moved into [{rule.grid.low:g}, {rule.grid.high:g}]" if rule.clip else ""
    show(f"mean {result.estimate:.6g}", "bold")
    show(
        f"It is within {100 * rule.alpha:g}% of the true mean{clipped} with probability {1 - rule.beta:.12g}, if the "
        f"samples are independent draws. {rule.key} needed {counted(result.samples, 'sample')}.",
        wrap=True,
    )
    if rule.privacy_reason is None:
        show(f"Not private: {rule.privacy.reason}.", "bold", wrap=True)
        return
    show(f"Private, epsilon = {result.epsilon:g} for each sample: {rule.privacy.reason}.", wrap=True)
    show("Another run on the same people spends epsilon again.", wrap=True)


def shortfall(rule: StoppingRule) -> str:
    """Why there is no number, and what would help."""
    end = "that is --max-samples" if rule.finished else "then the data ended"
    ahead = rule.ahead
    when = f": it decides next at {rule.samples + ahead:,}" if ahead > 1 else ""
    knobs = "--alpha or --beta" if rule.privacy_reason is None else "--alpha, --beta or --epsilon"
    return (
        f"{counted(rule.samples, 'sample')} read, {end}, and {rule.key} needs more{when}. "
        f"A larger {knobs} needs fewer; a mean near 0 needs many. {spent(rule)}"
    ).strip()


def spent(rule: StoppingRule) -> str:
    """What tests without success have cost; nothing to say if there were none."""
    cost = privacy.spent(rule.ledger)
    return f"The tests so far have spent epsilon = {cost:g} on these people all the same." if cost else ""


def complete_rule() -> list[tuple[str, str]]:
    """Every rule with what it is."""
    return [(name, first_sentence(kind)) for name, kind in RULES.items()]


Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A CSV file, a file with one number in a line, a Parquet file, or - for standard input."
    ),
]
RuleName = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="The stopping rule; `discreet policies` lists all.", autocompletion=complete_rule
    ),
]
RuleEpsilon = Annotated[
    float | None, typer.Option(parser=real, metavar=NUMBER, help="The privacy parameter, for private rules.")
]
ColumnName = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column to read; needed if the file has several.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether text begins with a heading.",
        show_default="it does if its first line is not a number",
    ),
]
MaxSamples = Annotated[
    int | None, typer.Option(parser=whole, metavar=NUMBER, help="Give up after so many samples; 1e6 is fine.")
]
Clip = Annotated[bool, typer.Option("--clip", help="Move values outside the range into it, instead of refusing them.")]
