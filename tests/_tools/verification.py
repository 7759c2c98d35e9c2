"""The page that `make verify` ends with: what was measured in this run, and nothing else.

A study takes the fixture `page` and puts rows on it:

    page("Faults survived", fault="a full disk", tried=5, survived=5)

A section is there as soon as a row names it; a line in SECTIONS gives it a place and a sentence. Rows that agree in
their first column are one row: whole numbers are added up, and of fractions the largest stays. Rows travel with the
reports of tests, so it makes no difference how many processes run them.
"""

import datetime
import io
import os
import platform
import time
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from rich import box
from rich.console import Console
from rich.table import Table

import discreet

SECTIONS = {
    "Privacy": "The worst exact loss on tiny inputs, in parts of the claimed epsilon (at most 1); the epsilon claimed "
    "in an audit; and what `discreet audit` proves to be lost at least, with confidence 1 - 1e-6 for all rows.",
    "Theorems": "By which machine-checked theorem each private algorithm is private (docs/proofs/machine.md).",
    "Hypotheses of the proofs": "Each was taken out of the code, and the test that must miss it did.",
    "Planted bugs": "Where each was caught, of the places where it must be: by exact probabilities, by scales of "
    "noises, by the audit with real noise.",
    "False alarms": "Audits of correct code, one after the other: none may accuse it.",
    "Faults survived": "Nothing was seen that the file did not have, and no release was lost.",
    "Walks": "Random walks through saves, loads, copies of files, crashes and full disks: no draw masked two releases, "
    "nothing was shown that a file did not have, nobody paid more than epsilon.",
    "Service under faults": "On both databases: every count exact, every release drawn once, nothing changed later.",
    "Service under attack": "The MiB by which a server's memory grew at the most, and the limit by docs/service.md.",
    "Forecasts": "The mean of 1,000 runs of the search itself, and how far the forecast lies from it.",
    "Logs": "Answers from a log, with real noise: the arm that is the best one by how the log was made.",
    "Fuzzing": "Every case was refused by an error of ours or understood, and no step broke the model.",
    "Statements at all looks": "Runs in which a statement of level 0.95 about a ledger was false at any look.",
    "Best arm in a budget": "Shares of wrong answers, next to those of equal shares that are released once.",
    "Sequential tests": "Of tests between two means at alpha = beta = 0.05: the shares of wrong verdicts, and the "
    "samples on average over the lower bound kl(0.95, 0.05)/d_epsilon, under the hypothesis where that is more.",
    "A/B tests": "At epsilon = 1, alpha = 0.05 and beta = 0.2: the people on average over those of the usual test with "
    "one look and no privacy; the chance to show the lift; and the share of false alarms, where it is largest.",
    "Tests of means that drift": "False alarms of tests at alpha = 0.05 where means ramp, jump and wave by half, or "
    "fall behind and catch up on average; and whether a promise is made there (docs/tests.md).",
    "A/B tests and their twins": "Tests without an end at epsilon = 1, if B is better: the people on average over "
    "those of the usual test, and over those of a twin with the same blocks that releases exact totals (at most 1.15).",
    "Statistical studies": "Broken promises, and how many were allowed on average.",
    "Promise of dp-inverse": "Means from 1e-5 to 0.99 of eight laws, at beta = 0.05: broken promises, and their share "
    "in the median setting and in the worst one.",
    "Samples of dp-inverse": "Mean number over the fixed one that somebody would take who knows the mean p of 0/1 "
    "samples, by the normal approximation.",
    "Samples of dp-inverse, any law": "The most, over r/mean, at alpha = 0.1 and beta = 0.05; r is the level of a "
    "first trial: 464, 635 and 1,442.",
    "Price of privacy": "Mean number of samples of dp-inverse over that of the same rule without privacy, for rewards "
    "of 0 and 1 with a mean of 0.01, against alpha times its level times epsilon.",
    "Samples of dp-mean": "Mean number over that of the better of dp-inverse and dp-bernstein, at beta = 0.05.",
    "Supply chain": "",
}
KEY, OUTCOMES = "page", ("passed", "failed", "error", "skipped")
WIDTH, LONG = 100, 12  # columns of the page; rows of a table that are better shown in two columns
LAST = 2_000  # characters of why a study failed that are shown at once; all of it follows at the end
VERSIONS = ("numpy", "numba", "opendp")

_started = time.time()


@pytest.fixture
def page(request):
    """Puts a row on the page; the first column is its name."""

    def put(section, **row):
        request.node.user_properties.append((KEY, (section, row)))

    return put


def pytest_addoption(parser):
    parser.addoption("--page", metavar="FILE", help="print what was measured as one page, and write it to a file")


def pytest_configure(config):
    if config.getoption("--page") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(config))


class FailuresAtOnce:
    """Names a study that failed as soon as it has: those who wait an hour for the page may look into it now."""

    def __init__(self, config):
        self.config = config

    def pytest_runtest_logreport(self, report):
        if report.failed:
            terminal = self.config.pluginmanager.get_plugin("terminalreporter")
            terminal.write(f"\nFAILED {report.nodeid}\n{report.longreprtext.rstrip()[-LAST:]}\n", flush=True)


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    """Print and write the page, once all processes have reported."""
    target = config.getoption("--page")
    if target:
        reports = [one for name in OUTCOMES for one in terminalreporter.stats.get(name, ()) if is_of_a_study(one)]
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        written = Page(reports, time.time() - _started, ended)
        Path(target).write_text(written.markdown(), encoding="utf-8")
        terminalreporter.write("\n" + written.text(colour=terminalreporter.hasmarkup))


