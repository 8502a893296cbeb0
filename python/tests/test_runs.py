"""Ways in which runs go on: streams, restarts, calls in the background, runs beside one another."""

from __future__ import annotations

import asyncio
import logging

from desk import ALL, APP, ASK, LIMIT, USER, Desk, call, say
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import AgentTool, LongRunningFunctionTool
from google.genai import types
from scenes import Guarded, look, pay

import gatelog
from gatelog.adk import GatePlugin

CLOSED = (
    ALL
    + """
// @deny_message: the ticket is not closed
Unauthorized(idx) :- Actions(idx, a), IsTool(a, "pay"), !Closed().
.decl Closed()
Closed() :- CurrentDepends(id), ToolResult(id, "ticket", _), SentMessage(id, m), @json_str(m.contents, "status") = "closed".
"""
)

TAINT = (
    ALL
    + """
// @deny_message: it was computed from something that was looked up
Unauthorized(idx) :- Actions(idx, a), IsTool(a, "pay"), CurrentDepends(id), ToolResult(id, "look", _).
"""
)


def test_streams_are_judged_by_their_final_events():
    desk = Desk(LIMIT, [say("thinking"), call("pay", amount=900)], [say("sorry"), call("pay", amount=5)], say("paid"))
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    asyncio.run(desk.say("pay", run_config=config))
    assert desk.verdicts() == ["deny", "allow"] and desk.ran == [("pay", 5)]
    assert desk.gated().faults() == []


def test_a_question_outlives_the_program(tmp_path):
    store = tmp_path / "gate.db"
    desk = Desk(ASK, call("pay", amount=5), say("paid"), store=store)
    asyncio.run(desk.say("pay 5"))
    assert desk.verdicts() == ["ask"]
    # Another program, with the same sessions and the same store.
    desk.plugin = GatePlugin(policy=gatelog.Policy.from_text(ASK), store=store)
    desk.runner = Runner(app_name=APP, agent=desk.agent, session_service=desk.sessions, plugins=[desk.plugin])
    asyncio.run(desk.answer({"confirmed": True}))
    assert desk.ran == [("pay", 5)]
    assert desk.verdicts() == ["ask", "allow"]


def test_a_gate_that_comes_late_has_the_whole_history():
    desk = Desk(
        TAINT, call("look", what="a"), say("seen"), call("pay", amount=1), tools=[look], plugins=lambda gate: []
    )
    asyncio.run(desk.say("look"))
    desk.runner = Runner(app_name=APP, agent=desk.agent, session_service=desk.sessions, plugins=[desk.plugin])
    asyncio.run(desk.say("pay"))
    # What was answered before is no evidence, since no gate saw it run; it is there all the same.
    events = [entry for entry in desk.entries() if "append" in entry]
    assert len(events) == len(asyncio.run(desk.stored()).events)
    assert desk.verdicts() == ["allow"]


def closing(told_by_host: bool) -> tuple[list[str], list]:
    """A ticket that is closed by its user, or by the host as well; then a payment."""

    def ticket(topic: str) -> dict:
        """Open a ticket."""
        return {"status": "pending", "topic": topic}

    desk = Desk(
        CLOSED,
        call("ticket", topic="a"),
        say("open"),
        call("pay", amount=5),
        say("bye"),
        tools=[LongRunningFunctionTool(ticket)],
    )

    async def go():
        await desk.say("open a ticket")
        made = next(
            made
            for event in (await desk.stored()).events
            for made in event.get_function_calls()
            if made.name == "ticket"
        )
        closed = {"status": "closed"}
        if told_by_host:
            desk.plugin.finish(app=APP, user=USER, session=desk.session_id, call_id=made.id, value=closed)
        await desk.send(
            types.Part(function_response=types.FunctionResponse(id=made.id, name="ticket", response=closed))
        )

    asyncio.run(go())
    return desk.verdicts(), desk.ran


def test_what_a_user_says_of_a_call_in_the_background_is_no_evidence():
    assert closing(told_by_host=False) == (["allow", "deny"], [])
    assert closing(told_by_host=True) == (["allow", "allow"], [("pay", 5)])


