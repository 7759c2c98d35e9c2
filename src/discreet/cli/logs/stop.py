"""`discreet stop`: the private mean of a column, from as few of its rows as that takes."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet._wording import plural
from discreet.cli import Interrupted
from discreet.cli import _options as opt
from discreet.cli._console import complain, show, show_json
from discreet.cli.logs import _log as log_options
from discreet.cli.logs._log import NOT_REACHED, read_missing, read_where, report
from discreet.core.errors import ArgumentError
from discreet.core.ledger import spent
from discreet.core.registry import RULES, make_rule
from discreet.drivers.stream import Stream
from discreet.lab.columns import STANDARD_INPUT, read_numbers
from discreet.recommend import recommend
from discreet.stopping import DPBernstein, StoppingRule

SOURCES = "A CSV file, a file with one number in a line, a Parquet file, a log, or - for standard input."
LOGS = "Logs"
SHUFFLED = "Take rows in random order, not in that of the file."
UNITS = "The column that says whom epsilon protects; one row of each, in random order."
ORDERED = "The column by which rows are taken."
RULE = "The stopping rule; `discreet policies` lists all. By default the one that `recommend` names."
HEADING = "it does if its first line is not a number"


@opt.command(
    "discreet stop clicks.csv --column clicked --epsilon 1 --alpha 0.1 --beta 0.05 --low 0 --high 1",
    "shuf incomes.txt | discreet stop - --epsilon 0.5 --alpha 0.2 --beta 0.01 --low 0 --high 2e5 --clip --json",
)
def _stop(
    file: Annotated[str, typer.Argument(metavar="FILE", help=SOURCES)],
    *,
    rule: Annotated[
        str | None,
        opt.option("NAME", RULE, autocompletion=opt.completion(RULES)),
    ] = None,
    epsilon: Annotated[float | None, opt.real("The privacy parameter, for private rules.")] = None,
    alpha: opt.Alpha = 0.1,
    beta: opt.Beta = 0.05,
    low: opt.Low = None,
    high: opt.High = None,
    radius: opt.Radius = None,
    column: Annotated[str | None, opt.option("NAME", "The column to read; needed if the file has several.")] = None,
    header: Annotated[bool | None, opt.flag("Whether text begins with a heading.", show_default=HEADING)] = None,
    max_samples: Annotated[int | None, opt.whole("Give up after this many samples; 1e6 is fine.")] = None,
    clip: log_options.Clip = False,
    shuffle: Annotated[bool, opt.flag(SHUFFLED, "--shuffle", rich_help_panel=LOGS)] = False,
    unit: Annotated[str | None, opt.option("COLUMN", UNITS, rich_help_panel=LOGS)] = None,
    order: Annotated[str | None, opt.option("COLUMN", ORDERED, rich_help_panel=LOGS)] = None,
    where: Annotated[list[str] | None, opt.option("COLUMN=VALUE", log_options.SELECTED, rich_help_panel=LOGS)] = None,
    missing: Annotated[str | None, opt.option("NUMBER", log_options.FILLED, rich_help_panel=LOGS)] = None,
    json: opt.Json = False,
) -> None:
    """Give the private mean of a file or a pipe, reading only as much as that takes. The noise is real.

    A file is checked as a whole first, which costs no epsilon. What is found is not private.

    The range (--low and --high, or --radius) must be known without looking at the data: one taken from them leaks.

    The rows must come in random order. A sorted file breaks the promise of accuracy, though not the privacy.

    A sample is one value of one person (event level). A person with m rows is covered with m times epsilon.

    The exit code is 3, and no mean is printed, when the data end (or --max-samples is reached) too early.
    """
    options = {"alpha": alpha, "beta": beta, "low": low, "high": high, "radius": radius, "max_samples": max_samples}
    built = _build_rule(rule, epsilon, options)
    if shuffle or unit or order or where or missing is not None or "://" in file or Path(file).is_dir():
        if file == STANDARD_INPUT:
            raise ArgumentError("--shuffle, --unit, --order, --where and --missing need a file, got standard input")
        reading = {"unit": unit, "order": order, "where": read_where(where), "missing": read_missing(missing)}
        answer = _answer(built, file, reward=column, heading=header, clip=clip, **reading)
        report(answer, json, {"rule": built.key, "estimate": answer.mean, "samples": answer.rows_read})
        return
    stream = Stream(built, clip=clip)
    if file != STANDARD_INPUT:
        _check(stream, file, column, header)
    _feed(stream, file, column, header)
    _report(stream, json, by_file=file != STANDARD_INPUT)


def _answer(rule: StoppingRule, log: str, **reading: Any) -> Any:
    """Return an answer from a log: from one row of each unit, in random order or by a column."""
    from discreet.logs import replay  # noqa: PLC0415  (needs Ibis)

    with log_options.remedies():
        return replay(rule, log, **reading)


def _check(stream: Stream, source: str, column: str | None, header: bool | None) -> None:
    """Read a whole file before anything is spent."""
    try:
        with closing(_numbers(stream, source, column, header)) as numbers:
            for _ in numbers:
                pass
    except ArgumentError as error:
        if str(error).startswith("column "):  # it is about the heading
            raise
        raise ArgumentError(
            f"{error}; --missing and --clip say what such cells count as. This message quotes the data, and is not "
            f"private; nothing was drawn or spent"
        ) from error


def _numbers(stream: Stream, source: str, column: str | None, header: bool | None) -> Generator[Any]:
    grid = stream.algorithm.grid
    bounds = () if stream.clip else (grid.low, grid.high)
    return read_numbers(source, column, *bounds, header=header)


def _build_rule(name: str | None, epsilon: float | None, options: dict[str, Any]) -> StoppingRule:
    """Return the rule; errors name the options of the command."""
    if name is None and epsilon is None:
        raise ArgumentError("a private mean needs --epsilon, such as --epsilon 1")
    if name in RULES:
        private = RULES[name].reason is not None
        if private and epsilon is None:
            raise ArgumentError(f"{name} is private and needs --epsilon, such as --epsilon 1")
        if not private and epsilon is not None:
            others = ", ".join(sorted(key for key, kind in RULES.items() if kind.reason is not None))
            raise ArgumentError(f"{name} is not private and takes no --epsilon, got {epsilon:g}; private are {others}")
    if options["radius"] is None and None in (options["low"], options["high"]):
        raise ArgumentError(
            "give the range of the samples as --low and --high, or as --radius: it must be known without looking at "
            "the data, since a range taken from them would say something about them"
        )
    if name is None:
        name = _recommended(epsilon, options)
    rule: StoppingRule = make_rule(name, **options, **({} if epsilon is None else {"epsilon": epsilon}))
    return rule


def _recommended(epsilon: float | None, options: dict[str, Any]) -> str:
    """Return the key of the rule that we would take."""
    if options["radius"] is not None or epsilon is None:
        return DPBernstein.key
    known = {key: options[key] for key in ("alpha", "beta", "low", "high")}
    return recommend(goal="mean", epsilon=epsilon, **known).policy


def _feed(stream: Stream, source: str, column: str | None, header: bool | None) -> None:
    """Feed the stream until the rule halts or the source ends. The message of a failure says what was spent before."""
    with closing(_numbers(stream, source, column, header)) as numbers:
        try:
            stream.feed(numbers)
        except ArgumentError as error:
            told = f"{error}. This message quotes the data, and is not private.{_spent(stream)}"
            raise ArgumentError(told) from error
        except KeyboardInterrupt as error:
            raise Interrupted(f"no mean after {plural(stream.samples, 'sample')}.{_spent(stream)}") from error


def _report(stream: Stream, json: bool, *, by_file: bool) -> None:
    """Print the result; without a mean, raise the exit code.

    Args:
        stream: The stream.
        json: Print one JSON document.
        by_file: True if the samples came in the order of a file.
    """
    rule, result, ahead = stream.algorithm, stream.result, stream.ahead
    if json:
        promised = result.privacy.promised
        names = ("reached", "estimate", "samples", "alpha", "beta", "reason", "simulated")
        show_json(
            {
                "rule": rule.key,
                "low": rule.grid.low,
                "high": rule.grid.high,
                "clip": stream.clip,
                "next_decision": result.samples + ahead if ahead else None,
                **{name: getattr(result, name) for name in names},
                "epsilon": result.epsilon if promised else None,
                "epsilon_spent": spent(result.ledger) if promised else None,
                "theorem": result.privacy.theorem,
            }
        )
    elif result.reached:
        _show_mean(stream, " in the order of the file; --shuffle takes a random one" if by_file else "")
    else:
        complain(_shortfall(stream), "no mean: ")
    if not result.reached:
        raise typer.Exit(NOT_REACHED)


def _show_mean(stream: Stream, order: str) -> None:
    """Print a mean and its promise, with words on the order of the samples."""
    rule, result = stream.algorithm, stream.result
    clipped = f" of the values as moved into [{rule.grid.low:g}, {rule.grid.high:g}]" if stream.clip else ""
    show(f"mean {result.estimate:.6g}", "bold")
    show(
        f"It is within {100 * rule.alpha:g}% of the true mean{clipped} with probability {1 - rule.beta:.12g}, if the "
        f"samples are independent draws. {rule.key} needed {plural(result.samples, 'sample')}{order}.",
        wrap=True,
    )
    if not result.privacy.promised:
        show(f"Not private: {result.privacy.reason}.", "bold", wrap=True)
        return
    assert result.privacy.theorem is not None
    why = f"{result.privacy.reason}; {result.privacy.theorem.words}"
    show(f"Private, epsilon = {result.epsilon:g} for each sample: {why}.", wrap=True)
    show("Another run on the same people spends epsilon again.", wrap=True)


def _shortfall(stream: Stream) -> str:
    """Return a message on why there is no mean, and what would help."""
    rule, samples = stream.algorithm, stream.samples
    end = "that is --max-samples" if stream.finished else "then the data ended"
    when = f": it decides next at {samples + stream.ahead:,}" if stream.ahead > 1 else ""
    knobs = "--alpha, --beta or --epsilon" if stream.privacy.promised else "--alpha or --beta"
    return (
        f"{plural(samples, 'sample')} read, {end}, and {rule.key} needs more{when}. "
        f"A larger {knobs} needs fewer; a mean near 0 needs many.{_spent(stream)}"
    )


def _spent(stream: Stream) -> str:
    """Return another sentence, on the cost of tests without success; it is empty if there were none."""
    cost = spent(stream.ledger) if stream.privacy.promised else 0.0
    return f" The tests so far have spent epsilon = {cost:g} on these people all the same." if cost else ""
