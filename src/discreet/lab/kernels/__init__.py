"""Compiled kernels (numba) for the step-wise policies: two or three of each, and a proof that they agree.

`reference` is the policy, step by step, as readable as the object. `lazy` draws the same rewards in the same
order and looks at the other arms only when it must. `skip_ahead` draws whole blocks of rewards at once and is
exact all the same. `docs/simulation.md` has the arguments.

The stopping rules have one kernel each, for samples of two values; their reference is the rule object itself.
"""
