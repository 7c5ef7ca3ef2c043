"""`fs-edit`: an exact text of a file, replaced by another."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.domain.canonical import clean, sha256
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Files, Outcome
from nodwyn_tui.tools.fs_read import nearest
from nodwyn_tui.tools.fs_write import Change, refuse_unseen, write_ask
from nodwyn_tui.tools.markers import refuse_markers
from nodwyn_tui.tools.nearest_text import nearest_text
from nodwyn_tui.tools.paths import Place, admit, locate
from nodwyn_tui.tools.replacing import Match, apart, exact, forgiving, line_of, replaced
from nodwyn_tui.tools.text_file import TextFile, load, store

_MOST_NAMED = 10


class EditArguments(Model):
    """`old` must stand in the file once, or `all` be set."""

    path: str
    old: str
    new: str
    all: bool = False


@dataclass(frozen=True, slots=True)
class _Edit:
    change: Change
    lines: tuple[int, ...]


class FsEdit:
    """Line ends, byte-order mark, mode and the final line end stay (C46, C47). More than one place
    is an error without `all` (C48). Where `old` stands nowhere, whole lines that differ in blanks
    at their ends or in one indentation are taken if they are the only ones, and nothing else (C49).
    """

    effect: Effect = "write"
    arguments = EditArguments

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self.spec = spec_of(
            "fs-edit",
            "Replace old by new in a file. old: exact text, without line numbers, that stands there"
            " once; all: true replaces every place.",
            EditArguments,
        )

    async def describe(self, arguments: EditArguments, context: Context) -> Ask:
        place = await asyncio.to_thread(locate, context.files, self._home, arguments.path)
        try:
            edit = await asyncio.to_thread(
                _edit, place, arguments, context.files, context.files.markers()
            )
        except ToolError:
            # What is wrong there is not told before the person agrees: it tells what is there.
            if not place.guarded:
                raise
            return write_ask("Edit", place)
        return await asyncio.to_thread(edit.change.ask, "Edit")

    async def run(self, arguments: EditArguments, context: Context) -> Outcome:
        markers = context.files.markers()
        edit = await asyncio.to_thread(self._run, arguments, context, markers)
        context.files.seen(edit.change.place.path, sha256(edit.change.data))
        count = len(edit.lines)
        where = f"line {edit.lines[0]}" if count == 1 else f"{count} places"
        return await asyncio.to_thread(edit.change.outcome, f"edited {where} of")

    def _run(self, arguments: EditArguments, context: Context, markers: bool) -> _Edit:
        place = locate(context.files, self._home, arguments.path)
        admit(place, context)
        edit = _edit(place, arguments, context.files, markers)
        store(place, edit.change.data, edit.change.mode)
        return edit


def _edit(place: Place, arguments: EditArguments, files: Files, markers: bool) -> _Edit:
    """The change that a call asks for; `markers` says whether any was shown. Raises
    `ToolError` where it may not be.
    """
    file = load(place)
    if file is None:
        raise ToolError(f"{place.shown}: no such file; fs-write makes one.{nearest(place)}")
    refuse_unseen(place, file.digest, files.last_seen(place.path), must_read=False)
    old, new = arguments.old.removeprefix("\ufeff"), clean(arguments.new.removeprefix("\ufeff"))
    refuse_markers((old, new), file.text, markers)
    if not old:
        raise ToolError(
            "old is empty: give the exact text to replace; fs-write writes whole files."
        )
    if old == new:
        raise ToolError("old and new are the same; nothing was changed.")
    matches = _matches(place, file, old, every=arguments.all)
    text = file.text
    for match in reversed(matches):
        changed = replaced(text, match, new)
        if changed is None:
            raise ToolError(
                f"{place.shown}: old is indented otherwise in the file (line"
                f" {line_of(text, match.start)}); give old and new as they are indented there."
            )
        text = changed
    change = Change(
        place=place,
        data=file.with_text(text),
        mode=file.mode,
        old=file.text,
        new=text,
        note="" if matches[0].how == "exact" else f"; old matched but for {matches[0].how}",
    )
    return _Edit(change, tuple(line_of(file.text, match.start) for match in matches))


def _matches(place: Place, file: TextFile, old: str, *, every: bool) -> Sequence[Match]:
    """The places to change: one, or all. Raises `ToolError` for none or too many."""
    found = exact(file.text, old)
    if every and found:
        return apart(found)
    found = found or forgiving(file.text, old)
    if len(found) == 1:
        return found
    if not found:
        near = nearest_text(file.text, old)
        raise ToolError(
            f"{place.shown}: old does not stand in the file; nothing was changed."
            + (f" The {near}" if near else " Read the file again with fs-read.")
        )
    lines = sorted({line_of(file.text, match.start) for match in found})
    named = ", ".join(str(line) for line in lines[:_MOST_NAMED])
    named += ", …" if len(lines) > _MOST_NAMED else ""
    raise ToolError(
        f"{place.shown}: old stands there {len(found)} times, in lines {named}; nothing was"
        " changed. Give more of the lines around the one you mean, or all: true for every place."
    )
