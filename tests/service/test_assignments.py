"""Who gets what, and which rewards count: once, in time, for whoever was assigned."""

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import event, text

from discreet.core.errors import ArgumentError
from discreet.service.errors import ServiceProblem
from discreet.service.experiments import assignments as traffic
from discreet.service.experiments import tokens
from discreet.service.experiments.tokens import Place, pseudonym
from discreet.service.storage import schema
from tests._tools.service_tools import FULL, is_sqlite, small

# ---------------------------------------------------------------------- assign


def test_a_unit_keeps_its_arm_within_an_epoch(world):
    world.start()
    first = world.ask("banners", "ann", "bob")
    again = world.ask("banners", "bob", "ann", "ann")
    assert [again[1], again[0]] == first
    assert again[1] == again[2]
    assert world.count(schema.assignment) == 2


def test_a_thousand_units_at_once_are_balanced(world):
    world.start(epsilon="0.01")
    given = world.ask_all("banners", [f"u{number}" for number in range(1000)])
    assert Counter(one.arm for one in given) == {"a": 500, "b": 500}
    assert all(one.learn and one.epoch == 1 for one in given)
    assert len({one.assignment for one in given}) == 1000


def test_traffic_is_balanced_at_every_moment(world):
    world.start(epsilon="0.01", arms=["a", "b", "c"])
    seen = Counter()
    for number in range(30):
        seen[world.ask("banners", f"u{number}")[0].arm] += 1
        assert max(seen.values()) - min(seen[arm] for arm in "abc") <= 1


def test_units_are_found_by_their_key_in_a_young_table(world):
    """PostgreSQL guesses how to find rows as long as it has no statistics."""
    if is_sqlite(world):
        pytest.skip("SQLite goes by the form of the query alone")
    world.start(epsilon="0.001")
    started = world.control.started("banners")
    for number in range(20):
        with world.database.writing() as transaction:
            before = transaction.execute(text(_READ)).scalar_one()
            traffic.assign(transaction, "-", [traffic.Ask(started, [f"{number}-{unit}" for unit in range(64)])])
            assert transaction.execute(text(_READ)).scalar_one() == before, "rows of others were read"


_READ = "SELECT coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = 'unit_slot'"


def test_slots_are_found_by_their_key_in_a_young_table(world):
    """An UPDATE of a list of slots would read the whole epoch."""
    if is_sqlite(world):
        pytest.skip("SQLite goes by the form of the query alone")
    world.start(epsilon="0.001")
    started = world.control.started("banners")
    given = [one for part in range(4) for one in world.ask_all("banners", [f"{part}-{unit}" for unit in range(1000)])]
    places = [tokens.open_token(world.control.token_secret, one.assignment) for one in given[:32]]
    with world.database.writing() as transaction:
        statuses = traffic.tell(transaction, "-", [traffic.Tell(started, place, 0) for place in places])
        read = transaction.execute(text(_READ.replace("unit_slot", "assignment"))).scalar_one()
    assert statuses == ["accepted"] * len(places)
    assert read <= 3 * len(places), "slots of others were read"


def test_who_comes_after_the_quota_gets_an_arm_that_nothing_depends_on(world):
    world.start(**small())
    world.fill("banners", lambda arm: None)
    extra = world.ask("banners", "late-comer")
    assert extra == world.ask("banners", "late-comer")
    assert (extra[0].learn, extra[0].assignment, extra[0].deadline) == (False, None, None)
    assert extra[0].arm in {"a", "b"}
    assert world.count(schema.assignment) == 8


def test_a_request_may_fill_the_quota_in_its_middle(world):
    world.start(**small())
    given = world.ask_all("banners", [f"u{number}" for number in range(20)])
    assert [one.learn for one in given] == [True] * 8 + [False] * 12


def test_a_person_counts_in_each_epoch_or_once(world):
    world.start("each", **small(privacy_unit="person"))
    world.start("once", **small(privacy_unit="person", contribution="once"))
    for name in ("each", "once"):
        assert world.ask(name, "ann")[0].learn
        world.finish_epoch(name, lambda arm: 0.5)
    assert world.ask("each", "ann")[0].learn
    assert not world.ask("once", "ann")[0].learn
    assert world.ask("once", "bob")[0].learn


def test_units_without_a_name_are_all_different(world):
    world.start(**small())
    given = world.ask("banners", count=8)
    assert [one.unit for one in given] == [None] * 8
    assert len({one.assignment for one in given}) == 8
    assert not world.ask("banners", count=1)[0].learn


