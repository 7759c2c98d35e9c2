"""A statistical audit that anybody can run: does an algorithm lose more privacy than it claims?"""

from discreet.audit.examine import Audit, Audits, Finding, audit

__all__ = ["Audit", "Audits", "Finding", "audit"]
