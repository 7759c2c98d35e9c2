"""Evidence at any time in the report: widths are those of the intervals, misses those of the evidence."""

import math

import numpy as np
import pytest

from discreet import inference
from discreet.inference._one_arm import OneArm
from discreet.reproduction.studies import looks
from discreet.reproduction.studies.evidence import (
    EVIDENCE,
    FORMS,
    SHARP,
    EvidenceStudy,
    evidence_headlines,
    evidence_pictures,
    people,
)
from discreet.reproduction.studies.looks import block_ends, expected_ledger, first_misses, widths


def test_both_searches_are_played_on_every_instance_at_every_epsilon():
    study = EvidenceStudy()
    settings = study.settings()
    assert len(settings) == len(set(settings)) == 2 * 5 * len(study.epsilons)
    assert {setting.algorithm for setting in settings} == {SHARP, EVIDENCE}
    assert len(study.cells) == len(study.rates) * len(study.budgets)
    assert EvidenceStudy.quick(seed=3).seed == 3


def test_rows_are_those_of_the_searches(evidence):
    for row in evidence.rows:
        on = next(one for one in evidence.study.instances if one.name == row["instance"])
        sharp, ours = (evidence.search(key, on, row["epsilon"]) for key in (SHARP, EVIDENCE))
        assert (people(ours) > 0).all()
        assert row["fewer"] == pytest.approx(people(sharp).mean() / people(ours).mean())
        assert row["wrong"] == sum(int(np.argmax(pulls)) != on.means.argmax() for pulls in ours.pulls)
    assert evidence.mean_fewer > 1.1


def test_widths_are_those_of_intervals():
    ledger = expected_ledger({"A": 0.1, "B": 0.11}, 5000, 1.0)
    assert {one.rewards for one in ledger} == set(np.diff([0, *block_ends(5000, 1.0)]).tolist())
    assert sum(one.rewards for one in ledger if one.arm == "A") == 5000
    found = widths(0.1, 5000, 1.0)
    lower, upper = inference.summary(ledger, control="A").interval("A")
    assert found["any schedule"] == pytest.approx((upper - lower) / (2 * 1.959964 * math.sqrt(0.09 / 5000)))
    assert 1.3 < found["exact"] < found["any schedule"] < 2.2
    assert found["aimed at this size"] < found["any schedule"]
    assert tuple(found) == FORMS


def test_misses_are_those_of_the_evidence_look_by_look(monkeypatch):
    """Run by run, by objects that are given the totals; at a rate that is wrong, so that some miss."""
    rate, size, epsilon, runs, drawn, sums = 0.1, 3000, 0.5, 12, [], []

    class Noise(looks.SimulatedNoise):
        def draws(self, scale, count):
            drawn.append(super().draws(scale, count))
            return drawn[-1]

    class Rewards(np.random.Generator):
        def binomial(self, count, mean, runs):
            sums.append(super().binomial(count, 1.17 * mean, runs))
            return sums[-1]

    rewards = Rewards(np.random.PCG64(1))
    monkeypatch.setattr(looks, "SimulatedNoise", lambda rng: Noise(5))
    ends, first = first_misses(rate, size, epsilon, runs, rewards)
    counts, totals = np.diff([0, *ends]), np.array(sums) + np.array(drawn) / 2**20
    missed = 0
    for run in range(runs):
        out = len(ends)
        for look in range(len(ends)):
            parts = [looks._block(int(n), float(t), epsilon) for n, t in zip(counts, totals[:, run], strict=True)]
            known = [np.concatenate([getattr(part, name) for part in parts[: look + 1]]) for name in FIELDS]
            one = OneArm(looks.Blocks(2**20, *known))
            sides = one.log_evidence(np.array([rate]))[0], one.mirrored().log_evidence(np.array([1 - rate]))[0]
            if max(sides) >= math.log(40):
                out = look
                break
        assert first[run] == out
        missed += out < len(ends)
    assert 0 < missed < runs


FIELDS = ("epochs", "counts", "totals", "wholes", "scales", "tested", "squares", "square_scales")


def test_sentences_and_pictures_say_what_was_found(evidence):
    best, wide, missed = evidence_headlines(evidence)
    assert f"takes {evidence.mean_fewer:.2f} times fewer pulls" in best
    assert "for a lift of 10 %" in wide
    shares = [evidence.miscoverage(cell) for cell in evidence.study.cells]
    assert f"{100 * max(shares):.2f} % of 300 runs" in missed
    assert max(shares) < 0.05
    shown, coverage, pulls = evidence_pictures(evidence)
    assert [panel.title for panel in shown.panels] == list(FORMS)
    assert len(coverage.panels) == len(evidence.study.budgets)
    assert len(pulls.panels[0].clouds) == 2 * len(evidence.study.instances)
