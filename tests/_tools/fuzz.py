"""Files that nobody would write, from a seed: damaged states, states of nonsense, and odd tables."""

import io
import json
import math

import numpy as np
import pandas as pd

import discreet
from discreet import Bandit, SimulatedNoise
from discreet.drivers.files import _digest, canonical
from tests._tools import examples

JUNK = (
    None, True, False, 0, 1, -1, 2, 7, 10**9, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e-320, 1e308, math.inf,
    -math.inf, math.nan, "", "x", "0", "1e999", "\x00", "\ud800", "é" * 50, [], [0], [[]], [1, "x", None], {},
    {"x": 1}, {"": {}},
)  # fmt: skip


# ---------------------------------------------------------------------- states


def states(folder):
    """A state of every kind there is, with some progress: the loader and the file's bytes."""
    found = []
    for name in sorted(discreet.POLICIES):
        private = examples.is_private(name)
        for noise in (SimulatedNoise(1), None) if private else (None,):
            bandit = Bandit(examples.policy(name, noise=noise), default_reward=0.0, seed=1)
            for size in (10**4, 10**4, 7):
                tickets = bandit.ask(size)
                bandit.tell(tickets[: size if size > 7 else 3], np.ones(min(len(tickets), size if size > 7 else 3)))
            found.append((Bandit, bandit))
        policy = examples.policy(name, noise=SimulatedNoise(2))
        plan = policy.plan()
        policy.close(dict.fromkeys(plan.pulls, 0))
        found.append((type(policy), policy))
    for name in sorted(discreet.RULES):
        for noise in (SimulatedNoise(3), None) if examples.is_private(name) else (None,):
            rule = examples.rule(name, noise=noise)
            rule.feed(np.tile([0.0, 0.0, 0.5], 100))
            found.append((type(rule), rule))
    path = folder / "state.json"
    saved = []
    for kind, thing in found:
        thing.save(path)
        saved.append((kind, path.read_bytes()))
        if thing._custody is not None:
            thing._custody.give_back()
    return saved


def damaged(content, random):
    """Some bytes flipped, cut off, left out, doubled or put in: the checksum must notice."""
    content = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        place = random.randrange(len(content) + 1)
        end = min(len(content), place + random.choice((1, 2, 10, 1000)))
        how = random.randrange(5)
        if how == 0 and place < len(content):
            content[place] ^= 1 << random.randrange(8)
        elif how == 1:
            del content[place:]
        elif how == 2:
            del content[place:end]
        elif how == 3:
            content[place:place] = content[place:end]
        else:
            content[place:place] = random.randbytes(random.choice((1, 3, 20)))
    return bytes(content)


def nonsense(content, random):
    """A state with a right checksum and wrong content, as a careless program would write it."""
    document = json.loads(content)
    del document["sha256"]
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        holder, place = spot(document, random)
        how = random.randrange(5)
        if how == 0:
            del holder[place]
        elif how == 1 and isinstance(holder, list):
            holder.append(holder[place])
        elif how == 2 and isinstance(holder[place], int | float):
            holder[place] *= random.choice((-1, 2, 3))
        elif how == 3 and isinstance(holder, dict):
            holder[random.choice(("x", "", *holder))] = holder[place]
        else:
            holder[place] = random.choice(JUNK)
    try:
        seal = _digest(canonical(document))
    except (ValueError, UnicodeError):
        seal = ""
    return json.dumps({**document, "sha256": seal}).encode()


def spot(document, random):
    """A random place in a document: deep ones as likely as others."""
    holder, place = document, random.choice(sorted(document))
    while isinstance(holder[place], dict | list) and holder[place] and random.random() < 0.8:
        holder = holder[place]
        place = random.choice(sorted(holder)) if isinstance(holder, dict) else random.randrange(len(holder))
    return holder, place


# ---------------------------------------------------------------------- tables

CELLS = (
    "0", "1", "0.5", "-1", "1e400", "nan", "inf", "", " ", "NA", "true", "False", "x", '"', '""', '"1"', '"1\n2"',
    "1_0", "٣", "\x00", "1,5", "1;5", "0x1p3", "é", "\ufeff", "1" * 400, "null", "'1'", "\\", "a" * 200_000,
)  # fmt: skip
HEADINGS = ("value", "x", "a,b", "a,a", "", "value;x", '"value"', "é", "1", "nan")


def text(random):
    """A table of text, more or less."""
    width = random.choice((1, 1, 1, 2, 3))
    common = random.choice(("0.5", "1", "0"))
    rows = [
        ",".join(random.choice(CELLS) if random.random() < 0.05 else common for _ in range(width))
        for _ in range(random.choice((0, 1, 5, 50)))
    ]
    head = [random.choice(HEADINGS)] if random.random() < 0.6 else []
    whole = random.choice(("\n", "\n", "\r\n", "\r", "\n\n")).join([*head, *rows])
    return whole.encode(random.choice(("utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig")), "surrogatepass")


def parquet(random):
    """A Parquet file of some kind."""
    columns = {
        "value": random.choice(
            ([0.5, 1.0], [1, 0], [True, False], [None, 1.0], ["x", "y"], [math.nan], [2.0], [], [[1], [2]], [b"x"])
        )
    }
    if random.random() < 0.3:
        columns["other"] = columns["value"]
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer)
    return buffer.getvalue()


def table(random):
    """The bytes of a table, often damaged, or just bytes."""
    kind = random.randrange(4)
    if kind == 0:
        return random.randbytes(random.choice((0, 1, 10, 1000, 100_000)))
    content = parquet(random) if kind == 1 else text(random)
    return damaged(content, random) if content and random.random() < 0.5 else content
