"""An operation is written once, as a generator, and is a plain method of `Client` and a coroutine of `AsyncClient`."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from discreet.client.effects import Steps

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(ABC):
    """Whose operations give their result."""

    @abstractmethod
    def run(self, steps: Steps[T]) -> T:
        """Carry out the effects of an operation, one after the other."""


class Awaiting(ABC):
    """Whose operations give a coroutine."""

    @abstractmethod
    async def run(self, steps: Steps[T]) -> T:
        """Carry out the effects of an operation, one after the other."""


class operation(Generic[P, T]):  # noqa: N801  (a decorator)
    """A method made of steps, run by the object that it is called on."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        self._steps = steps
        functools.update_wrapper(self, steps)  # type: ignore[arg-type]

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: Awaiting, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self

        @functools.wraps(self._steps)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return owner.run(self._steps(owner, *args, **kwargs))

        return call
