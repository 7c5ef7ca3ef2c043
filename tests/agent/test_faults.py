"""REL-2: each fault of a server, in each protocol, in a session that goes on after it.

How each server words its refusals is for tests/providers/test_failures.py.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.errors import ErrorKind
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import Item, Raw, call, error, say
from tests.fakes.server import FakeServer

PROTOCOLS = [OllamaServer, ChatServer, ResponsesServer, AnthropicServer]
TEXT = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. "
RUNS = ("shell", {"command": "echo ran >> ran.txt"})
MOST = 200_000
"""Bytes that a reply may have here."""
PATIENCE_S = 0.3
PAGE = b"<html><head><title>Sign in</title></head><body>words of a page</body></html>"
WAIT = {"retry-after": "0.02"}

Make = Callable[[str], Item]
"""What a server of that protocol sends."""


@dataclass(frozen=True)
class Fault:
    """What is sent in place of a reply, and what becomes of it: without `kind`, the reply is whole.

    `times`: requests that are answered so until the run gives up; `partial`: text had come;
    `in_lines`: the kind where each line is a frame, and is asked for once.
    """

    make: Make
    kind: ErrorKind | None
    times: int = 1
    partial: bool = False
    why: str = "error"
    in_lines: ErrorKind | None = None

    def at(self, protocol: str) -> "Fault":
        if protocol == "ollama" and self.in_lines:
            return replace(self, kind=self.in_lines, times=1)
        return self


def reply(**more: Any) -> Make:
    """A text and a call, which only a whole reply may run."""
    return lambda _: call(*RUNS, text=TEXT, piece=4, **more)


def raw(body: bytes, kind: str = "", **more: Any) -> Make:
    return lambda _: Raw(body, kind, **more)


def refused(status: int, **headers: str) -> Make:
    def make(protocol: str) -> Item:
        words: Any = f"refused with {status}"
        body = {"error": words if protocol == "ollama" else {"type": "x", "message": words}}
        return error(status, body, headers=headers)

    return make


def half(pieces: list[bytes]) -> list[bytes]:
    """As far as into the text."""
    first = next(n for n, piece in enumerate(pieces) if b"Zw" in piece)
    return pieces[: first + 3]


def flood(pieces: list[bytes]) -> Iterable[bytes]:
    *before, last = half(pieces)
    return [*before, *repeat(last * 100, 400)]


def garbage(protocol: str) -> Item:
    line = b"{half an obj\n" if protocol == "ollama" else b"data: {half an obj\n\n"
    return reply(spoil=lambda pieces: [*half(pieces), line])(protocol)


def failure(protocol: str) -> Item:
    """The protocol's own error event."""
    told = {"type": "server_error", "code": "server_error", "message": "the model has stopped"}
    if protocol == "responses":
        end = {
            "type": "response.failed",
            "response": {"id": "r", "status": "failed", "error": told},
        }
    else:
        end = {"type": "error", "error": told}
    line = json.dumps(end)
    name = {"responses": "event: response.failed\n", "anthropic": "event: error\n"}.get(
        protocol, ""
    )
    frame = f"{line}\n" if protocol == "ollama" else f"{name}data: {line}\n\n"
    return reply(spoil=lambda pieces: [*half(pieces), frame.encode()])(protocol)


def whole(change: Callable[[bytes], bytes]) -> Make:
    """The reply's bytes, changed and sent at once."""
    return reply(spoil=lambda pieces: [change(b"".join(pieces))])


def trickle(pieces: list[bytes]) -> Iterable[bytes]:
    return (bytes([byte]) for byte in b"".join(pieces))


def torn(pieces: list[bytes]) -> list[bytes]:
    *before, last = half(pieces)
    return [*before, last[:-20]]


def latin(data: bytes) -> bytes:
    return data.replace("ö".encode(), b"\xf6").replace(b"\\u00f6", b"\xf6")


