"""The prompt's images: what is pasted or dropped is asked of the worker, which alone reads files,
while typing goes on (IMG-1, IMG-2).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.document._document import Location, Selection
from textual.message import Message

from nodwyn_tui.link.images import Attached
from nodwyn_tui.ui.widgets.completing import Completer, CompletingEditor, Completion
from nodwyn_tui.ui.widgets.dropped import could_be_paths
from nodwyn_tui.ui.widgets.gallery import Gallery
from nodwyn_tui.ui.widgets.keys import bound
from nodwyn_tui.ui.widgets.pastes import clean

LOOKS_S = 0.1
"""An answer that takes longer is waited for visibly."""


@dataclass(slots=True)
class Asked:
    """Text of which the worker is to say whether it names images. `at` is where it belongs if not,
    moved along with what is typed before it; `selected` what it would have replaced. `enter` says
    that it was a whole message, sent (`steer`: into the run); `sure` that the person says that it
    is an image.
    """

    text: str
    at: Location
    selected: Selection
    sure: bool = False
    enter: bool = False
    steer: bool = False


class PicturingEditor(CompletingEditor):
    """The images stand beside its text, in `gallery`; from the text's beginning the cursor goes on
    to them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        bound("attach", "attach_clipboard"),
        bound("left", "cursor_left"),
        bound("delete_left", "delete_left"),
    ]

    @dataclass
    class AttachWanted(Message):
        """Text may be images; '' is the clipboard. `sure` says that the person said so."""

        text: str
        sure: bool

    @dataclass
    class ImagesChanged(Message):
        """What is attached, which of it is marked, and what an answer is awaited about."""

        images: tuple[Attached, ...]
        marked: int | None
        looking: str

    @dataclass
    class ImageWanted(Message):
        """An image is to be seen in full."""

        image: Attached

    def __init__(
        self, completer: Completer, *, id: str | None = None, placeholder: str = ""
    ) -> None:
        self.gallery = Gallery()
        self.asked: list[Asked] = []
        self._known: dict[str, Attached] = {}
        """All that were ever attached: what was sent can come back as digests alone."""
        super().__init__(completer, id=id, placeholder=placeholder)

    @property
    def takes_images(self) -> bool:
        """Whether what is written may carry images."""
        return True

    def ask(
        self, text: str, *, sure: bool = False, enter: bool = False, steer: bool = False
    ) -> None:
        """Ask the worker whether a text names images."""
        at = max(self.selection)
        self.asked.append(Asked(text, at, self.selection, sure, enter, steer))
        self.post_message(self.AttachWanted(text, sure))
        self.set_timer(LOOKS_S, self.tell_images)

    def take(self, completion: Completion) -> None:
        super().take(completion)
        if completion.attaches:
            self.ask(completion.attaches, sure=True)

    def attach(self, images: Iterable[Attached]) -> None:
        """More images."""
        images = tuple(images)
        self._known.update((image.sha256, image) for image in images)
        self.gallery.add(images)
        self.tell_images()

    def answered(self, text: str) -> Asked | None:
        """The question that an answer is about, which is open no more."""
        asked = next((asked for asked in self.asked if asked.text == text), None)
        if asked is not None:
            self.asked.remove(asked)
            self.tell_images()
        return asked

    def insert_pasted(self, asked: Asked) -> None:
        """What names no image is a text like any other, where it was pasted."""
        if asked.selected == self.selection and not self.selection.is_empty:
            self.paste(asked.text)
            return
        row = min(asked.at[0], self.document.line_count - 1)
        at = (row, min(asked.at[1], len(self.document.get_line(row))))
        self.replace(self.folded(asked.text), at, at, maintain_selection_offset=True)

    def known(self, digests: Iterable[str]) -> list[Attached]:
        """Images that were attached here once."""
        return [self._known[digest] for digest in digests if digest in self._known]

    def tell_images(self) -> None:
        """Tell what is to be shown of the images."""
        looking = self.asked[0].text or "the clipboard" if self.asked else ""
        self.post_message(self.ImagesChanged(self.gallery.images, self.gallery.at, looking))

    def mark(self, step: int) -> None:
        """Mark an image: the next one, or the one before."""
        self.gallery.step(step)
        self.tell_images()

    def unmark(self) -> None:
        """The text is what keys act on."""
        if self.gallery.at is not None:
            self.gallery.at = None
            self.tell_images()

    def edited(self, start: Location, end: Location, now: Location) -> None:
        """Texts that are asked about keep their places."""
        for asked in self.asked:
            asked.at = _moved(asked.at, start, end, now)

    def action_attach_clipboard(self) -> None:
        """What the clipboard holds, if it is an image."""
        if self.takes_images:
            self.ask("", sure=True)

    def action_cursor_left(self, select: bool = False) -> None:
        """From the text's beginning to the images."""
        if self._is_before_text and not select:
            self.mark(-1)
        else:
            super().action_cursor_left(select)

    def action_delete_left(self) -> None:
        """What is deleted with one key too many is not an image: the first only marks it."""
        if self._is_before_text:
            self.mark(-1)
        else:
            super().action_delete_left()

    @property
    def _is_before_text(self) -> bool:
        images = bool(self.gallery.images) and self.takes_images
        return images and self.selection == Selection.cursor((0, 0))

    async def _on_key(self, event: events.Key) -> None:
        if self.gallery.at is not None and self._acts_on_image(event.key):
            self.last_key = event.time
            event.stop()
            event.prevent_default()
            return
        self.unmark()
        await super()._on_key(event)

    def _acts_on_image(self, key: str) -> bool:
        """Whether a key was one for the marked image."""
        image = self.gallery.marked
        match key:
            case "left" | "right":
                self.mark(-1 if key == "left" else 1)
            case "backspace" | "delete":
                self.gallery.remove()
                self.tell_images()
            case "escape":
                self.unmark()
            case "enter" | "space" if image is not None:
                self.post_message(self.ImageWanted(image))
            case _:
                return False
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        text = clean(event.text)
        if not self.takes_images or (text and not could_be_paths(text)):
            await super()._on_paste(event)
            return
        event.prevent_default()
        event.stop()
        self.ask(text, sure=not text)


def _moved(at: Location, start: Location, end: Location, now: Location) -> Location:
    """A place in a text of which `start` to `end` now ends at `now`; what is typed at it stands
    behind it.
    """
    if at <= start:
        return at
    if at < end:
        return start
    if at[0] == end[0]:
        return now[0], at[1] - end[1] + now[1]
    return at[0] + now[0] - end[0], at[1]
