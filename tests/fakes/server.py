"""A scripted HTTP server on loopback, in a thread: what all fakes of model servers share."""

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any, ClassVar, Self

from tests.fakes.script import Ending, Item, Raw, Say, Script

LONGEST_STALL_S = 30.0


@dataclass(frozen=True)
class Received:
    """A request as it came; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes
    body: Any


class FakeServer:
    """Used as a context manager.

    `bodies` are the model requests as they came, `requests` all of them; `connections` counts how
    often a client connected; `violations` is what a real server would have refused, and a test
    asserts it empty. Past its script a server refuses, unless `repeat` keeps the last item.
    """

    provider: ClassVar[str] = "openai"
    """The protocol, as a server's entry names it."""
    chat_path = ""
    stream_type = ""
    started: ClassVar[list["FakeServer"]] = []
    """Every server that the running test started."""

    def __init__(
        self, script: Sequence[Script] = (), *, repeat: bool = False, host: str = "127.0.0.1"
    ) -> None:
        self.script = list(script)
        self.repeat = repeat
        self.requests: list[Received] = []
        self.bodies: list[Received] = []
        self.violations: list[str] = []
        self.reads: list[tuple[int, int]] = []
        """Prompt and cached tokens of each model request that was answered."""
        self.connections = 0
        self.keep_alive = True
        """Whether a connection serves another request."""
        self.asked, self.hung_up = threading.Event(), threading.Event()
        """A model request came; the client of one went away before its end."""
        self._host = host
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self.here = threading.local()
        """What belongs to the request that this thread answers; `number` counts model requests."""
        self._httpd = _httpd(host, self)
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self.started.append(self)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._httpd.shutdown()
        self._httpd.server_close()
        self._thread.join(5)

    @property
    def root(self) -> str:
        """The server's address without a path."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._httpd.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What goes into `base_url`."""
        return self.root

    def answer(self, request: Received) -> Item | tuple[int, Any]:
        """An item to stream, or a status and JSON."""
        if request.method == "POST" and request.path == self.chat_path:
            return self.chat(request)
        return self.listing(request) or (404, {"error": f"no such path: {request.path}"})

    def chat(self, request: Received) -> Item | tuple[int, Any]:
        """Checks a model request, then takes the next item of the script."""
        raise NotImplementedError

    def listing(self, request: Received) -> tuple[int, Any] | None:
        """The other endpoints."""
        raise NotImplementedError

    def render(self, item: Say, body: Mapping[str, Any]) -> Iterable[bytes]:
        """A reply in this protocol's bytes, piece by piece."""
        raise NotImplementedError

    def next_item(self, body: Mapping[str, Any]) -> Item | None:
        """The script's next item, `None` past its end."""
        with self._lock:
            if not self.script:
                return None
            item = self.script[0] if self.repeat and len(self.script) == 1 else self.script.pop(0)
        return item(body) if callable(item) else item

    def take(self, request: Received) -> Item | tuple[int, Any]:
        """Records a request and answers it."""
        with self._lock:
            self.requests.append(request)
            if request.path == self.chat_path:
                self.bodies.append(request)
                self.here.number = len(self.bodies)
                self.asked.set()
        return self.answer(request)

    def wait_for_hang_up(self, connection: socket.socket) -> None:
        """Until the client closes, or the server stops."""
        ends = time.monotonic() + LONGEST_STALL_S
        while not self._stopping.is_set() and time.monotonic() < ends:
            if select.select([connection], [], [], 0.02)[0] and not _peek(connection):
                self.hung_up.set()
                return

    def is_open(self, gate: threading.Event | None, connection: socket.socket) -> bool:
        """Waits for a gate; False if the client left first."""
        while gate is not None and not gate.wait(0.02):
            if self._stopping.is_set():
                return False
            if select.select([connection], [], [], 0)[0] and not _peek(connection):
                self.hung_up.set()
                return False
        return True


def _peek(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return b""


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces of `size` characters."""
    return (text[start : start + size] for start in range(0, len(text), size))


def _httpd(host: str, fake: FakeServer) -> ThreadingHTTPServer:
    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away is no news."""

    class Handler(_Handler):
        server_fake = fake

    return Server((host, 0), Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # small pieces would wait 40 ms for the acknowledgement each
    server_fake: FakeServer

    def setup(self) -> None:
        super().setup()
        self.server_fake.connections += 1

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        content = self.rfile.read(length)
        if len(content) < length:  # the client left before it had sent its request
            self.server_fake.hung_up.set()
            self.close_connection = True
            return
        self._serve(content)

    def _serve(self, content: bytes) -> None:
        try:
            body = json.loads(content) if content else None
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.command, self.path, headers, content, body)
        answer = self.server_fake.take(request)
        if isinstance(answer, tuple):
            status, value = answer
            answer = Raw(json.dumps(value).encode(), "application/json", status)
        if answer.ending == "drop" or not self.server_fake.is_open(answer.gate, self.connection):
            self.close_connection = True
            return
        try:
            self._write(answer, body)
        except ConnectionError:
            self.server_fake.hung_up.set()
            self.close_connection = True

    def _write(self, answer: Item, body: Any) -> None:
        if isinstance(answer, Raw):
            self._raw(answer)
        else:
            parts = self.server_fake.render(answer, body)
            if answer.spoil is not None:
                parts = answer.spoil(list(parts))
            headers = {"Content-Type": self.server_fake.stream_type, **answer.headers}
            self._stream(200, headers, parts, answer)

    def _raw(self, item: Raw) -> None:
        kind = item.content_type or self.server_fake.stream_type
        edges = [0, *item.cuts, len(item.body)]
        parts = [item.body[a:b] for a, b in pairwise(edges) if b > a]
        self._stream(item.status, {"Content-Type": kind, **item.headers}, parts, item)

    def _stream(
        self, status: int, headers: Mapping[str, str], parts: Iterable[bytes], item: Item
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if not self.server_fake.keep_alive:
            self.send_header("Connection", "close")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in filter(None, parts):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            if item.pause:
                time.sleep(item.pause)
        self._finish(item.ending)

    def _finish(self, ending: Ending) -> None:
        if ending in {"done", "cut"}:
            self.wfile.write(b"0\r\n\r\n")
            return
        self.close_connection = True
        if ending == "stall":
            self.server_fake.wait_for_hang_up(self.connection)
        else:
            hard = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, hard)
            self.connection.close()
