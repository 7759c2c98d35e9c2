"""Stopping rules: how many samples are enough to know a mean within a factor 1 +- alpha."""

from discreet.stopping._rule import StoppingRule
from discreet.stopping.dp_exponential_nas import DPExponentialNAS
from discreet.stopping.dp_nas import DPNAS
from discreet.stopping.nas import NAS

__all__ = ["DPNAS", "NAS", "DPExponentialNAS", "StoppingRule"]
