"""Sessions of agents that run in a loop of one's own."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

from gatelog._core import Check, Gate, GateError, Policy, Session, encode


class Loop:
    """A session that is judged while it runs: record, check, finish."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def record(self, event: "Mapping[str, Any] | str | Any") -> None:
        """Adds an event of the session: a mapping or JSON in the form of any ADK library, or an event of google-adk.

        An event without an id gets one. Raises `GateError` where the event cannot be taken in.
        """
        self.session.append([_text(event)])

    def show(self, agent: str, contents: Sequence[Any], *, instruction: str = "", invocation: str = "") -> None:
        """Says what a model is about to read: contents as ADK has them. What its agent then says is computed from that."""
        request = {"contents": list(contents), "config": {"systemInstruction": instruction}}
        self.session.model_request(agent, invocation, json.dumps(request, allow_nan=False))

    def check(self, tool: str, args: Mapping[str, Any], *, agent: str, call_id: str = "", **more: Any) -> Check:
        """Whether a call may run now. Record the event with the call before.

        Never raises for what is in the arguments: what cannot be written is denied.
        """
        try:
            arguments = encode(dict(args))
        except ValueError as error:
            arguments = f"the arguments cannot be written: {error}"
        check = self.session.ask(tool, arguments, agent=agent, call_id=call_id, **more).wait()
        if check is None:
            raise GateError("the gate gave no answer: the call may not run")
        return check

    def finish(self, check: Check, value: Any = None, *, args: "Mapping[str, Any] | None" = None) -> None:
        """A checked call returned this value, having run with these arguments where they are given."""
        told = None if value is None else encode(value)
        self.session.finish(check.ticket, "returned", value=told, args=None if args is None else encode(dict(args)))

    def fail(self, check: Check) -> None:
        """A checked call failed."""
        self.session.finish(check.ticket, "failed")

    def skip(self, check: Check) -> None:
        """A checked call was not run."""
        self.session.finish(check.ticket, "not_run")


@contextmanager
def session(
    *,
    policy: "Policy | str | PathLike[str]",
    session: str = "session",
    app: str = "",
    user: str = "",
    principal: "str | None" = "runner",
    **settings: Any,
) -> Iterator[Loop]:
    """A session under a policy. `settings` are those of `Gate`: `store`, `mode`, `roles`, `deadline`, …"""
    gate = Gate(policy if isinstance(policy, Policy) else Policy(policy), principal=principal, **settings)
    yield Loop(gate.session(session, app=app, user=user))


def check(
    policy: Policy,
    tool: str,
    args: Mapping[str, Any],
    *,
    agent: str = "agent",
    call_id: str = "",
    history: Iterable[Any] = (),
    principal: "str | None" = "runner",
    **settings: Any,
) -> Check:
    """Judges one call after these events. A call that no event holds is judged as of unknown origin."""
    with session(policy=policy, principal=principal, **settings) as loop:
        for event in history:
            loop.record(event)
        return loop.check(tool, args, agent=agent, call_id=call_id)


def _text(event: Any) -> str:
    if isinstance(event, str):
        return event
    if hasattr(event, "model_dump_json"):
        return event.model_dump_json(by_alias=True, exclude_none=True)
    event = dict(event)
    if not event.get("id"):
        event["id"] = str(uuid.uuid4())
    return json.dumps(event, allow_nan=False)
