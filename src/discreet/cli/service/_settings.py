"""Settings of the service from the command line, the environment, and a file; the first that has one is right."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _options as opt
from discreet.core.errors import ArgumentError

_FILE = "discreet.config"  # where a context keeps the name of the file


def option(metavar: str, text: str, name: str) -> Any:
    """Return an option that takes a value, also from the environment.

    Args:
        metavar: The name of the value.
        text: Its help.
        name: The name of the argument.
    """
    return opt.option(metavar, text, envvar=f"DISCREET_{name.upper()}")


def _read_file(context: typer.Context, file: Path | None) -> Path | None:
    """Take values from a file where neither the command line nor the environment has any."""
    if file is None or context.resilient_parsing:
        return file
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ArgumentError(f"config must be a TOML file, got {file}: {why}") from None
    known = sorted(str(param.name) for param in context.command.params if param.name not in {"config", "help"})
    values = {name.replace("-", "_"): value for name, value in found.items()}
    for name, value in values.items():
        if name not in known:
            raise ArgumentError(f"{file} has no setting {name!r}; there are {', '.join(known)}")
        if isinstance(value, dict) or value is None:
            raise ArgumentError(f"{name} must be a text, a number, true or false, or a list, given by {file}")
    context.meta[_FILE] = file
    context.default_map = {
        name: [str(one) for one in value] if isinstance(value, list) else str(value) for name, value in values.items()
    }
    return file


Database = Annotated[str, option("ADDRESS", "An SQLite file, or postgresql://user:password@host/name.", "database")]
DatabaseFile = Annotated[
    Path | None,
    option("FILE", "A file with the database's address, so that no password is on a command line.", "database_file"),
]
KeyFile = Annotated[
    Path | None, option("FILE", "Write the key to this new file, for its owner alone, and not here.", "key_file")
]
Config = Annotated[
    Path | None,
    opt.option(
        "FILE", "A TOML file with any of these options.", is_eager=True, callback=_read_file, envvar="DISCREET_CONFIG"
    ),
]


Host = Annotated[str, option("HOST", "Where to listen; put a proxy with HTTPS in front of others.", "host")]
Port = Annotated[int, opt.whole("Where to listen; 0 is any port that is free.", envvar="DISCREET_PORT")]
Workers = Annotated[int, opt.whole("Processes; more than one with PostgreSQL.", envvar="DISCREET_WORKERS")]
JournalFile = Annotated[
    str | None, option("FILE", "A list of releases, by which a restored backup is found out; keep it apart.", "journal")
]
Restored = Annotated[
    bool,
    opt.flag(
        "The database comes from a backup that is not seen to be one: forfeit all open epochs.",
        envvar="DISCREET_RESTORED",
    ),
]
Tick = Annotated[float, opt.real("Seconds between looks for due epochs.", envvar="DISCREET_TICK")]
Secure = Annotated[bool, opt.flag("HTTPS is in front: cookies are sent over it alone.", envvar="DISCREET_SECURE")]
HostNames = Annotated[
    list[str] | None, option("NAME", "A name under which it is reached; requests for others are refused.", "host_name")
]
PerAddress = Annotated[
    int, opt.whole("Connections of one address; a proxy in front is one address.", envvar="DISCREET_PER_ADDRESS")
]
Origins = Annotated[
    list[str] | None, option("URL", "A site whose pages may assign and report, as https://shop.example.", "origin")
]
LogLevel = Annotated[str, option("LEVEL", "debug, info, warning or error.", "log_level")]
LogFormat = Annotated[str, option("FORM", "text, or json for an object a line.", "log_format")]
AccessLog = Annotated[bool, opt.flag("Log a line for each request, without names.", envvar="DISCREET_ACCESS_LOG")]


def given_by(context: Any, name: str) -> str:
    """Return where a value came from, as the end of a sentence; nothing for the command line.

    Args:
        context: The context of the command.
        name: The name of the argument.
    """
    source = getattr(context.get_parameter_source(name), "name", "")
    if source == "ENVIRONMENT":
        return f"; given by the environment variable DISCREET_{name.upper()}"
    return f"; given by {context.meta.get(_FILE)}" if source == "DEFAULT_MAP" else ""


@contextmanager
def sourced(context: typer.Context) -> Iterator[None]:
    """Add to an error about an option where its value came from."""
    try:
        yield
    except ArgumentError as error:
        name = str(error).partition(" ")[0]
        known = {str(param.name) for param in context.command.params}
        raise ArgumentError(f"{error}{given_by(context, name) if name in known else ''}") from None


def address(context: typer.Context, database: str, file: Path | None) -> str:
    """Return the database's address: as given, or from its file.

    Args:
        context: The context of the command.
        database: The address.
        file: The file with the address.

    Raises:
        ArgumentError: Both are given, or the file cannot be read.
    """
    if file is None:
        return database
    if getattr(context.get_parameter_source("database"), "name", "") not in {"DEFAULT", ""}:
        raise ArgumentError(f"database_file must not be given together with database{given_by(context, 'database')}")
    try:
        found = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ArgumentError(f"database_file must be a file that can be read, got {file}: {error.strerror}") from None
    if not found:
        raise ArgumentError(f"database_file must have an address in it, and {file} is empty")
    return found
