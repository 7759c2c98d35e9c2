"""The service as one would first write it: every request is a transaction of its own, in a thread of a pool.

python -m benchmarks.plain DATABASE PORT

Everything but the writer is the real service, so that a comparison shows what sharing transactions is worth.
"""

import sys
import threading

import uvicorn
from starlette.concurrency import run_in_threadpool

from discreet.service.experiments.assignments import Writer, Writers
from discreet.service.experiments.control import Control
from discreet.service.http.app import make_app
from discreet.service.storage import open_database


class Plain(Writer):
    """A writer for each thread: leases and sums of its own, as writers of the service have."""

    def __init__(self, database):
        self._own = threading.local()
        super().__init__(database)

    @property
    def shard(self):
        if not hasattr(self._own, "shard"):
            self._own.shard = self.database.new_shard()
        return self._own.shard

    @shard.setter
    def shard(self, shard):
        self._own.shard = shard

    async def do(self, work):
        return await run_in_threadpool(self.database.write, lambda transaction: self._one(transaction, work))

    def _one(self, transaction, work):
        (answer,) = self._answer_all(transaction, [work])
        if isinstance(answer, Exception):
            raise answer
        return answer


if __name__ == "__main__":
    database = open_database(sys.argv[1])
    plain = Plain(database)
    app = make_app(Control(database), writers=Writers(plain, (plain,)))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), access_log=False, log_level="warning")
