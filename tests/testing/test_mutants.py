"""Every planted bug is caught: by exact probabilities, by its scale, by the curator, or by the audit.

Bugs that leave no doubt are audited in the normal suite, and all of them, with the matrix of detectors, in the study.
"""

import pytest
from scipy import stats

import discreet
from discreet.audit.examine import SECONDS
from discreet.audit.mechanisms import laplace
from discreet.audit.subjects import names
from discreet.testing import ScriptedNoise
from tests._tools.exact_cases import CASES, about
from tests._tools.mutants import MUTANTS, planted
from tests._tools.noise_scales import SCALES, scales_of

BARE = (
    "first_batch_bare", "first_release_bare", "first_pull_bare", "sensitivity_of_one_step", "pool_served_twice",
    "noise_again_after_a_reload", "mean_over_answers", "one_noise_for_all_arms", "decides_by_exact_totals",
)  # fmt: skip
FEW = 180  # runs are enough where a probability is 0
PATIENCE = (FEW, 1_000, 3_000, 40_000)  # for all
REPEATED = 200
EACH = REPEATED // 4  # of four algorithms


def by_name(name):
    return next(one for one in MUTANTS if one.plant.__name__ == name)


def test_there_are_many_mutants_and_each_has_a_detector():
    assert len(MUTANTS) >= 39
    assert len({one.name for one in MUTANTS}) == len(MUTANTS)
    for one in MUTANTS:
        assert one.exact or one.audit or one.scales, one.name
        assert one.plant.__doc__
        assert set(one.exact) <= set(CASES)
        assert set(one.scales) <= set(SCALES)
        assert set(one.audit) <= set(names())


def telling():
    """Bugs and cases: every bug is there, and every algorithm; the study has all of them."""
    bugs, algorithms = set(), set()
    for bug in MUTANTS:
        for case in bug.exact:
            if bug.name not in bugs or about(case) not in algorithms:
                bugs.add(bug.name)
                algorithms.add(about(case))
                yield pytest.param(bug, case, id=f"{bug.name} in {case}")


@pytest.mark.parametrize(("bug", "case"), list(telling()))
def test_planted_bugs_are_caught(bug, case):
    with planted(bug):
        assert CASES[case].loss() > CASES[case].epsilon + 1e-3


@pytest.mark.parametrize(
    ("bug", "name"), [pytest.param(bug, name, id=f"{bug.name} in {name}") for bug in MUTANTS for name in bug.scales]
)
def test_wrong_scales_are_noticed(bug, name):
    with planted(bug):
        assert scales_of(name) != SCALES[name]


@pytest.mark.parametrize(
    ("bug", "case"),
    [pytest.param(bug, case, id=f"{bug.name} in {case}") for bug in MUTANTS if bug.asks for case in bug.exact],
)
def test_the_curator_refuses_what_costs_too_much(bug, case):
    with planted(bug, charged=True), pytest.raises(discreet.PrivacyError, match="beyond the promised"):
        CASES[case].run(ScriptedNoise([]))


@pytest.mark.study
@pytest.mark.parametrize("name", BARE)
def test_bugs_without_doubt_are_audited_quickly(name):
    subject = by_name(name).audit[0]
    with planted(by_name(name)):
        (found,) = discreet.audit(subject, samples=FEW)
    assert found.violated, found


def test_a_planted_bug_is_gone_afterwards():
    with planted(by_name("first_release_bare")):
        assert laplace(1e-6, [7]) == {"release 1": 7}
    assert {laplace(1e-6, [7])["release 1"] for _ in range(3)} != {7}


# ---------------------------------------------------------------------- studies


def caught(detector, one):
    """Where a detector caught a mutant, of all the places where it must."""
    with planted(one):
        if detector == "exact":
            return [case for case in one.exact if CASES[case].loss() > CASES[case].epsilon + 1e-3]
        if detector == "scales":
            return [name for name in one.scales if scales_of(name) != SCALES[name]]
        return [name for name in one.audit if refuted(name)]


def refuted(name):
    """Return True if an audit refutes a claim, in as little time as that takes."""
    return any(discreet.audit(name, samples=samples)[0].violated for samples in PATIENCE)


@pytest.mark.study
@pytest.mark.parametrize("one", MUTANTS, ids=lambda one: one.name)
def test_no_mutant_is_alive(one, page):
    """One row of the matrix: mutant x detector."""
    wanted = {"exact": list(one.exact), "scales": list(one.scales), "audit": list(one.audit)}
    found = {detector: caught(detector, one) for detector in wanted}
    page(
        "Planted bugs",
        bug=one.name,
        **{name: f"{len(found[name])}/{len(places)}" if places else "-" for name, places in wanted.items()},
    )
    print(f"{one.name}: {found}")
    assert found == wanted
    assert any(found.values())


@pytest.mark.study
@pytest.mark.parametrize(
    ("name", "samples"), [("laplace", 600), ("binary-tree", 300), ("dp-imed", 60), ("dp-exp-nas", 60)]
)
def test_two_hundred_audits_of_correct_code_accuse_nobody(name, samples, page):
    found = [discreet.audit(name, samples=samples)[0] for _ in range(EACH)]
    alarms, most = sum(one.violated for one in found), max(one.epsilon for one in found)
    page("False alarms", audits_of=name, error="1e-6", audits=EACH, alarms=alarms, claimed=1.0, largest_bound=most)
    print(f"{EACH} audits of {name}, claimed 1: {alarms} false alarms; bounds up to {most:.3f}")
    assert alarms == 0


@pytest.mark.study
def test_a_careless_audit_is_wrong_as_rarely_as_it_says(page):
    """With an error of 5 % instead of 1e-6, where nothing is to spare: the bound may be too high in 5 % of audits."""
    wrong = sum(discreet.audit("laplace", samples=500, error=0.05)[0].violated for _ in range(REPEATED))
    page("Statistical studies", study="careless audits, wrong in 5 % at most", runs=REPEATED, broken=wrong, allowed=10)
    print(f"{wrong} of {REPEATED} audits at error 0.05 accuse the Laplace mechanism")
    assert wrong <= stats.binom.ppf(1 - 1e-6, REPEATED, 0.05)


@pytest.mark.study
def test_the_whole_audit_in_figures(page):
    """What `discreet audit` prints, in half the time that it takes by default."""
    found = [one for one in discreet.audit(seconds=SECONDS / 2) if one.private]
    for one in found:
        print(one)
        page("Privacy", algorithm=one.algorithm, claimed=one.claimed, audited=one.epsilon)
    assert not any(one.violated for one in found)
