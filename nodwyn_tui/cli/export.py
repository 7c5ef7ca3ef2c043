"""A session's conversation as Markdown or JSON, from its log alone."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.cli import output
from nodwyn_tui.domain.canonical import event_line
from nodwyn_tui.domain.events import AttachImage, Event, ImageRef, ToolResult
from nodwyn_tui.link.events import Body, Entry
from nodwyn_tui.store.images import ImageFiles
from nodwyn_tui.system.atomic import make_private_dir, write_whole

FORMS = ("markdown", "json")

_SUFFIXES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg"}
"""Endings by first bytes: a stored image is one of these two kinds."""


def export(events: Sequence[Event], form: str, images: Path | None = None) -> None:
    """Prints the conversation; as JSON every event as it was recorded. With `images`, the images
    that Markdown shows are in that folder.
    """
    if form == "json":
        output.json_line([event_line(event) for event in events])
        return
    transcript = Transcript({event.seq: event for event in events}.get)
    for entry in transcript.load(events, None):
        body = transcript.body(entry.id)
        if body is not None:
            output.show(_markdown(entry, body))
        if images is not None:
            for name, path in _images_of(events, transcript.anchor(entry.id), images):
                output.show(f"![{name}](<{path.as_posix()}>)\n")


def copy_images(events: Sequence[Event], files: ImageFiles, into: Path) -> list[str]:
    """Copies the images that a session names into a folder; the digests of those that are gone.
    Raises `StoreError`.
    """
    gone = []
    for digest in dict.fromkeys(image.sha256 for event in events for image in images_in(event)):
        data = files.read(digest)
        if isinstance(data, bytes):
            make_private_dir(into)
            write_whole(into / _file(digest, data), data, 0o600)
        else:
            gone.append(digest)
    return gone


def images_in(event: Event) -> tuple[AttachImage | ImageRef, ...]:
    """The images that an event names."""
    match event:
        case AttachImage():
            return (event,)
        case ToolResult():
            return event.images
        case _:
            return ()


def _images_of(events: Sequence[Event], seq: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """The images of an entry's line that are in the folder."""
    event = next((event for event in events if event.seq == seq), None)
    for image in images_in(event) if event is not None else ():
        name = image.name if isinstance(image, AttachImage) else "image"
        for suffix in _SUFFIXES.values():
            if (path := folder / f"{image.sha256}{suffix}").is_file():
                yield name.replace("]", ""), path


def _file(digest: str, data: bytes) -> str:
    return digest + next((end for magic, end in _SUFFIXES.items() if data.startswith(magic)), "")


def _markdown(entry: Entry, body: Body) -> str:
    match entry.kind:
        case "user":
            return f"## You{f' ({entry.title})' if entry.title else ''}\n\n{body.text}\n"
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
            name = entry.title if entry.kind == "guidance" else entry.kind
            said = "\n> ".join((body.text or entry.title).splitlines())
            return f"> **{name}** {said}\n"


def _fence(text: str) -> str:
    """A code block that its own text cannot end."""
    if not text.strip():
        return ""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}\n{text}\n{ticks}\n"
