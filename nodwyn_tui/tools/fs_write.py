"""`fs-write`: a whole file, new or in place of one that the model has read."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.domain.canonical import clean, sha256
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Files, Outcome
from nodwyn_tui.tools.diff import counts, unified
from nodwyn_tui.tools.markers import refuse_markers
from nodwyn_tui.tools.paths import Place, admit, locate
from nodwyn_tui.tools.text_file import load, main_ending, store, with_ending


class WriteArguments(Model):
    """The whole new text of a file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file's content before and after, ready to be written; `old` is `None` for a new file."""

    place: Place
    data: bytes
    mode: int | None
    old: str | None
    new: str
    note: str = ""

    @property
    def diff(self) -> str:
        return unified(self.old or "", self.new, self.place.shown)

    def ask(self, title: str) -> Ask:
        """What the person is shown before it is written."""
        return write_ask(title, self.place, self.diff)

    def outcome(self, done: str) -> Outcome:
        """The result once it is written."""
        added, removed = counts(self.old or "", self.new)
        text = f"{done} {self.place.shown} (+{added} -{removed} lines){self.note}"
        return Outcome(text=text, lines=1, changed=(self.place.relative,), diff=self.diff)


def write_ask(title: str, place: Place, diff: str = "") -> Ask:
    """The ask of a tool that writes at `place`."""
    note = " (outside the workspace)" if place.outside else ""
    note += " (a secret or private file)" if place.secret else ""
    return Ask(
        title=f"{title} {place.shown}{note}",
        subject=place.relative,
        diff=diff,
        touches=(place.relative,),
        secret=place.secret,
        outside=place.outside,
        paths=(str(place.path),),
    )


class FsWrite:
    """Makes missing folders. A file that exists keeps its mode, its byte-order mark and the form of
    its line ends (C46, C47); it must have been read, and not changed since.
    """

    effect: Effect = "write"
    arguments = WriteArguments

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self.spec = spec_of(
            "fs-write",
            "Write a whole text file. One that exists must have been read first; prefer fs-edit for"
            " changes.",
            WriteArguments,
        )

    async def describe(self, arguments: WriteArguments, context: Context) -> Ask:
        place = await asyncio.to_thread(locate, context.files, self._home, arguments.path)
        try:
            change = await asyncio.to_thread(
                _change, place, arguments.text, context.files, context.files.markers()
            )
        except ToolError:
            # What is wrong there is not told before the person agrees: it tells what is there.
            if not place.guarded:
                raise
            return write_ask("Write", place, unified("", clean(arguments.text), place.shown))
        title = "Write" if change.old is None else "Overwrite"
        return await asyncio.to_thread(change.ask, title)

    async def run(self, arguments: WriteArguments, context: Context) -> Outcome:
        markers = context.files.markers()
        change = await asyncio.to_thread(self._write, arguments, context, markers)
        context.files.seen(change.place.path, sha256(change.data))
        if change.old == change.new:
            return Outcome(text=f"{change.place.shown} holds exactly that already; nothing changed")
        return await asyncio.to_thread(change.outcome, "wrote")

    def _write(self, arguments: WriteArguments, context: Context, markers: bool) -> Change:
        place = locate(context.files, self._home, arguments.path)
        admit(place, context)
        change = _change(place, arguments.text, context.files, markers)
        if change.old != change.new:
            store(place, change.data, change.mode)
        return change


def refuse_unseen(place: Place, digest: str, known: str | None, *, must_read: bool) -> None:
    """Raises `ToolError` if a file is not as the model knows it."""
    if known == digest:
        return
    if known is not None:
        raise ToolError(
            f"{place.shown} was changed since you read it; nothing was done. Read it again with"
            " fs-read, then call again."
        )
    if must_read:
        raise ToolError(
            f"{place.shown} exists and you have not read it; nothing was written. Read it with"
            " fs-read first, or change a part of it with fs-edit."
        )


def _change(place: Place, text: str, files: Files, markers: bool) -> Change:
    """The change that a call asks for; `markers` says whether any was shown. Raises
    `ToolError` where it may not be.
    """
    written = clean(text)
    note = "" if written == text else "; characters that no text file can hold were replaced"
    file = load(place)
    if file is not None:
        refuse_unseen(place, file.digest, files.last_seen(place.path), must_read=True)
    refuse_markers((written,), file.text if file else "", markers)
    if file is None:
        return Change(
            place=place, data=written.encode("utf-8"), mode=None, old=None, new=written, note=note
        )
    new = with_ending(written.removeprefix("\ufeff"), main_ending(file.text))
    return Change(
        place=place,
        data=file.with_text(new),
        mode=file.mode,
        old=file.text,
        new=new,
        note=note,
    )
