"""Measures what must be fast, each next to a reference in the same run, and says whether the goal is met.

make bench                  a table, peers and the whole evaluation included; also as a page, benchmarks.md
make bench BENCH=--json     the same for machines
make bench BENCH=--fast     without the evaluation, and without the service in a crowd
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from tests._tools.step_by_step import play_dp_ucb, play_kl, play_thompson_sampling, play_ucb

import discreet
from benchmarks.crowd import crowd
from benchmarks.door import door
from benchmarks.growth import growth
from benchmarks.inference import statements
from benchmarks.logs import logs
from benchmarks.peers import PEERS, PUBLIC
from benchmarks.rows import Row, page, show
from benchmarks.sequential import sequential
from benchmarks.service import service
from benchmarks.steps import asked, general_arms
from discreet.core.noise import private_noise
from discreet.lab import Bernoulli, Discrete, Setting, instance, play
from discreet.lab.kernels import dp_ucb, kl_race, thompson_sampling, tree_minimum, ucb
from discreet.lab.kernels.randomness import fresh_state
from discreet.lab.simulate import run_setting


def best_of(repeats, work):
    """The shortest of a few wall-clock times: the one least disturbed by a busy machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def stopping_rule():
    """DP exponential NAS over a numpy stream that is too hard to halt on, against one bare numpy mean."""
    stream = np.random.default_rng(0).random(20_000_000) * 0.02
    options = {"epsilon": 0.5, "alpha": 0.01, "beta": 0.05, "low": 0.0, "high": 1.0}

    def feed():
        assert not discreet.DPExponentialNAS(**options).run(stream).reached

    seconds, reference = best_of(3, feed), best_of(3, stream.mean)
    rate = stream.size / seconds
    return Row(
        "DP exponential NAS, numpy stream", rate, "samples/s", ">= 2e7", rate >= 2e7, "numpy mean", seconds / reference
    )


def inverse_sampling():
    """DP inverse sampling over 0/1 samples as long as it reads them, against DP exponential NAS on the same stream.

    Its tests are a hundredth of the stream apart, and each takes a draw of private noise: 2,000 up to four million
    samples, and 230 more for each tenfold of that. Samples that are neither 0 nor 1 draw a random number each: the last
    row.
    """
    clicks = (np.random.default_rng(0).random(40_000_000) < 5e-6).astype(np.float64)
    options = {"epsilon": 1.0, "alpha": 0.1, "beta": 0.05, "low": 0.0, "high": 1.0}
    rows = []
    for what, stream in (("0/1 stream", clicks), ("stream of other numbers", np.full(4_000_000, 5e-5))):

        def feed(kind, stream=stream):
            assert not kind(**options).run(stream).reached

        feed(discreet.DPInverseSampling)  # computes the levels
        ours = best_of(3, lambda feed=feed: feed(discreet.DPInverseSampling))
        other = best_of(3, lambda feed=feed: feed(discreet.DPExponentialNAS))
        rate, coins = stream.size / ours, stream is not clicks
        goal, met = ("-", True) if coins else ("<= 1.6 x", ours <= 1.6 * other)
        rows.append(
            Row(f"DP inverse sampling, {what}", rate, "samples/s", goal, met, "DP exponential NAS", ours / other)
        )
    return rows


def private_per_sample():
    """DP-NAS draws one private noise a sample: the price of testing every time."""
    stream = np.random.default_rng(0).random(20_000) * 0.02
    options = {"alpha": 0.01, "beta": 0.05, "low": 0.0, "high": 1.0}
    private = best_of(2, lambda: discreet.DPNAS(epsilon=0.5, **options).run(stream))
    plain = best_of(2, lambda: discreet.NAS(**options).run(stream))
    rate = stream.size / private
    return Row("DP-NAS, private noise", rate, "samples/s", "-", True, "NAS without noise", private / plain)


