"""From arguments to an exit code: what goes wrong becomes one message on stderr, never a traceback."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer

from discreet.cli import FAILED, INTERRUPTED, missing_package
from discreet.cli.commands import app
from discreet.cli.console import complain, hint
from discreet.cli.reproduction import Interrupted
from discreet.core.errors import DiscreetError
from discreet.lab.fast import SlowWarning

FINE, BAD_USAGE = 0, 2
UsageError: Any = typer.BadParameter.__bases__[0]  # typer has click's inside it, or next to it, by its version


def run(arguments: Sequence[str]) -> int:
    """Run one command."""
    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        try:
            return exit_code(arguments)
        except UsageError as error:
            where = error.ctx.command_path if error.ctx else "discreet"
            complain(f"{error.format_message()}\n{where} --help says more")
            return BAD_USAGE
        except DiscreetError as error:
            complain(str(error))
            return BAD_USAGE
        except Interrupted as error:
            complain(str(error), "interrupted; ")
            return INTERRUPTED
        except ModuleNotFoundError as error:
            package = missing_package(error)
            complain(f"{package} is not installed: pip install 'discreet[lab]'")
        except BrokenPipeError:  # the reader, such as head, has seen enough; what is left must not be flushed to it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        return FAILED


def exit_code(arguments: Sequence[str]) -> int:
    """What typer gives for a command; without `standalone_mode` it leaves errors to us."""
    try:
        command = typer.main.get_command(app)
        code = command.main(list(arguments), prog_name="discreet", standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    if code == INTERRUPTED:
        raise Interrupted("nothing was written")
    return code if isinstance(code, int) else FINE


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """A warning as a line for a person."""
    hint(str(message))
    if issubclass(category, SlowWarning):  # worker processes would say it again
        os.environ.setdefault("PYTHONWARNINGS", "ignore::UserWarning")
