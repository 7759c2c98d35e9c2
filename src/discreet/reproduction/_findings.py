"""Settings that are built once, and results that are looked up by setting: the common part of all studies."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Generic, TypeVar

from discreet.lab.results import Simulation
from discreet.lab.setting import Setting

Study = TypeVar("Study")


@cache
def setting_of(algorithm: str, instance: Any, **given: Any) -> Setting:
    """Build a setting once: pictures and tables look it up many times, and building one builds its algorithm.

    Args:
        algorithm: Key of a policy or a rule.
        instance: Name of an instance, or distribution of samples.
        **given: Other arguments of `Setting.of`, all hashable.
    """
    return Setting.of(algorithm, instance, **given)


class Findings(Generic[Study]):
    """The results of a study, looked up by setting.

    Args:
        study: What was simulated.
        results: The result of each of its settings.
    """

    def __init__(self, study: Study, results: Sequence[Simulation]) -> None:
        self.study = study
        self.results = results
        self._by_setting = {one.setting: one for one in results}

    def __getitem__(self, setting: Setting) -> Simulation:
        return self._by_setting[setting]
