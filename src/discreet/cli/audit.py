"""What `audit` does: try to refute the privacy of algorithms, and say what was found."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.audit import Audit
from discreet.audit import audit as run_audit
from discreet.audit.examine import ERROR, SECONDS, STEPS
from discreet.audit.subjects import names
from discreet.cli import FAILED
from discreet.cli.arguments import NUMBER, first_sentence, real, whole
from discreet.cli.console import complain, counted, duration, fitting_table, output, progress, show, show_json
from discreet.core.errors import ArgumentError
from discreet.core.registry import TABLES

SPARE = ("kind", "seconds", "runs")


def load_module(name: str | None) -> None:
    """Import a module that registers algorithms of its own, from the present folder or wherever Python finds it."""
    if name is None:
        return
    sys.path.insert(0, "")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise ArgumentError(f"module must be one that Python can import, got {name!r}: {error}") from None
    finally:
        sys.path.remove("")


def audit_algorithms(algorithms: Sequence[str], *, json: bool, **how: Any) -> None:
    """Audit with a progress bar, print a row for each algorithm, and raise the exit code for a violation."""
    count = len(algorithms or names())
    with progress(f"auditing {counted(count, 'algorithm')}", STEPS * count, quiet=json) as advance:
        found = run_audit(*algorithms, **how, on_progress=advance)
    if json:
        show_json([one.to_dict() for one in found])
    else:
        tell(found)
    if any(one.violated for one in found):
        raise typer.Exit(FAILED)


def tell(found: Sequence[Audit]) -> None:
    """A table, what it means, and every violation with its event."""
    output().print(audit_table(found))
    private = [one for one in found if one.private]
    if not private:
        return
    show("")
    show(
        "The real objects ran on real noise, on inputs that differ in one reward. 'Epsilon at least' is what the runs "
        f"prove, all rows together with confidence 1 - {found[0].error:g}. An audit can refute a claim, and not prove "
        f"it: more --seconds see more. It took {duration(sum(one.seconds for one in found))}.",
        "dim",
        wrap=True,
    )
    for one in private:
        if one.violated and one.worst:
            claim = f"claims epsilon = {one.claimed:g} and loses at least {one.epsilon:.3f}"
            complain(f"{one.algorithm} {claim} ({one.worst.pair}). The event: {one.worst.event}", "violation: ")


def audit_table(found: Sequence[Audit]) -> Table:
    """A row for each algorithm; those that are not private have no figures."""
    columns = [
        ("algorithm", [one.algorithm for one in found]),
        ("kind", [one.kind for one in found]),
        ("claimed", [f"{one.claimed:g}" if one.private else "-" for one in found]),
        ("epsilon at least", [f"{one.epsilon:.2f}" if one.private else "-" for one in found]),
        ("runs", [f"{one.samples:,}" if one.private else "-" for one in found]),
        ("seconds", [f"{one.seconds:.1f}" if one.private else "-" for one in found]),
        ("verdict", [one.verdict for one in found]),
    ]
    return fitting_table(columns, SPARE)


def complete_algorithm() -> list[tuple[str, str]]:
    """Everything that can be audited, with what it is."""
    known = {key: kind for table in TABLES.values() for key, kind in table.items()}
    return [(name, first_sentence(known[name]) if name in known else "a mechanism") for name in names()]


AlgorithmNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ALGORITHM",
        help="Short names of policies, stopping rules and mechanisms.",
        autocompletion=complete_algorithm,
        show_default="all",
    ),
]
Claim = Annotated[
    float, typer.Option(parser=real, metavar=NUMBER, help="The epsilon to build them with, which they then claim.")
]
Seconds = Annotated[
    float, typer.Option(parser=real, metavar=NUMBER, help="Processor time for each algorithm; more sees more.")
]
Samples = Annotated[
    int | None,
    typer.Option(parser=whole, metavar=NUMBER, help="Instead: runs on each side of each pair of inputs; 1e4 is fine."),
]
Error = Annotated[
    float, typer.Option(parser=real, metavar=NUMBER, help="The chance that any bound of this audit is too high.")
]
Module = Annotated[
    str | None,
    typer.Option(metavar="MODULE", help="A Python module to import first: yours, with a discreet.register in it."),
]
__all__ = [
    "ERROR", "SECONDS", "AlgorithmNames", "Claim", "Error", "Module", "Samples", "Seconds", "audit_algorithms",
    "load_module",
]  # fmt: skip
