"""The base class of objects that hold secrets."""

import os
from typing import Any, NoReturn, SupportsIndex

from discreet.core.errors import PrivacyError


class Secret:
    """An object that is not copied, not pickled, and not used in a forked process.

    Two copies would release the same rewards twice, each at the price of the whole promise.
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

    def __copy__(self) -> Any:
        self._refuse_copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        self._refuse_copy()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        self._refuse_copy()
