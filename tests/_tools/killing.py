"""A program that uses a state file until it is killed, and what must be true of the file afterwards."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter

import numpy as np

import discreet
from discreet import Bandit
from discreet.drivers import files as state
from tests._tools import examples, faults

POINTS = ("created", "half written", "written", "synced", "renamed")  # of one write of a state
LONG = 10**6  # samples after which a rule begins anew


class Fuse:
    """Kills the process at one of the points that its writes of states come to; without a length it never does."""

    def __init__(self, length, trace):
        self.left, self.trace = length, trace

    def point(self, name):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                tell(self.trace, {"died": name})
                os.kill(os.getpid(), signal.SIGKILL)

    def lay(self):
        """Pass through every step of `discreet.drivers.files.write`."""
        fuse, honest_fdopen, honest_replace, honest_fsync = self, os.fdopen, os.replace, os.fsync

        class Half:
            def __init__(self, file):
                self.file = file

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.file.close()

            def __getattr__(self, name):
                return getattr(self.file, name)

            def write(self, content):
                self.file.write(content[: len(content) // 2])
                self.file.flush()
                fuse.point("half written")
                self.file.write(content[len(content) // 2 :])

        def fdopen(handle, mode):
            fuse.point("created")
            return Half(honest_fdopen(handle, mode))

        def fsync(handle):
            fuse.point("written")
            honest_fsync(handle)

        def replace(before, after):
            fuse.point("synced")
            honest_replace(before, after)
            fuse.point("renamed")

        os.fdopen, os.replace, os.fsync = fdopen, replace, fsync


def tell(trace, fact):
    """One line, which a kill leaves whole or not at all."""
    handle = os.open(trace, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (json.dumps(fact) + "\n").encode())
    os.close(handle)


def entries(thing):
    """The ledger as plain values."""
    return [[entry.epoch, entry.what, [list(span) for span in entry.spans], entry.units] for entry in thing.ledger]


def make(name):
    """A new private bandit or rule."""
    return Bandit(examples.policy(name), default_reward=0.0) if name in discreet.POLICIES else examples.rule(name)


def load(name, path):
    return (Bandit if name in discreet.POLICIES else discreet.RULES[name]).load(path)


def done(thing):
    return thing.finished or getattr(thing, "samples", 0) > LONG


def plant(bug, fuse):
    """Faults that the check must find: a file that lies behind what was seen, and one that is written in place."""

    def in_place(target, content):
        with open(target, "wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            fuse.point("half written")
            file.write(content[len(content) // 2 :])

    if bug == "behind":
        Bandit._keep = lambda self: None
    elif bug == "torn":
        state._replace = in_place


def live(name, path, trace, length, seed, bug):
    """Load a file and go on, with rewards that nobody has seen before, until the end comes from within or without."""
    choice = random.Random(seed)
    thing = load(name, path)
    fuse = Fuse(length, trace)
    fuse.lay()
    plant(bug, fuse)
    seen = thing.ledger
    tell(trace, {"seen": entries(thing)})
    while not done(thing):
        if isinstance(thing, Bandit):
            tickets = thing.ask(choice.choice([7, 10**4, 10**4]))
            thing.tell(tickets, [float(choice.random() < 0.5) for _ in tickets])
            if choice.random() < 0.2:
                thing.save(path)
        else:
            feed(thing, choice)
        if thing.ledger != seen:
            seen = thing.ledger
            tell(trace, {"seen": entries(thing)})
    tell(trace, {"died": "not at all"})


def feed(rule, choice):
    """Samples of a mean near 0, so that the rule goes on for long: some hundred, or the total of all that it plans."""
    count = rule.plan()
    if count == 1:
        rule.feed(np.array([float(choice.random() < 0.005) for _ in range(choice.randrange(1, 300))]))
    else:
        rule.close(choice.randrange(count * rule.grid.width // 100 + 1))


class Village:
    """Processes that start quickly: they are forked from one that has imported everything and done nothing."""

    def __init__(self):
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests._tools.killing", "opendp.prelude"])

    def round(self, name, path, trace, choice, *, within, bug):
        """One life and its end; tells what was seen and where it ended."""
        length = choice.randrange(8 * len(POINTS)) if within else None
        trace.unlink(missing_ok=True)
        child = self.context.Process(target=live, args=(name, str(path), str(trace), length, choice.random(), bug))
        child.start()
        if not within:
            while not trace.exists() and child.is_alive():
                time.sleep(0.001)
            time.sleep(choice.random() * 0.02)
            child.kill()
        child.join()
        facts = [json.loads(line) for line in trace.read_text().splitlines()]
        died = [fact["died"] for fact in facts if "died" in fact]
        assert child.exitcode == -signal.SIGKILL or died == ["not at all"], child.exitcode
        return [fact["seen"] for fact in facts if "seen" in fact], (died or ["from without"])[0]


def continues(before, after):
    """Whether a ledger goes on from another: nothing that was seen has changed, and nothing is missing."""
    first, now = {key(entry): entry for entry in before}, {key(entry): entry for entry in after}
    changed = [entry for name, entry in first.items() if name in now and now[name] != entry]
    missing = [entry for name, entry in first.items() if name not in now and entry[3] is not None]
    behind = bool(before) and (not after or after[-1][0] < before[-1][0])
    return not changed and not missing and not behind


def key(entry):
    epoch, what, spans, _ = entry
    return epoch, what.split(":")[0], json.dumps(spans)


def endure(names, kills, folder, seed, *, within=True, bug=None):
    """Kill so many processes that keep a file; every file must lead on from what was seen. Tells where they died."""
    village, choice, deaths = Village(), random.Random(seed), Counter()
    path, trace = folder / "state.json", folder / "trace"
    for name in names:
        rest = kills // len(names) + (names.index(name) < kills % len(names))
        make(name).save(path)
        while rest:
            seen, died = village.round(name, path, trace, choice, within=within, bug=bug)
            copies = [load(name, faults.copy_of(path)) for _ in range(2)]  # as they are: old or new, never torn
            assert entries(copies[0]) == entries(copies[1])  # and what they lead to is settled
            assert all(continues(before, entries(copies[0])) for before in seen), (name, died)
            finished = done(copies.pop())
            copies.clear()
            for copy in folder.glob("*.copy*"):
                copy.unlink()
            if died == "not at all" or finished:
                make(name).save(path)
            if died != "not at all":
                rest -= 1
                deaths[died] += 1
    return deaths
