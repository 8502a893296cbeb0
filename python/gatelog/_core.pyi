from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, final

class GatelogError(Exception):
    """Anything that goes wrong in gatelog."""

class PolicyError(GatelogError):
    """A policy cannot be read, or does not load: every finding, with its place."""

class GateError(GatelogError):
    """The gate did not do what it was told."""

class RecordingError(GatelogError):
    """A recording cannot be read."""

class EncodingError(ValueError):
    """A value cannot be written as JSON: where it stands, and why."""

@final
class Policy:
    """A policy that is ready to judge. It never changes, and may be shared by gates and threads."""

    def __new__(cls, *paths: str | PathLike[str]) -> Policy: ...
    @staticmethod
    def from_text(text: str, name: str = "policy.dl") -> Policy: ...
    @property
    def digest(self) -> str: ...
    @property
    def files(self) -> list[str]: ...
    @property
    def warnings(self) -> str: ...

@final
class Gate:
    """A gate: a policy, a store of journals, and the sessions that run now."""

    def __new__(
        cls,
        policy: Policy,
        *,
        store: str | PathLike[str] | None = None,
        mode: Literal["enforce", "advise"] | str = "enforce",
        deadline: float = 2.0,
        principal: str | None = None,
        roles: Sequence[str] = (),
        entity: str | None = None,
        tenant: str = "default",
        metadata: Sequence[Sequence[str]] = (),
        parts: Literal["supported", "full"] | str = "supported",
        agents: str = "",
        budget: tuple[int, int, int] | None = None,
    ) -> Gate: ...
    def session(self, session: str, *, app: str = "", user: str = "") -> Session: ...
    def activate(self, policy: Policy) -> None: ...
    @property
    def policy(self) -> str: ...

@final
class Session:
    """A session of a gate. What it is told is done in the order in which it is told."""

    def append(self, events: Sequence[str], *, wait: bool = True) -> None: ...
    def model_request(self, agent: str, invocation: str, request: str, *, wait: bool = True) -> None: ...
    def ask(
        self,
        tool: str,
        args: str,
        *,
        agent: str,
        call_id: str = "",
        invocation: str = "",
        branch: str = "",
        metadata: Sequence[Sequence[str]] = (),
        events: int | None = None,
        digest: str | None = None,
        clock: str = "",
    ) -> Pending: ...
    def finish(
        self,
        ticket: str,
        ending: Literal["returned", "failed", "not_run", "pending"] | str,
        *,
        value: str | None = None,
        args: str | None = None,
        wait: bool = True,
    ) -> None: ...
    def confirm(self, ticket: str, yes: bool, *, principal: str | None = None, wait: bool = True) -> None: ...
    def read(
        self,
        ticket: str,
        *,
        state: str | None = None,
        value: str | None = None,
        artifact: str | None = None,
        version: int | None = None,
        wait: bool = True,
    ) -> None: ...
    def write(
        self,
        ticket: str,
        *,
        state: str | None = None,
        value: str | None = None,
        artifact: str | None = None,
        version: int | None = None,
        wait: bool = True,
    ) -> None: ...
    def clear(self) -> None: ...
    def history(self) -> tuple[int, str]: ...
    def faults(self) -> list[str]: ...
    def event_ids(self) -> list[str]: ...
    def journal(self) -> str: ...

@final
class Pending:
    """A check that was asked for."""

    def wait(self, seconds: float | None = None) -> Check | None: ...

@final
class Check:
    """The answer to a check."""

    @property
    def verdict(self) -> Literal["allow", "ask", "deny"]: ...
    @property
    def may_run(self) -> bool: ...
    @property
    def ticket(self) -> str: ...
    @property
    def policy(self) -> str: ...
    @property
    def rules(self) -> list[str]: ...
    @property
    def json(self) -> str: ...
    @property
    def reasons(self) -> list[dict[str, Any]]: ...
    @property
    def response(self) -> dict[str, Any] | None: ...

def encode(value: object) -> str: ...
def encode_metadata(value: object) -> str: ...
def replay(
    policy: Policy,
    recording: bytes,
    *,
    source: str = "recording",
    principal: str | None = None,
    roles: Sequence[str] = (),
    entity: str | None = None,
    tenant: str = "default",
    metadata: Sequence[Sequence[str]] = (),
    parts: str = "supported",
    agents: str = "",
) -> dict[str, Any]: ...
def records(recording: bytes, *, parts: str = "supported", agents: str = "") -> list[dict[str, Any]]: ...
