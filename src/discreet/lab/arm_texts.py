"""Arms as a person writes them: `0.3`, `beta(2, 5)`, `csv(sales.csv, amount)`."""

import re
from collections.abc import Callable

from discreet.core.errors import ArgumentError
from discreet.lab.arms import Bernoulli, Beta, Discrete, Empirical, Rewards, TruncatedNormal, Uniform

_FORMS = (
    "0.3 or bernoulli(0.3)",
    "beta(2,5) or beta(2,5,LOW,HIGH)",
    "uniform(0.2,0.8)",
    "normal(CENTRE,SD) or normal(CENTRE,SD,LOW,HIGH)",
    "discrete(VALUE:WEIGHT,VALUE:WEIGHT,...)",
    "csv(PATH,COLUMN)",
)
_NUMERIC: dict[str, tuple[Callable[..., Rewards], tuple[int, ...]]] = {  # and the possible numbers of parameters
    "bernoulli": (Bernoulli, (1,)),
    "beta": (Beta, (2, 4)),
    "uniform": (Uniform, (2,)),
    "normal": (TruncatedNormal, (2, 4)),
}


def parse(text: str) -> Rewards:
    """Return the arm that a short text names; a number alone is a Bernoulli arm's mean.

    >>> parse("0.3")
    Bernoulli(mean=0.3)
    >>> parse("beta(2, 5)")
    Beta(a=2.0, b=5.0, low=0.0, high=1.0)
    >>> parse("discrete(0:0.5, 0.5:0.3, 1:0.2)").mean
    0.35
    >>> parse("gamma(2)")
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: the arm 'gamma(2)' is of no known form; known are: 0.3 or bernoulli(0.3);
    beta(2,5) or beta(2,5,LOW,HIGH); uniform(0.2,0.8); normal(CENTRE,SD) or normal(CENTRE,SD,LOW,HIGH);
    discrete(VALUE:WEIGHT,VALUE:WEIGHT,...); csv(PATH,COLUMN)
    """
    match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text)
    name, inside = (match[1].lower(), match[2]) if match else ("bernoulli", text)
    try:
        if name == "csv" and "," in inside:
            path, column = inside.rsplit(",", 1)  # a path may have commas
            return Empirical.from_csv(path.strip(), column.strip())
        if name == "discrete":
            pairs = [[float(number) for number in pair.split(":")] for pair in inside.split(",")]
            if all(len(pair) == 2 for pair in pairs):
                return Discrete(*zip(*pairs, strict=True))
        if name in _NUMERIC:
            build, sizes = _NUMERIC[name]
            numbers = [float(number) for number in inside.split(",")]
            if len(numbers) in sizes:
                return build(*numbers)
    except ArgumentError as error:
        raise ArgumentError(f"the arm {text!r}: {error}") from error
    except ValueError:  # what should be a number is none
        pass
    raise ArgumentError(f"the arm {text!r} is of no known form; known are: {'; '.join(_FORMS)}")
