"""The example: who may pay what."""

import asyncio

import pytest
from conftest import ROOT, load
from desk import verdicts, warned

import gatelog
from gatelog.adk import GatePlugin

payment = load(ROOT / "examples/python/payment.py", "payment")

DENIED = {
    "unapproved": "a payment needs an approval by another agent",
    "changed-amount": "is approved for Acme Tooling and 1250",
    "other-request": "a payment needs an approval by another agent",
}


def ran(scenario: str):
    plugin = GatePlugin(policy=payment.POLICY)
    desk, session = asyncio.run(payment.run(scenario, plugin))
    gated = plugin.session(app=session.app_name, user=session.user_id, session=session.id)
    answers = [answer.response for event in session.events for answer in event.get_function_responses()]
    return desk, session, gated, answers[-1]


def same(session, gated) -> list[str]:
    """The verdict on the payment, which is the same in the journal and in the session that the library stored."""
    policy = gatelog.Policy(payment.POLICY)
    journal = gatelog.replay(policy, gated.journal().encode())
    stored = gatelog.replay(
        policy, session.model_dump_json(by_alias=True, exclude_none=True).encode(), principal="runner"
    )
    # Newer versions give the call that hands over an argument of their own.
    assert set(warned(journal)) <= {"checked_otherwise"}
    assert verdicts(journal) == verdicts(stored)
    return [verdict for tool, verdict in verdicts(journal) if tool == "disburse_payment"]


def test_a_payment_with_its_approval_runs():
    desk, session, gated, answer = ran("approved")
    assert desk.paid == [{"request_id": "INV-2041", "payee": "Acme Tooling", "amount": 1250}]
    assert answer["status"] == "paid"
    assert same(session, gated) == ["allow"]
    assert gated.faults() == []


@pytest.mark.parametrize("scenario", sorted(DENIED))
def test_any_other_payment_does_not_run_and_its_model_reads_why(scenario):
    desk, session, gated, answer = ran(scenario)
    assert desk.paid == []
    assert answer["error"].startswith("[BLOCKED] ")
    assert DENIED[scenario] in answer["error"]
    assert answer["gatelog"]["verdict"] == "deny"
    read = [part.function_response.response for part in desk.shown[-1][-1].parts if part.function_response]
    assert read == [answer]
    assert same(session, gated) == ["deny"]
