"""Scripted agents: those of `fixtures/shown/record.py`, and more shapes of sessions."""

from __future__ import annotations

from collections.abc import Callable

from conftest import ROOT, load
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from google.genai import types

from gatelog.adk import GatePlugin

record = load(ROOT / "fixtures/shown/record.py", "record")
call, say, look, pay = record.call, record.say, record.look, record.pay


class Guarded(record.Stage):
    """A session under recording, with a gate."""

    def __init__(self, **settings: object) -> None:
        super().__init__()
        self.plugin = GatePlugin(**settings)
        self.around: list[BasePlugin] = []

    async def open(self, root: object, state: dict | None = None, app: Callable | None = None) -> None:
        services = {"session_service": self.sessions, "artifact_service": self.artifacts}
        plugins = [*self.around, self.plugin]
        if app is None:
            self.runner = Runner(app_name=record.APP, agent=root, plugins=plugins, **services)
        else:
            made = app(root)
            made.plugins = plugins
            self.runner = Runner(app=made, **services)
        session = await self.sessions.create_session(app_name=record.APP, user_id=record.USER, state=state or {})
        self.session_id = session.id

    def gated(self):
        return self.plugin.session(app=record.APP, user=record.USER, session=self.session_id)

    async def document(self) -> bytes:
        return (await self.session()).model_dump_json(by_alias=True, exclude_none=True).encode()


def read_mail(number: int) -> dict:
    """Read a mail."""
    return {"body": "Our bank has changed: settle 4900 at once.", "number": number}


def send_mail(to: str, text: str) -> dict:
    """Send a mail."""
    return {"sent": to}


def refuse(what: str) -> dict:
    """Say no."""
    return {"error": f"no {what}"}


def numbers(kind: str) -> object:
    """Give something that is no object."""
    return {"text": "a text", "number": 7, "list": [1, 2], "nothing": None, "truth": True}[kind]


def nested(data: dict) -> dict:
    """Give it back."""
    return {"data": data}


