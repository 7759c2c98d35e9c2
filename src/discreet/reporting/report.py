"""The privacy report of a run, as text, HTML and JSON. It follows from releases and options alone, so it is public."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from typing import Any

from discreet._display import Page, Table, marked
from discreet._version import __version__
from discreet._wording import plural
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.ledger import Ledger, paid
from discreet.core.plans import Arm
from discreet.core.privacy import Privacy, Theorem
from discreet.core.releases import Kind
from discreet.reporting import export

FORMAT = 1
SUFFIXES = (".txt", ".html", ".json", ".csv", ".parquet")
_MECHANISMS = {
    Kind.TOTAL: "the exact sum of the rewards, plus discrete Laplace noise",
    Kind.SQUARES: "the exact sum of squared differences of pairs, plus discrete Laplace noise",
    Kind.TESTS: "a sparse vector: whether noisy running sums have crossed a noisy threshold",
    Kind.NODE: "a tree of partial sums, each plus discrete Laplace noise",
}
_NOT_COVERED = (
    "That somebody took part, and how many did, is not hidden; what they did is.",
    "Somebody with m rewards in the data pays m times, unless the unit is a person.",
    "Other releases about the same people add up: this report knows of this run alone.",
    "Whoever runs the program sees rewards. Side channels of that program are not covered.",
)
_CSS = """
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6475; --line: #d9dde5; --paper: #fff; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e8f0; --soft: #9ba7b8; --line: #2f3845; --paper: #11151c; --bad: #ff8f85; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 56rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 1.6rem 0 0.3rem; }
table { border-collapse: collapse; } .scroll { overflow-x: auto; }
th, td { padding: 0.25rem 0.9rem 0.25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) { td:last-child { min-width: 12rem; overflow-wrap: anywhere; } }
.soft { color: var(--soft); } .bad { color: var(--bad); font-weight: 600; } code { overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class PrivacyReport:
    """A report of what a run has released, for whoever must answer for people's data.

    It holds releases and options, and nothing else: all of it may be published. `print` writes it as text, a notebook
    shows it, `write` files it.

    Args:
        privacy: The promise.
        ledger: All that was released.
        algorithm: The key of the algorithm; None if it is not known.
        options: Its options.
        subject: Whose data it is about, in the words of whoever files the report.
        made: The time at which it was made.
    """

    privacy: Privacy
    ledger: Ledger
    algorithm: str | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    subject: str = ""
    made: datetime = dataclasses.field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    @property
    def paid(self) -> float:
        """The epsilon that the dearest unit has paid, added up from the ledger."""
        return paid(self.ledger, self.privacy.unit)

    @property
    def simulated(self) -> bool:
        """True if noise came from a seed, so that nobody is protected."""
        return self.privacy.simulated or any(release.simulated for release in self.ledger)

    @property
    def kept(self) -> bool:
        """True if the promise is one, and what the ledger adds up to is within it."""
        return self.privacy.promised and not self.simulated and self.paid <= self.privacy.epsilon

    @property
    def verdict(self) -> str:
        """A sentence that says whether the promise was kept."""
        if not self.privacy.promised:
            return f"NOT PRIVATE: {self.privacy.reason}."
        if self.simulated:
            return "SIMULATED: the noise came from a seed, and protects nobody."
        if not self.kept:
            return f"BROKEN: the ledger adds up to {self.paid:g}, more than the promised {self.privacy.epsilon:g}."
        return f"Kept: the ledger adds up to {self.paid:g} of the promised epsilon = {self.privacy.epsilon:g}."

    def summary(self) -> list[dict[str, Any]]:
        """Return a row for each arm and kind of release: how many, of how many rewards, at what price, by what."""
        found: dict[tuple[Arm, str], dict[str, Any]] = {}
        for release in self.ledger:
            for arm, _, last in release.spans:
                row = found.setdefault(
                    (arm, str(release.kind)),
                    {"arm": arm, "kind": str(release.kind), "releases": 0, "rewards": 0, "epsilon": 0.0, "scale": 0.0},
                )
                row["releases"] += 1
                row["rewards"] = max(row["rewards"], last)
                row["epsilon"] = max(row["epsilon"], release.epsilon)
                row["scale"] = max(row["scale"], self._in_rewards(release.scale))
                row["mechanism"] = _MECHANISMS.get(Kind(release.kind), str(release.kind))
        return list(found.values())

    def _in_rewards(self, scale: float) -> float:
        grid = self.ledger.grid
        return scale if grid is None else scale * grid.step

    @property
    def checked(self) -> list[str]:
        """The checks of the promise, in sentences that say what can be repeated."""
        theorem = self.privacy.theorem
        lines = ["This report added the ledger up anew, release by release, and compared it with the promise."]
        if theorem is not None and theorem is not Theorem.BY_HAND:
            lines.append(f"The theorem {theorem} is checked by Coq: `make prove` repeats it.")
        if self.algorithm is not None and self.privacy.promised:
            lines.append(
                f"Exact tests on tiny inputs, replay at full size and planted bugs: `make verify` repeats them; "
                f"`discreet audit {self.algorithm}` tries to refute the promise on this machine."
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values, with all entries of the ledger."""
        promise = self.privacy
        return {
            "format": FORMAT,
            "made": self.made.isoformat(),
            "made_by": _versions(),
            "subject": self.subject,
            "algorithm": {"key": self.algorithm, "options": dict(self.options)},
            "privacy": {
                "promised": promise.promised,
                "epsilon": promise.epsilon if promise.promised else None,
                "delta": 0.0 if promise.promised else None,
                "unit": str(promise.unit),
                "protects": promise.unit.words,
                "neighbours": promise.neighbours,
                "reason": promise.reason,
                "theorem": None if promise.theorem is None else str(promise.theorem),
                "simulated": self.simulated,
            },
            "price": {"paid": self.paid if promise.promised else None, "kept": self.kept, "verdict": self.verdict},
            "released": self.summary(),
            "checked": self.checked,
            "not_covered": list(_NOT_COVERED),
            "ledger": {
                "releases": len(self.ledger),
                "epochs": self.ledger.epochs,
                "sha256": export.digest(self.ledger),
                "entries": export.entries(self.ledger),
            },
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the report as a page of HTML that stands alone: it fetches nothing, and prints well."""
        title = f"Privacy report{': ' * bool(self.subject)}{self.subject}"
        bad = "" if self.kept else ' class="bad"'
        parts = [f"<h1>{escape(title)}</h1>", f"<p{bad}>{escape(self.verdict)}</p>"]
        for heading, facts in self._sections().items():
            parts.append(f"<h2>{escape(heading)}</h2>")
            if isinstance(facts, Table):
                parts.append(_html(facts))
            elif isinstance(facts, list):
                parts.append(f"<ul>{''.join(f'<li>{marked(line)}</li>' for line in facts)}</ul>")
            else:
                rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(str(v))}</td></tr>" for k, v in facts.items())
                parts.append(f'<div class="scroll"><table>{rows}</table></div>')
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        title = escape(title)
        return (
            f'<!doctype html>\n<html lang="en"><head>{head}<title>{title}</title><style>{_CSS}</style></head>\n'
            f"<body>{''.join(parts)}</body></html>\n"
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file; its suffix says as what. CSV and Parquet hold the entries of the ledger.

        Args:
            path: A path that ends in .txt, .html, .json, .csv or .parquet.

        Raises:
            ArgumentError: The suffix is another one.
        """
        suffix = os.path.splitext(path)[1].lower()
        if suffix not in SUFFIXES:
            raise ArgumentError(f"path must end in one of {', '.join(SUFFIXES)}, got {os.fspath(path)!r}")
        if suffix == ".parquet":
            content = BytesIO()
            export.to_parquet(self.ledger, content)
            with open(path, "wb") as binary:
                binary.write(content.getvalue())
            return
        texts = {".txt": lambda: f"{self}\n", ".html": self.to_html, ".json": self.to_json}
        text = texts.get(suffix, lambda: export.to_csv(self.ledger))()
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def _sections(self) -> dict[str, dict[str, object] | Table | list[str]]:
        """Return the questions that the report answers, with their answers."""
        promise = self.privacy
        named = {} if self.algorithm is None else {"algorithm": self.algorithm}
        given = {name: value for name, value in self.options.items() if value is not None}
        released = Table(
            ("arm", "what", "releases", "rewards", "epsilon of each", "noise scale", "mechanism"),
            [
                (
                    "-" if row["arm"] is None else str(row["arm"]), row["kind"], row["releases"], row["rewards"],
                    row["epsilon"], row["scale"], row["mechanism"],
                )
                for row in self.summary()
            ],
        )  # fmt: skip
        proof = "none" if promise.theorem is None else promise.theorem.words
        return {
            "What was released": released,
            "About whom": {
                **({"data": self.subject} if self.subject else {}),
                "protected": promise.unit.words,
                "hard to tell apart": promise.neighbours,
            },
            "At what price": {
                "promised": f"epsilon = {promise.epsilon:g}, delta = 0" if promise.promised else "nothing",
                "paid at most": f"{self.paid:g}" if promise.promised else "-",
                "ledger": f"{plural(len(self.ledger), 'release')} in {plural(self.ledger.epochs, 'epoch')}",
                "SHA-256 of the ledger": export.digest(self.ledger),
            },
            "By which algorithm": {**named, **{k: _brief(v) for k, v in given.items()}},
            "With which proof": {"why": promise.reason, "proof": proof},
            "Checked how": self.checked,
            "Not covered": list(_NOT_COVERED),
            "Made": {"at": self.made.isoformat(sep=" "), "by": ", ".join(f"{k} {v}" for k, v in _versions().items())},
        }

    def __str__(self) -> str:
        return "\n\n".join([f"Privacy report. {self.verdict}", *(page.text() for page in self._pages())])

    def _repr_html_(self) -> str:
        parts = [f"<div><strong>Privacy report.</strong> {escape(self.verdict)}</div>"]
        return f'<div class="discreet">{"".join([*parts, *(page.html() for page in self._pages())])}</div>'

    def _pages(self) -> list[Page]:
        """Return a page for each question."""
        return [
            Page(heading, tables=[found])
            if isinstance(found, Table)
            else Page(heading, notes=[f"  {line}" for line in found])
            if isinstance(found, list)
            else Page(heading, found)
            for heading, found in self._sections().items()
        ]


def privacy_report(source: Any, *, subject: str = "") -> PrivacyReport:
    """Return the privacy report of a run.

    Args:
        source: A driver (`Bandit`, `Stream`, `Totals`), an algorithm, a stopping rule's result, or an answer from
            a log.
        subject: Whose data it is about, in your words, such as "visitors of the shop, November 2026".

    Raises:
        ArgumentError: The source has no promise or no ledger.

    >>> import discreet
    >>> rule = discreet.DPInverseSampling(epsilon=1.0, alpha=0.5, beta=0.1, low=0, high=1)
    >>> report = privacy_report(rule.run([0, 1] * 500))
    >>> print(report.verdict)
    Kept: the ledger adds up to 1 of the promised epsilon = 1.
    >>> report.summary()[0]["mechanism"]
    'a sparse vector: whether noisy running sums have crossed a noisy threshold'
    """
    privacy, ledger = getattr(source, "privacy", None), getattr(source, "ledger", None)
    if not isinstance(privacy, Privacy) or not isinstance(ledger, Ledger):
        raise ArgumentError(f"source must be a driver, an algorithm or a result with a ledger, got {source!r}")
    algorithm = source if isinstance(source, Algorithm) else getattr(source, "algorithm", None)
    if not isinstance(algorithm, Algorithm):
        return PrivacyReport(privacy, ledger, subject=subject)
    return PrivacyReport(privacy, ledger, algorithm.key, algorithm.options(), subject)


def _versions() -> dict[str, str]:
    """Return the versions of what the promise rests on."""
    import platform  # noqa: PLC0415
    from importlib import metadata  # noqa: PLC0415

    return {
        "discreet": __version__,
        "opendp": metadata.version("opendp"),
        "numpy": metadata.version("numpy"),
        "python": platform.python_version(),
    }


def _brief(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _html(table: Table) -> str:
    sides = [' class="number"' if right else "" for right in table.on_the_right]
    head = "".join(f"<th{side}>{escape(str(name))}</th>" for name, side in zip(table.headings, sides, strict=True))
    rows = "".join(
        f"<tr>{''.join(f'<td{side}>{escape(_cell(cell))}</td>' for cell, side in zip(row, sides, strict=True))}</tr>"
        for row in table.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