def is_of_a_study(report):
    """False for a module that was skipped as a whole, for want of a library: no study is in it."""
    return report.outcome != "skipped" or hasattr(report, "user_properties")


class Page:
    """Sections of rows, made of the reports of tests."""

    def __init__(self, reports, seconds, ended=True):
        self.seconds, self.ended = seconds, ended
        self.reports = sorted(reports, key=lambda one: (one.location[0], one.location[1] or 0, one.nodeid))
        self.failed = [one.nodeid for one in self.reports if one.failed]
        self.sections, self.checks = {title: {} for title in SECTIONS}, {}
        for report in self.reports:
            properties = getattr(report, "user_properties", ())  # a module that cannot be imported has none
            rows = [value for key, value in properties if key == KEY]
            for title, row in rows:
                merge(self.sections.setdefault(title, {}), row)
            for title in {title for title, _ in rows}:
                self.checks.setdefault(title, Counter())[report.outcome] += 1
        self.sections = {title: list(rows.values()) for title, rows in self.sections.items() if rows}

    def heading(self):
        """What ran, where and when."""
        libraries = ", ".join(f"{name} {metadata.version(name)}" for name in VERSIONS)
        place = f"{os.cpu_count()} cores ({platform.system()}, Python {platform.python_version()}, {libraries})"
        minutes, seconds = divmod(round(self.seconds), 60)
        return (
            f"discreet {discreet.__version__} on {datetime.date.today():%d %B %Y}: `make verify` took {minutes} min "
            f"{seconds} s on {place}."
        )

    def verdict(self):
        """In one sentence, and what failed."""
        outcomes = Counter(one.outcome for one in self.reports)
        if not self.ended:
            return f"INTERRUPTED: {outcomes['passed']} studies passed, {len(self.failed)} failed, others did not run."
        if not self.failed:
            skipped = f", {outcomes['skipped']} skipped" if outcomes["skipped"] else ""
            return f"All {outcomes['passed']} studies passed{skipped}."
        return f"{len(self.failed)} of {len(self.reports)} FAILED: {'; '.join(self.failed)}"

    def summary(self, title):
        """A section's title, and what a reader looks for first."""
        checks, rows = self.checks[title], self.sections[title]
        told = f"{checks['passed']} of {checks.total()} checks passed"
        if title == "Planted bugs":
            told = f"{len(rows)} planted, {sum(map(is_alive, rows)) or 'none'} alive"
        if title == "False alarms":
            told = f"{sum(row['alarms'] for row in rows)} in {sum(row['audits'] for row in rows)} audits"
        return f"{title}: {told}"

    def markdown(self):
        """As a file, which needs no tool to be read."""
        parts = ["# Verification", self.heading(), f"**{self.verdict()}** Made again by `make verify`."]
        for title, rows in self.sections.items():
            head, body = columns(rows)
            lines = [head, ["---"] * len(head), *body]
            parts += [f"## {self.summary(title)}", SECTIONS.get(title, "")]
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        return "\n\n".join(part for part in parts if part) + "\n"

    def text(self, colour=False):
        """For a terminal."""
        console = Console(file=io.StringIO(), width=WIDTH, force_terminal=colour, highlight=False)
        console.rule("Verification")
        console.print(self.heading())
        for title, rows in self.sections.items():
            head, body = columns(rows)
            table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
            for number, name in enumerate(head):
                table.add_column(name, justify="left" if is_text(body, number) else "right")
            for line in body:
                table.add_row(*line)
            console.print(f"\n[bold]{self.summary(title)}[/bold]")
            if SECTIONS.get(title):
                console.print(f"[dim]{SECTIONS[title]}[/dim]")
            console.print(table)
        console.print(
            f"\n{self.verdict()}", style="bold red" if self.failed or not self.ended else "bold green", markup=False
        )
        return console.file.getvalue()


def merge(rows, row):
    """Put a row beside those that were there, or add it to the one of the same name."""
    known = rows.setdefault(next(iter(row.values())), {})
    for name, value in row.items():
        before = known.get(name)
        if isinstance(value, int) and isinstance(before, int):
            known[name] = before + value
        elif isinstance(value, float) and isinstance(before, float):
            known[name] = max(before, value)
        else:
            known[name] = value


def is_alive(row):
    """Whether no detector caught a bug."""
    _, *found = row.values()
    return all(cell.startswith(("0/", "-")) for cell in found)


def columns(rows):
    """The names of all columns and the cells of all rows; a long narrow table is folded in two."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    body = [[cell(row.get(name, "-")) for name in names] for row in rows]
    head = [name.replace("_", " ") for name in names]
    widths = [max(len(line[place]) for line in (head, *body)) for place in range(len(head))]
    if len(body) <= LONG or 2 * (sum(widths) + len(widths)) + 2 > WIDTH:
        return head, body
    half = -(-len(body) // 2)
    left, right = body[:half], [*body[half:], [""] * len(head)][:half]
    return [*head, "", *head], [[*one, "", *other] for one, other in zip(left, right, strict=True)]


def cell(value):
    """A value as one reads it."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}" if isinstance(value, float) else str(value)


def is_text(body, place):
    """Whether a column holds words."""
    return any(line[place][:1].isalpha() for line in body)