FAULTS = {
    "closes before an answer": Fault(lambda _: say("", ending="drop"), "transport"),
    "resets before a byte": Fault(raw(b"", ending="reset"), "incomplete_stream", 2),
    "resets in mid-stream": Fault(
        reply(spoil=half, ending="reset", pause=0.01), "incomplete_stream", 2, partial=True
    ),
    "resets after the last delta": Fault(
        reply(ending="reset", pause=0.003), "incomplete_stream", 2, partial=True
    ),
    "ends in mid-stream": Fault(reply(spoil=half), "incomplete_stream", 2, partial=True),
    "ends after the last delta": Fault(reply(ending="cut"), "incomplete_stream", 2, partial=True),
    "ends inside a frame": Fault(reply(spoil=torn), "incomplete_stream", 2, partial=True),
    "stalls before a word": Fault(raw(b"", ending="stall"), "timeout"),
    "stalls in mid-stream": Fault(reply(spoil=half, ending="stall"), "timeout", partial=True),
    "trickles byte by byte": Fault(reply(spoil=trickle), None),
    "floods": Fault(reply(spoil=flood), "transport", partial=True),
    "sends a malformed frame": Fault(garbage, "server_error", partial=True),
    "sends no text": Fault(
        raw(bytes(range(256)) * 8), "incomplete_stream", 2, in_lines="server_error"
    ),
    "sends UTF-16": Fault(
        whole(lambda d: d.decode().encode("utf-16")),
        "incomplete_stream",
        2,
        in_lines="server_error",
    ),
    "sends Latin-1": Fault(whole(latin), None),
    "names another content type": Fault(
        reply(headers={"Content-Type": "application/octet-stream"}), None
    ),
    "sends a page": Fault(raw(PAGE, "text/html"), "server_error"),
    "sends a page, 502": Fault(raw(PAGE, "text/html", status=502), "server_error"),
    "sends nothing": Fault(raw(b""), "incomplete_stream", 2),
    "sends an error in the stream": Fault(failure, "server_error", partial=True),
    "400": Fault(refused(400), "invalid_request"),
    "401": Fault(refused(401), "authentication"),
    "403": Fault(refused(403), "permission"),
    "404": Fault(refused(404), "not_found"),
    "408": Fault(refused(408), "timeout"),
    "413": Fault(refused(413), "context_exceeded", why="blocked"),
    "429": Fault(refused(429, **WAIT), "rate_limit", 4),
    "500": Fault(refused(500), "server_error"),
    "502": Fault(refused(502), "server_error"),
    "503": Fault(refused(503, **WAIT), "overloaded", 4),
    "529": Fault(refused(529, **WAIT), "overloaded", 4),
}


@pytest.fixture(autouse=True)
def bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little patience and little room, so that no fault takes long."""
    monkeypatch.setattr("nodwyn_tui.providers.exchange.REPLY_LIMIT", MOST)
    monkeypatch.setattr("nodwyn_tui.providers.retry._FIRST_WAIT_S", 0.01)
    monkeypatch.setattr("random.random", lambda: 0.0)


def short_patience(rig: Rig) -> None:
    settings = rig.home / "config.toml"
    given = f"\n[servers.fake1.timeouts]\nfirst = {PATIENCE_S}\nidle = {PATIENCE_S}\n"
    settings.write_text(settings.read_text() + given)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda each: each.provider)
@pytest.mark.parametrize("name", FAULTS)
async def test_server_that(rig: Rig, name: str, protocol: type[FakeServer]) -> None:
    """REL-2, PRV-8, PRV-9: a typed error, no call twice, no text lost, and the session goes on."""
    fault = FAULTS[name].at(protocol.provider)
    bad = [fault.make(protocol.provider)] * fault.times
    with protocol([call(*RUNS), *bad, say("fine"), say("fine")]) as server:
        server.keep_alive = False  # a connection that ends while it is idle is no failure
        rig.configure(server, context=32_000, num_ctx=32_000)
        if name.startswith("stalls"):  # of any other a busy machine would make a timeout
            short_patience(rig)
        await rig.open(allow=("shell: *",))
        ended = await rig.ask("go")
        failed = rig.of(ev.LlmError)
        after = await rig.ask("and now?")
    assert server.violations == []
    assert [each.kind for each in failed] == [fault.kind] * (fault.times if fault.kind else 0)
    assert (after.why, after.text) == ("done", "fine")
    ran = (rig.workspace / "ran.txt").read_text().split()
    assert len(ran) == len(rig.of(ev.ToolCall)) == len(rig.of(ev.ToolResult))
    assert len({body.content for body in server.bodies[1 : fault.times + 1]}) == 1
    if fault.kind is None:
        assert (ended.why, len(ran)) == ("done", 2)
        text = next(part.text for part in rig.of(ev.LlmResponse)[1].parts if isinstance(part, Text))
        assert text == (TEXT.replace("ö", "\ufffd") if name == "sends Latin-1" else TEXT)
        return
    assert (ended.why, len(ran)) == (fault.why, 1)
    assert ended.message
    assert all(bool(each.partial) == fault.partial for each in failed)
    assert all(TEXT.startswith(each.partial) for each in failed if name != "floods")
    waits = [told.seconds for told in rig.told(up.RetryWaiting)]
    assert len(waits) == fault.times - 1
    assert all(seconds >= 0.02 for seconds in waits) or name != "429"
    told = [each.partial for each in rig.told(up.ReplyEnded) if each.partial]
    assert told == [each.partial for each in failed if each.partial]
    assert "Zw" not in server.bodies[-1].content.decode(), "only a whole reply stays"