def test_taint_does_not_wash_off_in_an_agent_tool():
    async def go() -> Guarded:
        stage = Guarded(policy=gatelog.Policy.from_text(TAINT))
        expert = stage.agent("expert", [[*look_up()], [say("gold it is")]], tools=[look])
        lines = [[call("expert", request="what of gold")], [call("pay", amount=8)], [say("no")]]
        await stage.open(stage.agent("asker", lines, tools=[AgentTool(agent=expert), pay]))
        await stage.say("ask about gold")
        return stage

    def look_up():
        return [call("look", what="gold")]

    stage = asyncio.run(go())
    report = gatelog.replay(gatelog.Policy.from_text(TAINT), stage.gated().journal().encode())
    rows = [(row["tool"], row["verdict"]) for row in report["sessions"][0]["checks"]]
    assert rows == [("expert", "allow"), ("look", "allow"), ("pay", "deny")]
    # All of it is known: nothing had to be taken for something from outside.
    assert "unattributed" not in str(gatelog.records(stage.gated().journal().encode()))


def test_an_agent_tool_without_plugins_is_said():
    stage = Guarded(policy=gatelog.Policy.from_text(ALL))
    expert = stage.agent("expert", [[say("gold")]])
    try:
        tool = AgentTool(agent=expert, include_plugins=False)
    except TypeError:
        return  # Older versions always hand plugins on.

    async def go():
        await stage.open(stage.agent("asker", [[call("expert", request="what")], [say("ok")]], tools=[tool]))
        await stage.say("go")

    asyncio.run(go())
    assert any("`expert` runs without the plugins" in text for text in stage.plugin.findings)


def test_sessions_beside_one_another_keep_to_themselves():
    """Ten sessions of one runner at once: five that read something first, and five that did not."""
    plugin = GatePlugin(policy=gatelog.Policy.from_text(TAINT))
    desks = [
        Desk(
            TAINT,
            *([call("look", what="a")] if number % 2 else []),
            call("pay", amount=number),
            say("bye"),
            tools=[look],
            plugins=lambda _: [plugin],
        )
        for number in range(10)
    ]
    sessions = InMemorySessionService()

    async def go():
        for desk in desks:
            desk.sessions = desk.runner.session_service = sessions
        await asyncio.gather(*(desk.say("go") for desk in desks))

    asyncio.run(go())
    for number, desk in enumerate(desks):
        desk.plugin = plugin
        assert desk.verdicts() == (["allow", "deny"] if number % 2 else ["allow"])


def test_a_failure_that_an_earlier_plugin_answers_for_is_no_evidence(caplog):
    class Handles(BasePlugin):
        async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
            return {"status": "closed"}

    def ticket() -> dict:
        """Fail."""
        raise RuntimeError("no")

    desk = Desk(
        CLOSED,
        call("ticket"),
        call("pay", amount=5),
        tools=[ticket],
        plugins=lambda gate: [Handles(name="handles"), gate],
    )
    with caplog.at_level(logging.WARNING, "gatelog.adk"):
        asyncio.run(desk.say("go"))
    assert desk.ran == [] and desk.verdicts() == ["allow", "deny"]
    assert any(
        "`handles` stands before the gate and may answer for a tool that failed" in text for text in caplog.messages
    )


def test_defaults_and_arguments_that_no_tool_takes():
    policy = (
        ALL
        + """
    Unauthorized(idx) :- Actions(idx, $CallTool("send", args)), @json_str(args, "to") = "all".
    Unauthorized(idx) :- Actions(idx, $CallTool("send", args)), @json_bool(args, "approved") = 1.
    """
    )
    ran = []

    def send(text: str, to: str = "all") -> dict:
        """Send."""
        ran.append((text, to))
        return {}

    lines = [call("send", text="a"), call("send", text="b", to="bob", approved=True), call("send", text="c", to="bob")]
    desk = Desk(policy, *lines, tools=[send])
    asyncio.run(desk.say("go"))
    # The first would go to all; the second says nothing that counts.
    assert desk.verdicts() == ["deny", "allow", "allow"] and ran == [("b", "bob"), ("c", "bob")]
