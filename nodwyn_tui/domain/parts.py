"""The parts that messages are made of. Values without identity: two equal parts are equal."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text of a user, assistant or tool message.

    `phase` is what some models call a message of theirs (`commentary`, `final_answer`), and goes
    back with it.
    """

    text: str
    phase: str | None = field(default=None, metadata={"omit_none": True})
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Thinking:
    """A reply's reasoning as readable text; goes back with its reply (ENG-20)."""

    text: str
    type: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its digest; the pixels never enter the log (ENG-12 recipe)."""

    sha256: str
    mime: str
    width: int
    height: int
    type: Literal["image"] = "image"


@dataclass(frozen=True, slots=True)
class Block:
    """Opaque reasoning, byte for byte as a provider gave it; goes back to `origin` only (ENG-20).

    `block` names its kind (`thinking`, `redacted_thinking`, `reasoning`, `reasoning_details`).
    """

    block: str
    origin: str
    data: str
    type: Literal["block"] = "block"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `id` is unique in the session; `arguments` is the text the model gave.

    `provider_id` is the id as the provider sent it where ours replaced it; it stands in the log
    only, never in the request.
    """

    id: str
    name: str
    arguments: str
    provider_id: str | None = field(default=None, metadata={"omit_none": True})
    type: Literal["call"] = "call"


UserPart = Text | Image
ReplyPart = Thinking | Block | Text | Call
ResultPart = Text | Image
