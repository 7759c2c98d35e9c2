"""Stopping rules: how many samples are enough to know a mean within a factor 1 +- alpha."""

from discreet.stopping._rule import StoppingRule
from discreet.stopping.dp_bernstein import DPBernstein
from discreet.stopping.dp_exponential_nas import DPExponentialNAS
from discreet.stopping.dp_inverse_sampling import DPInverseSampling
from discreet.stopping.dp_mean import DPMean
from discreet.stopping.dp_nas import DPNAS
from discreet.stopping.dp_one_sided_nas import DPOneSidedNAS
from discreet.stopping.dp_released_nas import DPReleasedNAS
from discreet.stopping.ebgstop import EBGStop
from discreet.stopping.ebstop import EBStop
from discreet.stopping.exponential_nas import ExponentialNAS
from discreet.stopping.inverse_sampling import InverseSampling
from discreet.stopping.nas import NAS

__all__ = [
    "DPNAS",
    "NAS",
    "DPBernstein",
    "DPExponentialNAS",
    "DPInverseSampling",
    "DPMean",
    "DPOneSidedNAS",
    "DPReleasedNAS",
    "EBGStop",
    "EBStop",
    "ExponentialNAS",
    "InverseSampling",
    "StoppingRule",
]
