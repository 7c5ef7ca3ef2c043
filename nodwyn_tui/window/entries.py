"""The entries of a window: a message each, with the log line it came from and its size.

The size rule of the engine stands here (ENG-13): a token for three UTF-8 bytes of the canonical
JSON, rounded up per entry. An exact tokenizer never decides what a window holds.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from nodwyn_tui.domain.canonical import message_bytes, system_bytes, tools_bytes
from nodwyn_tui.domain.parts import Block
from nodwyn_tui.domain.request import AssistantRow, Message, ToolSpec

EntryKind = Literal[
    "user",
    "attachment",
    "warning",
    "assistant",
    "result",
    "plan",
    "note",
    "handover",
    "summary",
    "fresh",
]
EntryState = Literal["in", "cut", "folded", "elided"]

BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the window; `data` is its canonical JSON, made once, from which size, digest and
    prefix all follow. `batch` is the seq of the reply whose call a result answers; `whole` says of
    a reply and its results that every call has one; `label` is what stays of an image
    when it goes, and the kind of a fresh row.
    """

    seq: int
    kind: EntryKind
    message: Message
    data: bytes = field(repr=False, compare=False)
    tokens: int
    state: EntryState = "in"
    batch: int | None = None
    whole: bool = True
    label: str = ""

    @property
    def has_blocks(self) -> bool:
        """Whether opaque blocks go back with it."""
        return isinstance(self.message, AssistantRow) and any(
            isinstance(part, Block) for part in self.message.parts
        )


def make(  # noqa: PLR0913 - an entry's own fields, without what follows from its message
    seq: int,
    kind: EntryKind,
    message: Message,
    *,
    pixels: int = 0,
    state: EntryState = "in",
    batch: int | None = None,
    whole: bool = True,
    label: str = "",
) -> Entry:
    """An entry; `pixels` is what its images count, in tokens, as their records say."""
    data = message_bytes(message)
    return Entry(seq, kind, message, data, size(data) + pixels, state, batch, whole, label)


def remade(entry: Entry, message: Message, state: EntryState | None = None) -> Entry:
    """The entry with another message, without images, in its place."""
    data = message_bytes(message)
    return replace(entry, message=message, data=data, tokens=size(data), state=state or entry.state)


def size(data: bytes) -> int:
    """Tokens of some canonical JSON, rounded up."""
    return -(-len(data) // BYTES_PER_TOKEN)


def message_tokens(message: Message) -> int:
    """The estimate of one entry."""
    return size(message_bytes(message))


def fixed_tokens(system: str, tools: tuple[ToolSpec, ...]) -> int:
    """The estimate of the system prompt and the whole catalogue: the prefix of every request."""
    return size(system_bytes(system)) + size(tools_bytes(tools))
