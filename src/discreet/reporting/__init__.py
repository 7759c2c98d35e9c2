"""Privacy reports for the file: what was released, about whom, at what price, by which mechanism, with which proof."""

from discreet.reporting.export import entries
from discreet.reporting.report import PrivacyReport, privacy_report

__all__ = ["PrivacyReport", "entries", "privacy_report"]
