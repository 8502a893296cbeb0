"""What the host says to its agents, so that the gate can tell it from what anybody else says."""

from __future__ import annotations

import json
import re
from typing import Any

from gatelog.adk.order import agents

# What the library itself says about transfers, line by line, in its versions.
TRANSFER = "You have a list of other agents to transfer to:"
LINES = {
    "",
    TRANSFER,
    "If you are the best to answer the question according to your description,",
    "If you are the best to answer the question according to your description, you",
    "you can answer it.",
    "can answer it.",
    "If another agent is better for answering the question according to its",
    "description, call `transfer_to_agent` function to transfer the",
    "description, call `transfer_to_agent` function to transfer the question to that",
    "question to that agent. When transferring, do not generate any text other than",
    "agent. When transferring, do not generate any text other than the function",
    "the function call.",
    "call.",
    "**NOTE**: the only available agents for `transfer_to_agent` function are",
    "**NOTE**: the only available agents for `transfer_to_agent` function",
    "are",
}
PARENT = re.compile(
    r"^If neither you nor the other agents are best for the question, transfer to your parent agent (?P<name>\w+)\.?$"
)
ONLY = "**NOTE**: the only available agents for `transfer_to_agent` function are "


def agents_file(root: Any) -> str:
    """The agents below a root as an agents file: what each is told, shown and keeps."""
    rows: dict[str, dict[str, Any]] = {}
    shared = getattr(root, "global_instruction", "")
    for agent in agents(root):
        if agent.name in rows:
            continue
        row: dict[str, Any] = {"name": agent.name}
        own = getattr(agent, "instruction", "")
        # What a function says is known only once it has said it.
        if isinstance(own, str) and isinstance(shared, str) and not getattr(agent, "static_instruction", None):
            text = "\n\n".join(part for part in (shared, own) if part)
            if text:
                row["instruction"] = text
        if getattr(agent, "include_contents", "default") == "none":
            row["include_contents"] = "none"
        if getattr(agent, "output_key", None):
            row["output_key"] = agent.output_key
        rows[agent.name] = row
    return json.dumps({"agents": list(rows.values())})


def host_text(text: str, root: Any) -> str:
    """An instruction without what the library says about transfers, where that names only agents below this root."""
    at = text.find(TRANSFER)
    if at < 0:
        return text
    tail = text[at:]
    named = {agent.name: agent.description for agent in agents(root)}
    for name, description in named.items():
        tail = tail.replace(f"\nAgent name: {name}\nAgent description: {description}\n", "\n")
    for line in tail.split("\n"):
        if not known(line.strip(), named):
            return text
    return text[:at].rstrip("\n")


def known(line: str, named: dict[str, str]) -> bool:
    """Whether the library says this line whatever agents say."""
    if line in LINES:
        return True
    parent = PARENT.match(line)
    if parent:
        return parent["name"] in named
    names = line.removeprefix(ONLY).rstrip(".").split(", ")
    return all(len(name) > 2 and name[0] == name[-1] == "`" and name[1:-1] in named for name in names)
