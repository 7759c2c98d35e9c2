"""The form of an experiment: its first values, and reading it as a `NewExperiment`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from discreet.service import messages as m
from discreet.service.dashboard.forms.fields import Fields
from discreet.service.experiments.budget import DEFAULT_POPULATION
from discreet.service.experiments.descriptions import PERSON_POLICY
from discreet.service.wording import in_words

SECONDS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}
PROMISES = ("alpha", "beta")  # options that say how good the answer is
SUGGESTED = {"horizon": "1000000"}  # for options that have no default
MEANINGS = {
    "beta": "How often the answer may be wrong: 0.05 means at most 1 time in 20.",
    "alpha": "How close the mean must be: 0.1 means within 10 %.",
    "horizon": "How many assignments there will be in all, at most.",
    "max_samples": "After so many it gives up. Leave it empty to go on until the mean is known.",
    "gamma": "How often its bounds may fail.",
    "base_rate": "The control’s mean reward that you expect, as a share of the range: 0.03 is 3 of 100 clicks.",
    "effect": "The smallest difference from the control that is worth finding: 0.003 is from 3 % to 3.3 %.",
    "margin": "Above 0 to test that an arm is not worse than the control by this much.",
    "null": "The mean that is tested against, such as 0.03.",
    "alternative": "The mean that would be worth finding, such as 0.04.",
}
PURPOSES = (
    ("dp-se", "Drop arms until the best one is left, and show that"),
    ("dp-bai", "Find the best arm, and end"),
    ("dp-ab", "Test arms against a control"),
    ("dp-test", "Test one mean against another"),
)
"""What algorithms are for, by the beginning of their keys."""
ELSE, MEANS = "Show the best arm as often as possible", "Find one mean"


def first_values(algorithms: Sequence[m.AlgorithmView], populations: Sequence[m.PopulationView]) -> dict[str, str]:
    """Return the first values of the form.

    Args:
        algorithms: The algorithms that can be run.
        populations: The populations.
    """
    values = {
        "name": "",
        "description": "",
        "arms": "",
        "algorithm": PERSON_POLICY,
        "epsilon": "1",
        "privacy_unit": "person",
        "contribution": "",
        "population": populations[0].name if populations else DEFAULT_POPULATION,
        "low": "0",
        "high": "1",
        "default_reward": "",
        "window": "1",
        "window_unit": "hours",
        "source": "assignments",
        "control": "",
        "binary": "no",
        "drifting": "no",
    }
    return values | option_values(find(algorithms, PERSON_POLICY))


def values_of(view: m.ExperimentView) -> dict[str, str]:
    """Return a draft as the form shows it."""
    unit = next((name for name in reversed(SECONDS) if view.window and view.window % SECONDS[name] == 0), "seconds")
    values = {
        "name": view.name,
        "description": view.description,
        "arms": "\n".join(arm.name or "" for arm in view.arms),
        "algorithm": view.algorithm,
        "epsilon": view.privacy.epsilon,
        "privacy_unit": view.privacy.unit,
        "contribution": view.privacy.contribution or "",
        "population": view.population,
        "low": f"{view.low:g}",
        "high": f"{view.high:g}",
        "default_reward": "" if view.default_reward == view.low else f"{view.default_reward:g}",
        "window": f"{view.window / SECONDS[unit]:g}",
        "window_unit": unit,
        "source": view.source,
        "control": "" if not view.arms or view.control == view.arms[0].name else view.control or "",
        "binary": "yes" if view.binary else "no",
        "drifting": "yes" if view.drifting else "no",
    }
    return values | {f"option.{name}": _as_text(value) for name, value in view.options.items()}


def groups(algorithms: Sequence[m.AlgorithmView]) -> list[tuple[str, list[m.AlgorithmView]]]:
    """Return the algorithms by what they are for.

    Args:
        algorithms: What the service can run.
    """
    titles = [*(title for _, title in PURPOSES), ELSE, MEANS]
    found: dict[str, list[m.AlgorithmView]] = {title: [] for title in titles}
    for each in algorithms:
        found[purpose_of(each)].append(each)
    return [(title, members) for title, members in found.items() if members]


def purpose_of(algorithm: m.AlgorithmView) -> str:
    """Return what an algorithm is for, in words."""
    fitting = (title for start, title in PURPOSES if algorithm.name.startswith(start))
    return next(fitting, ELSE if algorithm.kind == "policy" else MEANS)


def find(algorithms: Sequence[m.AlgorithmView], name: str) -> m.AlgorithmView | None:
    """Return an algorithm by its name; None if there is none.

    Args:
        algorithms: The algorithms.
        name: The name.
    """
    return next((algorithm for algorithm in algorithms if algorithm.name == name), None)


def option_names(algorithm: m.AlgorithmView) -> tuple[list[str], list[str]]:
    """Return the options that everybody should look at, and those that may be left as they are."""
    names = list(dict.fromkeys((*algorithm.required, *algorithm.options)))
    first = [name for name in names if name in algorithm.required or name in PROMISES]
    return first, [name for name in names if name not in first]


def option_values(algorithm: m.AlgorithmView | None) -> dict[str, str]:
    """Return the first values of an algorithm's options."""
    if algorithm is None:
        return {}
    first, other = option_names(algorithm)
    usual = {name: SUGGESTED[name] for name in first if name in SUGGESTED}
    return {f"option.{name}": _as_text(algorithm.options.get(name)) or usual.get(name, "") for name in (*first, *other)}


