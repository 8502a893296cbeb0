"""A requester, a reviewer and a disburser pay an invoice, and a gate stands before the payment.

    pip install gatelog google-adk
    python payment.py approved | unapproved | changed-amount | other-request

No network and no real model: each agent's model says the next line of its script. The policy wants an approval by the
reviewer for the same request, payee and amount among what the payment was computed from.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from gatelog.adk import GatePlugin

APP = "accounts_payable"
USER = "dana"
POLICY = Path(__file__).resolve().parents[2] / "policies" / "payment.dl"


class Script(BaseLlm):
    """A model that says the next line of its script, and notes what it was shown."""

    lines: list[types.Part]
    shown: list

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.shown.append([content.model_copy(deep=True) for content in llm_request.contents])
        line = self.lines.pop(0) if self.lines else types.Part(text="done")
        yield LlmResponse(content=types.Content(role="model", parts=[line]))


def call(tool: str, **args: object) -> types.Part:
    """A line of a script that calls a tool."""
    return types.Part(function_call=types.FunctionCall(name=tool, args=args))


def say(text: str) -> types.Part:
    """A line of a script that is only text."""
    return types.Part(text=text)


class Desk:
    """The three agents, and what their tools did."""

    def __init__(self, scenario: str) -> None:
        self.paid: list[dict] = []
        self.shown: list = []
        invoice = {"request_id": "INV-2041", "payee": "Acme Tooling", "amount": 1250}
        approved = {**invoice, "request_id": "INV-2042"} if scenario == "other-request" else invoice
        payment = {**invoice, "amount": 4900} if scenario == "changed-amount" else invoice
        approval = [] if scenario == "unapproved" else [call("approve_payment", **approved)]

        def read_invoice(file: str) -> dict:
            """Read an invoice."""
            return {**invoice, "file": file}

        def approve_payment(request_id: str, payee: str, amount: float) -> dict:
            """Approve one payment: this request, this payee, this amount."""
            return {"approved": True, "request_id": request_id}

        def disburse_payment(request_id: str, payee: str, amount: float) -> dict:
            """Pay."""
            self.paid.append({"request_id": request_id, "payee": payee, "amount": amount})
            return {"status": "paid", "request_id": request_id}

        reviewer = LlmAgent(
            name="reviewer",
            description="Approves payments.",
            instruction="Approve what is in order.",
            tools=[approve_payment],
            model=self._script(*approval, call("transfer_to_agent", agent_name="disburser")),
        )
        disburser = LlmAgent(
            name="disburser",
            description="Makes payments.",
            instruction="Pay what is approved.",
            tools=[disburse_payment],
            model=self._script(call("disburse_payment", **payment), say("That is all.")),
        )
        self.root = LlmAgent(
            name="requester",
            description="Takes orders.",
            instruction="Read the invoice, then hand over.",
            tools=[read_invoice],
            sub_agents=[reviewer, disburser],
            model=self._script(
                call("read_invoice", file="inv-2041.pdf"), call("transfer_to_agent", agent_name="reviewer")
            ),
        )

    def _script(self, *lines: types.Part) -> Script:
        script = Script(model="script", lines=list(lines), shown=[])
        # A list given to a model is copied; this one is shared.
        script.shown = self.shown
        return script


async def run(scenario: str, plugin: GatePlugin) -> tuple[Desk, object]:
    """Runs the agents once. Gives the desk and the session that is left behind."""
    desk = Desk(scenario)
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name=APP, user_id=USER)
    runner = Runner(app_name=APP, agent=desk.root, session_service=sessions, plugins=[plugin])
    order = types.Content(role="user", parts=[say("Please pay the invoice in inv-2041.pdf.")])
    async for _ in runner.run_async(user_id=USER, session_id=session.id, new_message=order):
        pass
    return desk, await sessions.get_session(app_name=APP, user_id=USER, session_id=session.id)


def main() -> None:
    """Runs one scenario and shows what the tools did and what the disburser's model was told."""
    if len(sys.argv) != 2 or sys.argv[1] not in ("approved", "unapproved", "changed-amount", "other-request"):
        sys.exit(__doc__)
    desk, session = asyncio.run(run(sys.argv[1], GatePlugin(policy=POLICY)))
    for event in session.events:
        for answer in event.get_function_responses():
            print(f"{event.author}: {answer.name} -> {json.dumps(answer.response)}")
    print(f"paid: {json.dumps(desk.paid)}")


if __name__ == "__main__":
    main()
