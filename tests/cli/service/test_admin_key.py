"""`discreet admin-key`: whoever has the database has a key."""

import re

import pytest

pytest.importorskip("sqlalchemy")

from discreet.service.experiments.control import Control
from discreet.service.storage import open_database


@pytest.fixture
def control(tmp_path):
    database = open_database(tmp_path / "team.db")
    made = Control(database)
    made.set_up()
    yield made
    database.close()


def test_a_lost_key_is_replaced_beside_a_running_service(control, run, tmp_path):
    code, out, _ = run("admin-key --database", tmp_path / "team.db")
    assert code == 0
    found = control.authenticate(re.search(r"dk_\S+", out).group())
    assert (found.scopes, found.expires_at, found.experiment) == (["admin"], None, None)
    assert len(control.keys().keys) == 2


def test_a_key_goes_to_a_file(control, run, refused, tmp_path):
    file = tmp_path / "admin.key"
    code, out, _ = run("admin-key --name Ann --database", tmp_path / "team.db", "--key-file", file)
    assert (code, "dk_" in out) == (0, False)
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert control.authenticate(file.read_text().strip()).name == "Ann"
    assert "must be a new file" in refused("admin-key --database", tmp_path / "team.db", "--key-file", file)
    assert len(control.keys().keys) == 2


def test_no_database_is_made(refused, tmp_path):
    assert "there is no database" in refused("admin-key --database", tmp_path / "typing-error.db")
    assert "start `discreet serve` first" in refused("admin-key --database", _empty(tmp_path))
    assert "name must have 1 to 200 letters" in refused("admin-key --database", _empty(tmp_path), "--name", "")
    said = refused("admin-key --database", "postgresql://ann:secret@127.0.0.1:9/x")
    assert "secret" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["empty.db"]


def _empty(folder):
    file = folder / "empty.db"
    file.touch()
    return file
