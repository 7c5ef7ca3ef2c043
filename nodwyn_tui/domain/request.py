"""The provider-neutral request: what every provider is asked, and what the digest covers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nodwyn_tui.domain.parts import ReplyPart, ResultPart, UserPart

Json = Any
"""A JSON value as `json.loads` gives it."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class UserRow:
    """A message of user role."""

    parts: tuple[UserPart, ...]
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class AssistantRow:
    """A reply, its parts in the order it had them."""

    parts: tuple[ReplyPart, ...]
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class ToolRow:
    """The result of one call."""

    call_id: str
    name: str
    is_error: bool
    parts: tuple[ResultPart, ...]
    role: Literal["tool"] = "tool"


Message = UserRow | AssistantRow | ToolRow


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `max_output` is the reply cap in tokens."""

    system: str
    tools: tuple[ToolSpec, ...]
    max_output: int
    messages: tuple[Message, ...]
