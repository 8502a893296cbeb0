"""What stands around the gate in a runner, and could answer or change a call without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

# Plugins of the library that look and never answer.
OBSERVERS = {
    "google.adk.plugins.logging_plugin.LoggingPlugin",
    "google.adk.plugins.debug_logging_plugin.DebugLoggingPlugin",
    "google.adk.plugins.bigquery_agent_analytics_plugin.BigQueryAgentAnalyticsPlugin",
    "google.adk.plugins.auto_tracing_plugin.AutoTracingPlugin",
}


def overrides(plugin: Any, callback: str) -> bool:
    """Whether a plugin has a callback of its own, and is none that is known to look only."""
    from google.adk.plugins.base_plugin import BasePlugin

    kind = type(plugin)
    if f"{kind.__module__}.{kind.__qualname__}" in OBSERVERS:
        return False
    return getattr(kind, callback, None) is not getattr(BasePlugin, callback, None)


def split(plugins: Iterable[Any], gate: Any) -> tuple[list[Any], list[Any]]:
    """The plugins before the gate and those after it."""
    before: list[Any] = []
    after: list[Any] = []
    met = False
    for plugin in plugins:
        if plugin is gate:
            met = True
        else:
            (after if met else before).append(plugin)
    return before, after


def answers_errors(plugins: Iterable[Any], gate: Any) -> bool:
    """Whether a plugin before the gate may turn the failure of a tool into an answer that the gate cannot tell from a result."""
    before, _ = split(plugins, gate)
    return any(overrides(plugin, "on_tool_error_callback") for plugin in before)


def agents(root: Any) -> Iterator[Any]:
    """An agent and all below it, those behind agent tools among them, each once."""
    waiting, seen = [root], set()
    while waiting:
        agent = waiting.pop()
        if agent is None or id(agent) in seen:
            continue
        seen.add(id(agent))
        yield agent
        waiting.extend(reversed(list(getattr(agent, "sub_agents", None) or [])))
        tools = getattr(agent, "tools", None) or []
        waiting.extend(tool.agent for tool in tools if hasattr(tool, "agent"))


def findings(plugins: Iterable[Any], gate: Any, root: Any, by_rules: bool = False) -> list[str]:
    """What a person should know about the order of plugins and callbacks, one sentence each."""
    before, after = split(plugins, gate)
    found = changes_of_requests([*before, *after], root) if by_rules else []
    for plugin in before:
        name = plugin.name
        if overrides(plugin, "before_tool_callback"):
            found.append(
                f"plugin `{name}` stands before the gate and may answer a call first: then the gate is not asked and the call"
                " has no verdict; register the gate before it unless it changes arguments"
            )
        if overrides(plugin, "on_tool_error_callback"):
            found.append(
                f"plugin `{name}` stands before the gate and may answer for a tool that failed: no result counts as evidence;"
                " register the gate before it"
            )
        if overrides(plugin, "after_tool_callback"):
            found.append(
                f"plugin `{name}` stands before the gate and may replace a result first: such a result is no evidence;"
                " register the gate before it"
            )
    for plugin in after:
        if overrides(plugin, "before_tool_callback"):
            found.append(
                f"plugin `{plugin.name}` stands after the gate and may change arguments after the check: a call that ran with"
                " other arguments closes the session; register it before the gate if it changes arguments"
            )
    for agent in agents(root):
        if getattr(agent, "before_tool_callback", None):
            found.append(
                f"agent `{agent.name}` has a before_tool_callback, which comes after every plugin: it may answer a call that"
                " was allowed, or change its arguments, which closes the session"
            )
        for tool in getattr(agent, "tools", None) or []:
            if getattr(tool, "include_plugins", True) is False:
                found.append(
                    f"agent tool `{tool.name}` runs without the plugins of its runner: nothing inside it is gated; leave"
                    " `include_plugins` as it is"
                )
        if getattr(agent, "code_executor", None) is not None:
            found.append(f"agent `{agent.name}` has a code executor: what code does passes no plugin")
        if getattr(agent, "mode", None) == "task":
            found.append(
                f"agent `{agent.name}` is a task agent: the calls that hand over to it pass no plugin, its own do"
            )
    return found


def changes_of_requests(plugins: Iterable[Any], root: Any) -> list[str]:
    """What may show a model something else than the rules of the library do."""
    names = [f"plugin `{plugin.name}`" for plugin in plugins if overrides(plugin, "before_model_callback")]
    names += [f"agent `{agent.name}`" for agent in agents(root) if getattr(agent, "before_model_callback", None)]
    return [
        f'{name} may change what a model is sent, which is not seen with `inputs="rules"`: use `inputs="requests"`'
        for name in names
    ]
