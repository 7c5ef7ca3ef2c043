"""Tells the model of files of instructions as it comes upon them: those of the folders it works in,
and what changed of any that it was told of. A note each, behind what is settled; the system prompt
never changes (ORD-11).
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.instructed import CHANGED, FIRST, LEFT, Instructed, Touch
from nodwyn_tui.agent.instructions import (
    GONE,
    NAMES,
    NO_ROOM,
    Instructions,
    Source,
    Unusable,
    frame,
    frames,
    look,
    most_of,
    nested,
    sources,
)
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.errors import ToolError
from nodwyn_tui.store.redact import has_marker
from nodwyn_tui.tools.base import Files
from nodwyn_tui.tools.ignoring import outer_rules
from nodwyn_tui.tools.names import unquoted
from nodwyn_tui.tools.paths import locate
from nodwyn_tui.tools.secret_files import is_secret
from nodwyn_tui.tools.shell_paths import named_paths
from nodwyn_tui.window.entries import BYTES_PER_TOKEN

PART = 4
"""Notes of such files take this part of a window at most."""

NEARER = (
    "A file of the workspace has standing wishes for work in {folder}/. There they hold, beside"
    " those for the whole workspace; the person's own words come first."
)
NEW = "{file} has standing wishes for work here; the person's own words come first."
NOW = "{file} has changed: it says this now, and what it said before holds no more."
NO_MORE = "{file} is there no more."
REMARK = "{file} is not told to the model: {why}."

Signature = tuple[object, ...]


class Instructing:
    """One session's. `person` is the folder of the person's own file."""

    def __init__(
        self, conversation: Conversation, files: Files, person: Path, home: Path | None
    ) -> None:
        self._conversation, self._files = conversation, files
        self._person, self._home = person, home
        self._looked: dict[Path, tuple[Signature, Instructions | Unusable | None]] = {}

    def tell(self) -> None:
        """Notes of what the window does not hold yet, the outermost folder's first. Between a run's
        message or a settled batch and the next request; files are only read where they changed.
        """
        instructed = self._conversation.instructed
        for source in self._sources(instructed):
            if news := self._due(source, instructed):
                self._conversation.append(*news)

    def anew(self) -> tuple[ev.Note, ...]:
        """What `tell` would record where another window had just begun (ROL-6)."""
        instructed, told = self._conversation.instructed.anew(), list[ev.Note]()
        for source in self._sources(instructed):
            for note in self._due(source, instructed):
                instructed.feed(note)
                told.append(note)
        return tuple(told)

    def _due(self, source: Source, instructed: Instructed) -> list[ev.Note]:
        news = self._news(source, instructed)
        return [note for note in news if not self._stands(note, instructed)]

    def _sources(self, instructed: Instructed) -> Iterator[Source]:
        """The person's folder, the workspace, the folders in it that the window was told of, and
        those that were worked in since the last request.
        """
        if not self._conversation.recipe.tools:
            return  # such a model was told of none: they would fill its small context
        root = Path(os.path.realpath(self._files.root))
        yield from sources(self._person, root)
        told = [PurePath(unquoted(f'"{file}"')) for file in instructed.told()]
        folders = {
            str(file.parent)
            for file in told
            if not file.is_absolute() and not has_marker(str(file))
        }
        for touch in instructed.touches:
            for path in self._paths(touch):
                folders.update(self._folders(path, root))
        for folder in sorted(folders - {"."}, key=lambda path: PurePath(path).parts):
            yield nested(root, PurePath(folder).as_posix())

    def _paths(self, touch: Touch) -> Iterator[str]:
        arguments = read_arguments(touch.arguments)
        if isinstance(arguments, Malformed):
            return
        if touch.is_shell:
            before = Path(touch.before or self._files.root)
            command = str(arguments.get("command", ""))
            yield from map(str, named_paths(command, self._home, before))
            yield touch.after or "."
        elif isinstance(path := arguments.get("path"), str):
            yield path

    def _folders(self, path: str, root: Path) -> Iterator[str]:
        """The folders on the way to where a path truly leads, if that is in the workspace."""
        try:
            place = locate(self._files, self._home, path)
        except ToolError:
            return
        if place.base != root:
            return
        inner = place.path.relative_to(root)
        yield from (str(each) for each in (inner, *inner.parents) if (root / each).is_dir())

    def _stands(self, note: ev.Note, instructed: Instructed) -> bool:
        """Whether the window has a note's frame already, as the log holds it: a folder's name may
        look like a key, and be another one there.
        """
        told = instructed.told()
        held = dict(frames(self._conversation.log.without_keys(note.text)))
        return bool(held) and held.items() <= told.items()

    def _news(self, source: Source, instructed: Instructed) -> Iterator[ev.Note]:
        """What the model, or the person, is to be told of a folder."""
        found = self._look(source)
        told = instructed.told()
        known = [name for name in map(source.file, NAMES) if told.get(name, GONE) != GONE]
        if not known and (found is None or _is_anothers(source)):
            return
        if isinstance(found, Unusable):
            remark = REMARK.format(file=found.file, why=found.why.rstrip("."))
            if remark not in instructed.remarks:
                yield ev.Note(text=remark, audience="person", why=FIRST)
            return
        for file in known:
            if found is None or found.file != file:
                yield _note(LEFT, NO_MORE, file, GONE)
        if found is not None and not self._is_told(found, told.get(found.file)):
            room = self._most() - instructed.spent()
            yield self._note_of(found, source, room, is_new=found.file not in known)

    def _is_told(self, found: Instructions, said: str | None) -> bool:
        without_keys = self._conversation.log.without_keys
        return said is not None and (said == NO_ROOM or found.is_said_by(said, without_keys))

    def _most(self) -> int:
        """Bytes of all such notes in a window."""
        return self._conversation.recipe.window.ceiling * BYTES_PER_TOKEN // PART

    def _note_of(self, found: Instructions, source: Source, room: int, *, is_new: bool) -> ev.Note:
        said = found.said(most_of(self._conversation.recipe.window.ceiling))
        if len(said.encode()) > room:
            said = NO_ROOM
        if not is_new:
            return _note(CHANGED, NOW, found.file, said)
        return _note(FIRST, NEARER if source.is_nested else NEW, found.file, said)

    def _look(self, source: Source) -> Instructions | Unusable | None:
        """What a folder says, read again only where a file of it is another one than before."""
        signature = tuple(map(_signature, (source.folder / name for name in NAMES)))
        before = self._looked.get(source.folder)
        if before is None or before[0] != signature:
            before = self._looked[source.folder] = signature, look(source)
        return before[1]


def _is_anothers(source: Source) -> bool:
    """Whether git ignores a folder of the workspace: a dependency has no say here."""
    if not source.is_nested or source.inside is None:
        return False
    inner = source.folder.relative_to(source.inside)
    return is_secret(inner) or outer_rules(source.folder, source.inside) is None


def _signature(path: Path) -> Signature:
    """What tells one state of a file from another, without reading it: of a link, also of what it
    leads to.
    """
    return tuple(_stated(look, path) for look in (os.lstat, os.stat))


def _stated(look_at: Callable[[Path], os.stat_result], path: Path) -> Signature:
    try:
        found = look_at(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _note(why: str, words: str, file: str, said: str) -> ev.Note:
    folder = file.rpartition("/")[0]
    text = f"{words.format(file=file, folder=folder)}\n\n{frame(file, said)}"
    return ev.Note(text=text, audience="model", why=why)
