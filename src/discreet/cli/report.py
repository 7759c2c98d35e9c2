"""`discreet report`: the privacy report of a saved state, for the file."""

from typing import Annotated

import typer

from discreet.cli import _options as opt
from discreet.cli._console import show
from discreet.core.errors import ArgumentError
from discreet.drivers.reading import read_run
from discreet.reporting.report import SUFFIXES, PrivacyReport

SUBJECT = "Whose data it is about, in your words."
OUTPUT = f"Write it to this file: as text, HTML or JSON, or its ledger as CSV or Parquet ({', '.join(SUFFIXES)})."


@opt.command(
    "discreet report state.json",
    "discreet report state.json --output report.html --subject 'visitors of the shop, November 2026'",
    "discreet report state.json --output ledger.csv",
)
def _report(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A state that `save` has written.")],
    *,
    output: Annotated[list[str] | None, opt.option("PATH", OUTPUT + " Once for each.")] = None,
    subject: Annotated[str, opt.option("TEXT", SUBJECT)] = "",
) -> None:
    """Report what a saved run has released: about whom, at what price, by which mechanism, with which proof.

    The report holds releases and options and nothing else, so it may be published. The exit code is 0 whether or not
    the run was private: the first line says so. A state that a running program keeps is refused: ask that program.
    """
    try:
        algorithm, ledger = read_run(file)
    except FileNotFoundError as error:
        raise ArgumentError(str(error)) from error
    report = PrivacyReport(algorithm.privacy, ledger, algorithm.key, algorithm.options(), subject)
    for path in output or ():
        report.write(path)
        show(f"{path}: {report.verdict}")
    if not output:
        show(str(report))
