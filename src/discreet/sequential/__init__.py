"""Sequential tests: decisions between hypotheses, as soon as what was released is enough."""

from discreet.sequential.dp_open_test import DPOpenEndedTest
from discreet.sequential.dp_sequential_test import DPSequentialTest
from discreet.sequential.dp_two_sample_test import DPTwoSampleTest
from discreet.sequential.forecast import TestForecast

__all__ = ["DPOpenEndedTest", "DPSequentialTest", "DPTwoSampleTest", "TestForecast"]