def ask_tell(pairs=100_000):
    """Pairs of ask and tell on DP-SE, against the smallest loop that could do an A/B/n test."""
    policy = discreet.DPSuccessiveElimination(list("ABCDE"), epsilon=0.5, horizon=5e7)
    bandit = discreet.Bandit(policy)

    def work():
        for _ in range(pairs):
            ticket = bandit.ask()
            bandit.tell(ticket, 1.0 if ticket.arm == "A" else 0.0)

    def bare():
        sums, counts, arms = dict.fromkeys("ABCDE", 0.0), dict.fromkeys("ABCDE", 0), "ABCDE"
        for i in range(pairs):
            arm = arms[i % 5]
            sums[arm] += 1.0 if arm == "A" else 0.0
            counts[arm] += 1

    seconds, reference = best_of(3, work), best_of(3, bare)
    rate = pairs / seconds
    return Row("ask + tell, DP-SE", rate, "pairs/s", ">= 1e5", rate >= 1e5, "two dictionaries", seconds / reference)


def simulated_run(runs=200):
    """A whole DP-SE run at T = 5e7 through the policy object, against drawing its binomials alone."""
    arms = instance("C2")
    means = arms.means

    def work():
        for run in range(runs):
            policy = discreet.DPSuccessiveElimination(range(5), epsilon=0.25, horizon=5e7)
            play(policy, arms, np.random.default_rng(run), noise=discreet.SimulatedNoise(run))

    def bare():
        for run in range(runs):
            generator = np.random.default_rng(run)
            for length, arms in ((2743, 5), (11676, 3), (48362, 2)):
                for arm in range(arms):
                    generator.binomial(length, means[arm])

    milliseconds = best_of(3, work) / runs * 1e3
    reference = best_of(3, bare) / runs * 1e3
    return Row(
        "DP-SE, T = 5e7, simulated",
        milliseconds,
        "ms/run",
        "< 1",
        milliseconds < 1,
        "its binomials alone",
        milliseconds / reference,
    )


def noise_source():
    """Private draws from the pool, against seeded numpy draws of the same law."""
    count = 20_000
    private = best_of(2, lambda: private_noise().draws(1e6 + np.random.default_rng().random(), count))
    simulated = best_of(2, lambda: discreet.SimulatedNoise(0).draws(1e6, count))
    rate = count / private
    return Row("exact private noise", rate, "draws/s", "-", True, "simulated noise", private / simulated)


def step_by_step():
    """DP-UCB through the policy object, one decision a pull, against UCB."""

    def run(name, **options):
        policy = discreet.make_policy(name, range(5), horizon=20_000, **options)
        play(policy, instance("C2"), np.random.default_rng(0), noise=discreet.SimulatedNoise(0))

    dp = best_of(2, lambda: run("dp-ucb", epsilon=1.0))
    ucb = best_of(2, lambda: run("ucb"))
    return Row("DP-UCB, policy object, simulated", 20_000 / dp, "pulls/s", "-", True, "UCB, policy object", dp / ucb)


HORIZON, SHORT = 50_000_000, 1_000_000
FRESH = ucb.FRESH, ucb.BOLDNESS


def kernel_rate(kernel, arms, steps, *constants):
    """Pulls a second of a kernel on C2, on one core, compiled before it is timed."""
    means, points = instance("C2", arms).means, np.array([steps])
    kernel(means, 1000, fresh_state(0), np.array([1000]), *constants)
    return steps / best_of(3, lambda: kernel(means, steps, fresh_state(1), points, *constants))


