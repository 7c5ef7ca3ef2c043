"""What can be read back of an event, as text: what the person, the model and its tools said. Left
out are the program's own rows, rejected messages, reasoning, bytes of images, and pages of history
(ROL-11).
"""

from dataclasses import dataclass

from nodwyn_tui.domain.events import (
    AttachImage,
    Event,
    GatePlan,
    LlmResponse,
    ToolCall,
    ToolResult,
    UserMessage,
)
from nodwyn_tui.domain.parts import Call, Text

HISTORY_TOOL = "session_history"
IMAGE = "[image]"
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Item:
    """The text of an event, and whose it is; `calls` are the ids of a reply's calls in it."""

    kind: str
    text: str
    calls: tuple[str, ...] = ()


def item_of(event: Event) -> Item | None:
    """What can be read back of an event; `None` if nothing can. A reply bears its calls too."""
    match event:
        case LlmResponse():
            calls = [
                part for part in event.parts if isinstance(part, Call) and part.name != HISTORY_TOOL
            ]
            lines = (*_said(event), *(f"{call.name} {call.arguments}" for call in calls))
            ids = tuple(call.id for call in calls)
            return Item("assistant", "\n".join(lines), ids) if lines else None
        case _:
            return found_in(event)


def found_in(event: Event) -> Item | None:  # noqa: PLR0911 - one line a kind of event
    """What of an event can be searched for, which its item begins with; `None` if nothing can. A
    call is found where it was made, not in its reply.
    """
    match event:
        case UserMessage(rejected=False):
            return Item("user's shell" if event.via == "shell" else "user", event.text)
        case LlmResponse():
            said = _said(event)
            return Item("assistant", "\n".join(said)) if said else None
        case ToolCall() if event.name != HISTORY_TOOL:
            text = f"{event.name} {event.arguments}"
            return Item(f"call of {_named(event.name)}", text, (event.call_id,))
        case ToolResult() if event.name != HISTORY_TOOL:
            kind = "failed result" if event.is_error else "result"
            images = [IMAGE] * len(event.images)
            return Item(f"{kind} of {_named(event.name)}", "\n".join([event.text, *images]))
        case GatePlan():
            return Item("plan", event.text)
        case AttachImage():
            return Item("image", f"{IMAGE} {event.name} ({event.width}x{event.height})")
        case _:
            return None


def _said(event: LlmResponse) -> list[str]:
    return [part.text for part in event.parts if isinstance(part, Text)]


def _named(name: str) -> str:
    """A tool's name as a header can bear it."""
    return " ".join(name.split())[:_LONGEST_NAME].replace("]", ")")
