"""Sessions of a gate that is a service, by its HTTP interface."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from typing import Any
from urllib.parse import urlsplit

from gatelog._core import GateError

# Bytes of the longest answer.
LONGEST = 64 << 20

# Connections to one service. A session keeps to one of them, so that what it says arrives in order.
LINES = 8

# Seconds after which a connection that was not used is not trusted to be open still.
IDLE = 2.0


class RemoteCheck:
    """The answer of a service to a check, as `Check` has it."""

    def __init__(self, text: str) -> None:
        row = json.loads(text)
        self.json = text
        self.verdict: str = row["verdict"]
        self.may_run: bool = row["may_run"] is True
        self.ticket: str = row["ticket"]
        self.policy: str = row["policy"]
        self.reasons: list[dict[str, Any]] = row["reasons"]
        self.rules = [reason["rule"] for reason in self.reasons if reason["rule"]]
        self.response: dict[str, Any] | None = row.get("response")


def denial(why: str) -> RemoteCheck:
    """What stands for the answer of a service that gave none."""
    response = {"error": f"[BLOCKED] {why}", "gatelog": {"verdict": "deny", "check": ""}}
    reason = {"kind": "engine_error", "rule": None, "file": None, "line": None, "text": why, "suggestions": []}
    row = {"verdict": "deny", "may_run": False, "ticket": "", "policy": "", "reasons": [reason], "response": response}
    return RemoteCheck(json.dumps(row))


class RemotePending:
    """A check that was asked for."""

    def __init__(self, asked: "Future[str]", patience: float) -> None:
        self._asked, self._patience = asked, patience

    def wait(self, seconds: float | None = None) -> RemoteCheck | None:
        """The answer; `None` where it takes longer than that many seconds. A service that does not answer in time denies."""
        patience = self._patience if seconds is None else seconds
        try:
            return RemoteCheck(self._asked.result(timeout=patience))
        except Late:
            if seconds is not None and not self._asked.done():
                return None
            return denial(f"the gate did not answer within {self._patience:g} s")
        except Exception as error:
            return denial(f"the gate did not answer: {error}")


class RemoteGate:
    """A gate behind an address: `http://…`, `https://…`, or `unix:/path.sock`.

    `token` says who runs the sessions; `approve_token`, where there is one, gives the answers of persons. No request takes
    longer than `patience` seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        approve_token: str | None = None,
        patience: float = 5.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "unix"):
            raise GateError(f"`{url}` is no address of a gate: `http://…`, `https://…` or `unix:/path.sock`")
        if parts.query or parts.username or parts.password:
            raise GateError("an address of a gate holds no secret: give the token as `token`")
        self.url, self.token, self.approve_token, self.patience, self.tls = url, token, approve_token, patience, tls
        self._lines = [_Line(self) for _ in range(LINES)]

    def session(self, session: str, *, app: str = "", user: str = "") -> "RemoteSession":
        """The session of these names; the service opens it where it is not there."""
        line = self._lines[zlib.crc32(f"{app}/{user}/{session}".encode()) % LINES]
        return RemoteSession(line, {"app": app, "user": user, "session": session})


