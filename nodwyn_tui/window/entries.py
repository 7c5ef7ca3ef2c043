"""The entries of a window: a message each, with the log line it came from and its size.

`estimate` is the one size rule of the engine (ENG-13): a token for three UTF-8 bytes of the
canonical JSON, rounded up per entry. An exact tokenizer never decides what a window holds.
"""

from dataclasses import dataclass
from typing import Literal

from nodwyn_tui.domain.canonical import canonical, message_value, sha256, tool_value
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.domain.request import AssistantRow, Message, ToolSpec

EntryKind = Literal["user", "assistant", "result", "plan", "note"]
EntryState = Literal["in", "cut", "elided"]

BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a prompt in the order servers read it: the system text, the catalogue, a message.

    Held as digest and length in bytes, so that remembering a request costs nothing in its size.
    """

    digest: str
    length: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the window, with its canonical JSON and what follows from that. `batch` is the
    seq of the reply whose call a result answers; `whole` says of a reply and its results that every
    call of it has its result.
    """

    seq: int
    kind: EntryKind
    message: Message
    data: bytes
    tokens: int
    piece: Piece
    state: EntryState = "in"
    batch: int | None = None
    whole: bool = True

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of a reply, in order."""
        if not isinstance(self.message, AssistantRow):
            return ()
        return tuple(part for part in self.message.parts if isinstance(part, Call))


def entry(
    seq: int,
    kind: EntryKind,
    message: Message,
    *,
    state: EntryState = "in",
    batch: int | None = None,
    whole: bool = True,
) -> Entry:
    """The entry of a message, encoded once and for all."""
    data = canonical(message_value(message))
    return Entry(seq, kind, message, data, size(data), piece_of(data), state, batch, whole)


def piece_of(data: bytes) -> Piece:
    """Some canonical JSON as a piece of a prompt."""
    return Piece(sha256(data), len(data))


def size(data: bytes) -> int:
    """Tokens of some canonical JSON, rounded up."""
    return -(-len(data) // BYTES_PER_TOKEN)


def message_tokens(message: Message) -> int:
    """The estimate of one entry."""
    return size(canonical(message_value(message)))


def fixed_tokens(system: str, tools: tuple[ToolSpec, ...]) -> int:
    """The estimate of the system prompt and the whole catalogue: the prefix of every request."""
    return sum(size(data) for data in fixed_parts(system, tools))


def fixed_parts(system: str, tools: tuple[ToolSpec, ...]) -> tuple[bytes, bytes]:
    """The canonical JSON of the system prompt and of the catalogue."""
    return canonical(system), canonical([tool_value(tool) for tool in tools])
