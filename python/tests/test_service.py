"""The plugin and a gate that is a service. Needs the program: `GATELOG` names it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from desk import LIMIT, Desk, call, say

import gatelog
from gatelog.adk import GatePlugin
from gatelog.remote import RemoteGate


def silent():
    """A service that takes a connection and says nothing."""
    listening = socket.create_server(("127.0.0.1", 0))
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}"


class Remote(Desk):
    """An agent whose gate is a service."""

    def __init__(self, url: str, *lines, **settings) -> None:
        plugin = GatePlugin(url=url, **settings)
        super().__init__(LIMIT, *lines, plugins=lambda _: [plugin])
        self.plugin = plugin


def test_a_service_that_does_not_answer_denies_in_time():
    listening, url = silent()
    desk = Remote(url, call("pay", amount=5), say("no"), patience=0.3)
    start = time.monotonic()
    asyncio.run(desk.say("go"))
    assert time.monotonic() - start < 5
    assert desk.ran == []
    [answer] = asyncio.run(desk.answers("pay"))
    assert answer["error"].startswith("[BLOCKED] the gate ") and re.search("did not answer|timed out", answer["error"])
    listening.close()


def test_a_service_that_is_not_there_denies():
    listening, url = silent()
    listening.close()
    desk = Remote(url, call("pay", amount=5), say("no"), patience=1)
    asyncio.run(desk.say("go"))
    assert desk.ran == []
    [answer] = asyncio.run(desk.answers("pay"))
    assert "cannot be reached" in answer["error"] and "http://127.0.0.1" in answer["error"]


@pytest.mark.parametrize("text", ["", "[]", '{"verdict": "allow"}', '{"verdict": "deny", "may_run": "yes"}', "<html>"])
def test_an_answer_that_is_none_denies(text):
    class Says(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Says)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    desk = Remote(f"http://127.0.0.1:{server.server_port}", call("pay", amount=5), say("no"))
    asyncio.run(desk.say("go"))
    server.shutdown()
    assert desk.ran == []


def test_addresses_and_settings_are_checked():
    for url in ("ftp://x", "localhost:7474", "http://user:secret@x/", "http://x/?token=secret"):
        with pytest.raises(gatelog.GateError):
            RemoteGate(url)
    for settings in ({}, {"policy": "a.dl", "url": "http://x"}):
        with pytest.raises(ValueError, match="one of them"):
            GatePlugin(**settings)


@pytest.fixture
def service(tmp_path):
    """The real service, under the policy with a limit."""
    program = os.environ.get("GATELOG")
    if not program:
        pytest.fail(
            "`GATELOG` does not name the program: build it and set it, or leave this test out with `-m 'not program'`"
        )
    policy = tmp_path / "policy.dl"
    policy.write_text(LIMIT)
    child = subprocess.Popen(
        [program, "serve", "--policy", str(policy), "--store", "memory"]
        + ["--listen", f"unix:{tmp_path}/gate.sock", "--principal", "svc"],
        stderr=subprocess.DEVNULL,
    )
    for _ in range(200):
        if (tmp_path / "gate.sock").exists():
            break
        time.sleep(0.05)
    yield child, f"unix:{tmp_path}/gate.sock"
    child.kill()
    child.wait()


@pytest.mark.program
def test_a_service_judges_as_the_library_does(service):
    child, url = service
    lines = [
        call("note", text="a"),
        call("pay", amount=900),
        call("pay", amount=float("nan")),
        call("pay", amount=5),
        say("ok"),
    ]
    desk, own = Remote(url, *lines), Desk(LIMIT, *[line.model_copy(deep=True) for line in lines])
    for one in (desk, own):
        asyncio.run(one.say("go"))
    assert desk.ran == own.ran == [("note", "a"), ("pay", 5)]

    def told(one):
        return [re.sub(r'"check": "[^"]*"', "", json.dumps(answer)) for answer in asyncio.run(one.answers("pay"))]

    assert told(desk) == told(own)


@pytest.mark.program
def test_a_service_that_is_killed_denies_the_next_call(service):
    child, url = service
    desk = Remote(url, call("pay", amount=5), say("paid"), call("pay", amount=6), say("no"), patience=1)
    asyncio.run(desk.say("go"))
    assert desk.ran == [("pay", 5)]
    child.kill()
    child.wait()
    start = time.monotonic()
    asyncio.run(desk.say("again"))
    assert time.monotonic() - start < 5
    assert desk.ran == [("pay", 5)]
    assert "cannot be reached" in asyncio.run(desk.answers("pay"))[-1]["error"]
