"""A proxy on the loopback that knows one server by every name: plain requests, tunnels, SOCKS5."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass
class Proxy:
    """`async with Proxy(port) as proxy: ...`: whatever is asked for is at `port` of this machine.

    `heads` are what it was sent, head by head; `wanted` is the `Proxy-Authorization` that it asks
    for, '' for none; a `mute` one takes connections and says nothing.
    """

    port: int
    wanted: str = ""
    mute: bool = False
    heads: list[str] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    @property
    def place(self) -> str:
        """Host and port."""
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if self.mute:
                await reader.read()
                return
            first = await reader.readexactly(1)
            if first == b"\x05":
                await self._socks(reader, writer)
                return
            head = first + await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode("latin-1"))
            if self.wanted and f"Proxy-Authorization: {self.wanted}" not in self.heads[-1]:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                await writer.drain()
            else:
                await self._pass_on(head, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            await _closed(writer)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Without authentication; a name is not looked up."""
        (methods,) = await reader.readexactly(1)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        *_, length = await reader.readexactly(5)
        self.heads.append((await reader.readexactly(length + 2))[:-2].decode("latin-1"))
        writer.write(b"\x05\x00\x00\x01" + b"\0" * 6)
        await self._joined(b"", reader, writer)

    async def _pass_on(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await self._joined(b"", reader, writer)
        else:
            method, url, rest = head.split(b" ", 2)
            path = b"/" + url.split(b"/", 3)[3]
            await self._joined(b" ".join((method, path, rest)), reader, writer)

    async def _joined(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Passes everything on, both ways, until one side leaves."""
        back, there = await asyncio.open_connection("127.0.0.1", self.port)
        there.write(first)
        ways = [
            asyncio.create_task(_copied(reader, there)),
            asyncio.create_task(_copied(back, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await _closed(there)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _copied(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        to.write(data)
        await to.drain()
