"""Other libraries: policies of this one in river and gymnasium, and policies of river and pymab in the lab.

`discreet.interop.river.RiverPolicy` plays a policy wherever river takes one, `discreet.interop.gymnasium.BanditEnv`
makes an environment from an instance, and `in_lab` brings a policy of river or pymab into the lab.
`discreet.interop.opendp.measurement` makes a stopping rule or a policy a measurement of OpenDP. Each library is
imported when its module is.
"""

import importlib
from typing import Any

from discreet._install import needs
from discreet.interop.foreign import in_lab

__all__ = ["in_lab"]


def __getattr__(name: str) -> Any:
    """Import the module of a library when it is used."""
    if name in ("gymnasium", "opendp", "river"):
        with needs(f"discreet.interop.{name}", "interop"):
            return importlib.import_module(f"discreet.interop.{name}")
    raise AttributeError(f"module 'discreet.interop' has no attribute {name!r}")
