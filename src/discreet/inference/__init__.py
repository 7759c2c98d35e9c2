"""Statements at any time from what was released: means with intervals, lifts, tests. It costs no epsilon.

>>> import discreet
>>> policy = discreet.DPSharpElimination(["A", "B"], epsilon=1.0, beta=0.05)
>>> epochs = discreet.Totals(policy, noise=discreet.SimulatedNoise(3))
>>> while (plan := epochs.plan()):
...     clicks = {"A": int(0.3 * plan.pulls["A"]), "B": int(0.4 * plan.pulls["B"])}
...     _ = epochs.close({arm: discreet.Sum(clicks[arm], rewards=count) for arm, count in plan.pulls.items()})
>>> seen = discreet.inference.summary(epochs.ledger, control="A", level=0.95)
>>> print(seen)  # doctest: +ELLIPSIS
1,782 rewards in 18 releases; intervals of level 0.95, each valid at all looks together, at no further epsilon
  arm  rewards    mean          interval     lift              between       p  may be best
  A        891  0.2888  0.2384 to 0.3432  control                                        no
  B        891  0.3913  0.3367 to 0.4489  +35.5 %  +6.81 % and +73.3 %  0.0029          yes
needed: Each reward is drawn anew: whatever came before, its mean is that of its arm.
needed: The mean of an arm stays the same during the run.
...
>>> print(seen.lift("B"))
B is better than A: lift +35.5 %, with confidence 0.95 between +6.81 % and +73.3 % (p = 0.0029)
>>> seen.interval("A").upper < seen.mean("B"), seen.p_value("A", against=0.5) < 1e-6, seen.may_be_best
(True, True, ('B',))
"""

from discreet.inference.comparison import Comparison, Evidence, Interval
from discreet.inference.summary import Summary, summary

__all__ = ["Comparison", "Evidence", "Interval", "Summary", "summary"]
