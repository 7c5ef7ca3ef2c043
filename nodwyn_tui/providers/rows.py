"""What a row of the request says in plain text, the same for every protocol that takes strings.

Nothing blank is ever sent: servers refuse it, and a session that holds it would be dead (C17).
"""

from collections.abc import Sequence

from nodwyn_tui.domain.canonical import plain
from nodwyn_tui.domain.parts import Call, ReplyPart, Text, Thinking, UserPart
from nodwyn_tui.domain.request import AssistantRow, Json, Message, ToolSpec, UserRow

NO_OUTPUT = "(no output)"
NO_TEXT = "(no text)"
NO_ANSWER = "(no answer)"
OPENING = UserRow((Text("(The conversation so far follows.)"),))
"""Stands first where the window begins with a reply, since servers want a user's message (C11)."""


def opened(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, the first of them a user's."""
    if messages and isinstance(messages[0], UserRow):
        return tuple(messages)
    return (OPENING, *messages)


def said(parts: Sequence[UserPart], otherwise: str) -> str:
    """The text of a user's message or a result. Images go beside it (`images.py`)."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    return "\n\n".join(text for text in texts if text.strip()) or otherwise


def answered(row: AssistantRow) -> str:
    """The text of a reply, '' if it has none and stands for its calls, else a short note."""
    text = _joined(row.parts, Text)
    return text or ("" if calls_of(row) else NO_ANSWER)


def thought(row: AssistantRow) -> str:
    """The readable thinking of a reply, '' if it has none."""
    return _joined(row.parts, Thinking)


def calls_of(row: AssistantRow) -> list[Call]:
    """The calls of a reply, in order."""
    return [part for part in row.parts if isinstance(part, Call)]


def function_tool(tool: ToolSpec) -> Json:
    """A tool in the shape that chat completions began and Ollama took over."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": plain(tool.parameters),
        },
    }


def _joined(parts: Sequence[ReplyPart], kind: type[Text | Thinking]) -> str:
    texts = [part.text for part in parts if isinstance(part, kind)]
    return "\n\n".join(text for text in texts if text.strip())
