"""`discreet forecast`: how many people and days a question takes, at each epsilon."""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from discreet._display import words
from discreet._outlooks import Outlooks
from discreet.cli._console import check_picture, console, save_picture, show, show_json, wrapped_table
from discreet.cli._options import Json, command, flag, option, picture, read_real, real, whole
from discreet.core.errors import ArgumentError
from discreet.forecasting import forecast as make_forecast
from discreet.sequential import DPTwoSampleTest


def read_share(text: str | float) -> float:
    """Return the number in a text, which may be a percentage.

    >>> read_share("3%"), read_share("0.03")
    (0.03, 0.03)
    """
    if isinstance(text, str) and text.strip().endswith("%"):
        return round(read_real(text.strip()[:-1]) / 100, 15)
    return read_real(text)


def read_shares(text: str) -> list[float]:
    """Return the numbers in a text with commas, each of which may be a percentage."""
    return [read_share(part) for part in text.split(",") if part.strip()]


def _share(text: str) -> Any:
    return option("SHARE", text, parser=read_share)


@command(
    "discreet forecast --rates 3.0%,3.2%,3.6% --epsilon 0.5,1,2 --beta 0.05 --per-day 2000",
    "discreet forecast --base-rate 3% --lift 20% --epsilon 0.1,0.5,1 --figure epsilon.png",
    "discreet forecast --base-rate 3% --lift 10% --test --epsilon 0.5,1 --per-day 5000      (an A/B test)",
    "discreet forecast --mean 3% --alpha 0.1 --epsilon 0.5,1,2",
    "discreet forecast --gap 0.006 --arms 2 --epsilon 1      (the worst case, if nothing else is known)",
)
def _forecast(
    *,
    epsilon: Annotated[
        str, option("LIST", "The privacy parameter, or several to choose from: 0.5,1,2.")
    ] = "0.1,0.5,1,2",
    rates: Annotated[str | None, option("LIST", "The rate that you expect of each arm: 3.0%,3.2%,3.6%.")] = None,
    base_rate: Annotated[float | None, _share("Instead: the rate of all arms but the best.")] = None,
    lift: Annotated[
        float | None, _share("With --base-rate: how much more the best arm has; 20% of 3% is 3.6%.")
    ] = None,
    gap: Annotated[
        float | None, _share("Instead: the smallest difference of rates to be told. Worst case only.")
    ] = None,
    arms: Annotated[int | None, whole("With --base-rate or --gap: how many arms there are.", show_default="2")] = None,
    mean: Annotated[
        float | None, _share("Instead: the mean that you expect, of values in [0, 1], to forecast `stop`.")
    ] = None,
    alpha: Annotated[
        float | None,
        _share("With --mean: how close it must be known, 0.1 is within 10% of itself. With --test: false alarms."),
    ] = None,
    beta: Annotated[
        float | None,
        real("How often the answer may be wrong, or a test may miss the lift.", show_default="0.05, of a test 0.2"),
    ] = None,
    test: Annotated[
        bool, flag("With --base-rate and --lift: forecast a test of arms against a control.", "--test")
    ] = False,
    per_day: Annotated[float | None, real("How many people come in a day, for a forecast in days.")] = None,
    window_days: Annotated[
        float | None, real("How many days a reward is waited for; each epoch waits that long.")
    ] = None,
    unit: Annotated[str, option("NAME", "Whom epsilon covers: reward, or person (who may come back).")] = "reward",
    policy: Annotated[str | None, option("NAME", "An elimination.", show_default="what `recommend` names")] = None,
    figure: Annotated[Path | None, picture("people against epsilon")] = None,
    seed: Annotated[int, whole("The seed of the simulation.")] = 0,
    json: Json = False,
) -> None:
    """Say how many people, and days, it takes to find the best arm or to know a mean, at each epsilon.

    The algorithm that will run is simulated 3,000 times on the rates that you expect; beside it stands what is promised
    whatever the rates. With a gap alone there is only the promise.
    """
    check_picture(figure)
    if test:
        if any(other is not None for other in (rates, gap, mean, figure, policy)):
            raise ArgumentError("--test needs --base-rate and --lift, and takes no --rates, --gap, --mean or --figure")
        tests = _tests(read_shares(epsilon), base_rate, lift, arms, alpha=alpha, beta=beta)
        found = [one.forecast(per_day) for one in tests]
        if json:
            show_json({"forecasts": [one.to_dict() for one in found]})
        for one in () if json else found:
            _show(one.question, one)
        return
    if all(given is None for given in (rates, base_rate, lift, gap, mean)):
        raise ArgumentError("give --rates, or --base-rate and --lift, or --gap, or --mean, such as --rates 3%,3.6%")
    if mean is not None and rates is not None:
        raise ArgumentError(f"give --rates or --mean, not both: got {rates} and {mean:g}")
    forecast = make_forecast(
        mean if rates is None else read_shares(rates),
        epsilon=read_shares(epsilon),
        beta=0.05 if beta is None else beta,
        alpha=alpha,
        base_rate=base_rate,
        lift=lift,
        gap=gap,
        arms=arms,
        per_day=per_day,
        window=None if window_days is None else timedelta(days=window_days),
        unit=unit,
        policy=policy,
        seed=seed,
    )
    if json:
        show_json(forecast.to_dict())
    else:
        _show(f"{forecast.question}: {forecast.algorithm}", forecast)
    if figure is not None:
        save_picture(forecast.plot(), figure)
        if not json:
            show(f"saved {figure}")


def _tests(
    epsilons: Iterable[float],
    base_rate: float | None,
    lift: float | None,
    arms: int | None,
    *,
    alpha: float | None,
    beta: float | None,
) -> list[DPTwoSampleTest]:
    """Return a test of arms against a control at each epsilon."""
    if base_rate is None or lift is None:
        raise ArgumentError("--test needs --base-rate and --lift, such as --base-rate 3% --lift 10%")
    count = 2 if arms is None else arms
    names = ["A", "B", *(f"arm {number}" for number in range(3, 1 + count))][:count]
    errors = {"alpha": 0.05 if alpha is None else alpha, "beta": 0.2 if beta is None else beta}
    planned = {"base_rate": base_rate, "effect": base_rate * lift, **errors}
    return [DPTwoSampleTest(names, epsilon=one, **planned) for one in epsilons]


def _show(title: str, found: Outlooks[Any]) -> None:
    """Print a forecast for a person, below a title."""
    show(title, "bold", wrap=True)
    show("")
    console().print(wrapped_table([(name, list(map(words, cells))) for name, cells in found.columns().items()]))
    for note in found.notes:
        show("")
        show(note, wrap=True)
