"""All commands together, and the way from arguments to an exit code.

An error becomes one message on stderr, never a traceback.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from discreet import _version
from discreet._install import install
from discreet.cli import FAILED, INTERRUPTED, Interrupted, missing_package
from discreet.cli._console import complain, hint, show
from discreet.cli._modules import in_front, load
from discreet.cli._options import app, flag, option
from discreet.cli.service._settings import given_by
from discreet.core.errors import ArgumentError, DiscreetError
from discreet.lab.kernels import SlowWarning

FINE, BAD_USAGE = 0, 2
COMMANDS = (  # in the order of --help
    *("lab.simulate", "lab.compare", "lab.reproduce"),
    *("logs.best_arm", "logs.test", "logs.stop", "logs.replay"),
    *("intervals", "report", "recommend", "forecast"),
    *("lab.bounds", "audit", "lab.policies", "lab.plot"),
    *("service.serve", "service.admin_key", "service.backup", "service.restore"),
)

for _name in COMMANDS:
    importlib.import_module(f"discreet.cli.{_name}")


@app.callback(
    epilog="`best-arm`, `test`, `stop`, `replay` and `audit` use real noise. All simulations use seeded noise: what "
    "they print is not private."
)
def _start(
    context: typer.Context,
    version: Annotated[bool, flag("Print the version and exit.", "--version")] = False,
    module: Annotated[
        list[str] | None,
        option("FILE.py", "A file or module of yours to import first, with algorithms of your own; once for each."),
    ] = None,
) -> None:
    """Private sequential decisions: bandits and stopping rules under pure differential privacy."""
    if version:
        show(f"discreet {_version.__version__}")
        raise typer.Exit
    for name in module or ():
        load(name)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            return _exit_code(arguments)
        except DiscreetError as error:
            complain(str(error))
            return BAD_USAGE
        except Interrupted as error:
            complain(str(error), "interrupted; ")
            return INTERRUPTED
        except ModuleNotFoundError as error:
            missing = missing_package(error)
            complain(str(error) if "pip install" in str(error) else f"{missing} is not installed: {install('lab')}")
        except BrokenPipeError:  # the reader, such as head, has closed the pipe: nothing more can be flushed to it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            complain(f"{error.filename or 'a file'}: {error.strerror or error}")
        return FAILED


def _exit_code(arguments: Sequence[str]) -> int:
    """Run a command and return typer's exit code. Without `standalone_mode` typer raises its errors."""
    try:
        code = typer.main.get_command(app).main(in_front(arguments), prog_name="discreet", standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except Exception as error:
        # Typer's errors of use have no public class in all of its versions, but this method in each.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "discreet"
        param = getattr(error, "param", None)
        source = given_by(context, param.name) if context and param is not None and param.name else ""
        raise ArgumentError(f"{error.format_message()}{source}\n{where} --help says more") from error
    if code == INTERRUPTED:
        raise Interrupted("nothing was written")
    return code if isinstance(code, int) else FINE


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    hint(str(message))
    if issubclass(category, SlowWarning):  # worker processes would repeat it
        os.environ.setdefault("PYTHONWARNINGS", "ignore::UserWarning")