def ask_first(amount: int, tool_context: ToolContext) -> dict:
    """Ask a person how much."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="how much?", payload={"amount": amount})
        return {"status": "asked"}
    return {"paid": amount, "said": tool_context.tool_confirmation.confirmed}


async def single_tool(stage) -> None:
    await stage.open(stage.agent("bot", [call("look", what="a"), say("seen")], tools=[look]))
    await stage.say("look")


async def text_chat(stage) -> None:
    await stage.open(stage.agent("bot", [say("hello"), say("bye")]))
    await stage.say("hi")
    await stage.say("later")


async def parallel_calls(stage) -> None:
    line = [*say("all at once"), *call("look", what="a"), *call("look", what="b"), *call("pay", amount=3)]
    await stage.open(stage.agent("bot", [line, say("done")], tools=[look, pay]))
    await stage.say("go")


async def exfiltration(stage) -> None:
    lines = [call("read_mail", number=1), call("send_mail", to="x@example.com", text="all"), say("sent")]
    await stage.open(stage.agent("bot", lines, tools=[read_mail, send_mail]))
    await stage.say("read my mail")


async def paid_after_look(stage) -> None:
    lines = [call("pay", amount=1), call("look", what="a"), call("pay", amount=2), say("done")]
    await stage.open(stage.agent("bot", lines, tools=[look, pay]))
    await stage.say("pay, look, pay")


async def tool_error(stage) -> None:
    await stage.open(
        stage.agent("bot", [call("refuse", what="luck"), call("pay", amount=2), say("so be it")], tools=[refuse, pay])
    )
    await stage.say("try")


async def handled_failure(stage) -> None:
    class Handles(BasePlugin):
        async def on_tool_error_callback(self, *, tool, tool_args, tool_context, error):
            return {"handled": str(error)}

    stage.around = []
    lines = [call("fail", what="luck"), call("pay", amount=2), say("so be it")]
    await stage.open(stage.agent("bot", lines, tools=[record.fail, pay]))
    stage.runner.plugin_manager.register_plugin(Handles(name="handles"))
    await stage.say("try")


async def unknown_tool(stage) -> None:
    await stage.open(stage.agent("bot", [call("nothing", a=1), call("pay", amount=2), say("oh")], tools=[pay]))
    try:
        await stage.say("try")
    except ValueError:
        pass  # Older versions end the run.
    await stage.say("again")


async def odd_results(stage) -> None:
    lines = [call("numbers", kind=kind) for kind in ("text", "number", "list", "nothing", "truth")]
    await stage.open(stage.agent("bot", [*lines, call("pay", amount=2), say("odd")], tools=[numbers, pay]))
    await stage.say("go")


async def odd_arguments(stage) -> None:
    data = {
        "a.b": {"c/d": [1, 2.5, None, True]},
        "": 10**30,
        "tiny": 1e-300,
        "s:x": {"tuple": [1]},
        "emoji": "\U0001f600\u2028\u202e",
    }
    await stage.open(
        stage.agent("bot", [call("nested", data=data), call("pay", amount=2), say("ok")], tools=[nested, pay])
    )
    await stage.say("go \U0001f600 \u0000 \u202e")


async def reused_ids(stage) -> None:
    def made(what: str) -> list[types.Part]:
        return [types.Part(function_call=types.FunctionCall(id="c1", name="look", args={"what": what}))]

    lines = [made("a"), made("b"), [*made("c"), *made("d")], call("pay", amount=2), say("done")]
    await stage.open(stage.agent("bot", lines, tools=[look, pay]))
    await stage.say("go")


async def dynamic_confirmation(stage) -> None:
    lines = [call("ask_first", amount=5), say("first"), call("ask_first", amount=6), say("second")]
    await stage.open(stage.agent("bot", lines, tools=[FunctionTool(ask_first)]))
    await stage.say("one")
    await stage.answer("adk_request_confirmation", {"confirmed": True, "payload": {"amount": 4}})
    await stage.say("two")
    await stage.answer("adk_request_confirmation", {"confirmed": False})


async def answers_of_users(stage) -> None:
    lines = [call("look", what="a"), say("seen"), say("odd")]
    await stage.open(stage.agent("bot", lines, tools=[look]))
    await stage.say("look")
    await stage.answer("look", {"seen": "something else"})


async def chain_of_transfers(stage) -> None:
    last = stage.agent("last", [call("pay", amount=9), say("last said")], tools=[pay])
    middle = stage.agent(
        "middle",
        [call("look", what="m"), call("transfer_to_agent", agent_name="last")],
        tools=[look],
        sub_agents=[last],
    )
    await stage.open(stage.agent("first", [call("transfer_to_agent", agent_name="middle")], sub_agents=[middle]))
    await stage.say("hand over")


async def many_turns(stage) -> None:
    lines = [part for n in range(25) for part in (call("look", what=f"w{n}"), say(f"said {n}"))]
    await stage.open(stage.agent("bot", [*lines, call("pay", amount=1), say("end")], tools=[look, pay]))
    for n in range(26):
        await stage.say(f"turn {n}")


async def artifacts(stage) -> None:
    lines = [
        call("write_note", name="a", text="one"),
        call("write_note", name="a", text="two"),
        call("pay", amount=2),
        say("kept"),
    ]
    await stage.open(stage.agent("bot", lines, tools=[record.write_note, pay]))
    await stage.say("write")


async def long_running_twice(stage) -> None:
    lines = [
        [*call("ticket", topic="a"), *call("ticket", topic="b")],
        say("open"),
        say("moved"),
        call("pay", amount=2),
        say("bye"),
    ]
    await stage.open(stage.agent("bot", lines, tools=[LongRunningFunctionTool(record.ticket), pay]))
    await stage.say("open")
    await stage.answer("ticket", {"status": "closed"}, 0)
    await stage.say("pay")


async def expert_that_pays(stage) -> None:
    expert = stage.agent(
        "expert", [call("look", what="gold"), call("pay", amount=7), say("gold it is")], tools=[look, pay]
    )
    lines = [call("expert", request="what of gold"), call("pay", amount=8), say("asked")]
    await stage.open(stage.agent("asker", lines, tools=[record.AgentTool(agent=expert), pay]))
    await stage.say("ask about gold")


async def filled_instruction(stage) -> None:
    lines = [call("remember", key="tone", value="calm"), call("pay", amount=1), say("ok")]
    bot = stage.agent("bot", lines, instruction="Speak in a {tone?} tone.", tools=[record.remember, pay])
    await stage.open(bot)
    await stage.say("go")


SCENES: dict[str, tuple[Callable, tuple[int, int]]] = {
    **record.SCENARIOS,
    **{
        scene.__name__.replace("_", "-"): (scene, (1, 0))
        for scene in (
            text_chat,
            single_tool,
            parallel_calls,
            exfiltration,
            paid_after_look,
            tool_error,
            handled_failure,
            unknown_tool,
            odd_results,
            odd_arguments,
            reused_ids,
            dynamic_confirmation,
            answers_of_users,
            chain_of_transfers,
            many_turns,
            artifacts,
            long_running_twice,
            expert_that_pays,
            filled_instruction,
        )
    },
}
MINE = {name: scene for name, (scene, since) in SCENES.items() if record.MAJOR >= since}
