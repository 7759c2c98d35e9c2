"""Elimination that protects a person who takes part in every epoch: each epoch spends a part of what is left."""

from __future__ import annotations

from typing import Any

from discreet.bandits._noisy_elimination import NoisyElimination
from discreet.core.privacy import Neighbours, Unit


class PersonLevel(NoisyElimination):
    """Noise of another scale in every epoch. A subclass says in `epoch_epsilon` what each of them may spend.

    Private because a person has at most one reward in an epoch, so each epoch's totals cost her at most that epoch's
    epsilon, whatever was released before; and these add up to less than epsilon: docs/proofs/person-level.md. Who
    takes part in which epoch is not hidden. That a person is asked once an epoch, at most, is up to the program that
    asks: `Ticket.epoch` and `Plan.epoch` tell which one is open.
    """

    privacy_unit = Unit.PERSON
    neighbours = Neighbours.ONE_PERSON
    privacy_reason = (
        "a person has one reward in an epoch at most, which enters one noisy total: basic composition over epochs, "
        "whose epsilons add up to less than the whole"
    )

    def _draw_ahead(self) -> None:
        if self.epoch:  # that of the first epoch is there from the start
            self._laplace = self._mechanism(self.epoch + 1)
        super()._draw_ahead()

    def _revive(self, saved: dict[str, Any]) -> None:
        if self._fresh():
            # The noise that is drawn and not yet used has the scale of the open epoch.
            learning = saved["open"] is not None and bool(saved["learns"])
            self._laplace = self._mechanism(max(1, int(saved["epoch"]) + learning))
        super()._revive(saved)
