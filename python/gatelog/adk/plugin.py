"""The plugin: public callbacks of google-adk, and nothing else of it."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import logging
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.version import __version__ as VERSION
from google.genai import types
from pydantic import TypeAdapter
from pydantic_core import to_json

import gatelog
from gatelog.adk import instructions, order
from gatelog.adk.history import Behind, History, Ledger, Running
from gatelog.remote import RemoteGate

logger = logging.getLogger("gatelog.adk")

CONTENTS = TypeAdapter(list[types.Content])

# Seconds that a check may hold up the event loop; one that takes longer is waited for in a thread.
INLINE = 0.005

# The call inside which this code runs: its history, its run, its tool and its id.
inside: contextvars.ContextVar[tuple[History, str, str, str] | None] = contextvars.ContextVar(
    "gatelog_inside", default=None
)

# The first version that was seen to call plugins for the tools of a session that is live. Older ones run tools past them.
LIVE = (1, 39)

Approver = Callable[[Any], "str | None"]


def end_user(session: Any) -> str | None:
    """Who answers a question of the runner: the end user of the session, as the runner names it."""
    return session.user_id


class GatePlugin(BasePlugin):
    """Gates the tool calls of all agents of a runner.

    `policy` is a file or folder of policies, several of them, or a `gatelog.Policy`. A file that cannot be read or does not
    load denies every call until it does; `reload()` reads it again.

    Or `url` is the address of a service, which has the policy, the store and the mode; `token` says who runs the sessions,
    and `approve_token` may give the answers of persons. A service that does not answer within `patience` seconds denies.

    `principal` and `roles` say who runs the sessions. `store` is a file of journals: sessions go on after a restart, and
    `gatelog replay` reads it. In mode `advise` calls run whatever the verdict is. `approver` says who it is that answers a
    question, from the session of the runner: by default its end user; `None` lets answers count as nobody's,
    that is for rules with `@ask: self` alone. `deadline` is the time in seconds that a verdict may take.

    `inputs` says how it is known what a model was shown: by `requests`, each read as it was sent, whose cost grows with what
    is sent; or by `rules`, those by which the library chooses what it shows, at a cost that does not grow. With `rules`
    nothing may change requests on their way: other plugins and callbacks that could are named at the start.
    """

    def __init__(
        self,
        *,
        policy: "str | PathLike[str] | Sequence[str | PathLike[str]] | gatelog.Policy | None" = None,
        url: str | None = None,
        token: str | None = None,
        approve_token: str | None = None,
        patience: float = 5.0,
        name: str = "gatelog",
        store: "str | PathLike[str] | None" = None,
        mode: str = "enforce",
        principal: str | None = "runner",
        roles: Sequence[str] = (),
        tenant: str = "default",
        metadata: Sequence[tuple[str, str, str]] = (),
        parts: str = "supported",
        deadline: float = 2.0,
        inputs: str = "requests",
        approver: Approver | None = end_user,
        sessions: int = 1000,
    ) -> None:
        super().__init__(name=name)
        if inputs not in ("requests", "rules"):
            raise ValueError(f"`{inputs}` is no way to know inputs: `requests` or `rules`")
        if (policy is None) == (url is None):
            raise ValueError("a gate has a `policy` of its own, or the `url` of a service: give one of them")
        self._service = RemoteGate(url, token=token, approve_token=approve_token, patience=patience) if url else None
        self._by_rules = inputs == "rules"
        self.findings: list[str] = []
        self._policy: gatelog.Policy | None = policy if isinstance(policy, gatelog.Policy) else None
        self._paths = [] if self._policy or policy is None else _paths(policy)
        self._no_policy = ""
        self._mode = mode
        self._approver = approver
        self._settings = {
            "store": store,
            "mode": mode,
            "principal": principal,
            "roles": list(roles),
            "tenant": tenant,
            "metadata": [list(row) for row in metadata],
            "parts": parts,
            "deadline": deadline,
        }
        self._most = sessions
        self._gates: dict[str, gatelog.Gate] = {}
        self._histories: OrderedDict[tuple[str, str, str], History] = OrderedDict()
        self._runs: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        self._told: set[str] = set()
        self._signatures: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._load()

    # What the host may do.

    def reload(self) -> None:
        """Reads the policy again, and lets it decide from the next check on. One that does not load changes nothing."""
        policy = gatelog.Policy(*self._paths)
        self._policy, self._no_policy = policy, ""
        for gate in self._gates.values():
            gate.activate(policy)

    def session(self, *, app: str, user: str, session: str) -> gatelog.Session:
        """The gate's own session behind a session of the runner: its journal, its history, `clear()`."""
        return self._histories[(app, user, session)].ledger.session

    def finish(self, *, app: str, user: str, session: str, call_id: str, value: Any) -> None:
        """Says what a long-running call came to. Only the host may: the answer counts as the tool's own."""
        ledger = self._histories[(app, user, session)].ledger
        running = ledger.running.pop(call_id)
        ledger.session.finish(running.ticket, "returned", value=_value(value))

    # Callbacks.

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """Looks at what stands around the gate, and takes in what the session holds.

        Raises where tools would run past the gate: live sessions of versions of the library before 1.39.
        """
        if getattr(invocation_context, "live_request_queue", None) is not None and _version() < LIVE:
            raise gatelog.GateError(
                f"google-adk {VERSION} calls no callbacks of tools while a session is live, and they would run without a"
                " verdict: use 1.39 or later, or do not run it live"
            )
        try:
            self._runs[invocation_context.invocation_id] = invocation_context
            self._look_around(invocation_context)
            if not self._load():
                return
            self._history(invocation_context).sync(invocation_context.session.events)
        except Exception:
            # The first check says so, and denies.
            logger.exception("the gate could not take in the session")

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """Takes in what came after the last call."""
        if not self._ready():
            return
        try:
            history = self._history(invocation_context)
            history.sync(invocation_context.session.events)
            history.ledger.collect()
            if history.inside:
                self._histories.pop(_key(invocation_context.session), None)
        except Behind as behind:
            logger.error("the gate is behind the session, and is told all of it again: %s", behind)
        except Exception:
            logger.exception("the gate could not take in the session")

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Notes what a model is about to read. Callbacks after this one may change it: it is read when the answer is there."""
        if self._by_rules or not self._ready():
            return
        try:
            session, run = self._session(callback_context)
            history = self._history(run, session)
            history.sync(session.events)
            agent = callback_context.agent_name
            root = run.agent.root_agent if run is not None else None

            def request() -> str:
                said = llm_request.config.system_instruction if llm_request.config else None
                if isinstance(said, str) and root is not None:
                    said = instructions.host_text(said, root)
                config = to_json(said, by_alias=True, exclude_none=True).decode()
                contents = CONTENTS.dump_json(llm_request.contents, by_alias=True, exclude_none=True).decode()
                return f'{{"contents":{contents},"config":{{"systemInstruction":{config}}}}}'

            history.ledger.shown[(agent, callback_context.invocation_id)] = request
        except Exception:
            logger.exception("the gate could not note what a model is shown")

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """Judges a call. What it returns is the answer in place of the tool; nothing lets the tool run."""
        try:
            return await self._before(tool, tool_args, tool_context)
        except Behind as behind:
            logger.error("the gate is behind the session, and is told all of it again: %s", behind)
            return None if self._mode == "advise" else _blocked(f"the gate could not take in the session: {behind}")
        except Exception as error:
            logger.exception("the gate could not judge a call to `%s`", tool.name)
            if self._mode == "advise":
                return None
            return _blocked(f"the gate could not judge this call: {_short(error)}")

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> None:
        """Says how a call ended, and with which arguments it ran."""
        if not self._ready():
            return
        try:
            self._after(tool, tool_args, tool_context, result)
        except Exception:
            logger.exception("the gate could not note how a call to `%s` ended: it is no evidence", tool.name)

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: BaseException
    ) -> None:
        """Says that a call failed."""
        if not self._ready():
            return
        try:
            inside.set(None)
            session, run = self._session(tool_context)
            ledger = self._history(run, session).ledger
            running = ledger.running.pop(tool_context.function_call_id, None)
            if running is not None:
                ledger.session.finish(running.ticket, "failed", args=self._ran(tool, tool_args), wait=False)
        except Exception:
            logger.exception("the gate could not note that a call to `%s` failed", tool.name)

    # How they do it.

    async def _before(self, tool: Any, tool_args: dict[str, Any], context: Any) -> dict[str, Any] | None:
        if not self._load():
            return None if self._mode == "advise" else _blocked(self._no_policy)
        session, run = self._session(context)
        history = self._history(run, session)
        history.sync(session.events)
        ledger, call_id = history.ledger, context.function_call_id or ""
        unwritten = ""
        try:
            arguments = gatelog.encode(self._bound(tool, tool_args))
        except gatelog.EncodingError as error:
            # No JSON: the gate denies it, and its journal says so.
            unwritten = arguments = f"the arguments cannot be written: {error}"
        self._confirm(ledger, call_id, context, session)
        check = await self._ask(ledger, tool, arguments, context)
        try:
            if not unwritten:
                ledger.collect()
            if check.may_run:
                # The tool gets values that nobody else holds.
                for key, value in tool_args.items():
                    if isinstance(value, (dict, list, set, bytearray)):
                        tool_args[key] = copy.deepcopy(value)
        except BaseException:
            if check.may_run:
                ledger.session.finish(check.ticket, "not_run", wait=False)
            raise
        if check.may_run:
            ledger.running[call_id] = Running(check.ticket, arguments)
            inside.set((history, context.invocation_id, tool.name, call_id))
            return None
        response = check.response
        if unwritten:
            response["error"] = f"[BLOCKED] {unwritten}"
        if check.verdict == "ask":
            return self._request(ledger, check, response, arguments, tool, context, run)
        return response

    async def _ask(self, ledger: Ledger, tool: Any, arguments: str, context: Any) -> Any:
        call_id = context.function_call_id or ""
        _, branch = ledger.calls.get(call_id, ("", ""))
        metadata = [["tool", "long_running", "true"]] if getattr(tool, "is_long_running", False) else []
        pending = ledger.session.ask(
            tool.name,
            arguments,
            agent=context.agent_name,
            call_id=call_id,
            invocation=context.invocation_id,
            branch=branch,
            metadata=metadata,
            events=ledger.count,
            digest=ledger.digest.hexdigest(),
        )
        check = pending.wait(INLINE)
        while check is None:
            check = await asyncio.to_thread(pending.wait)
        return check

    def _confirm(self, ledger: Ledger, call_id: str, context: Any, session: Any) -> None:
        """Gives the gate what a person said about this call."""
        if getattr(context, "tool_confirmation", None) is None or call_id not in ledger.answers:
            return
        yes = ledger.answers.pop(call_id)
        ticket = ledger.asks.pop(call_id, None)
        if ticket is None:
            # The tool itself asked.
            return
        who = self._approver(session) if self._approver else None
        ledger.session.confirm(ticket, yes and context.tool_confirmation.confirmed is True, principal=who)

    def _request(
        self, ledger: Ledger, check: gatelog.Check, response: dict, arguments: str, tool: Any, context: Any, run: Any
    ) -> dict[str, Any]:
        """Asks a person, once for each thing that is asked for."""
        if run is not None and getattr(run, "live_request_queue", None) is not None:
            text = response["error"].removeprefix("[ASK] ")
            response["error"] = f"[BLOCKED] nobody can be asked while a session is live: {text}"
            response["gatelog"]["verdict"] = "deny"
            return response
        about = gatelog.encode([context.agent_name, tool.name, arguments])
        waiting = ledger.open.get(about)
        context.actions.skip_summarization = True
        if waiting is not None:
            response["error"] = f"[ASK] the same call waits for a person already: {waiting}"
            return response
        payload = {"gatelog": {"check": check.ticket, "rules": check.rules, "about": about}}
        context.request_confirmation(hint=response["error"].removeprefix("[ASK] "), payload=payload)
        ledger.asks[context.function_call_id] = check.ticket
        ledger.open[about] = context.function_call_id
        return response

    def _after(self, tool: Any, tool_args: dict[str, Any], context: Any, result: Any) -> None:
        session, run = self._session(context)
        ledger, call_id = self._history(run, session).ledger, context.function_call_id or ""
        inside.set(None)
        running = ledger.running.get(call_id)
        if running is None:
            if not _is_ours(result):
                logger.warning(
                    "a call to `%s` ran or was answered without a verdict: something answers before the gate", tool.name
                )
            return
        if self._did_not_run(call_id, context):
            del ledger.running[call_id]
            ledger.session.finish(running.ticket, "not_run", wait=False)
            return
        ran = self._ran(tool, tool_args)
        if getattr(tool, "is_long_running", False):
            # The ticket stays open for the host.
            ledger.session.finish(running.ticket, "pending", args=ran, wait=False)
            return
        del ledger.running[call_id]
        if ran != running.arguments:
            logger.error(
                "`%s` ran with other arguments than were checked: later calls of the session are denied", tool.name
            )
        plugins = run.plugin_manager.plugins if run is not None else []
        ending = "failed" if order.answers_errors(plugins, self) else "returned"
        value = _value(result) if ending == "returned" else None
        ledger.session.finish(running.ticket, ending, value=value, args=ran, wait=False)

    @staticmethod
    def _did_not_run(call_id: str, context: Any) -> bool:
        """Whether the tool waits for a person, or a person said no to it."""
        confirmation = getattr(context, "tool_confirmation", None)
        if confirmation is not None:
            return not confirmation.confirmed
        return call_id in (context.actions.requested_tool_confirmations or {})

    def _ran(self, tool: Any, tool_args: dict[str, Any]) -> str:
        try:
            return gatelog.encode(self._bound(tool, tool_args))
        except gatelog.EncodingError as error:
            return gatelog.encode({"unwritten": str(error)})

    def _bound(self, tool: Any, tool_args: dict[str, Any]) -> dict[str, Any]:
        """The arguments as a function gets them: those that it takes, and its own values for those that are missing."""
        function = getattr(tool, "func", None)
        if not callable(function):
            return tool_args
        parameters = self._parameters(function)
        if parameters is None:
            return tool_args
        names, defaults = parameters
        bound = {key: value for key, value in tool_args.items() if key in names}
        for key, value in defaults.items():
            bound.setdefault(key, value)
        return bound

    def _parameters(self, function: Any) -> tuple[set[str], dict[str, Any]] | None:
        """The names that a function takes and its defaults; none where it takes any name."""
        try:
            return self._signatures[function]
        except (KeyError, TypeError):
            pass
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return None
        found: tuple[set[str], dict[str, Any]] | None = None
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            own = {"tool_context", "input_stream"}
            taken = [one for one in parameters if one.name not in own and not _is_context(one.annotation)]
            defaults = {one.name: one.default for one in taken if one.default is not one.empty}
            found = ({one.name for one in taken}, defaults)
        try:
            self._signatures[function] = found
        except TypeError:
            pass
        return found

    def _session(self, context: Any) -> tuple[Any, Any]:
        """The session and the run of a context."""
        run = self._runs.get(context.invocation_id)
        session = getattr(context, "session", None)
        if session is None and run is not None:
            session = run.session
        if session is None:
            raise LookupError("the run of this call is not known: the plugin was not there when it began")
        return session, run

    def _history(self, run: Any, session: Any = None) -> History:
        session = session if session is not None else run.session
        key = _key(session)
        history = self._histories.get(key)
        if history is not None:
            self._histories.move_to_end(key)
            return history
        around = inside.get()
        if around is not None and around[1] in self._runs and around[3] in around[0].ledger.running:
            # A run that a call of another session started: it is part of that session.
            outer, _, tool, call_id = around
            _, branch = outer.ledger.calls.get(call_id, ("", ""))
            path = [part for part in (outer.inside or branch, f"{tool}@{call_id}") if part]
            history = History(outer.ledger, inside=".".join(path))
        else:
            gate = self._gate(run.agent.root_agent if run is not None else None)
            ledger = Ledger(gate.session(session.id, app=session.app_name, user=session.user_id))
            ledger.resume()
            history = History(ledger)
        self._histories[key] = history
        while len(self._histories) > self._most:
            self._histories.popitem(last=False)
        return history

    def _ready(self) -> bool:
        return self._service is not None or self._policy is not None

    def _gate(self, root: Any) -> Any:
        if self._service is not None:
            return self._service
        agents = instructions.agents_file(root) if root is not None else ""
        gate = self._gates.get(agents)
        if gate is None:
            if self._policy is None:
                raise gatelog.GateError(self._no_policy)
            gate = gatelog.Gate(self._policy, agents=agents, **self._settings)
            self._gates[agents] = gate
        return gate

    def _load(self) -> bool:
        """Whether there is a policy. One that could not be read is looked for again."""
        if self._service is not None or self._policy is not None:
            return True
        try:
            self._policy, self._no_policy = gatelog.Policy(*self._paths), ""
        except gatelog.PolicyError as error:
            if str(error) != self._no_policy:
                logger.error("there is no policy, and every call is denied: %s", error)
            self._no_policy = str(error)
        return self._policy is not None

    def _look_around(self, run: Any) -> None:
        for finding in order.findings(run.plugin_manager.plugins, self, run.agent.root_agent, self._by_rules):
            if finding not in self._told:
                self._told.add(finding)
                self.findings.append(finding)
                logger.warning("%s", finding)


def _version() -> tuple[int, ...]:
    """Major and minor version of the library."""
    return tuple(int(number) for number in VERSION.split(".")[:2] if number.isdigit())


def _paths(policy: Any) -> list[Any]:
    return [policy] if isinstance(policy, (str, PathLike)) else list(policy)


def _key(session: Any) -> tuple[str, str, str]:
    return session.app_name, session.user_id, session.id


def _is_context(annotation: Any) -> bool:
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.split(".")[-1] in ("ToolContext", "Context")


def _value(result: Any) -> str | None:
    """What a tool returned, as the library will write it; none where it cannot."""
    try:
        return to_json(result, by_alias=True, exclude_none=True, bytes_mode="base64", inf_nan_mode="null").decode()
    except Exception:
        return None


def _is_ours(result: Any) -> bool:
    return isinstance(result, dict) and isinstance(result.get("gatelog"), dict)


def _blocked(why: str) -> dict[str, Any]:
    return {"error": f"[BLOCKED] {why}", "gatelog": {"verdict": "deny", "check": ""}}


def _short(error: Exception) -> str:
    text = str(error).split("\n", 1)[0]
    return text[:200] or type(error).__name__
