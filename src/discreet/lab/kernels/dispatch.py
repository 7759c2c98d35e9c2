"""Which kernel plays which policy object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.bandits import (
    DPIMED,
    DPKLUCB,
    DPUCB,
    IMED,
    KLUCB,
    UCB,
    AdaPKLUCB,
    AdaPUCB,
    AnytimeLazyUCB,
    DPChernoffIMED,
    DPHybridUCB,
    DPPairedIMED,
    DPSharpBestArm,
    DPSharpElimination,
    LazyDPTS,
    Policy,
    ThompsonSampling,
)
from discreet.lab.kernels import (
    batched,
    dp_ucb,
    hybrid_ucb,
    imed,
    kl_ucb,
    lazy_dp_ts,
    lazy_ucb,
    paired,
    sharp_elimination,
    thompson_sampling,
    ucb,
)

Play = Callable[[Any, int, Any, Any], Any]
"""From the arms' means, the horizon, a generator state and checkpoints to the counts of pulls (and when arms went)."""


def by_batches(policy: Any) -> Play:
    """A batched index policy."""
    rule = batched.rule_of(policy)
    return lambda *job: batched.play(rule, *job)


def by_pairs(policy: Any) -> Play:
    """DP-Paired-IMED."""
    rule = paired.rule_of(policy)
    return lambda *job: paired.play(rule, *job)


def by_dp_ucb(policy: Any) -> Play:
    """DP-UCB."""
    constants, play = dp_ucb.constants(policy), dp_ucb.skip_ahead  # type: Any, Any
    return lambda *job: play(*job, *constants)


def by_hybrid_ucb(policy: Any) -> Play:
    """DP-UCB on hybrid counters."""
    play: Any = hybrid_ucb.skip_ahead
    return lambda *job: play(*job, policy.epsilon)


def by_lazy_dp_ts(policy: Any) -> Play:
    """Lazy-DP-TS."""
    return lambda *job: lazy_dp_ts.skip_ahead(*job, policy.epsilon)


def by_lazy_ucb(policy: Any) -> Play:
    """Lazy-UCB."""
    return lambda *job: lazy_ucb.skip_ahead(*job, policy.epsilon)


def by_kl_ucb(policy: Any) -> Play:
    """KL-UCB."""
    play: Any = kl_ucb.skip_ahead
    return lambda *job: play(*job, policy.c)


def by_sharp_elimination(policy: Any) -> Play:
    """Elimination with sharp constants, and its search for the best arm."""
    rule = sharp_elimination.rule_of(policy)
    return lambda *job: sharp_elimination.play(rule, *job)


KERNELS: dict[type[Policy], Callable[[Any], Play]] = {
    UCB: lambda _: ucb.skip_ahead,
    KLUCB: by_kl_ucb,
    IMED: lambda _: imed.skip_ahead,
    ThompsonSampling: lambda _: thompson_sampling.skip_ahead,
    DPUCB: by_dp_ucb,
    DPHybridUCB: by_hybrid_ucb,
    LazyDPTS: by_lazy_dp_ts,
    AnytimeLazyUCB: by_lazy_ucb,
    DPPairedIMED: by_pairs,
    **dict.fromkeys((AdaPUCB, AdaPKLUCB, DPKLUCB, DPIMED, DPChernoffIMED), by_batches),
    **dict.fromkeys((DPSharpElimination, DPSharpBestArm), by_sharp_elimination),
}