def read(fields: Fields, algorithms: Sequence[m.AlgorithmView]) -> m.NewExperiment | None:
    """Return the form as an experiment; None if `fields.errors` says why not.

    Args:
        fields: The form.
        algorithms: The algorithms that can be run.
    """
    algorithm = find(algorithms, fields.text("algorithm"))
    if algorithm is None:
        fields.refuse("algorithm", "Choose one of the list.")
        return None
    new = _read(fields, algorithm)
    if fields.errors:
        return None
    try:
        return msgspec.json.decode(msgspec.json.encode(new), type=m.NewExperiment)
    except msgspec.ValidationError as error:
        message, place = in_words(error, m.NewExperiment)
        name = (place or "").partition("[")[0]
        fields.refuse(name if name in fields.values else "", f"{message[0].upper()}{message[1:]}.")
        return None


def _read(fields: Fields, algorithm: m.AlgorithmView) -> m.NewExperiment:
    low, high = fields.number("low"), fields.number("high")
    if high <= low:
        fields.refuse("high", "It must be above the lowest reward.")
    default = fields.optional_number("default_reward")
    if default is not None and not low <= default <= high and math.isfinite(low + high + default):
        fields.refuse("default_reward", "It must lie between the lowest and the highest reward.")
    return m.NewExperiment(
        name=fields.slug("name"),
        epsilon=fields.decimal("epsilon"),
        arms=_arms(fields) if algorithm.kind == "policy" else [],
        policy=algorithm.name if algorithm.kind == "policy" else None,
        rule=algorithm.name if algorithm.kind == "rule" else None,
        options=_options(fields, algorithm),
        low=low,
        high=high,
        default_reward=default,
        window=_window(fields),
        privacy_unit=cast(m.PrivacyUnit, _one_of(fields, "privacy_unit", "person", "event")),
        contribution=cast("m.Contribution | None", _one_of(fields, "contribution", "each-epoch", "once", "") or None),
        population=fields.slug("population"),
        source=cast(m.Source, _one_of(fields, "source", "assignments", "totals")),
        description=_description(fields),
        control=(fields.text("control") or None) if algorithm.kind == "policy" else None,
        binary=_one_of(fields, "binary", "yes", "no", "") == "yes",
        drifting=_one_of(fields, "drifting", "yes", "no", "") == "yes",
    )


def _arms(fields: Fields) -> list[str]:
    arms = [line.strip() for line in fields.text("arms").splitlines() if line.strip()]
    if len(arms) < 2:
        fields.refuse("arms", "Give two arms or more, one in a line.")
    if len(arms) > m.MOST_ARMS:
        fields.refuse("arms", f"Give {m.MOST_ARMS} arms at most: these are {len(arms)}.")
    twice = next((arm for arm in arms if arms.count(arm) > 1), None)
    if twice is not None:
        fields.refuse("arms", f"Each arm once: {twice} is there {arms.count(twice)} times.")
    if any(len(arm) > m.MOST_NAME for arm in arms):
        fields.refuse("arms", f"An arm's name has {m.MOST_NAME} letters at most.")
    return arms


def _window(fields: Fields) -> float:
    unit = SECONDS.get(fields.text("window_unit"), 1.0)
    seconds = fields.number("window", least=0) * unit
    if seconds == 0 and fields.text("source") == "assignments":
        fields.refuse("window", "It must be above 0, or no reward would be in time.")
    if seconds > m.MOST_WINDOW:
        fields.refuse("window", f"It must be {m.MOST_WINDOW // 86400} days or less.")
    return seconds


def _description(fields: Fields) -> str:
    text = fields.text("description").replace("\r\n", "\n")
    if len(text) > m.MOST_DESCRIPTION:
        fields.refuse("description", f"Use {m.MOST_DESCRIPTION:,} letters at most: these are {len(text):,}.")
    return text


def _one_of(fields: Fields, name: str, *choices: str) -> str:
    text = fields.text(name)
    if text not in choices:
        fields.refuse(name, "Choose one of these.")
    return text


def _options(fields: Fields, algorithm: m.AlgorithmView) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name in (name for part in option_names(algorithm) for name in part):
        text = fields.text(f"option.{name}")
        default = algorithm.options.get(name)
        if not text and name in algorithm.required:
            fields.refuse(f"option.{name}", f"{algorithm.name} needs it.")
        elif text and text != _as_text(default):
            options[name] = _value(fields, name, text, default)
    return options


def _value(fields: Fields, name: str, text: str, default: object) -> Any:
    """Return an option as a JSON value; words stay words."""
    try:
        value = msgspec.json.decode(text.replace("_", "") if text[:1].isdigit() else text)
    except msgspec.DecodeError:
        value = text
    if isinstance(default, int | float) and not isinstance(default, bool) and not isinstance(value, int | float):
        fields.refuse(f"option.{name}", "Give a number.")
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def shown_options(fields: Fields, algorithm: m.AlgorithmView | None) -> Mapping[str, Any]:
    """Return the variables of the template for options.

    Args:
        fields: The form.
        algorithm: The algorithm that is chosen.
    """
    first, other = option_names(algorithm) if algorithm is not None else ([], [])
    wrong = any(f"option.{name}" in fields.errors for name in other)
    shown = {"algorithm": algorithm, "first": first, "other": other, "other_wrong": wrong, "meanings": MEANINGS}
    return shown if algorithm is None else shown | {"purpose": purpose_of(algorithm)}
