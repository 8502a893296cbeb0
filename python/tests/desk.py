"""One agent with scripted lines, gated by a policy."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.version import __version__
from google.genai import types

import gatelog
from gatelog.adk import GatePlugin

VERSION = tuple(int(number) for number in __version__.split(".")[:2])
ROOT = Path(__file__).resolve().parents[2]
ALL = "IsAuthorized(idx) :- Actions(idx, _).\n"
APP, USER = "desk", "dana"

LIMIT = (
    ALL
    + """
// @deny_message: {v} is more than 100
Unauthorized(idx) :-
    Actions(idx, $CallTool("pay", args)),
    v = @json_get_int_path(args, "amount"),
    v > 100.
"""
)

ASK = (
    ALL
    + """
// @deny_message: a payment needs a person's yes to this very call
// @ask
Unauthorized(idx) :- Actions(idx, $CallTool("pay", _)).
"""
)


def call(tool: str, **args: object) -> types.Part:
    """A line of a script that calls a tool."""
    return types.Part(function_call=types.FunctionCall(name=tool, args=args))


def say(text: str) -> types.Part:
    """A line of a script that is only text."""
    return types.Part(text=text)


class Script(BaseLlm):
    """A model that says the next line of its script, and notes what it was shown."""

    lines: list[list[types.Part]]
    shown: list

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.shown.append([content.model_copy(deep=True) for content in llm_request.contents])
        line = self.lines.pop(0) if self.lines else [say("done")]
        if stream:
            for part in line:
                if part.text:
                    for letter in part.text:
                        yield LlmResponse(content=types.Content(role="model", parts=[say(letter)]), partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=line))


class Desk:
    """An agent with tools, a gate, and what became of both."""

    def __init__(self, policy: Any, *lines: Any, plugins: Any = None, tools: Any = None, **settings: Any) -> None:
        self.ran: list[tuple[str, Any]] = []
        self.shown: list = []
        if isinstance(policy, str) and "\n" in policy:
            policy = gatelog.Policy.from_text(policy)
        self.plugin = GatePlugin(policy=policy, **settings)
        # A plain list of parts is one line for each.
        script = Script(model="script", lines=[line if isinstance(line, list) else [line] for line in lines], shown=[])
        script.shown = self.shown

        def pay(amount: float, to: str = "") -> dict:
            """Pay."""
            self.ran.append(("pay", amount if not to else (amount, to)))
            return {"paid": amount}

        def note(text: str) -> dict:
            """Note something."""
            self.ran.append(("note", text))
            return {"noted": text}

        self.agent = LlmAgent(name="bot", description="Is bot.", model=script, tools=[*(tools or []), pay, note])
        self.sessions = InMemorySessionService()
        around = plugins(self.plugin) if plugins else [self.plugin]
        self.runner = Runner(app_name=APP, agent=self.agent, session_service=self.sessions, plugins=around)
        self.session_id = ""

    async def send(self, *parts: types.Part, **more: Any) -> list:
        """One message of the user, and the events that follow."""
        if not self.session_id:
            self.session_id = (await self.sessions.create_session(app_name=APP, user_id=USER)).id
        message = types.Content(role="user", parts=list(parts))
        run = self.runner.run_async(user_id=USER, session_id=self.session_id, new_message=message, **more)
        return [event async for event in run]

    async def say(self, text: str, **more: Any) -> list:
        return await self.send(say(text), **more)

    async def stored(self):
        return await self.sessions.get_session(app_name=APP, user_id=USER, session_id=self.session_id)

    async def document(self) -> bytes:
        return (await self.stored()).model_dump_json(by_alias=True, exclude_none=True).encode()

    def gated(self) -> gatelog.Session:
        return self.plugin.session(app=APP, user=USER, session=self.session_id)

    def entries(self) -> list[dict]:
        """The journal's lines."""
        lines = self.gated().journal().rstrip("\n").split("\n")
        return [json.loads(line)["entry"] for line in lines]

    def checks(self) -> list[tuple[dict, dict]]:
        return [tuple(entry["check"]) for entry in self.entries() if "check" in entry]

    def verdicts(self) -> list[str]:
        return [answer["verdict"] for _, answer in self.checks()]

    async def answers(self, name: str) -> list[dict]:
        """What stands in the session as the answers of a tool."""
        events = (await self.stored()).events
        return [answer.response for event in events for answer in event.get_function_responses() if answer.name == name]

    async def requests(self) -> list:
        """The library's own questions to a person."""
        events = (await self.stored()).events
        calls = [made for event in events for made in event.get_function_calls()]
        return [made for made in calls if made.name == "adk_request_confirmation"]

    async def answer(self, response: dict, index: int = -1) -> list:
        """Answers a question as the end user."""
        asked = (await self.requests())[index]
        answer = types.FunctionResponse(id=asked.id, name=asked.name, response=response)
        return await self.send(types.Part(function_response=answer))


def verdicts(report: dict) -> list[tuple[str, str]]:
    """Tool and verdict of each call of a replay."""
    return [(row["tool"], row["verdict"]) for session in report["sessions"] for row in session["checks"]]


def warned(report: dict) -> list[str]:
    """The kinds of the warnings of a replay."""
    return [warning["kind"] for session in report["sessions"] for warning in session["warnings"]]
