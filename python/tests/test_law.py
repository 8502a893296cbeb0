"""What the gate answers live is what the replay of its journal says, and what the replay of the library's own session says."""

from __future__ import annotations

import asyncio
import json

import pytest
from scenes import MINE, Guarded
from desk import ALL, VERSION, warned

import gatelog

# What is paid may not be computed from what was looked up, nor a mail be sent after one was read.
TAINT = (
    ALL
    + """
// @id: looked
// @deny_message: it was computed from something that was looked up
Unauthorized(idx) :- Actions(idx, a), IsTool(a, "pay"), CurrentDepends(id), ToolResult(id, "look", _).
// @id: after-mail
Unauthorized(idx) :- Actions(idx, a), IsTool(a, "send_mail"), CurrentDepends(id), ToolOutput(id, "read_mail", _).
// @id: after-error
Unauthorized(idx) :- Actions(idx, a), IsTool(a, "pay"), ToolOutcome(_, _, _, _, "error").
"""
)

POLICIES = {"all": ALL, "taint": TAINT}

# Where the session that the library stores does not say what happened, and why: tool, verdict live, verdict in replay.
OTHERWISE = {
    # A run inside an agent tool is in the journal alone.
    ("expert-that-pays", "all"): {("look", "allow", None), ("pay", "allow", None)},
    ("expert-that-pays", "taint"): {("look", "allow", None), ("pay", "deny", None), ("pay", "deny", "allow")},
    # That a tool failed is not in the session where another plugin answers for it.
    ("handled-failure", "taint"): {("pay", "deny", "allow")},
    # A model that gives an id again: the gate lets a call of that agent, id and tool run once, a session cannot tell.
    ("reused-ids", "all"): {("look", "deny", "allow")},
    ("reused-ids", "taint"): {("look", "deny", "allow")},
    # What delegates to a task agent passes no callback of tools.
    ("task-agents", "all"): {("worker", None, "allow")},
    ("task-agents", "taint"): {("worker", None, "allow")},
}
if VERSION < (2, 0):
    # Older versions end the run at the name of a tool that is not there, before any callback.
    OTHERWISE |= {("unknown-tool", policy): {("nothing", None, "allow")} for policy in POLICIES}


async def played(scene: str, policy: gatelog.Policy) -> tuple[str, bytes, list[str]]:
    stage = Guarded(policy=policy)
    await MINE[scene](stage)
    gated = stage.gated()
    return gated.journal(), await stage.document(), gated.faults()


def live(journal: str) -> list[tuple[str, str, str]]:
    """Call, tool and verdict of each check, as answered."""
    entries = [json.loads(line)["entry"] for line in journal.rstrip("\n").split("\n")]
    return [
        (question["call_id"], question["tool"], answer["verdict"])
        for question, answer in (entry["check"] for entry in entries if "check" in entry)
    ]


def rows(report: dict) -> list[tuple[str, str, str]]:
    return [
        (row["call_id"], row["tool"], row["verdict"]) for session in report["sessions"] for row in session["checks"]
    ]


def last(checks: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The last verdict on each call, in the order of the first: what a report shows."""
    return list({(call, tool): (call, tool, verdict) for call, tool, verdict in checks}.values())


def differences(journal: list, session: list) -> set[tuple[str, str | None, str | None]]:
    """Tool, verdict live and verdict in replay of each call about which the two differ. No id stands twice in these scenes."""
    ours, theirs = ({(call, tool): verdict for call, tool, verdict in all} for all in (journal, session))
    return {(key[1], ours.get(key), theirs.get(key)) for key in [*ours, *theirs] if ours.get(key) != theirs.get(key)}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("scene", MINE)
def test_live_is_replay(scene: str, policy: str) -> None:
    loaded = gatelog.Policy.from_text(POLICIES[policy])
    journal, document, faults = asyncio.run(played(scene, loaded))
    assert faults == []
    answered = live(journal)
    of_journal = gatelog.replay(loaded, journal.encode())
    assert "gate_differs" not in warned(of_journal)
    if scene != "reused-ids":
        assert rows(of_journal) == last(answered)
    of_session = gatelog.replay(loaded, document, principal="runner")
    if (scene, policy) in OTHERWISE:
        assert differences(rows(of_journal), rows(of_session)) == OTHERWISE[scene, policy]
    else:
        assert rows(of_session) == rows(of_journal)


def test_there_are_thirty_scenes() -> None:
    assert len(MINE) >= 30
