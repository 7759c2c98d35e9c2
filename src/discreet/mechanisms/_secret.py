"""What every private object refuses: to be copied, pickled, or carried into a forked process.

Two copies of one object could release the same rewards twice, with fresh noise (twice the epsilon) or
with the same noise on different rewards (whose difference is then exact). Moving an object from process
to process goes through `save` and `load`, which keep one lineage.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn, SupportsIndex

from discreet.core.errors import PrivacyError
from discreet.core.noise import Noise

_RETIRED = 0  # no process of ours


class Guarded:
    """Mixed into everything that holds exact totals or unused private noise."""

    _process: int
    __slots__ = ("_process",)

    noise: Noise | None

    @property
    def simulated(self) -> bool:
        """True when the noise comes from a seed."""
        return self.noise is not None and self.noise.simulated

    @property
    def _private(self) -> bool:
        """Whether real noise protects somebody here."""
        return self.noise is not None and not self.noise.simulated

    def _guard(self) -> None:
        """Remember the process that owns this object."""
        self._process = os.getpid()

    def _same_process(self) -> None:
        """Refuse to go on in a forked child: parent and child would share their noise."""
        if self._process != os.getpid() and self._private:
            if self._process == _RETIRED:
                raise PrivacyError(
                    f"this {type(self).__name__} has let go of its file, from which another object may go on; load it "
                    "and use what you get"
                )
            raise PrivacyError(
                f"this {type(self).__name__} belongs to process {self._process} and would share its noise with "
                f"the forked process {os.getpid()}; create it after the fork, or save it there and load it here"
            )

    def _retire(self) -> None:
        """Refuse to go on anywhere: another object takes this one's place."""
        self._process = _RETIRED

    def _refuse_copy(self) -> NoReturn:
        raise PrivacyError(
            f"a {type(self).__name__} cannot be copied or pickled: two copies could release the same rewards twice; "
            "use save and load, and go on with one of them only"
        )

    def __copy__(self) -> Any:
        return self._refuse_copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._refuse_copy()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self._refuse_copy()
