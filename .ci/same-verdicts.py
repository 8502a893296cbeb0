"""Reads JSON reports, one after another in one file, and fails unless all decide alike. Ids and times do not count."""

import json
import sys
from pathlib import Path


def documents(text: str):
    """Each JSON document of the text."""
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:]


def decisions(document: dict) -> list:
    """What was decided for each call, and why."""
    return [
        (check["agent"], check["tool"], check["args"], check["verdict"], check["outcome"], check["reasons"])
        for session in document["sessions"]
        for check in session["checks"]
    ]


def main() -> None:
    """Compare, and show the first difference."""
    reports = [decisions(document) for document in documents(Path(sys.argv[1]).read_text(encoding="utf-8"))]
    if len(reports) < 2 or not reports[0]:
        sys.exit("fewer than two reports with calls")
    for report in reports[1:]:
        for first, other in zip(reports[0], report):
            if first != other:
                sys.exit(f"decided differently:\n{first}\n{other}")
        if len(report) != len(reports[0]):
            sys.exit(f"{len(reports[0])} calls and {len(report)} calls")
    print(f"{len(reports)} reports of {len(reports[0])} calls decide alike")


if __name__ == "__main__":
    main()
