"""The base class of objects that hold secrets."""

import copy
import os
from typing import Any, NoReturn, SupportsIndex

from discreet.core.errors import PrivacyError


class Secret:
    """An object that is not copied, not pickled, and not used in a forked process.

    Two copies would release the same rewards twice, each at the price of the whole promise. An object whose noise comes
    from a seed protects nobody anyway: it is copied and pickled like any value.
    """

    def __init__(self) -> None:
        self._process = os.getpid()

    def _check_process(self) -> None:
        """Refuse to go on in a forked child.

        Raises:
            PrivacyError: This is another process than the one that made the object.
        """
        if self._process != os.getpid():
            raise PrivacyError(
                f"this {type(self).__name__} belongs to process {self._process}, and process {os.getpid()} would "
                "release the same rewards again; create it after the fork, or save it there and load it here"
            )

    def _refuse_copy(self) -> NoReturn:
        raise PrivacyError(
            f"a {type(self).__name__} cannot be copied or pickled: two copies would release the same rewards twice; "
            "save it and load it, and go on with one of them only"
        )

    def _may_be_copied(self) -> bool:
        """Return True if a copy would break no promise."""
        return False

    def __copy__(self) -> Any:
        return copy.deepcopy(self)  # half a copy would share what it collects

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        if not self._may_be_copied():
            self._refuse_copy()
        return super().__reduce_ex__(protocol)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._process = os.getpid()