def test_names_of_units_are_not_kept(world):
    world.start(**small(contribution="once", privacy_unit="person"))
    world.ask("banners", "ann.smith@example.org")
    kept = str(world.rows(schema.assignment)) + str(world.rows(schema.participant))
    assert "ann" not in kept
    assert "smith" not in kept


def test_the_next_epoch_deals_anew(world):
    world.start(**small())
    world.finish_epoch("banners", lambda arm: 0.5)
    given = world.ask("banners", "unit-1-0")[0]
    assert (given.epoch, given.learn) == (2, True)


# ---------------------------------------------------------------------- report


def test_the_first_reward_stands(world):
    world.start(**small())
    one, two = world.ask("banners", "ann", "bob")
    said = world.tell((one, 1.0), (one, 0.0), (two, 0.5), (one, 0.25))
    assert said == ["accepted"] * 4
    assert world.tell((one, 0.0)) == ["accepted"]
    assert world.tell((two, 0.0), shard="other") == ["accepted"]
    sums = world.sums("banners")
    assert sum(told for told, _ in sums.values()) == 2
    assert sum(total for _, total in sums.values()) == FULL + FULL // 2


def test_a_reward_counts_up_to_the_last_second_of_its_window(world):
    world.start(**small())
    one, two = world.ask("banners", "ann", "bob")
    world.clock.wait(60)
    assert world.tell((one, 1.0)) == ["accepted"]
    world.clock.wait(0.5)
    assert world.tell((two, 1.0), (one, 1.0)) == ["late", "late"]
    assert sum(told for told, _ in world.sums("banners").values()) == 1


def test_rewards_after_the_end_change_nothing(world):
    world.start(**small())
    given = world.fill("banners", lambda arm: None)
    world.clock.wait(60)
    world.close("banners")
    before = world.control.releases("banners")
    assert world.tell((given[0], 1.0)) == ["late"]
    world.erase()
    assert world.tell((given[0], 1.0)) == ["late"]
    assert world.sums("banners") == {}
    assert world.control.releases("banners") == before


def test_rewards_of_a_stopped_experiment_are_late(world):
    world.start(**small())
    given = world.ask("banners", "ann")
    world.control.stop("banners")
    assert world.tell((given[0], 1.0)) == ["late"]
    assert world.sums("banners") == {}


@pytest.mark.parametrize(("reward", "units"), [(2.7, 3), (1e308, 3), (-9.0, 0), (-1.0, 0), (0.5, 1.5)])
def test_rewards_outside_the_range_are_moved_to_its_end(world, reward, units):
    world.start(**small(low=-1.0, high=2.0))
    world.tell((world.ask("banners", "ann")[0], reward))
    ((_, total),) = world.sums("banners").values()
    grid = world.control.started("banners").description.grid
    assert total == grid.encode(min(max(reward, -1.0), 2.0))
    assert total * grid.step == units


def test_the_denominator_is_who_was_assigned(world):
    """Rewards that never come count as the default, so that their absence says no more than a low reward would."""
    world.start(**small(default_reward=0.5))
    given = world.fill("banners", lambda arm: None)
    told = [one for one in given if one.arm == "a"][:3]
    world.tell(*[(one, 1.0) for one in told])
    world.clock.wait(60)
    world.close("banners")
    found = {one.arm: (one.count, round(2 * one.value) / 2) for one in world.control.releases("banners")}
    assert found == {"a": (4, 3.5), "b": (4, 2.0)}


def test_a_slot_that_was_not_dealt_counts_nothing(world):
    world.start(**small())
    started = world.control.started("banners")
    given = world.ask("banners", "ann")[0]
    secret = started.token_secret
    place = tokens.open_token(secret, given.assignment)._replace(slot=5)
    assert world.tell((tokens.seal(secret, place), 1.0)) == ["late"]
    assert world.tell((tokens.seal(secret, place._replace(epoch=9)), 1.0)) == ["late"]
    assert world.sums("banners") == {}


# ---------------------------------------------------------------------- over HTTP


def put(web, token, reward=1.0, **more):
    return web.put(f"/v1/rewards/{token}", json={"reward": reward}, **more)


