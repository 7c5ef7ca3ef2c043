"""How many tokens a request comes to for the model that it goes to: by a real tokenizer where the
model has one that is known, else by the engine's estimate and what the server counted before
(ROL-6, TUI-16). What a window holds is never decided here.

Counted are the system prompt, the catalogue and all that messages say, by the encoding; the JSON
between the strings of the catalogue, and what is escaped in them, at a token a byte; `FRAME` for
each message and each part of one; images as their records say; `REQUEST` once. Opaque reasoning
counts by its size: the server opens it, and what is in it has other tokens than its seal.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from threading import Lock
from typing import Literal, Protocol

from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain.canonical import message_bytes, system_bytes, tool_value, tools_bytes
from nodwyn_tui.domain.parts import Block, Call, Image, ReplyPart, ResultPart, UserPart
from nodwyn_tui.domain.request import Json, Message, ToolRow, ToolSpec
from nodwyn_tui.providers.calls import arguments_text
from nodwyn_tui.providers.encodings import EncodingName, encoding_for
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.entries import fixed_tokens, message_tokens, size

Means = Literal["tokenizer", "bytes", "estimate"]

FRAME = 8
"""What a model's format writes around a message, and around each of its parts, in tokens."""
REQUEST = 32
"""What it writes around a whole request, and what a protocol puts before the first reply."""
HELD = 8 * 2**20
"""The bytes of messages whose counts are remembered; as many from before are not forgotten yet."""


class Tokenizer(Protocol):
    """Counts a text: never more tokens than the text has bytes."""

    def count(self, text: str) -> int: ...


Load = Callable[[EncodingName], Tokenizer | None]
"""The tokenizer of an encoding; `None` where it cannot be had."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens, and how they were got: by a tokenizer; a token a byte, the most that there can be,
    where its table is damaged; or by the estimate.
    """

    tokens: int
    how: Means


class _Bytes:
    """In the place of a tokenizer that cannot be had: the most that there can be."""

    def count(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))


class _Ruler:
    """Counts by one tokenizer, each piece of a request once: a step costs what is new (PERF-4)."""

    def __init__(self, tokenizer: Tokenizer | None) -> None:
        self.how: Means = "bytes" if tokenizer is None else "tokenizer"
        self._tokenizer = tokenizer or _Bytes()
        self._recent: dict[bytes, int] = {}
        self._older: dict[bytes, int] = {}
        self._held = 0
        self._lock = Lock()  # the first count of a long window may be made in a thread

    def window(self, window: Window) -> int:
        """A whole request's tokens."""
        system, tools = window.tape.head
        with self._lock:
            total = REQUEST + self._prefix(
                window.request.system, window.request.tools, system, tools
            )
            for entry in window.entries:
                total += self._row(entry.message, entry.data) + entry.tokens - size(entry.data)
            return total

    def prefix(self, system: str, tools: tuple[ToolSpec, ...]) -> int:
        with self._lock:
            known = self._prefix(system, tools, system_bytes(system), tools_bytes(tools))
            return REQUEST + known

    def row(self, message: Message) -> int:
        with self._lock:
            return self._row(message, message_bytes(message))

    def _prefix(self, system: str, tools: Sequence[ToolSpec], key: bytes, tools_key: bytes) -> int:
        count = self._tokenizer.count
        return self._once(key, lambda: count(system)) + self._once(
            tools_key, lambda: _json([tool_value(tool) for tool in tools], tools_key, count)
        )

    def _row(self, message: Message, key: bytes) -> int:
        return self._once(key, lambda: self._said(message))

    def _said(self, message: Message) -> int:
        frames = FRAME * (1 + len(message.parts))
        sealed = sum(size(part.data.encode()) for part in message.parts if isinstance(part, Block))
        return frames + sealed + sum(map(self._tokenizer.count, _texts(message)))

    def _once(self, key: bytes, count: Callable[[], int]) -> int:
        """What is counted already is looked up by its canonical JSON, whose hash Python keeps."""
        known = self._recent.get(key)
        if known is not None:
            return known
        known = self._older.get(key)
        self._recent[key] = known = count() if known is None else known
        self._held += len(key)
        if self._held > HELD:
            self._older, self._recent, self._held = self._recent, {}, 0
        return known


