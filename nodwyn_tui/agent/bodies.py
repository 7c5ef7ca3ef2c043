"""What an entry of the transcript says in full, from its event alone."""

import json
from collections.abc import Mapping

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.domain.deltas import Finish
from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.domain.parts import Text, Thinking
from nodwyn_tui.domain.request import Message
from nodwyn_tui.errors import kind_words
from nodwyn_tui.link import events as up
from nodwyn_tui.window import rows

NO_ANSWER: Mapping[Finish, str] = {
    "length": "The model used its whole reply length and gave no answer. Send a message to go on,"
    " or raise max_output.",
    "stop": "The model ended its reply without an answer. Send a message to go on.",
    "filtered": "The provider withheld the reply (content filter).",
}
CUT = "The reply was cut at its length limit. Send a message to go on, or raise max_output."

FIGURES: Mapping[str, str] = {
    "message": "the message",
    "least": "the least request with it",
    "estimate": "the request",
    "tokens": "the request",
    "fixed": "system prompt and tools",
    "prefix": "system prompt and tools",
    "ceiling": "a request may have",
    "context": "the model's context",
}
"""What the figures of a `budget.blocked` are of."""


def body_of(kind: up.EntryKind, event: ev.Event, result: ev.ToolResult | None) -> up.Body:
    """The full text of an entry."""
    if isinstance(event, ev.ToolCall):
        return up.Body(
            text=result.text if result else "",
            arguments=_pretty(event.arguments),
            diff=call_diff(event.name, event.arguments),
        )
    if isinstance(event, ev.LlmResponse):
        return up.Body(text=thinking_of(event) if kind == "thinking" else _answer(event))
    if isinstance(event, ev.WindowLeadIn | ev.BudgetWarning):
        return up.Body(text=_said(rows.guidance(event).message))
    return up.Body(text=_plain_text(event))


def _plain_text(event: ev.Event) -> str:
    match event:
        case ev.UserMessage() | ev.Note() | ev.GatePlan():
            return event.text
        case ev.AttachImage():
            times = "\N{MULTIPLICATION SIGN}"
            return f"{event.width}{times}{event.height} · {event.mime} · {event.bytes:,} bytes"
        case ev.LlmError():
            return _error_text(event)
        case ev.BudgetBlocked():
            return _blocked_text(event)
        case ev.SessionRecovered():
            return _recovered_text(event)
        case _:
            return ""


def _answer(event: ev.LlmResponse) -> str:
    text = text_of(event)
    if not text.strip():
        return NO_ANSWER.get(event.finish, "")
    return f"{text}\n\n*{CUT}*" if event.finish == "length" else text


def _error_text(event: ev.LlmError) -> str:
    status = f" [{event.status}]" if event.status else ""
    lines = [f"{kind_words(event.kind)}{status}: {event.message}"]
    if event.remedy:
        lines.append(event.remedy)
    if event.retry_in_s is not None:
        wait = f"after {event.retry_in_s:.0f} s" if event.retry_in_s else "at once"
        lines.append(f"asked again {wait}")
    if event.partial:
        lines.append(f"What had come, not kept in the window:\n{event.partial}")
    return "\n".join(lines)


def _blocked_text(event: ev.BudgetBlocked) -> str:
    """Why, the figures that the reason does not name already, and what can be done."""
    found = ((words, event.figures.get(name)) for name, words in FIGURES.items())
    figures = [
        f"{words} {tokens(value)}"
        for words, value in found
        if isinstance(value, int) and f"{value:,}" not in event.reason
    ]
    lines = [f"nothing was sent: {event.reason}"]
    if figures:
        lines.append(f"{' · '.join(figures)} tokens")
    return "\n".join([*lines, *(f"· {how}" for how in event.remedies)])


def _said(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, Text))


def _recovered_text(event: ev.SessionRecovered) -> str:
    lost = f"; lost events: {', '.join(map(str, event.missing))}" if event.missing else ""
    return (
        f"The session's log was damaged. {event.bytes:,} bytes were set aside into"
        f" {event.side_file}{lost}. Everything else was kept and is used."
    )


def _pretty(arguments: str) -> str:
    value = read_arguments(arguments)
    if isinstance(value, Malformed):
        return arguments
    return json.dumps(value, indent=2, ensure_ascii=False)


def _values(arguments: str) -> Mapping[str, object]:
    value = read_arguments(arguments)
    return {} if isinstance(value, Malformed) else value


MAIN_ARGUMENT = ("path", "pattern", "command", "item", "url", "name", "action", "file")


def call_title(name: str, arguments: str) -> str:
    """A call in one line: its name and the argument that matters."""
    values = _values(arguments)
    parts = [str(values[key]) for key in MAIN_ARGUMENT if values.get(key)]
    if name == "fs-read" and ("start" in values or "end" in values):
        parts.append(f"lines {values.get('start', 1)}-{values.get('end', 'end')}")
    main = " · ".join(parts[:2]).replace("\n", " ⏎ ")
    return f"{name} {main}".strip()[:200]


def call_diff(name: str, arguments: str) -> str:
    """What a write asks to change, as `-` and `+` lines, from its arguments alone."""
    values = _values(arguments)
    removed = added = ""
    if name == "fs-edit":
        removed, added = str(values.get("old", "")), str(values.get("new", ""))
    elif name == "fs-write":
        added = str(values.get("text", ""))
    lines = [f"-{line}" for line in removed.splitlines()]
    return "\n".join(lines + [f"+{line}" for line in added.splitlines()])


def thinking_of(event: ev.LlmResponse) -> str:
    """A reply's readable reasoning."""
    return "\n\n".join(part.text for part in event.parts if isinstance(part, Thinking)).strip()


def text_of(event: ev.LlmResponse) -> str:
    """A reply's text."""
    return "\n\n".join(part.text for part in event.parts if isinstance(part, Text))