def kernels():
    """The compiled kernels, each against its own reference kernel in the same run."""
    rows = []
    for arms, goal in ((5, 3e9), (20, 4e8)):
        slow = kernel_rate(play_ucb, arms, SHORT)
        rate = kernel_rate(ucb.skip_ahead, arms, HORIZON, *FRESH)
        what, text = f"UCB skip-ahead, C2, K = {arms}", f">= {goal:.0e}"
        rows.append(Row(what, rate, "pulls/s", text, rate >= goal, "reference", slow / rate))
        constants = dp_ucb.counters_of(discreet.DPUCB(range(arms), epsilon=0.25, horizon=HORIZON))
        slow = kernel_rate(play_dp_ucb, arms, SHORT, *constants)
        rate = kernel_rate(dp_ucb.skip_ahead, arms, HORIZON, *constants, tree_minimum.tables())
        met = arms > 5 or (rate >= 8e8 and rate >= 30 * slow)
        text = ">= 8e8, 30 x reference" if arms == 5 else "-"
        rows.append(Row(f"DP-UCB skip-ahead, C2, K = {arms}", rate, "pulls/s", text, met, "reference", slow / rate))
    for name, reference, kernel, constants, fresh in (
        ("KL-UCB", play_kl, kl_race.skip_ahead, (0.0,), FRESH),
        ("IMED", play_kl, kl_race.skip_ahead, (-1.0,), FRESH),
        ("Thompson sampling", play_thompson_sampling, thompson_sampling.skip_ahead, (), ()),
    ):
        slow = kernel_rate(reference, 5, SHORT, *constants)
        rate = kernel_rate(kernel, 5, HORIZON, *constants, *fresh)
        what, met = f"{name} skip-ahead, C2, K = 5", rate >= 2.5e8
        rows.append(Row(what, rate, "pulls/s", ">= 2.5e8", met, "reference", slow / rate))
    return rows


def simulated_rules(runs=1000, few=3):
    """Whole runs of DP-NAS, which tests after every sample, by the kernel, against a few by the rule object."""
    rows = []
    for distribution in (Bernoulli(0.1), Discrete([-1, 1], [0.45, 0.55])):
        setting = Setting.of("dp-nas", distribution, runs=runs, alpha=0.1, beta=0.05, epsilon=0.5)
        run_setting(setting, range(1))  # compiles
        seconds = best_of(3, lambda setting=setting: run_setting(setting))

        def by_object(setting=setting, distribution=distribution):
            for number in range(few):
                rewards, noise = setting.run_seed(number).spawn(2)
                rng, rule = np.random.default_rng(rewards), setting.build()
                samples = (distribution.sample(rng, 16_384) for _ in iter(int, 1))
                rule.run(samples, noise=discreet.SimulatedNoise(noise))

        ratio = seconds / runs / (best_of(1, by_object) / few)
        what = f"DP-NAS, {runs:,} runs on {distribution}"
        rows.append(Row(what, seconds, "s", "< 1", seconds < 1, "the rule object", ratio))
    return rows


EPOCH_POLICIES = (
    "dp-se", "dp-chernoff-imed", "dp-imed", "dp-klucb", "adap-ucb", "adap-klucb", "dp-paired-imed", "lazy-ucb",
)  # fmt: skip


def epoch_policies(runs=100):
    """1,000 runs of every policy that decides in epochs, in one thread, from fewer; against those of DP-SE."""
    rows, reference = [], None
    for name in EPOCH_POLICIES:
        setting = Setting.of(name, "C2", epsilon=0.25, runs=runs)
        run_setting(setting, range(1))  # compiles
        seconds = best_of(3, lambda setting=setting: run_setting(setting)) * 1000 / runs
        reference = reference or seconds
        rows.append(
            Row(f"{name}, 1,000 runs at T = 5e7", seconds, "s", "< 10", seconds < 10, "dp-se", seconds / reference)
        )
    return rows


def peers():
    """The same UCB job in other libraries, and ours over the fastest of those that a user would call."""
    ours = kernel_rate(ucb.skip_ahead, 5, HORIZON, *FRESH)
    means, pulls = instance("C2").means.tolist(), 50_000
    rows, fastest = [], ("", 0.0)
    for name, peer in PEERS.items():
        try:
            peer(means, 1000, 0)  # imports
        except ModuleNotFoundError as error:
            rows.append(
                Row(f"peer: {name}", float("nan"), f"{error.name} is not installed", "-", True, "-", float("nan"))
            )
            continue
        rate = pulls / best_of(3, lambda peer=peer: peer(means, pulls, 1))
        rows.append(Row(f"peer: {name}, UCB, C2, K = 5", rate, "pulls/s", "-", True, "UCB skip-ahead", ours / rate))
        if name in PUBLIC and rate > fastest[1]:
            fastest = (name, rate)
    if fastest[1]:
        ratio = ours / fastest[1]
        rows.append(
            Row("UCB skip-ahead over the fastest peer", ratio, "times", ">= 5000", ratio >= 5000, fastest[0], 1 / ratio)
        )
    return rows


