"""Gatelog: a Datalog policy engine over agent message records.

    policy = gatelog.Policy("payment.dl")
    report = gatelog.replay(policy, recording.read_bytes(), principal="svc")

    with gatelog.session(policy=policy, principal="svc") as session:
        session.record(event)
        check = session.check("pay", {"amount": 5}, agent="bot", call_id="c1")
        if check.may_run:
            session.finish(check, pay(5))

`gatelog.adk.GatePlugin` gates the agents of google-adk.
"""

from gatelog._core import (
    Check,
    EncodingError,
    Gate,
    GateError,
    GatelogError,
    Pending,
    Policy,
    PolicyError,
    RecordingError,
    Session,
    encode,
    encode_metadata,
    records,
    replay,
)
from gatelog.loop import Loop, check, session

__all__ = [
    "Check",
    "EncodingError",
    "Gate",
    "GateError",
    "GatelogError",
    "Loop",
    "Pending",
    "Policy",
    "PolicyError",
    "RecordingError",
    "Session",
    "check",
    "encode",
    "encode_metadata",
    "records",
    "replay",
    "session",
]
