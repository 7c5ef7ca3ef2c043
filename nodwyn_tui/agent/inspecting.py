"""A request as it was sent: rebuilt from the log, verified, and told piece by piece (ROL-14,
TUI-4). Only the one that is being looked at is held.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.agent import dividers
from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import tool_value
from nodwyn_tui.domain.parts import Block, Call, Image, Text, Thinking
from nodwyn_tui.domain.request import Message, ToolRow
from nodwyn_tui.errors import ReplayError, StoreError
from nodwyn_tui.link.requests import (
    FetchPieces,
    LeaveRequest,
    PartKind,
    Piece,
    PiecesLoaded,
    RequestCommand,
    ShowWindow,
    WindowShown,
)
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.window import contexts
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.replay import replay

PIECE = 8_000
"""Characters of a piece, at most."""
AT_ONCE = 40_000
"""Characters of an answer: so many, and a piece more."""

NOTHING_SENT = "nothing was sent from this window"


@dataclass(frozen=True, slots=True)
class _Cut:
    """A piece without its text, and where that stands."""

    piece: Piece
    text: str
    start: int
    end: int

    def made(self) -> Piece:
        return replace(self.piece, text=self.text[self.start : self.end])


class Inspector:
    """Shows one request at a time."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._seq = 0
        self._cuts: Sequence[_Cut] = ()

    async def do(self, command: RequestCommand, archive: Archive) -> None:
        """What the front asks for. Rebuilding a large one takes a second, beside everything."""
        match command:
            case ShowWindow(at=at):
                try:
                    self._emit(await self._shown(at, archive))
                except (ReplayError, StoreError) as error:
                    self._forget()
                    self._emit(WindowShown(at=at, problem=str(error)))
            case FetchPieces(seq=seq, first=first, count=count) if seq == self._seq:
                pieces = tuple(self._some(first, count))
                self._emit(PiecesLoaded(seq=seq, first=first, pieces=pieces))
            case FetchPieces():
                pass  # of one that was looked at before
            case LeaveRequest():
                self._forget()

    async def _shown(self, at: int, archive: Archive) -> WindowShown:
        seq = archive.request_before(at)
        since = tuple(archive.events(seq + 1, at - 1)) if seq else ()
        if not seq or any(map(dividers.leaves, since)):
            self._forget()
            return WindowShown(at=at, problem=NOTHING_SENT)
        events = archive.needed(seq)
        window = await asyncio.to_thread(replay, events, seq)
        request = events[-1]
        assert isinstance(request, ev.LlmRequest), "what was rebuilt is one"
        self._seq, self._cuts = seq, tuple(_cuts(window))
        counts = (e.usage.prompt_tokens for e in since if isinstance(e, ev.LlmResponse))
        return WindowShown(
            at=at,
            seq=seq,
            name=f"w:{contexts.place(events[:-1], resets=True).since}",
            sent=request.at,
            model=request.model.name,
            server=request.model.server,
            messages=len(window.request.messages),
            tokens=window.estimate,
            counted=next(counts, None),
            max_output=window.request.max_output,
            digest=window.digest,
            pieces=len(self._cuts),
            characters=sum(cut.end - cut.start for cut in self._cuts),
        )

    def _some(self, first: int, count: int) -> Iterator[Piece]:
        characters = 0
        for cut in self._cuts[first : first + count]:
            yield cut.made()
            characters += cut.end - cut.start
            if characters > AT_ONCE:
                break

    def _forget(self) -> None:
        self._seq, self._cuts = 0, ()


def _cuts(window: Window) -> Iterator[_Cut]:
    """A request in pieces, in the order in which it is read."""
    request = window.request
    system = Piece(row=0, role="system", part="text", text="", tokens=window.fixed)
    yield from _pieces(system, request.system)
    for tool in request.tools:
        text = json.dumps(tool_value(tool), indent=2, ensure_ascii=False)
        yield from _pieces(Piece(row=0, role="tools", part="text", text="", title=tool.name), text)
    for row, (entry, message) in enumerate(zip(window.entries, request.messages, strict=True), 1):
        tokens: int | None = entry.tokens
        for part, title, text in _parts(message) or [("text", "", "")]:
            piece = Piece(
                row=row,
                role=message.role,
                part=part,
                text="",
                title=title,
                line=max(entry.seq, 0),
                tokens=tokens,
                state=entry.state,
            )
            yield from _pieces(piece, text)
            tokens = None


def _parts(message: Message) -> list[tuple[PartKind, str, str]]:
    """What a message is made of: each part's kind, its name, and its text as it was sent."""
    found: list[tuple[PartKind, str, str]] = []
    for part in message.parts:
        match part:
            case Text() if isinstance(message, ToolRow):
                failed = " · failed" if message.is_error else ""
                found.append(("result", f"{message.name} {message.call_id}{failed}", part.text))
            case Text():
                found.append(("text", "", part.text))
            case Thinking():
                found.append(("thinking", "", part.text))
            case Call():
                found.append(("call", f"{part.name} {part.id}", part.arguments))
            case Image():
                size = f"{part.width}\N{MULTIPLICATION SIGN}{part.height}"
                found.append(("image", f"{size} · {part.mime} · {part.sha256}", ""))
            case Block():
                found.append(("block", f"{part.block} of {part.origin}", part.data))
    return found


def _pieces(whole: Piece, text: str) -> Iterator[_Cut]:
    """A part in pieces, cut behind the ends of lines where there are any."""
    start = 0
    while len(text) - start > PIECE:
        line = text.rfind("\n", start + PIECE // 2, start + PIECE)
        end = line + 1 if line >= 0 else start + PIECE
        yield _Cut(replace(whole, begins=start == 0, ends=False), text, start, end)
        whole, start = replace(whole, tokens=None), end
    yield _Cut(replace(whole, begins=start == 0), text, start, len(text))
