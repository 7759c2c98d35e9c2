"""The command that installs an extra of this very installation, for messages of what is missing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@cache
def install(extra: str) -> str:
    """Return a pip command that adds an extra: from where discreet itself was installed from.

    Args:
        extra: The name of the extra.
    """
    from importlib import metadata  # noqa: PLC0415  (these three take longer to import than all that is discreet's own)
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import url2pathname  # noqa: PLC0415

    found = [one.read_text("direct_url.json") for one in metadata.distributions(name="discreet")]
    if not found:  # a source tree that is not installed
        return f"pip install '.[{extra}]'"
    source = json.loads(next(filter(None, found), "null"))
    if source is None:  # from a package index
        return f"pip install 'discreet[{extra}]'"
    url = str(source["url"])
    if "dir_info" in source:
        editable = "-e " if source["dir_info"].get("editable") else ""
        return f"pip install {editable}'{url2pathname(urlsplit(url).path)}[{extra}]'"
    control = source.get("vcs_info", {}).get("vcs")
    return f"pip install 'discreet[{extra}] @ {f'{control}+{url}' if control else url}'"


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Have the failure of an import inside say what installs the package that is missing.

    Args:
        what: What was asked for, as the message begins: "a picture" needs matplotlib.
        extra: The extra that has the package.

    Raises:
        ModuleNotFoundError: An import failed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "discreet").partition(".")[0]
        if package == "discreet":  # a fault of ours
            raise
        raise ModuleNotFoundError(f"{what} needs {package}: {install(extra)}", name=package) from None
