"""A PostgreSQL of the tests' own: on loopback, in a folder of its own, gone afterwards."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tests._tools.patience import LONG
from tests._tools.ports import free_port

HINT = "PostgreSQL's server is not on this machine: apt-get install postgresql (or put initdb on the path)"


def tool(name):
    """The path of one of PostgreSQL's programs; None if it is not there."""
    places = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)
    return places[0] if places else shutil.which(name)


def available():
    return tool("initdb") is not None and tool("postgres") is not None and (os.getuid() != 0 or _servant() is not None)


class Postgres:
    """Start with `start`, end with `stop`; `kill` ends all its processes at once.

    What it wrote outlives its processes, and no test cuts the power, so only who measures needs it `durable`. One that
    `follows` another is a standby of it.
    """

    def __init__(self, durable=False, follows=None):
        self.durable = durable
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
        self.folder.chmod(0o777 if os.getuid() == 0 else 0o700)
        self.data = self.folder / "data"
        self.port = free_port()
        self.process = None
        if follows is not None:
            where = ("-h", "127.0.0.1", "-p", str(follows.port), "-U", "discreet")
            self._run(
                "pg_basebackup", "-D", self.data, *where, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"
            )
            self.start()
            return
        self._run("initdb", "-D", self.data, "-U", "discreet", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self.start()
        self.query("postgres", "CREATE DATABASE discreet")

    def url(self, database="discreet"):
        return f"postgresql://discreet@127.0.0.1:{self.port}/{database}"

    def start(self):
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    tool("postgres"), "-D", self.data, "-p", str(self.port), "-k", self.folder,
                    "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200",
                    "-c", f"fsync={'on' if self.durable else 'off'}",
                ],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, **_as_servant(),
            )  # fmt: skip
        self._wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(LONG)

    def checkpoint(self):
        """Whoever kills it needs this first: what has been done since the last one is done again at the next start."""
        self.query("postgres", "CHECKPOINT")

    def kill(self):
        """All its processes, at once."""
        self.process.send_signal(signal.SIGSTOP)  # or it would start others in their place
        for child in _children(self.process.pid):
            os.kill(child, signal.SIGKILL)
        self.process.kill()
        self.process.wait(LONG)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def upgrade(self):
        """A new server with all that is in this one, which has stopped, as pg_upgrade makes it."""
        new, programs = Postgres(), Path(tool("initdb")).parent
        new.query("postgres", "DROP DATABASE discreet")
        new.stop()
        old = ("-b", programs, "-d", self.data, "-p", str(self.port))
        self._run(
            "pg_upgrade", *old, "-B", programs, "-D", new.data, "-P", str(new.port), "-U", "discreet", "--no-sync"
        )
        new.start()
        return new

    def remove(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # at once: nobody needs its files
            self.process.wait(LONG)
        shutil.rmtree(self.folder, ignore_errors=True)

    def query(self, database, statement):
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else None

    def fresh(self, name):
        """The address of a new, empty database."""
        self.query("postgres", f'CREATE DATABASE "{name}"')
        return self.url(name)

    def _wait(self):
        import psycopg

        deadline = time.monotonic() + LONG
        while True:
            try:
                with psycopg.connect(self.url("postgres"), connect_timeout=2):
                    return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def _run(self, name, *arguments):
        done = subprocess.run(
            [tool(name), *arguments], capture_output=True, text=True, check=False, cwd=self.folder, **_as_servant()
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])


def _servant():
    """PostgreSQL refuses to run as root, so another user must lend its name."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def _as_servant():
    if os.getuid() != 0:
        return {}
    who = _servant()
    return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": [], "env": {**os.environ, "HOME": "/"}}


def _children(parent):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False)
    return [int(line) for line in listed.stdout.split()]