def horizons():
    """Cost grows with the number of decisions, not with T: a run of each at growing horizons."""
    rows = []
    plain = [(policy, {}) for policy in ("ucb", "kl-ucb", "imed", "ts")]
    for policy, options in (("dp-se", {"epsilon": 0.25}), *plain, ("dp-ucb", {"epsilon": 0.25})):
        first = None
        for horizon in (1e5, 1e6, 1e7, 5e7, 1e9):
            setting = Setting.of(policy, "C2", horizon=horizon, runs=5, **options)
            run_setting(setting.with_(runs=1))
            seconds = best_of(2, lambda setting=setting: run_setting(setting)) / 5
            first = first or seconds
            what = f"{policy}, C2, K = 5, T = {horizon:.0e}"
            rows.append(Row(what, seconds * 1e3, "ms/run", "-", True, "T = 1e5", seconds / first))
    return rows


def watched(command):
    """The seconds that a command takes, and the most memory that it and its children have at one time, in GB."""
    start, most = time.perf_counter(), 0
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        memory = 0
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):  # it may end while we look
                memory += one.memory_info().rss
        most = max(most, memory)
        time.sleep(0.2)
    assert process.returncode == 0, f"{command} failed"
    return time.perf_counter() - start, most / 1e9


def evaluation():
    """The whole evaluation as `make reproduce` runs it, in a process of its own and in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "discreet", "reproduce", "--output", folder]
        quick, _ = watched([*command, "--quick"])
        seconds, memory = watched(command)
    return [
        Row("the quick evaluation", quick, "s", "< 20", quick < 20, "the paper's", quick / seconds),
        Row("the paper's evaluation", seconds, "s", "< 180", seconds < 180, "the quick one", seconds / quick),
        Row("its peak memory, workers included", memory, "GB", "< 1", memory < 1, "-", float("nan")),
    ]


QUICK = {
    "The door": (door,),
    "Answers, decisions and noise": (
        stopping_rule, inverse_sampling, private_per_sample, ask_tell, asked, step_by_step, noise_source,
    ),
    "Statements and tests": (statements, sequential),
    "Simulation": (simulated_run, kernels, general_arms, simulated_rules, epoch_policies),
    "Simulation at growing horizons": (horizons,),
    "Other libraries": (peers,),
    "The service": (service,),
}  # fmt: skip
SLOW = {
    "The service in a crowd": (crowd,),
    "The service at ten million assignments": (growth,),
    "Logs of ten million rows": (lambda: logs(watched),),
    "The paper's evaluation": (evaluation,),
}


def main():
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--fast", action="store_true", help="leave out the evaluation and the service in a crowd: minutes"
    )
    parser.add_argument("--page", type=Path, default=Path("benchmarks.md"), help="a file that all rows are written to")
    arguments = parser.parse_args()
    start, busy = time.perf_counter(), psutil.getloadavg()[0]
    sections = {}
    for title, tasks in (QUICK if arguments.fast else QUICK | SLOW).items():
        found = [task() for task in tasks]
        sections[title] = [row for one in found for row in (one if isinstance(one, list) else [one])]
        print(f"{title}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        text = page(sections, time.perf_counter() - start, busy, fast=arguments.fast)
        arguments.page.write_text(text, encoding="utf-8")
    rows = [row for rows in sections.values() for row in rows]
    show(rows, "discreet: what must be fast", as_json=arguments.json)


if __name__ == "__main__":
    main()
