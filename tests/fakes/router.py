"""A router in front of replicas of one model, as a cluster has it: a session's header picks the
replica, else each request goes to the next one in turn.
"""

import http.client
from urllib.parse import urlsplit

from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Raw
from tests.fakes.server import FakeServer, Received


class Router(FakeServer):
    """`with ChatServer(…) as one, ChatServer(…) as two, Router([one, two], "X-Route") as router:`

    Replicas are started by the test; each has a cache of its own, and keeps what it received.
    """

    def __init__(self, replicas: list[ChatServer], header: str) -> None:
        super().__init__()
        self.model = replicas[0].model
        self._replicas, self._header = replicas, header.lower()
        self._turn = 0

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def answer(self, request: Received) -> Raw:
        if request.method == "GET":
            return self._forwarded(request, self._replicas[0])
        return self._forwarded(request, self._replica(request.headers.get(self._header, "")))

    def _replica(self, session: str) -> ChatServer:
        if session:
            return self._replicas[sum(session.encode()) % len(self._replicas)]
        with self._lock:
            self._turn += 1
        return self._replicas[self._turn % len(self._replicas)]

    def _forwarded(self, request: Received, replica: ChatServer) -> Raw:
        place = urlsplit(replica.root)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
        headers = {"Content-Type": "application/json"}
        connection.request(request.method, request.path, request.content or None, headers)
        answer = connection.getresponse()
        kind = answer.headers["Content-Type"]
        try:
            return Raw(answer.read(), content_type=kind, status=answer.status)
        finally:
            connection.close()
