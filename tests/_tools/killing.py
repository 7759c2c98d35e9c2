"""A program that keeps a state file until it is killed, and what must be true of the file afterwards."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from unittest.mock import patch

import numpy as np

from discreet import Bandit, Stream
from discreet.core.releases import Kind, Release
from discreet.drivers.files import Disk, StateFile
from tests._tools import faults
from tests._tools.walking import CASES, advance

POINTS = ("create", "allocate", "half written", "written", "rename", "renamed", "synced")  # of one commit
LONG = 10**5  # samples after which a stream begins anew


class DeadlyDisk(Disk):
    """Kills the process at one of the points that its commits come to; without a length it never does."""

    def __init__(self, length, trace):
        self.left, self.trace = length, trace

    def point(self, name):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                note(self.trace, {"died": name})
                os.kill(os.getpid(), signal.SIGKILL)

    def create(self, *args):
        self.point("create")
        return super().create(*args)

    def allocate(self, *args):
        self.point("allocate")
        super().allocate(*args)

    def write(self, file, content):
        file.write(content[: len(content) // 2])
        file.flush()
        self.point("half written")
        super().write(file, content[len(content) // 2 :])
        self.point("written")

    def replace(self, *args):
        self.point("rename")
        super().replace(*args)
        self.point("renamed")

    def sync_folder(self, *args):
        super().sync_folder(*args)
        self.point("synced")


class TornDisk(DeadlyDisk):
    """Writes heads in place: a planted mistake."""

    def replace(self, source, target):
        with open(source, "rb") as new, open(target, "wb") as old:
            self.write(old, new.read())
        os.unlink(source)


def note(trace, fact):
    """One line, which a kill leaves whole or not at all."""
    handle = os.open(trace, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (json.dumps(fact) + "\n").encode())
    os.close(handle)


def entries(driver):
    """The ledger as JSON values."""
    return json.loads(json.dumps(list(driver.ledger)))


def done(driver):
    return driver.algorithm.plan() is None or getattr(driver, "samples", 0) > LONG


def live(name, path, trace, length, seed, bug):
    """Load a file and go on, with rewards that nobody has seen before, until the end comes from within or without."""
    choice = random.Random(seed)
    with patch.object(StateFile, "disk", (TornDisk if bug == "torn" else DeadlyDisk)(None, trace)):
        if bug == "not written":
            StateFile.commit = lambda self, head, closes: setattr(self, "commits", self.commits + 1)
        driver = type(CASES[name]()).load(path)
        StateFile.disk.left = length
        seen = driver.ledger
        note(trace, {"seen": entries(driver)})
        while not done(driver):
            go_on(driver, choice, path)
            if driver.ledger != seen:
                seen = driver.ledger
                note(trace, {"seen": entries(driver)})
    note(trace, {"died": "not at all"})


def go_on(driver, choice, path):
    if isinstance(driver, Stream):
        samples = np.array([float(choice.random() < 0.005) for _ in range(choice.randrange(1, 300))])
        driver.feed(samples)
    elif isinstance(driver, Bandit) and choice.random() < 0.3:
        tickets = driver.open_tickets[:7]
        driver.tell(tickets, [float(choice.random() < 0.5) for _ in tickets])
    else:
        advance(driver, choice.randrange(10**6))
    if choice.random() < 0.2:
        driver.save(path)


class Village:
    """Processes that start quickly: they are forked from one that has imported everything and done nothing."""

    def __init__(self):
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests._tools.killing", "opendp.prelude"])

    def round(self, name, path, trace, choice, *, within, bug):
        """One life and its end: what was seen, and where it ended."""
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
    """Whether a ledger has all that another one had: the same entries, or tests that have grown from them."""
    return all(any(covers(Release(*later), Release(*entry)) for later in after) for entry in before)


def covers(later, entry):
    grown = later.kind == entry.kind == Kind.TESTS and later.tests >= entry.tests
    return later == entry or (grown and [span[:2] for span in later.spans] == [span[:2] for span in entry.spans])


def endure(names, kills, folder, seed, *, within=True, bug=None):
    """Kill processes that keep a file; every file must have all that was seen. Count where they died."""
    village, choice, deaths = Village(), random.Random(seed), Counter()
    path, trace = folder / "state", folder / "trace"
    for name in names:
        rest = kills // len(names) + (names.index(name) < kills % len(names))
        begin(name, path)
        while rest:
            seen, died = village.round(name, path, trace, choice, within=within, bug=bug)
            copy = type(CASES[name]()).load(faults.copy_of(path))  # the old state or the new one, never torn
            assert all(continues(before, entries(copy)) for before in seen), (name, died)
            finished = done(copy)
            copy.detach()
            for litter in folder.glob("* copy *"):
                litter.unlink()
            if died == "not at all" or finished:
                begin(name, path)
            if died != "not at all":
                rest -= 1
                deaths[died] += 1
    return deaths


def begin(name, path):
    """Save a new state in place of the old one."""
    for suffix in ("", ".ledger"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    CASES[name]().save(path)
