"""What a fake model server answers, one item a request, the same for every protocol."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Ending = Literal["done", "cut", "reset", "stall", "drop"]
"""How an answer ends: with its terminal event, without it, by a connection reset, never, or before
it began, by closing the connection.
"""


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call; `arguments` is text as the model wrote it; without `id` the server names it."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True)
class Say:
    """A reply. `finish` None: what the protocol says for it. `usage`: True counts as the real
    server does, False sends none, a mapping is sent as it is. `piece` is the characters a chunk,
    `pause` the seconds between two chunks, `gate` what the reply waits for. `spoil` makes other
    bytes of the protocol's own, piece by piece; `headers` are added to them.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: str | None = None
    usage: bool | Mapping[str, Any] = True
    ending: Ending = "done"
    piece: int = 12
    pause: float = 0.0
    gate: threading.Event | None = None
    spoil: Callable[[list[bytes]], Iterable[bytes]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, cut at `cuts` with `pause` seconds between the pieces."""

    body: bytes
    content_type: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cuts: tuple[int, ...] = ()
    pause: float = 0.0
    ending: Ending = "done"
    gate: threading.Event | None = None


Item = Say | Raw
Script = Item | Callable[[Mapping[str, Any]], Item]
"""An item, or what makes one of the request's body."""


def say(text: str, **more: Any) -> Say:
    """A reply of text."""
    return Say(text, **more)


def call(name: str, arguments: Any = None, *, id: str | None = None, **more: Any) -> Say:
    """A reply of one call; `arguments` is an object, or the text itself."""
    return calls((name, arguments), **more) if id is None else _with_id(name, arguments, id, more)


def calls(*wanted: tuple[str, Any], **more: Any) -> Say:
    """A reply of several calls, each a name and its arguments."""
    return Say(calls=tuple(ScriptedCall(name, _text(given)) for name, given in wanted), **more)


def error(status: int, body: Any, *, headers: Mapping[str, str] | None = None) -> Raw:
    """A refusal; `body` is JSON, or text that goes as it is."""
    is_text = isinstance(body, str | bytes)
    data = body if isinstance(body, bytes) else (body if is_text else json.dumps(body)).encode()
    kind = "text/plain" if is_text else "application/json"
    return Raw(data, content_type=kind, status=status, headers=headers or {})


def cut(item: Say) -> Say:
    """The same reply, its stream ended without the terminal event."""
    return replace(item, ending="cut")


def _with_id(name: str, arguments: Any, id_: str, more: Mapping[str, Any]) -> Say:
    return Say(calls=(ScriptedCall(name, _text(arguments), id_),), **more)


def _text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False)
