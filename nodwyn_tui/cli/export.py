"""A session's conversation as Markdown or JSON, from its log alone."""

from collections.abc import Sequence

from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.cli import output
from nodwyn_tui.domain.canonical import event_line
from nodwyn_tui.domain.events import Event
from nodwyn_tui.link.events import Body, Entry

FORMS = ("markdown", "json")


def export(events: Sequence[Event], form: str) -> None:
    """Prints the conversation; as JSON every event as it was recorded."""
    if form == "json":
        output.json_line([event_line(event) for event in events])
        return
    transcript = Transcript({event.seq: event for event in events}.get)
    for entry in transcript.load(events, None):
        body = transcript.body(entry.id)
        if body is not None:
            output.show(_markdown(entry, body))


def _markdown(entry: Entry, body: Body) -> str:
    match entry.kind:
        case "user":
            return f"## You\n\n{body.text}\n"
        case "assistant":
            return f"{body.text}\n"
        case "thinking":
            return f"<details><summary>Thinking</summary>\n\n{body.text}\n\n</details>\n"
        case "call":
            shown = body.diff or body.arguments
            return f"### {entry.title} ({entry.status})\n\n{_fence(shown)}\n{_fence(body.text)}"
        case "divider":
            return f"---\n*{entry.title}*\n"
        case _:
            return f"> **{entry.kind}** {body.text or entry.title}\n"


def _fence(text: str) -> str:
    """A code block that its own text cannot end."""
    if not text.strip():
        return ""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}\n{text}\n{ticks}\n"
