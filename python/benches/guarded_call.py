"""What the gate costs: microseconds for each guarded call, at 1,000 and 10,000 messages of history.

    python python/benches/guarded_call.py [--calls 60]

One run measures the same agent without the plugin and with it. A turn is a message of the user, a call, its answer and a
text. What the plugin takes is measured around its own callbacks before and after a tool: the events before it are taken in,
the call is judged, its end is told. With `inputs="requests"` that holds the request of the model too, which grows with what
the model is shown, as the library's own work for it does. Beside the time that went by stands the processor time of all
threads, which other programs on the machine do not lengthen.
"""

import argparse
import asyncio
import json
import logging
import statistics
import time
import uuid
import warnings
from types import SimpleNamespace

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.events import Event, EventActions  # noqa: E402
from google.adk.models import BaseLlm, LlmResponse  # noqa: E402
from google.adk.runners import Runner  # noqa: E402
from google.adk.sessions import InMemorySessionService, Session  # noqa: E402
from google.adk.tools import FunctionTool  # noqa: E402
from google.adk.version import __version__  # noqa: E402
from google.genai import types  # noqa: E402

import gatelog  # noqa: E402
from gatelog.adk import GatePlugin  # noqa: E402

POLICY = """
IsAuthorized(idx) :- Actions(idx, _).
Unauthorized(idx) :- Actions(idx, a), IsTool(a, "pay"), CurrentDepends(id), ToolResult(id, "fetch", _).
"""
AROUND_TOOL = ("before_tool_callback", "after_tool_callback")


class Script(BaseLlm):
    """Calls, then says a word."""

    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            part = types.Part(text="ok")
        else:
            part = types.Part(function_call=types.FunctionCall(name="pay", args={"amount": 5, "to": "alice"}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Timed(GatePlugin):
    """Notes how long its callbacks take."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.took = {}
        for name in AROUND_TOOL:
            setattr(self, name, self._timed(name, getattr(self, name)))

    def _timed(self, name, inner):
        async def timed(**given):
            start, worked = time.perf_counter(), time.process_time()
            try:
                return await inner(**given)
            finally:
                took = (time.perf_counter() - start, time.process_time() - worked)
                self.took.setdefault(name, []).append(took)

        return timed


def pay(amount: int, to: str) -> dict:
    """Pay."""
    return {"paid": amount}


def past(count):
    """A history of that many messages."""
    for number in range(count // 2):
        for author, role in (("user", "user"), ("bot", "model")):
            content = types.Content(
                role=role, parts=[types.Part(text=f"message {number} of {author}, some words long")]
            )
            yield Event(id=str(uuid.uuid4()), invocation_id=f"e-{number}", author=author, content=content)


async def turns(history, calls, plugin):
    """Microseconds of each turn."""
    agent = LlmAgent(name="bot", description="Pays.", model=Script(model="script"), tools=[pay])
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="bench", user_id="dana")
    for event in past(history):
        await sessions.append_event(session, event)
    runner = Runner(app_name="bench", agent=agent, session_service=sessions, plugins=[plugin] if plugin else [])
    took = []
    for _ in range(calls):
        message = types.Content(role="user", parts=[types.Part(text="pay 5")])
        start = time.perf_counter()
        async for _ in runner.run_async(user_id="dana", session_id=session.id, new_message=message):
            pass
        took.append(time.perf_counter() - start)
    return took


async def callbacks(history, calls):
    """Time and processor time of guarded calls, by the plugin's callbacks alone: no runner works between them."""
    plugin = Timed(policy=gatelog.Policy.from_text(POLICY), inputs="rules")
    agent = LlmAgent(name="bot", description="Pays.", model=Script(model="script"), tools=[pay])
    session = Session(id="s", app_name="bench", user_id="dana", events=list(past(history)))
    run = SimpleRun(agent, session, plugin)
    await plugin.before_run_callback(invocation_context=run)
    tool = FunctionTool(pay)
    for number in range(calls):
        made = types.FunctionCall(id=f"c{number}", name="pay", args={"amount": 5, "to": "alice"})
        answer = types.FunctionResponse(id=made.id, name="pay", response={"paid": 5})
        for part in (types.Part(function_call=made), types.Part(function_response=answer)):
            if part.function_response:
                context = SimpleNamespace(
                    function_call_id=made.id,
                    invocation_id="e",
                    agent_name="bot",
                    session=session,
                    actions=EventActions(),
                    tool_confirmation=None,
                )
                given = {"tool": tool, "tool_args": dict(made.args), "tool_context": context}
                if await plugin.before_tool_callback(**given) is not None:
                    raise SystemExit("the call was not allowed")
                await plugin.after_tool_callback(**given, result=answer.response)
            content = types.Content(role="model", parts=[part])
            session.events.append(Event(id=str(uuid.uuid4()), invocation_id="e", author="bot", content=content))
    return list(zip(*(plugin.took[name][1:] for name in AROUND_TOOL), strict=False))


class SimpleRun:
    """What the plugin looks at of a run."""

    def __init__(self, agent, session, plugin):
        self.agent, self.session, self.invocation_id = agent, session, "e"
        self.plugin_manager = SimpleNamespace(plugins=[plugin])
        self.live_request_queue = None


def median(seconds):
    return round(statistics.median(seconds) * 1e6, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 10000])
    parser.add_argument("--alone", action="store_true", help="the callbacks alone, which takes seconds")
    flags = parser.parse_args()
    rows = []
    for size in flags.sizes:
        calls = max(12, flags.calls * 1000 // size)
        bare = 0.0 if flags.alone else median(asyncio.run(turns(size, calls, None))[1:])
        row = {"messages": size, "calls": calls, "turn_without": bare}
        pairs = asyncio.run(callbacks(size, 500))
        call, worked = ([sum(part[at] for part in pair) for pair in pairs] for at in (0, 1))
        row["callbacks_alone"] = {"guarded_call": median(call), "guarded_call_processor": median(worked)}
        for inputs in () if flags.alone else ("rules", "requests"):
            plugin = Timed(policy=gatelog.Policy.from_text(POLICY), inputs=inputs)
            gated = asyncio.run(turns(size, calls, plugin))
            # The first turn takes in the whole history.
            pairs = list(zip(*(plugin.took[name][1:] for name in AROUND_TOOL), strict=False))
            call, worked = ([sum(part[at] for part in pair) for pair in pairs] for at in (0, 1))
            row[inputs] = {
                "turn_with": median(gated[1:]),
                "guarded_call": median(call),
                "guarded_call_least": round(min(call) * 1e6, 1),
                "guarded_call_processor": median(worked),
                "of_the_turn": round(median(call) / bare, 4),
            }
        rows.append(row)
    print(json.dumps({"google-adk": __version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