@dataclass(frozen=True, slots=True)
class Scale:
    """Measures requests to one model. `share` is the server's own count of a prompt over our
    estimate of it, which tells what the estimate is worth; a tokenizer needs none.
    """

    encoding: EncodingName | None
    share: float
    ruler: Callable[[EncodingName], _Ruler]

    def window(self, window: Window) -> Counted:
        """What a request comes to: what the model is shown of it, with a margin."""
        if self.encoding is None:
            return self._estimated(window.estimate)
        ruler = self.ruler(self.encoding)
        return Counted(ruler.window(window), ruler.how)

    def over(self, window: Window, ceiling: int) -> Counted | None:
        """What a request comes to that is over the ceiling; `None` where it fits. Counts nothing,
        and loads no tokenizer, where as many tokens as bytes would fit.
        """
        if self.surely_fits(window, ceiling):
            return None
        counted = self.window(window)
        return counted if counted.tokens > ceiling else None

    def line(self, window: Window, ceiling: int) -> int:
        """The ceiling in the tokens of the engine's estimate, by which it trims: what of them a
        window that is parted as this one would have there.
        """
        if self.encoding is None:
            return int(ceiling / self.share)
        return ceiling * window.estimate // max(self.window(window).tokens, 1)

    def prefix(self, system: str, tools: tuple[ToolSpec, ...]) -> Counted:
        """What every request has: the system prompt and the catalogue."""
        if self.encoding is None:
            return self._estimated(fixed_tokens(system, tools))
        ruler = self.ruler(self.encoding)
        return Counted(ruler.prefix(system, tools), ruler.how)

    def row(self, message: Message, pixels: int = 0) -> Counted:
        """What a message adds to a request; `pixels` is what its images count, in tokens."""
        if self.encoding is None:
            return self._estimated(message_tokens(message) + pixels)
        ruler = self.ruler(self.encoding)
        return Counted(ruler.row(message) + pixels, ruler.how)

    def surely_fits(self, window: Window, ceiling: int) -> bool:
        """Whether a request fits by whatever way of counting is the model's, known at a glance."""
        if self.encoding is None:
            return window.estimate * self.share <= ceiling
        return _most(window) <= ceiling

    async def prepare(self, window: Window, ceiling: int) -> None:
        """Has done what `over` needs: a tokenizer's first second, and that of a long window, are
        spent in a thread. It works without, and then they are spent where it is called.
        """
        if self.encoding is not None and not self.surely_fits(window, ceiling):
            await asyncio.to_thread(self.window, window)

    def _estimated(self, estimate: int) -> Counted:
        return Counted(ceil(estimate * self.share), "estimate")


class Counting:
    """The tokenizers of this process, and what they counted, for all its sessions."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._rulers: dict[EncodingName, _Ruler] = {}
        self._lock = Lock()

    def scale(self, target: Target, share: float) -> Scale:
        """What measures requests to a target."""
        return Scale(encoding_for(target.ref.id, local=target.is_local), share, self._ruler)

    def _ruler(self, name: EncodingName) -> _Ruler:
        with self._lock:
            if name not in self._rulers:
                self._rulers[name] = _Ruler(self._load(name))
            return self._rulers[name]


def _most(window: Window) -> int:
    """More tokens no count of a request has: one for each byte of its canonical JSON, which holds
    more around a part than `FRAME`, and those of its images: the estimate has a third of the bytes
    besides these.
    """
    size_ = window.trail[-1].end
    return size_ + window.estimate - size_ // 3 + REQUEST


def _texts(message: Message) -> Iterator[str]:
    """All that a message says, as it is sent. An image says nothing, whatever a text looks like,
    and sealed reasoning nothing that can be read.
    """
    if isinstance(message, ToolRow):
        yield message.call_id
        yield message.name
    for part in message.parts:
        yield from _texts_of(part)


def _texts_of(part: UserPart | ReplyPart | ResultPart) -> Iterator[str]:
    match part:
        case Image() | Block():
            pass
        case Call():
            yield part.id
            yield part.name
            yield arguments_text(part.arguments)
        case _:
            yield part.text


def _json(value: Json, data: bytes, count: Callable[[str], int]) -> int:
    """The tokens of a JSON value, whose canonical JSON is `data`: its strings by the encoding, all
    else, the escapes too, at a token a byte, since a server may lay it out in its own way.
    """
    strings = list(_strings(value))
    return sum(map(count, strings)) + len(data) - sum(len(text.encode()) for text in strings)


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield key
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:
            pass
