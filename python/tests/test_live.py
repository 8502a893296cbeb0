"""Sessions that are live: a model that talks while it is talked to."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from desk import APP, ASK, LIMIT, USER, VERSION, Desk, call
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.genai import types

from gatelog.adk.plugin import LIVE


class Talks(BaseLlm):
    """A live model that makes one call."""

    part: types.Part

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="not live")]))

    @asynccontextmanager
    async def connect(self, llm_request):
        yield Connection(self.part)


class Connection(BaseLlmConnection):
    """Says its one call, and that the turn is over once it is answered."""

    def __init__(self, part):
        self.part, self.sent = part, asyncio.Queue()

    async def send_history(self, history, **_):
        pass

    async def send_content(self, content, **_):
        await self.sent.put(content)

    async def send_realtime(self, *_, **__):
        pass

    async def receive(self):
        yield LlmResponse(content=types.Content(role="model", parts=[self.part]))
        while True:
            content = await self.sent.get()
            if content.parts and content.parts[0].function_response:
                break
        yield LlmResponse(turn_complete=True)
        await asyncio.sleep(3600)

    async def close(self):
        pass


async def talk(desk: Desk) -> list[dict]:
    """The answers that the live model was given."""
    session = await desk.sessions.create_session(app_name=APP, user_id=USER)
    desk.session_id = session.id
    waiting = LiveRequestQueue()
    waiting.send_content(types.Content(role="user", parts=[types.Part(text="go")]))
    config = RunConfig(response_modalities=["TEXT"])
    run = desk.runner.run_live(user_id=USER, session_id=session.id, live_request_queue=waiting, run_config=config)
    answers: list[dict] = []

    async def listen() -> None:
        async for event in run:
            answers.extend(answer.response for answer in event.get_function_responses())
            if answers:
                break

    try:
        await asyncio.wait_for(listen(), 20)
    finally:
        waiting.close()
        await run.aclose()
    return answers


@pytest.mark.parametrize(
    "policy, amount, ran, said",
    [
        (LIMIT, 5, [("pay", 5)], "paid"),
        (LIMIT, 900, [], "[BLOCKED] 900 is more than 100"),
        (ASK, 5, [], "[BLOCKED] nobody can be asked while a session is live"),
    ],
    ids=["allow", "deny", "ask"],
)
def test_069_a_live_call_is_gated(policy, amount, ran, said):
    desk = Desk(policy)
    desk.agent.model = Talks(model="talks", part=call("pay", amount=amount))
    if VERSION < LIVE:
        with pytest.raises(Exception, match="no callbacks of tools while a session is live"):
            asyncio.run(talk(desk))
        assert desk.ran == []
        return
    [answer] = asyncio.run(talk(desk))
    assert desk.ran == ran
    assert said in str(answer)
