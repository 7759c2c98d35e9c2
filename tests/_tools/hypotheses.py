"""The hypotheses of the machine-checked theorems, as the table of docs/proofs/machine.md has them.

Each names the function that keeps it. `REMOVED` says how to take that out of the function: a piece of its source, and
what stands there instead. The test that the table names must then fail.
"""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/proofs/machine.md"
NO = "if False:"

REMOVED = {
    "drivers hand over releases alone": (
        "self._algorithm.learn(releases)",
        "self._algorithm.learn(tuple(one._replace(steps=totals[one.arm]) for one in releases))",
    ),
    "an algorithm holds nothing else": ("_check_fields(key, algorithm)", "pass"),
    "an epoch is released once": ("if plan.epoch != self._epoch + 1:", NO),
    "rewards are counted off": ("self._taken[arm] += count", "pass"),
    "what has waited is released once": ("self._held.pop(arm, (0, 0))", "self._held.get(arm, (0, 0))"),
    "rewards are on the grid": ("if not self.low <= value <= self.high:", NO),
    "totals are those of rewards on the grid": ("if type(total) is int and 0 <= total <= largest:", "if True:"),
    "the declared sensitivity": ("return (width,) * len(self.parts)", "return (width // 2,) * len(self.parts)"),
    "the price is charged": ("if not math.fsum((*prices, -promised)) <= 0:", NO),
    "prices are positive": ("if not prices or not all(price > 0 for price in prices):", NO),
    "a person's epochs add up": ("prices = (*self._spent, *prices)", "pass"),
    "a person has paid before a restart": ("spent=tuple(paid)", "spent=()"),
    "a person is in whole totals alone": ("if not isinstance(query, TotalsQuery) or query.held:", NO),
    "a row pays for each arm": ("prices = prices * len(self._taken)", "pass"),
    "a series keeps its terms": ("if type(query) is not type(before) or query.terms != before.terms:", NO),
    "noise of this scale": ("return scale if Fraction(scale) >= exact else", "return scale or"),
    "noise of this law": ("dp.m.make_laplace(*space, scale=scale)", "dp.m.make_laplace(*space, scale=scale / 1.2)"),
    "each draw is used once": ("served, rest = pool[:count], pool[count:]", "served, rest = pool[:count], pool"),
    "each number has a draw of its own": ("total + noises[index]", "total + noises[0]"),
    "a child draws its own": ("self._pools = OrderedDict()", "pass"),
    "one B for all tests": ("if self._threshold_noise is None:", "if True:"),
    "the scale of the tests": ("factor = 1 if self._one_sided else 3", "factor = 1"),
    "one-sided noise is folded": ("return -np.abs(drawn) if self._one_sided else drawn", "return drawn"),
    "tests are of running totals": ("if counts != {query.counts[-1] - self._count} or", "if"),
    "nothing after a yes": ("if self._halted:", NO),
    "a reward is in no more vectors than it pays for": ("if max(entered.values(), default=0) > query.most:", NO),
    "margins are exact": ("return limits.dtype == np.int64 and", "return True or"),
    "B is erased at the end": ("self._sums, self._threshold_noise = {}, None", "pass"),
    "a counter takes a reward at a time": ("if set(plan.pulls.values()) != {1}:", NO),
    "a tree takes no more than its horizon": ("if self.count == self.horizon:", NO),
    "the levels of a tree": ("return len(self._open)", "return max(1, len(self._open) - 1)"),
    "one node of each level": ("sum(self._open[:level])", "sum(self._open)"),
    "both parts of a hybrid counter": ("return 2 if", "return 1 if"),
}


class Hypothesis(NamedTuple):
    """A row of the table."""

    words: str
    theorem: str
    function: str
    test: str

    @property
    def source(self):
        """The file of the function."""
        module, _ = self.found()
        return Path(module.__file__)

    def found(self):
        """Return the module of the function, and the function."""
        parts = self.function.split(".")
        for size in range(len(parts) - 1, 0, -1):
            try:
                module = import_module(".".join(parts[:size]))
            except ModuleNotFoundError:
                continue
            thing = module
            for part in parts[size:]:
                thing = getattr(thing, part)
            return module, thing
        raise AssertionError(f"there is no {self.function}")


def hypotheses():
    """Return the rows of the table."""
    rows = re.findall(r"^\| (.+?) \| `([\w.]+)` \| `([\w.]+)` \| `([\w./:]+)` \|$", PAGE.read_text(), re.M)
    return [Hypothesis(*row) for row in rows]


def fails_without(hypothesis, folder):
    """Return whether the test fails where the function no longer keeps the hypothesis, and what it said.

    Args:
        hypothesis: The hypothesis.
        folder: An empty folder for a copy of the package.
    """
    package = ROOT / "src/discreet"
    copy = shutil.copytree(package, folder / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    path = copy / hypothesis.source.relative_to(package)
    text = path.read_text()
    old, new = REMOVED[hypothesis.words]
    name = hypothesis.function.rpartition(".")[2]
    start = text.index(f"def {name}(")
    if hypothesis.function.split(".")[-2][0].isupper():  # a method: of several with its name, that of its class
        start = text.index(f"def {name}(", text.index(f"class {hypothesis.function.split('.')[-2]}"))
    at = text.index(old, start)
    path.write_text(text[:at] + new + text[at + len(old) :])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    environment = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        [*command, hypothesis.test], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    return found.returncode == 1, found.stdout[-2000:] + found.stderr[-2000:]
