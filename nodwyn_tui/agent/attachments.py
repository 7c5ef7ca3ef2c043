"""Images that the person attaches (IMG-1, IMG-3): from what was dropped, pasted or typed to files
in the store.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.dropped import Reading, is_refused, readings
from nodwyn_tui.agent.sight import host_of
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.errors import NodwynError, ToolError, UsageError
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attach, Attached, AttachRefused, ImageAttached
from nodwyn_tui.providers import image_tokens
from nodwyn_tui.store.images import ImageFiles, Picture
from nodwyn_tui.store.picture_files import promises_image, read_file
from nodwyn_tui.system.clipboard import clipboard_image

MakePicture = Callable[[bytes, str], Picture]
"""A file's bytes and its name to an image that can be kept. Raises `UsageError`."""

CLIPBOARD = "clipboard image"
BLIND = (
    "{model} does not take images: what is attached is kept, and sent once another model is asked"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Studio:
    """What images are made with: the store, Pillow's side of it, where paths begin, and the
    environment of the programs that read the clipboard.
    """

    files: ImageFiles
    make: MakePicture
    workspace: Path
    home: Path
    environment: Callable[[], Mapping[str, str]]

    def keep(self, data: bytes, name: str, host: str) -> tuple[ev.QueuedImage, str]:
        """An image in the store, and what was done to it. Raises `UsageError` and `StoreError`."""
        picture = self.make(data, name)
        image = ev.QueuedImage(
            sha256=self.files.keep(picture.data),
            name=name,
            mime=picture.mime,
            bytes=len(picture.data),
            width=picture.width,
            height=picture.height,
            host=host,
        )
        return image, picture.note


class Attachments:
    """What the person attached and has not sent, of one session."""

    def __init__(self, studio: Studio, target: Callable[[], Target], emit: Emit) -> None:
        self._studio, self._target, self._emit = studio, target, emit
        self._known: dict[str, ev.QueuedImage] = {}
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, command: Attach, watch: Callable[["asyncio.Task[None]"], None]) -> None:
        """Attaches beside everything else; `watch` is told of the end."""
        task = asyncio.create_task(self.attach(command))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(watch)

    async def close(self) -> None:
        """Attaches no more."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def attach(self, command: Attach) -> None:
        """Answers with the images, or with why there are none."""
        try:
            async with self._turn:
                images = await self._images(command)
        except NodwynError as error:
            # An empty paste is none of an image where the clipboard has none.
            told = command.sure or bool(command.text.strip())
            self._emit(AttachRefused(text=command.text, reason=str(error) if told else ""))
            return
        if not images:
            self._emit(AttachRefused(text=command.text))
            return
        for number, (image, note) in enumerate(images, 1):
            self._known[image.sha256] = image
            shown = replace(self.shown(image), note=note)
            told_of = ImageAttached(text=command.text, image=shown, index=number, count=len(images))
            self._emit(told_of)
        if self._target().facts.images is False:
            text = BLIND.format(model=self._target().ref.name)
            self._emit(up.Notice(level="warning", text=text))

    def shown(self, image: ev.QueuedImage) -> Attached:
        """An image for the prompt, with what the model that is asked now charges for it."""
        provider = self._target().ref.provider
        return Attached(
            sha256=image.sha256,
            name=image.name,
            mime=image.mime,
            width=image.width,
            height=image.height,
            size=image.bytes,
            tokens=image_tokens.charged(provider, image.width, image.height),
            path=str(self._studio.files.path(image.sha256)),
        )

    def chosen(self, digests: Iterable[str]) -> tuple[ev.QueuedImage, ...]:
        """The images of a message; what nobody attached here is left out."""
        return tuple(self._known[sha] for sha in dict.fromkeys(digests) if sha in self._known)

    def returned(self, images: Iterable[ev.QueuedImage]) -> tuple[Attached, ...]:
        """Images that are the person's again; those whose file is gone are left out."""
        there = [image for image in images if self._studio.files.path(image.sha256).is_file()]
        self._known |= {image.sha256: image for image in there}
        return tuple(map(self.shown, there))

    @property
    def host(self) -> str:
        """Where the model is that is asked now."""
        return host_of(self._target())

    def for_tools(self) -> "Attachments | None":
        """Keeps images that tools give, for a model that may take them (IMG-8)."""
        return None if self._target().facts.images is False else self

    def take(self, data: bytes, name: str) -> tuple[ev.ImageRef, str]:
        """Keeps an image that a tool read. Raises `ToolError`."""
        try:
            image, note = self._studio.keep(data, clean(name), self.host)
        except UsageError as error:
            raise ToolError(str(error)) from error
        tokens = image_tokens.recorded(image.width, image.height)
        ref = ev.ImageRef(
            sha256=image.sha256,
            mime=image.mime,
            width=image.width,
            height=image.height,
            tokens=tokens,
        )
        return ref, note

    async def _images(self, command: Attach) -> list[tuple[ev.QueuedImage, str]]:
        host = self.host
        if not command.text.strip():
            data = await clipboard_image(self._studio.environment())
            return [await asyncio.to_thread(self._studio.keep, data, CLIPBOARD, host)]
        return await asyncio.to_thread(self._from_files, command, host)

    def _from_files(self, command: Attach, host: str) -> list[tuple[ev.QueuedImage, str]]:
        """The images that a text names; none if it is a text like any other (IMG-1)."""
        text, sure = command.text, command.sure
        base = str(self._studio.workspace) if sure else ""
        paths = _found(readings(text, str(self._studio.home), base))
        if not sure and not all(map(promises_image, paths)):
            return []
        if sure and not paths:
            raise UsageError(f"there is no file {clean(text.strip())[:200]}")
        return [self._studio.keep(read_file(path), clean(path.name), host) for path in paths]


def _found(tried: Iterable[Reading]) -> list[Path]:
    """The files of the first reading of which each is there; none if there is no such reading."""
    for reading in tried:
        found = [next(filter(_is_there, token), "") for token in reading]
        if all(found):
            return [Path(path) for path in found]
    return []


def _is_there(path: str) -> bool:
    """Whether something is at a path that a link does not lead into a refused folder."""
    try:
        return os.path.lexists(path) and not is_refused(os.path.realpath(path, strict=True))
    except (OSError, ValueError):
        return False
