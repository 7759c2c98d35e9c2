"""`discreet stop`: the private mean of a column, from as few of its rows as that takes."""

from contextlib import closing
from typing import Annotated, Any

import typer

from discreet.cli import Interrupted
from discreet.cli._console import complain, show, show_json
from discreet.cli._options import (
    Alpha,
    Beta,
    High,
    Json,
    Low,
    Radius,
    completion,
    examples,
    real_option,
    whole_option,
)
from discreet.core.errors import ArgumentError
from discreet.core.ledger import spent
from discreet.core.registry import RULES, make_rule
from discreet.core.wording import plural
from discreet.drivers.stream import Stream
from discreet.lab.columns import read_numbers
from discreet.stopping import StoppingRule

NOT_REACHED = 3  # the exit code

app = typer.Typer()


@app.command(
    "stop",
    epilog=examples(
        "discreet stop clicks.csv --column clicked --epsilon 1 --alpha 0.1 --beta 0.05 --low 0 --high 1",
        "shuf incomes.txt | discreet stop - --epsilon 0.5 --alpha 0.2 --beta 0.01 --low 0 --high 2e5 --clip --json",
    ),
)
def _stop(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A CSV file, a file with one number in a line, a Parquet file, or - for standard input.",
        ),
    ],
    *,
    rule: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The stopping rule; `discreet policies` lists all.", autocompletion=completion(RULES)
        ),
    ] = "dp-bernstein",
    epsilon: Annotated[float | None, real_option("The privacy parameter, for private rules.")] = None,
    alpha: Alpha,
    beta: Beta,
    low: Low = None,
    high: High = None,
    radius: Radius = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column to read; needed if the file has several.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether text begins with a heading.",
            show_default="it does if its first line is not a number",
        ),
    ] = None,
    max_samples: Annotated[int | None, whole_option("Give up after this many samples; 1e6 is fine.")] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Move values outside the range into it, instead of refusing them.")
    ] = False,
    json: Json = False,
) -> None:
    """Give the private mean of a file or a pipe, reading only as much as that takes. The noise is real.

    The range (--low and --high, or --radius) must be known without looking at the data: one taken from them leaks.

    The rows must come in random order. A sorted file breaks the promise of accuracy, though not the privacy.

    A sample is one value of one person (event level). A person with m rows is covered with m times epsilon.

    The exit code is 3, and no mean is printed, when the data end (or --max-samples is reached) too early.
    """
    options = {"alpha": alpha, "beta": beta, "low": low, "high": high, "radius": radius, "max_samples": max_samples}
    stream = Stream(_build_rule(rule, epsilon, **options), clip=clip)
    _feed(stream, file, column, header)
    _report(stream, json)


def _build_rule(name: str, epsilon: float | None, **options: Any) -> StoppingRule:
    """Return the rule; errors name the options of the command."""
    if name in RULES:
        private = RULES[name].reason is not None
        if private and epsilon is None:
            raise ArgumentError(f"{name} is private and needs --epsilon, such as --epsilon 1")
        if not private and epsilon is not None:
            others = ", ".join(sorted(key for key, kind in RULES.items() if kind.reason is not None))
            raise ArgumentError(f"{name} is not private and takes no --epsilon, got {epsilon:g}; private are {others}")
    low, high, radius = (options[key] for key in ("low", "high", "radius"))
    if radius is None and (low is None or high is None):
        raise ArgumentError(
            "give the range of the samples as --low and --high, or as --radius: it must be known without looking at "
            "the data, since a range taken from them would say something about them"
        )
    rule: StoppingRule = make_rule(name, **options, **({} if epsilon is None else {"epsilon": epsilon}))
    return rule


def _feed(stream: Stream, source: str, column: str | None, header: bool | None) -> None:
    """Feed the stream until the rule halts or the source ends. The message of a failure says what was spent before."""
    grid = stream.algorithm.grid
    bounds = () if stream.clip else (grid.low, grid.high)
    with closing(read_numbers(source, column, *bounds, header=header)) as numbers:
        try:
            stream.feed(numbers)
        except ArgumentError as error:
            told = f"{error}. This message quotes the data, and is not private. {_spent(stream)}"
            raise ArgumentError(told.strip()) from error
        except KeyboardInterrupt as error:
            told = f"no mean after {plural(stream.samples, 'sample')}. {_spent(stream)}"
            raise Interrupted(told.strip()) from error


def _report(stream: Stream, json: bool) -> None:
    """Print the result; without a mean, raise the exit code."""
    rule, result, ahead = stream.algorithm, stream.result, stream.ahead
    if json:
        promised = result.privacy.promised
        found = {
            "rule": rule.key,
            "low": rule.grid.low,
            "high": rule.grid.high,
            "clip": stream.clip,
            "next_decision": result.samples + ahead if ahead else None,
            "reached": result.reached,
            "estimate": result.estimate,
            "samples": result.samples,
            "alpha": result.alpha,
            "beta": result.beta,
            "epsilon": result.epsilon if promised else None,
            "reason": result.reason,
            "simulated": result.simulated,
            "epsilon_spent": spent(result.ledger) if promised else None,
        }
        show_json(found)
    elif result.reached:
        _show_mean(stream)
    else:
        complain(_shortfall(stream), "no mean: ")
    if not result.reached:
        raise typer.Exit(NOT_REACHED)


def _show_mean(stream: Stream) -> None:
    """Print a mean and its promise."""
    rule, result = stream.algorithm, stream.result
    clipped = f" of the values as moved into [{rule.grid.low:g}, {rule.grid.high:g}]" if stream.clip else ""
    show(f"mean {result.estimate:.6g}", "bold")
    show(
        f"It is within {100 * rule.alpha:g}% of the true mean{clipped} with probability {1 - rule.beta:.12g}, if the "
        f"samples are independent draws. {rule.key} needed {plural(result.samples, 'sample')}.",
        wrap=True,
    )
    if not result.privacy.promised:
        show(f"Not private: {result.privacy.reason}.", "bold", wrap=True)
        return
    show(f"Private, epsilon = {result.epsilon:g} for each sample: {result.privacy.reason}.", wrap=True)
    show("Another run on the same people spends epsilon again.", wrap=True)


def _shortfall(stream: Stream) -> str:
    """Return a message on why there is no mean, and what would help."""
    rule, samples = stream.algorithm, stream.samples
    end = "that is --max-samples" if stream.finished else "then the data ended"
    when = f": it decides next at {samples + stream.ahead:,}" if stream.ahead > 1 else ""
    knobs = "--alpha, --beta or --epsilon" if stream.privacy.promised else "--alpha or --beta"
    return (
        f"{plural(samples, 'sample')} read, {end}, and {rule.key} needs more{when}. "
        f"A larger {knobs} needs fewer; a mean near 0 needs many. {_spent(stream)}"
    ).strip()


def _spent(stream: Stream) -> str:
    """Return a sentence on the cost of tests without success; it is empty if there were none."""
    cost = spent(stream.ledger) if stream.privacy.promised else 0.0
    return f"The tests so far have spent epsilon = {cost:g} on these people all the same." if cost else ""