def test_forged_tokens_and_keys_of_others_are_unknown(world):
    one, other = world.start("one", **small()), world.start("other", **small())
    with world.web() as web:
        scopes = {"name": "shop", "scopes": ["assign", "report"], "experiment": one.id}
        key = web.post("/v1/keys", json=scopes).json()["key"]
        mine = {"Authorization": f"Bearer {key}"}
        asked = web.post("/v1/experiments/one/assignments", json={"units": ["ann"]}, headers=mine).json()
        token = asked["assignments"][0]["assignment"]
        assert web.post("/v1/experiments/other/assignments", json={"units": ["ann"]}, headers=mine).status_code == 404
        foreign = web.post("/v1/experiments/other/assignments", json={"units": ["ann"]}).json()
        foreign = foreign["assignments"][0]["assignment"]
        forged = [f"{token[:-2]}{'AA' if token[-2:] != 'AA' else 'BB'}", "A" * len(token), "nobody", "é" * 38, foreign]
        for wrong in forged:
            assert put(web, wrong, headers=mine).status_code == 404, wrong
        batch = {"rewards": [{"assignment": wrong, "reward": 1.0} for wrong in [*forged, token]]}
        assert web.post("/v1/rewards:batch", json=batch, headers=mine).json()["statuses"] == [
            *["unknown"] * len(forged), "accepted",
        ]  # fmt: skip
        assert put(web, token, headers=mine).json() == {"status": "accepted"}
        assert put(web, foreign).json() == {"status": "accepted"}
        assert put(web, tokens.seal(b"x" * 32, tokens.open_token(world.control.token_secret, token))).status_code == 404
    assert other.id != one.id


def test_what_is_no_number_is_refused_and_counts_nothing(world):
    world.start(**small())
    token = world.ask("banners", "ann")[0].assignment
    with world.web() as web:
        wrong = ["NaN", "Infinity", "1e999", '"1"', "null", "true", '1, "arm": "a"']
        for body in [*[f'{{"reward": {one}}}' for one in wrong], "{}", "", "[1]"]:
            assert web.put(f"/v1/rewards/{token}", content=body).status_code in {400, 422}, body
        assert world.sums("banners") == {}
        assert put(web, token, 5e-324).status_code == 202


def test_requests_have_bounds(world):
    world.start(epsilon="0.01")
    with world.web() as web:
        path = "/v1/experiments/banners/assignments"
        many = [f"u{number}" for number in range(1001)]
        for body in ({"units": many}, {"units": []}, {}, {"units": ["ann"], "count": 1}, {"count": 3}, {"units": [""]},
                     {"units": ["x" * 201]}):  # fmt: skip
            assert web.post(path, json=body).status_code == 422, body
        assert len(web.post(path, json={"units": many[:1000]}).json()["assignments"]) == 1000


def test_a_receipt_does_not_tell_who_has_answered(world):
    """Whoever may assign can ask for anybody's assignment, and may then try a reward of their own."""
    world.start(**small())
    ann, bob = world.ask("banners", "ann", "bob")
    world.tell((ann, 1.0))
    with world.web() as web:
        (first,) = {put(web, one.assignment).content for one in (ann, bob)}
        world.clock.wait(61)
        (second,) = {put(web, one.assignment).content for one in (ann, bob)}
    assert (first, second) == (b'{"status":"accepted"}', b'{"status":"late"}')


def test_a_second_reward_is_written_as_the_first_one_is(world):
    """The disk is waited for in both cases, so that the time of an answer does not tell who has answered either."""
    world.start(**small())
    (ann,) = world.ask("banners", "ann")
    statements = []

    def note(connection, cursor, statement, *_):
        statements.append(statement)

    event.listen(world.database.engine, "before_cursor_execute", note)
    asked, pages = [], []
    for reward in (1.0, 0.0, 0.5, 0.5, 1.0):
        before = written_pages(world)
        world.tell((ann, reward))
        asked.append(statements[:])
        pages.append(written_pages(world) - before)
        statements.clear()
    assert asked == [asked[0]] * 5
    assert all(pages) == is_sqlite(world)
    assert sum(total for _, total in world.sums("banners").values()) == FULL


def test_a_statement_is_run_for_many_rows_of_numbers_and_bytes(world):
    units = [(number, bytes([65 + number]) * 16, 7 - number) for number in range(3)]
    with world.database.reading() as transaction:
        sql = "SELECT slot, unit, told FROM {rows} WHERE slot >= :least"
        found = transaction.each(sql, ("slot", "unit", "told"), units, least=1)
        alone = transaction.each("SELECT unit FROM {rows}", ("unit",), [(unit,) for _, unit, _ in units])
    assert sorted((slot, bytes(unit), told) for slot, unit, told in found) == units[1:]
    assert sorted(bytes(unit) for (unit,) in alone) == [unit for _, unit, _ in units]


def test_bytes_of_unequal_length_are_not_cut_elsewhere(world):
    if not is_sqlite(world):
        pytest.skip("PostgreSQL takes each value as it is")
    with world.database.reading() as transaction, pytest.raises(ArgumentError, match="all values of unit must have 16"):
        transaction.each("SELECT unit FROM {rows}", ("unit",), [(b"a" * 16,), (b"b" * 15,), (b"c" * 17,)])


