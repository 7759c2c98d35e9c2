"""Drivers own the world: threads, files, tickets. They collect rewards, have them released, and keep files."""

from discreet.drivers.ask_tell import Bandit
from discreet.drivers.status import Status
from discreet.drivers.stream import StoppingResult, Stream
from discreet.drivers.tickets import Ticket, Told
from discreet.drivers.totals import Sum, Totals

__all__ = ["Bandit", "Status", "StoppingResult", "Stream", "Sum", "Ticket", "Told", "Totals"]
