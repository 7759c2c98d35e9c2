"""SQL about releases."""

import hashlib
import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import NamedTuple

from sqlalchemy import func, insert, select

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction

EXPERIMENT, RELEASE = schema.experiment, schema.release


@dataclass(frozen=True, slots=True)
class Released:
    """A row of the table `release`.

    Args:
        experiment: The experiment's number.
        epoch: The epoch's number, among closed, forfeited and discarded ones.
        part: Its place in the epoch, from 0.
        kind: What it says.
        arm: The arm's index.
        first: The first of the arm's rewards that it covers, from 1.
        last: The last of them.
        steps: The noisy number in grid steps, as text.
        scale: The noise's scale in grid steps.
        epsilon: The price of each reward.
        digest: A checksum of all other columns.
    """

    experiment: int
    epoch: int
    part: int
    kind: str
    arm: int
    first: int
    last: int
    steps: str
    scale: float
    epsilon: float
    digest: str = ""

    @property
    def count(self) -> int:
        """The number of rewards that it covers."""
        return self.last - self.first + 1


class Digest(NamedTuple):
    """The digest of one release, with what the journal says of its experiment.

    Attributes:
        experiment: The experiment's public id.
        epoch: The epoch's number.
        population: The population that pays for it.
        promised: What the experiment may cost.
        digest: The release's digest.
    """

    experiment: str
    epoch: int
    population: str
    promised: Fraction
    digest: str


def checksum(release: Released) -> str:
    """Return a digest of all columns but itself, which shows that a row was changed."""
    content = asdict(release)
    del content["digest"]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def add(transaction: Transaction, release: Released) -> None:
    """Add a release, with its checksum.

    Args:
        transaction: The transaction.
        release: The release.

    Raises:
        DuplicateError: It was released before.
    """
    transaction.execute(insert(RELEASE).values({**asdict(release), "digest": checksum(release)}))


def of_experiment(transaction: Transaction, experiment: int) -> list[Released]:
    """Return all releases of an experiment, the oldest first.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    query = select(RELEASE).where(RELEASE.c.experiment == experiment).order_by(RELEASE.c.epoch, RELEASE.c.part)
    return [Released(*row) for row in transaction.fetch(query)]


def count(transaction: Transaction) -> int:
    """Return the number of releases of all experiments."""
    found: int = transaction.execute(select(func.count()).select_from(RELEASE)).scalar_one()
    return found


def digests(transaction: Transaction) -> list[Digest]:
    """Return the digest of every release, in the order of experiments, epochs and parts."""
    about = (EXPERIMENT.c.uid, RELEASE.c.epoch, EXPERIMENT.c.population, EXPERIMENT.c.epsilon, RELEASE.c.digest)
    query = (
        select(*about)
        .join(EXPERIMENT, EXPERIMENT.c.id == RELEASE.c.experiment)
        .order_by(RELEASE.c.experiment, RELEASE.c.epoch, RELEASE.c.part)
    )
    return [Digest(*row) for row in transaction.fetch(query)]
