"""As much of HTTP/1.1 as the tour's server needs: one request a connection, answers in chunks."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 64 * 1024 * 1024


class BadRequestError(Exception):
    """Not a request that this server takes; `status` is the answer's."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request's method, its path without a query, and its body."""

    method: str
    path: str
    body: bytes

    def json(self) -> Mapping[str, Any]:
        """The body as a JSON object; `BadRequestError` if it is none."""
        try:
            value = json.loads(self.body)
        except ValueError as error:
            raise BadRequestError(HTTPStatus.BAD_REQUEST, f"invalid JSON: {error}") from error
        if not isinstance(value, dict):
            raise BadRequestError(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
        return value


async def read_request(reader: asyncio.StreamReader) -> HttpRequest:
    """The connection's request. Raises `BadRequestError`, or `EOFError` if the other side left."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise BadRequestError(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too long"
        ) from error
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3:
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "not an HTTP request")
    headers = dict(_header(line) for line in lines)
    body = await _read_body(reader, headers)
    return HttpRequest(words[0], words[1].partition("?")[0], body)


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "transfer-encoding" in headers:
        raise BadRequestError(HTTPStatus.LENGTH_REQUIRED, "send the body with a Content-Length")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > BODY_LIMIT:
        raise BadRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is too long")
    return await reader.readexactly(int(length))


class Answer:
    """The answer to one request. Sends JSON at once, or line by line as chunks."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, status: HTTPStatus, value: Mapping[str, Any]) -> None:
        """A whole answer."""
        body = json.dumps(value, ensure_ascii=False).encode()
        self._head(status, "application/json", f"Content-Length: {len(body)}")
        self._writer.write(body)
        await self._writer.drain()

    def start_lines(self) -> None:
        """Begins a stream of NDJSON lines."""
        self._head(HTTPStatus.OK, "application/x-ndjson", "Transfer-Encoding: chunked")

    async def line(self, value: Mapping[str, Any]) -> None:
        """One line of the stream; `ConnectionError` once nobody listens."""
        data = json.dumps(value, ensure_ascii=False).encode() + b"\n"
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def end_lines(self) -> None:
        """Ends the stream: without this the other side knows that it was cut off."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def _head(self, status: HTTPStatus, kind: str, framing: str) -> None:
        self._writer.write(
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n{framing}\r\n"
            "Connection: close\r\n\r\n".encode("latin-1")
        )
