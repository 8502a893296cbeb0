"""What the gate takes for the inputs of a model is what the model was shown, part by part."""

from __future__ import annotations

import asyncio
import json

import pytest
from desk import ALL
from scenes import MINE, Guarded, record

import gatelog


def told(stage: Guarded) -> list[dict]:
    """The requests in the journal, in order. It holds each text of theirs once, and names it by number from then on."""
    lines = stage.gated().journal().rstrip("\n").split("\n")
    entries = [json.loads(line)["entry"] for line in lines]
    texts: list[str] = []
    last: dict[str, list[int]] = {}

    def held(piece: str | list[int]) -> range:
        if isinstance(piece, str):
            texts.append(piece)
            return range(len(texts) - 1, len(texts))
        first, count = piece
        return range(first, first + count)

    requests = []
    for entry in entries:
        if "shown" not in entry:
            continue
        shown = entry["shown"]
        numbers = last.get(shown["agent"], [])[: shown["same"]]
        for piece in shown["contents"]:
            numbers.extend(held(piece))
        last[shown["agent"]] = numbers
        others = {key: json.loads(texts[held(piece)[0]]) for key, piece in shown["others"]}
        requests.append({"contents": [json.loads(texts[number]) for number in numbers], **others})
    return requests


async def played(scene: str) -> Guarded:
    stage = Guarded(policy=gatelog.Policy.from_text(ALL))
    await MINE[scene](stage)
    return stage


def plain(contents: list) -> list[dict]:
    """Contents as JSON. Ids that the library gives are not shown to models."""
    return [json.loads(content.model_dump_json(by_alias=True, exclude_none=True)) for content in contents]


@pytest.mark.parametrize("scene", MINE)
def test_requests_are_recorded_as_they_were_sent(scene: str) -> None:
    stage = asyncio.run(played(scene))
    sent = [plain(contents) for _, _, contents, _ in stage.notes]
    recorded = [request["contents"] for request in told(stage)]
    assert recorded
    # Branches that run beside one another are stored in an order of their own. A model whose answer was never stored has no
    # event that anything depends on.
    rest = list(sent)
    for request in recorded:
        rest.remove(request)
    assert len(sent) - len(recorded) <= (1 if scene in ("interrupted", "compaction") else 0)


def is_instruction(row: dict) -> bool:
    """Whether a record is what the host said to the agent whose event it stands beside."""
    return row["kind"] == "text" and row["event"]["author"] != "user" and row["role"] != "model"


@pytest.mark.parametrize("scene", [scene for scene in MINE if scene in record.SCENARIOS])
def test_inputs_are_what_was_shown(scene: str) -> None:
    stage = asyncio.run(played(scene))
    events = json.loads(asyncio.run(stage.document()))["events"]
    rows = gatelog.records(stage.gated().journal().encode())
    numbers = {event["id"]: number for number, event in enumerate(events)}
    places: dict[int, tuple[int, int]] = {}
    first: dict[int, dict] = {}
    parts: dict[int, int] = {}
    for row in rows:
        number = numbers.get((row["event"] or {}).get("event_id"))
        if number is None and row["kind"] == "text" and (row["event"]["author"], row["role"]) == ("user", "agent"):
            # A first message that the library never stores stands for the call that wrote it.
            places[row["seq"]] = places[row["inputs"][-1][1]]
            continue
        if number is None or row["kind"] == "resource" or is_instruction(row):
            continue
        places[row["seq"]] = (number, parts.setdefault(number, 0))
        parts[number] += 1
        first.setdefault(number, row)
    compared = 0
    for turn, _agent, contents, _ in stage.notes:
        number = next(
            (n for n, event in enumerate(events) if event.get("customMetadata", {}).get("turn") == turn), None
        )
        if number is None:
            continue
        shown, _ = record.shown(contents, record.places(events), number)
        spans = first[number]["inputs"]
        inputs = [places[seq] for start, end in spans for seq in range(start, end + 1) if seq in places]
        assert {tuple(place) for place in shown} <= set(inputs), turn
        more = set(inputs) - {tuple(place) for place in shown}
        assert not more or scene in LATER, (turn, more)
        compared += 1
    assert compared


# Scenes in which a call has more than one answer: the earlier ones stay inputs beside the last, which alone is shown.
LATER = {"confirmation", "long-running"}
