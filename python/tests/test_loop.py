"""Policies, loops of one's own, replay, and what goes wrong in them."""

import json
import os
import threading
import time

import pytest
from desk import ALL, LIMIT

import gatelog

CALL = {
    "id": "e1",
    "author": "bot",
    "content": {"parts": [{"functionCall": {"id": "c1", "name": "pay", "args": {"amount": 5}}}]},
}
ANSWER = {
    "id": "e2",
    "author": "bot",
    "content": {"parts": [{"functionResponse": {"id": "c1", "name": "pay", "response": {"paid": 5}}}]},
}
NEVER = ALL + ".decl N(n: number)\nN(1).\nN(n + 1) :- N(n).\nUnauthorized(idx) :- Actions(idx, _), N(n), n < 0.\n"


def limit() -> gatelog.Policy:
    return gatelog.Policy.from_text(LIMIT)


def test_record_check_finish():
    with gatelog.session(policy=limit()) as session:
        session.record(CALL)
        check = session.check("pay", {"amount": 5}, agent="bot", call_id="c1")
        assert check.may_run and check.verdict == "allow" and check.response is None and check.reasons == []
        session.finish(check, {"paid": 5}, args={"amount": 5})
        session.record(ANSWER)
        journal = session.session.journal()
    report = gatelog.replay(limit(), journal.encode())
    [row] = report["sessions"][0]["checks"]
    assert (row["verdict"], row["outcome"]) == ("allow", "ok")
    with pytest.raises(gatelog.GateError, match="was used"):
        session.finish(check, {"paid": 5})


def test_a_denial_says_why_and_what_to_tell_the_model():
    check = gatelog.check(limit(), "pay", {"amount": 500})
    assert (check.verdict, check.may_run) == ("deny", False)
    assert check.reasons[0]["text"] == "500 is more than 100" and check.reasons[0]["line"] == 4
    assert check.rules == ["Unauthorized@policy.dl:4"]
    assert check.response["error"].startswith("[BLOCKED] 500 is more than 100")


def test_without_a_principal_nothing_is_allowed():
    assert gatelog.check(gatelog.Policy.from_text(ALL), "look", {}, principal=None).verdict == "deny"


def test_what_cannot_be_written_is_denied():
    for args in ({"amount": float("nan")}, {"amount": object()}):
        assert gatelog.check(gatelog.Policy.from_text(ALL), "pay", args).verdict == "deny"


def test_faults_name_their_place(tmp_path):
    broken = tmp_path / "broken.dl"
    broken.write_text("IsAuthorized(idx) :- Actions(idx, _)\n")
    with pytest.raises(gatelog.PolicyError, match=r"broken\.dl:\d+:\d+"):
        gatelog.Policy(broken)
    with pytest.raises(gatelog.PolicyError, match="there is no such file"):
        gatelog.Policy(tmp_path / "missing.dl")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(gatelog.PolicyError, match="no policy"):
        gatelog.Policy(empty)
    with pytest.raises(gatelog.RecordingError, match="accepted"):
        gatelog.replay(limit(), b"hello")
    with pytest.raises(gatelog.GateError, match="no mode"):
        gatelog.Gate(limit(), mode="maybe")
    with gatelog.session(policy=limit()) as session, pytest.raises(gatelog.GateError, match="stops at it"):
        session.record('{"id": "e", "author": "bot", "content": {"parts": [{"text": "a", "text": "b"}]}}')


def test_files_include_others_of_their_folder_alone(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "base.dl").write_text(ALL)
    (inner / "main.dl").write_text('.include "base.dl"\n')
    (tmp_path / "outside.dl").write_text(ALL)
    (inner / "leaks.dl").write_text('.include "../outside.dl"\n')
    assert gatelog.check(gatelog.Policy(inner / "main.dl"), "look", {}).verdict == "allow"
    with pytest.raises(gatelog.PolicyError, match="outside"):
        gatelog.Policy(inner / "leaks.dl")


def test_a_gate_that_was_stopped_goes_on_from_its_store(tmp_path):
    store = tmp_path / "gate.db"
    with gatelog.session(policy=limit(), store=store) as session:
        session.record(CALL)
        first = session.check("pay", {"amount": 5}, agent="bot", call_id="c1")
    del session
    with gatelog.session(policy=limit(), store=store) as session:
        again = session.check("pay", {"amount": 5}, agent="bot", call_id="c1")
        assert (first.verdict, again.verdict) == ("allow", "deny")
        assert "allowed before" in again.reasons[0]["text"]
        session.finish(first, {"paid": 5})
        assert session.session.event_ids() == ["e1"]


def test_a_check_without_end_is_a_denial_and_lets_others_work():
    policy = gatelog.Policy.from_text(NEVER)
    with gatelog.session(policy=policy, deadline=0.5) as session:
        beats = []
        stop = threading.Event()

        def beat():
            while not stop.wait(0.01):
                beats.append(time.monotonic())

        thread = threading.Thread(target=beat)
        thread.start()
        check = session.check("look", {}, agent="bot")
        stop.set()
        thread.join()
        assert check.verdict == "deny" and check.reasons[0]["kind"] == "engine_error"
        # The interpreter was not held.
        assert len(beats) >= 3


def test_sessions_of_threads_run_beside_one_another():
    gate = gatelog.Gate(limit(), principal="svc")
    verdicts: dict[int, list[str]] = {}

    def work(number: int) -> None:
        session = gate.session(f"s{number}")
        for amount in (5, 500):
            verdicts.setdefault(number, []).append(
                session.ask("pay", json.dumps({"amount": amount}), agent="bot").wait().verdict
            )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == {number: ["allow", "deny"] for number in range(8)}


def test_a_process_that_was_forked_off_is_told_so():
    gate = gatelog.Gate(limit(), principal="svc")
    session = gate.session("s")
    child = os.fork()
    if child == 0:
        try:
            session.history()
            os._exit(1)
        except gatelog.GateError as error:
            os._exit(0 if "forked" in str(error) else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert session.history()[0] == 0
