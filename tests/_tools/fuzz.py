"""Files that nobody would write, from a seed: damaged states, states of nonsense, and odd tables."""

import hashlib
import io
import json
import math
from copy import deepcopy

import pandas as pd

from discreet import Bandit, SimulatedNoise, Stream
from discreet.drivers.files import canonical
from tests._tools.walking import CASES, advance, algorithm, coins

JUNK = (
    None, True, False, 0, 1, -1, 2, 7, 10**9, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e-320, 1e308, math.inf,
    -math.inf, math.nan, "", "x", "0", "1e999", "\x00", "\ud800", "é" * 50, [], [0], [[]], [1, "x", None], {},
    {"x": 1}, {"": {}},
)  # fmt: skip


# ---------------------------------------------------------------------- states


def drivers():
    """A driver of every kind there is, with some progress, private and simulated."""
    for case in CASES:
        for noise in (None, SimulatedNoise(1)):
            yield CASES[case](noise)
    for key in ("ucb", "se", "ts"):
        yield Bandit(algorithm(key), default_reward=0.0)
    for key in ("nas", "ebstop"):
        yield Stream(algorithm(key))


def states(folder):
    """Both files of every kind of driver: its class, whether its noise is simulated, the head and the ledger."""
    path, saved = folder / "state", []
    for driver in drivers():
        for number in range(3):
            if not driver.finished:
                advance(driver, number)
        if isinstance(driver, Bandit) and not driver.finished:
            tickets = driver.ask(7)
            driver.tell(tickets[1:], coins(len(tickets[1:])))
        driver.save(path)
        simulated = driver.simulated
        driver.detach()
        ledger = path.with_name("state.ledger")
        saved.append((type(driver), simulated, path.read_bytes(), ledger.read_bytes()))
        path.unlink()
        ledger.unlink()
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


def nonsense(head, ledger, random):
    """Both files with right checksums and wrong content, as a careless program would write them."""
    document = json.loads(head)
    lines = [json.loads(line) for line in ledger.splitlines()]
    if lines and random.random() < 0.4:
        for _ in range(random.choice((1, 1, 2))):
            change(lines, random)
        ledger = b"".join(as_json(line) + b"\n" for line in lines)
        document["ledger"] = {"bytes": len(ledger), "sha256": hashlib.sha256(ledger).hexdigest()}
    else:
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            change(document, random)
    document.pop("sha256", None)
    try:
        seal = hashlib.sha256(canonical(document).encode()).hexdigest()
    except (ValueError, UnicodeError):
        seal = ""
    return as_json({**document, "sha256": seal}), ledger


def as_json(value):
    return json.dumps(value).encode()


def change(document, random):
    """Change something somewhere in a document."""
    if not document:
        return
    holder, place = spot(document, random)
    how = random.randrange(5)
    if how == 0:
        del holder[place]
    elif how == 1 and isinstance(holder, list):
        holder.append(deepcopy(holder[place]))
    elif how == 2 and isinstance(holder[place], int | float):
        holder[place] *= random.choice((-1, 2, 3))
    elif how == 3 and isinstance(holder, dict):
        holder[random.choice(("x", "", *holder))] = deepcopy(holder[place])
    else:
        holder[place] = deepcopy(random.choice(JUNK))  # else a later change may put it into itself


def spot(document, random):
    """A random place in a document: deep ones as likely as others."""
    holder, place = document, choose(document, random)
    while isinstance(holder[place], dict | list) and holder[place] and random.random() < 0.8:
        holder = holder[place]
        place = choose(holder, random)
    return holder, place


def choose(holder, random):
    return random.choice(sorted(holder)) if isinstance(holder, dict) else random.randrange(len(holder))


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
