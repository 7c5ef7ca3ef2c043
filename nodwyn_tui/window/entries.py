"""The entries of a window: a message each, with the log line it came from and its size.

`estimate` is the one size rule of the engine (ENG-13): a token for three UTF-8 bytes of the
canonical JSON, rounded up per entry. An exact tokenizer never decides what a window holds.
"""

from dataclasses import dataclass
from typing import Literal

from nodwyn_tui.domain.canonical import canonical, message_value, tool_value
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.domain.request import AssistantRow, Message, ToolSpec

EntryKind = Literal["user", "attachment", "assistant", "result", "plan", "note", "summary"]
EntryState = Literal["in", "cut", "folded", "elided"]

BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the window. `batch` is the seq of the reply whose call a result answers;
    `whole` says of a reply that every call of it has its result.
    """

    seq: int
    kind: EntryKind
    message: Message
    tokens: int
    state: EntryState = "in"
    batch: int | None = None
    whole: bool = True

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of a reply, in order."""
        if not isinstance(self.message, AssistantRow):
            return ()
        return tuple(part for part in self.message.parts if isinstance(part, Call))


def size(data: bytes) -> int:
    """Tokens of some canonical JSON, rounded up."""
    return -(-len(data) // BYTES_PER_TOKEN)


def message_tokens(message: Message) -> int:
    """The estimate of one entry."""
    return size(canonical(message_value(message)))


def fixed_tokens(system: str, tools: tuple[ToolSpec, ...]) -> int:
    """The estimate of the system prompt and the whole catalogue: the prefix of every request."""
    return size(canonical(system)) + size(canonical([tool_value(tool) for tool in tools]))