def test_every_connection_to_sqlite_waits_for_the_disk_and_seldom_copies_its_log(world):
    if not is_sqlite(world):
        pytest.skip("SQLite's own settings")
    wanted = {"synchronous": 2, "journal_mode": "wal", "secure_delete": 1, "wal_autocheckpoint": 4_000}
    with world.database.writing() as one, world.database.reading() as other, world.database.beside().reading() as more:
        for transaction in (one, other, more):
            for name, value in wanted.items():
                assert transaction.execute(text(f"PRAGMA {name}")).scalar_one() == value


def written_pages(world):
    """The size of SQLite's log, which grows by what is written; PostgreSQL has another one."""
    log = Path(f"{world.url}-wal")
    return log.stat().st_size if is_sqlite(world) and log.exists() else 0


def test_a_slot_that_was_somebody_elses_takes_no_reward_of_theirs(world):
    """A database from an old backup, if nobody says so, may deal Ann's slot to Bob, and another one to Ann."""
    world.start(**small())
    started = world.control.started("banners")
    (bob,) = world.ask("banners", "bob")
    place = tokens.open_token(started.token_secret, bob.assignment)
    hers = pseudonym(started.secret, "ann")
    lost = tokens.seal(
        started.token_secret, place._replace(unit_tag=tokens.unit_tag(started.secret, place.generation, 0, hers))
    )
    assert place.slot == 0
    assert world.tell((lost, 1.0)) == ["late"]
    assert world.sums("banners") == {}
    assert world.tell((lost, 1.0), (bob, 0.5), (lost, 1.0)) == ["late", "accepted", "late"]
    assert world.tell((lost, 1.0), (bob, 1.0)) == ["late", "accepted"]
    assert sum(total for _, total in world.sums("banners").values()) == FULL // 2


def test_spelling_does_not_make_another_person(world):
    world.start(**small(privacy_unit="person"))
    given = world.ask("banners", "Zo\u00eb", "Zoe\u0308", " Zo\u00eb ", "zo\u00eb")
    assert len({one.assignment for one in given}) == 2  # capital letters may well mean somebody else


def test_a_unit_that_cannot_be_encoded_is_refused_alone(world):
    world.start(**small())
    with world.web() as web:
        path = "/v1/experiments/banners/assignments"
        assert web.post(path, content=b'{"units": ["\\ud800"]}').status_code in {400, 422}
        assert web.post(path, json={"units": ["Ünï-✓"]}).status_code == 200


def test_a_place_holds_what_it_must():
    place = Place(2**32 - 1, 2**32 - 1, 2**31, 2**32 - 1, bytes(range(250, 256)))
    assert tokens.open_token(b"s", tokens.seal(b"s", place)) == place


def test_a_batch_of_tokens_is_opened_as_each_token_is():
    whole = [tokens.seal(b"s", Place(1, 2, 3, slot, b"of Ann")) for slot in range(5)]
    forged = tokens.seal(b"other", Place(1, 2, 3, 4, b"of Ann"))
    flipped = whole[1][:20] + ("A" if whole[1][20] != "A" else "B") + whole[1][21:]
    short = ["", "x", "=" * len(forged), whole[0][:-1] + "=", "é" + whole[0][1:], "\ud800" + whole[0][1:], whole[0] * 2]
    for odd in (forged, flipped, *short):
        batch = [*whole[:3], odd, *whole[3:]]
        assert tokens.open_tokens(b"s", batch) == [tokens.open_token(b"s", token) for token in batch]
        assert tokens.open_tokens(b"s", batch)[3] is None
    halves = [whole[0][:-4], whole[0][-4:] + whole[1]]  # of the right length together
    assert tokens.open_tokens(b"s", halves) == [None, None]
    assert tokens.open_tokens(b"s", []) == []


def test_a_started_experiment_is_not_found_by_a_name_that_no_database_can_hold(world):
    with world.web() as web:
        for path in ("/v1/experiments/a%00b", "/v1/populations/a%00b/ledger", "/v1/experiments/%ff"):
            assert web.get(path).status_code == 404, path
        assert web.delete("/v1/keys/a%00b").status_code == 404
        key = {"name": "a\0b", "scopes": ["report"]}
        assert web.post("/v1/keys", json=key).status_code == 422
        asked = web.post("/v1/experiments", json={"name": "x", "epsilon": "1", "arms": ["a\0", "b"]})
        assert asked.status_code in {201, 422}


def test_assignments_at_the_wrong_time_are_problems(world):
    with pytest.raises(ServiceProblem):
        world.ask("nothing", "ann")
