"""`discreet audit`: attempts to refute the privacy of algorithms."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet._wording import duration, plural
from discreet.audit import Audit
from discreet.audit import audit as run_audit
from discreet.audit.examine import ERROR, SECONDS, STEPS
from discreet.audit.subjects import names
from discreet.cli import FAILED
from discreet.cli import _options as opt
from discreet.cli._console import complain, console, fitting_table, progress, show, show_json
from discreet.core.registry import TABLES


def _complete_algorithm() -> list[tuple[str, str]]:
    known = {key: kind for table in TABLES.values() for key, kind in table.items()}
    return [(name, opt.first_sentence(known[name]) if name in known else "a mechanism") for name in names()]


@opt.command(
    "discreet audit",
    "discreet audit dp-se above-threshold --seconds 60",
    "discreet --module mine.py audit my-policy -O n=50 --json",
)
def _audit(
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ALGORITHM",
            help="Short names of policies, stopping rules and mechanisms.",
            autocompletion=_complete_algorithm,
            show_default="all",
        ),
    ] = None,
    *,
    epsilon: Annotated[float, opt.real("The epsilon to build them with, which they then claim.")] = 1.0,
    option: opt.OptionTexts = None,
    seconds: Annotated[float, opt.real("Processor time for each algorithm; more sees more.")] = SECONDS,
    samples: Annotated[int | None, opt.whole("Instead: runs on each side of each pair of inputs; 1e4 is fine.")] = None,
    error: Annotated[float, opt.real("The chance that any bound of this audit is too high.")] = ERROR,
    json: opt.Json = False,
) -> None:
    """Try to refute the privacy of every algorithm here, or of one of your own, by running it many times.

    The real objects run on real noise, on inputs that differ in one reward:
    by totals, as a stream, by ask and tell, and across a saved state. From
    how often an event happens on either input follows a lower bound on
    epsilon, which must not exceed what is claimed. All of it takes about two
    and a half minutes.

    A private algorithm is accused by chance once in a million audits. The
    exit code is 1 if there is a violation, and 2 if something is asked wrongly.
    """
    given: dict[str, Any] = {"epsilon": epsilon, "seconds": seconds, "samples": samples, "error": error}
    options, chosen = opt.read_options(option), algorithms or names()
    with progress(f"auditing {plural(len(chosen), 'algorithm')}", STEPS * len(chosen), quiet=json) as advance:
        found = run_audit(*chosen, **given, options=options, on_progress=advance)
    if json:
        show_json([one.to_dict() for one in found])
    else:
        _show(found)
    if any(one.violated for one in found):
        raise typer.Exit(FAILED)


def _show(found: Sequence[Audit]) -> None:
    """Print a table, its meaning, and every violation with its event."""
    console().print(_table(found))
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


def _table(found: Sequence[Audit]) -> Table:
    """Return a row for each algorithm; those that are not private have no figures."""
    columns = [
        ("algorithm", [one.algorithm for one in found]),
        ("kind", [one.kind for one in found]),
        ("claimed", [f"{one.claimed:g}" if one.private else "-" for one in found]),
        ("epsilon at least", [f"{one.epsilon:.2f}" if one.private else "-" for one in found]),
        ("runs", [f"{one.samples:,}" if one.private else "-" for one in found]),
        ("seconds", [f"{one.seconds:.1f}" if one.private else "-" for one in found]),
        ("verdict", [one.verdict for one in found]),
    ]
    return fitting_table(columns, ("kind", "seconds", "runs"))
