"""Modules of one's own: `discreet --module mine.py compare my-policy` for every command."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from discreet.core.errors import ArgumentError

OPTION = "--module"


def in_front(arguments: Sequence[str]) -> list[str]:
    """Return arguments with every `--module` before the command, where it belongs, so that it may stand anywhere.

    >>> in_front(["compare", "mine", "--module", "mine.py", "--epsilon", "1"])
    ['--module', 'mine.py', 'compare', 'mine', '--epsilon', '1']
    """
    moved: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == OPTION:
            moved += [word, *([value] if (value := next(words, None)) is not None else [])]
        else:
            (moved if word.startswith(f"{OPTION}=") else rest).append(word)
    return moved + rest


def load(name: str) -> None:
    """Import a module that registers algorithms of its own: a file, or a name that Python finds.

    Args:
        name: A path that ends in .py, or the module's name; it may lie in the present folder.

    Raises:
        ArgumentError: There is no such file or module.
    """
    if name.endswith(".py"):
        _load_file(Path(name))
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


def _load_file(path: Path) -> None:
    if not path.is_file():
        raise ArgumentError(f"module must be a file of Python or a module's name, but there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__by_path__ = True  # type: ignore[attr-defined]  # workers do not find it by its name
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