class _UnixConnection(http.client.HTTPConnection):
    """A connection to a socket of this machine."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Line:
    """One connection, and the thread that alone uses it."""

    def __init__(self, gate: RemoteGate) -> None:
        self.gate = gate
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gatelog")
        self._connection: http.client.HTTPConnection | None = None
        self._used = 0.0

    def put(self, path: str, body: str) -> "Future[str]":
        """Sends a request after all that were put before it."""
        return self._thread.submit(self._send, path, body)

    def _send(self, path: str, body: str) -> str:
        gate = self.gate
        token = gate.approve_token if path == "/v1/confirmations" and gate.approve_token else gate.token
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            if self._connection is not None and time.monotonic() - self._used > IDLE:
                self._drop()
            if self._connection is None:
                self._connection = self._connect()
            self._connection.request("POST", path, body.encode(), headers)
            answer = self._connection.getresponse()
            text = answer.read(LONGEST + 1)
            self._used = time.monotonic()
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            raise GateError(
                f"the service at `{gate.url}` cannot be reached: {error or type(error).__name__}"
            ) from error
        if answer.will_close or len(text) > LONGEST:
            self._drop()
        if len(text) > LONGEST:
            raise GateError("the service answered with more than anybody asked for")
        if answer.status >= 300:
            raise GateError(_problem(answer.status, text))
        return text.decode()

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.gate.url)
        wait = self.gate.patience
        if parts.scheme == "unix":
            return _UnixConnection(parts.path, wait)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.netloc, timeout=wait, context=self.gate.tls)
        return http.client.HTTPConnection(parts.netloc, timeout=wait)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class RemoteSession:
    """A session of a service, as `Session` has it. What it is told arrives in the order in which it is told."""

    def __init__(self, line: _Line, name: dict[str, str]) -> None:
        self._line, self._name, self._patience = line, name, line.gate.patience
        self._faults: list[str] = []

    # What the plugin uses of a session.

    def append(self, events: list[str], *, wait: bool = True) -> None:
        """The runner's session has these events more."""
        self._tell("/v1/events", {"events": _raw_list(events)}, wait)

    def model_request(self, agent: str, invocation: str, request: str, *, wait: bool = True) -> None:
        """A model is about to read this."""
        fields = {"agent": json.dumps(agent), "invocation": json.dumps(invocation), "request": request}
        self._tell("/v1/model-requests", fields, wait)

    def ask(self, tool: str, args: str, *, agent: str, events: int, digest: str, **more: Any) -> RemotePending:
        """Asks whether a call may run."""
        try:
            if not isinstance(json.loads(args), dict):
                raise ValueError("they are no object")
        except ValueError as error:
            refused: Future[str] = Future()
            why = args if args.startswith("the arguments cannot be written") else f"the arguments are no JSON: {error}"
            refused.set_result(denial(why).json)
            return RemotePending(refused, 0.0)
        fields = {key: json.dumps(value) for key, value in more.items()}
        fields |= {"tool": json.dumps(tool), "args": args, "agent": json.dumps(agent)}
        fields |= {"events": json.dumps(events), "digest": json.dumps(digest)}
        return RemotePending(self._put("/v1/checks", fields), self._patience)

    def finish(
        self, ticket: str, ending: str, *, value: str | None = None, args: str | None = None, wait: bool = True
    ) -> None:
        """What became of a checked call."""
        fields = {"ticket": json.dumps(ticket), "ending": json.dumps(ending)}
        fields |= {key: text for key, text in (("value", value), ("args", args)) if text is not None}
        self._tell("/v1/results", fields, wait)

    def confirm(self, ticket: str, yes: bool, *, principal: str | None = None, wait: bool = True) -> None:
        """A person's answer. The service takes it from a token that may approve, and knows the person by that."""
        del principal
        self._tell("/v1/confirmations", {"ticket": json.dumps(ticket), "yes": json.dumps(yes)}, wait)

    def history(self) -> tuple[int, str]:
        """How many events the service has, and the digest of their ids."""
        row = json.loads(self._put("/v1/sessions", {}).result(timeout=self._patience))
        return row["events"], row["digest"]

    def event_ids(self) -> list[str]:
        """None: a service does not tell them. Its session is told all events again, and knows them."""
        return []

    def faults(self) -> list[str]:
        """What went wrong since this was last called, of what was told with `wait=False`."""
        faults, self._faults = self._faults, []
        return faults

    def _tell(self, path: str, fields: dict[str, str], wait: bool) -> None:
        told = self._put(path, fields)
        if wait:
            told.result(timeout=self._patience)
        else:
            told.add_done_callback(self._note)

    def _note(self, told: "Future[str]") -> None:
        error = told.exception()
        if error is not None:
            self._faults.append(str(error))

    def _put(self, path: str, fields: dict[str, str]) -> "Future[str]":
        named = {"session": json.dumps(self._name), **fields}
        return self._line.put(path, "{" + ",".join(f"{json.dumps(key)}:{text}" for key, text in named.items()) + "}")


def _raw_list(texts: list[str]) -> str:
    return "[" + ",".join(texts) + "]"


def _problem(status: int, text: bytes) -> str:
    try:
        return f"the service refused ({status}): {json.loads(text)['error']['text']}"
    except (ValueError, KeyError, TypeError):
        return f"the service answered with {status}"
