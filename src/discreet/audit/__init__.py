"""A statistical audit that anybody can run: does an algorithm lose more privacy than it claims?"""

from discreet.audit.examine import Audit, Finding, audit

__all__ = ["Audit", "Finding", "audit"]
