"""The events of a runner's session, and the gate's copy of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

REQUEST = "adk_request_confirmation"


class Behind(Exception):
    """Something that the gate was told did not arrive: it may not have the runner's history."""


@dataclass
class Running:
    """A call that was let run."""

    ticket: str
    # The arguments that were checked, as JSON.
    arguments: str


@dataclass
class Ledger:
    """What is known of one session of the gate. The runs inside agent tools write into that of their callers."""

    session: Any
    count: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    ids: set[str] = field(default_factory=set)
    # Events that were looked at for what stands below: those that the gate had from before among them.
    noted: set[str] = field(default_factory=set)
    running: dict[str, Running] = field(default_factory=dict)
    # Tickets of checks that asked a person, by call.
    asks: dict[str, str] = field(default_factory=dict)
    # Calls that wait for a person, by what they ask for.
    open: dict[str, str] = field(default_factory=dict)
    # Calls by the id of the library's own request about them.
    requests: dict[str, str] = field(default_factory=dict)
    # What persons said, by call.
    answers: dict[str, bool] = field(default_factory=dict)
    # Agent, branch and arguments of calls in events, by id.
    calls: dict[str, tuple[str, str]] = field(default_factory=dict)
    # Requests to models whose answers have not come, by agent and invocation.
    shown: dict[tuple[str, str], Any] = field(default_factory=dict)
    # How often all events were told again.
    round: int = 0

    def resume(self) -> None:
        """Goes on with a session that the gate knows already."""
        for known in self.session.event_ids():
            self.add(known)

    def add(self, known: str) -> None:
        """Counts an event."""
        self.ids.add(known)
        self.count += 1
        self.digest.update(f"{len(known.encode())}:{known},".encode())

    def collect(self) -> None:
        """Raises where anything that the gate was told did not arrive. Then all is told again: what it has, it knows."""
        faults = self.session.faults()
        if faults:
            self.count, self.digest, self.ids = 0, hashlib.sha256(), set()
            self.round += 1
            raise Behind(faults[0])


@dataclass
class History:
    """One session of a runner."""

    ledger: Ledger
    # The branch of the run in the caller's session; empty for a session of its own.
    inside: str = ""
    seen: int = 0
    last: str = ""
    round: int = 0

    def sync(self, events: list[Any]) -> None:
        """Tells the gate of the events that it has not been told of."""
        if self.round != self.ledger.round:
            self.seen, self.round = 0, self.ledger.round
        if self.seen > len(events) or (self.seen and events[self.seen - 1].id != self.last):
            # Another reading of the session: what is known is told by its ids.
            self.seen = 0
        new = events[self.seen :]
        batch: list[str] = []
        for event in new:
            if event.partial:
                continue
            self.note(event)
            if event.id in self.ledger.ids:
                continue
            request = self.ledger.shown.pop((event.author, event.invocation_id), None)
            if request is not None:
                self.flush(batch)
                batch = []
                self.ledger.session.model_request(event.author, event.invocation_id, request(), wait=False)
            batch.append(self.text(event))
            self.ledger.add(event.id)
        self.flush(batch)
        self.seen = len(events)
        self.last = events[-1].id if events else ""

    def flush(self, batch: list[str]) -> None:
        if batch:
            self.ledger.session.append(batch, wait=False)

    def text(self, event: Any) -> str:
        """An event as the library itself writes it."""
        if self.inside:
            branch = f"{self.inside}.{event.branch}" if event.branch else self.inside
            event = event.model_copy(update={"branch": branch})
        return event.model_dump_json(by_alias=True, exclude_none=True)

    def note(self, event: Any) -> None:
        """Remembers what later checks need of an event."""
        ledger = self.ledger
        if event.id in ledger.noted:
            return
        ledger.noted.add(event.id)
        for call in event.get_function_calls():
            if call.name == REQUEST:
                original = (call.args or {}).get("originalFunctionCall") or {}
                ledger.requests[call.id] = original.get("id")
            elif call.id:
                ledger.calls[call.id] = (event.author, event.branch or "")
        for call_id, asked in (event.actions.requested_tool_confirmations or {}).items():
            payload = asked.payload
            ours = payload.get("gatelog") if isinstance(payload, dict) else None
            if isinstance(ours, dict) and isinstance(ours.get("check"), str):
                ledger.asks[call_id] = ours["check"]
                if isinstance(ours.get("about"), str):
                    ledger.open[ours["about"]] = call_id
        if event.author == "user":
            for answer in event.get_function_responses():
                if answer.name == REQUEST and answer.id in ledger.requests:
                    self.answered(ledger.requests[answer.id], answer.response)

    def answered(self, call_id: str | None, response: Any) -> None:
        """Takes in what a person said about a call."""
        if call_id is None:
            return
        if isinstance(response, dict) and set(response) == {"response"}:
            try:
                response = json.loads(response["response"])
            except (TypeError, ValueError):
                response = None
        # Nothing but the truth value itself says yes.
        self.ledger.answers[call_id] = isinstance(response, dict) and response.get("confirmed") is True
        self.ledger.open = {about: call for about, call in self.ledger.open.items() if call != call_id}
