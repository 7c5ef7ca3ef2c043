"""Images on the screen: what is attached, what is withheld, and looking at one (IMG-1, IMG-2,
IMG-6). Files are read by the worker, but for the pictures of what it has stored.
"""

from typing import assert_never

from nodwyn_tui.domain.words import Pictures
from nodwyn_tui.link import commands
from nodwyn_tui.link.events import FilesFound, Notice
from nodwyn_tui.link.images import (
    Attach,
    Attached,
    AttachRefused,
    ConfirmImages,
    ImageAttached,
    ImagesWithheld,
)
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.ui import messages as news
from nodwyn_tui.ui.bridge import Bridge
from nodwyn_tui.ui.screens.picture_sheet import PictureSheet
from nodwyn_tui.ui.screens.stage import Level, Stage
from nodwyn_tui.ui.widgets.chips import Chips
from nodwyn_tui.ui.widgets.completing import Completer, Completion
from nodwyn_tui.ui.widgets.image_paths import ImagePaths
from nodwyn_tui.ui.widgets.mentions import Mentions
from nodwyn_tui.ui.widgets.picturing import PicturingEditor
from nodwyn_tui.ui.widgets.transcript import Transcript

COMMAND = "/image "
PREVIEW_FROM = 30
"""Rows of the screen that leave room for a preview."""


class Attaching(Stage):
    """Between the prompt's images and the worker."""

    _remarked: Notice | None = None
    """What was said of an image last."""

    def __init__(
        self, bridge: Bridge, clock: Clock, completer: Completer, pictures: Pictures
    ) -> None:
        super().__init__(bridge, clock, completer, pictures)
        self._paths = ImagePaths(self.run_worker, self.prompt.offer_again)
        self.mentions = Mentions(self._find_files, self.prompt.offer_anew)

    def on_image_news(self, message: news.ImageNews) -> None:
        event = message.event
        match event:
            case ImageAttached():
                self._attached(event)
            case AttachRefused():
                self._refused(event)
            case ImagesWithheld():
                self.standing.set_withheld(event)
                self.transcript.withhold(event)
                self.show_hints()
            case _:
                assert_never(event)

    def on_picturing_editor_attach_wanted(self, message: PicturingEditor.AttachWanted) -> None:
        if self._remarked is not None and self.notices.notice is self._remarked:
            self.notices.clear()
        if self.bridge.lost:
            self.prompt.forget_asked()
            self.tell("warning", "no image is attached while the worker is gone; Enter starts it")
        else:
            self.bridge.send(Attach(text=message.text, sure=message.sure))

    def on_picturing_editor_images_changed(self, message: PicturingEditor.ImagesChanged) -> None:
        images, marked = message.images, message.marked
        self.chips.show(images, marked, message.looking)
        shown = images[-1 if marked is None else marked] if images else None
        roomy = self.size.height >= PREVIEW_FROM and self.pictures != "none"
        self.preview.show(shown if roomy else None)
        self.show_hints()

    def on_picturing_editor_image_wanted(self, message: PicturingEditor.ImageWanted) -> None:
        self._see(message.image)

    def on_chips_clicked(self, message: Chips.Clicked) -> None:
        message.stop()
        if message.index < len(self.prompt.gallery.images):
            self._see(self.prompt.gallery.images[message.index])

    def on_resize(self) -> None:
        self.call_after_refresh(self.prompt.tell_images)

    def on_transcript_picture_wanted(self, message: Transcript.PictureWanted) -> None:
        self.see(message.entry.title, message.entry.picture)

    def see(self, title: str, path: str) -> None:
        """An image as large as the screen."""
        if self.pictures == "none":
            self.tell("info", f"without colour no picture is shown; the file is {path}")
        else:
            self.app.push_screen(PictureSheet(title, path, self.pictures))

    def _see(self, image: Attached) -> None:
        size = f"{image.width}×{image.height}"  # noqa: RUF001 - the sign between two sizes
        self.see(f"{image.name} {size}", image.path)

    def save_draft(self) -> None:
        """The prompt as it stands now."""
        digests = self.prompt.gallery.digests
        self.bridge.send(commands.SaveDraft(text=self.prompt.draft, images=digests))

    def complete_path(self, text: str) -> list[Completion]:
        """The files that the path after `/image` could become."""
        if not text.startswith(COMMAND) or "\n" in text or self.header.opened is None:
            self._paths.forget()
            return []
        typed = text.removeprefix(COMMAND).lstrip()
        return self._paths.completions(COMMAND, typed, self.header.opened.workspace)

    def files_found(self, event: FilesFound) -> None:
        """Files that fit a mention."""
        self.mentions.found(event)

    def _find_files(self, query: str) -> None:
        if not self.bridge.lost:
            self.bridge.send(commands.FindFiles(query=query))

    def action_confirm_images(self) -> None:
        """What waits for it may go to the host that is asked now."""
        if self.awaits_confirmation:
            self.bridge.send(ConfirmImages())

    @property
    def awaits_confirmation(self) -> bool:
        """Whether images wait for the person to let them go to this host."""
        return any(image.why == "other-host" for image in self.standing.withheld.images)

    def _attached(self, event: ImageAttached) -> None:
        image = event.image
        is_there = image.sha256 in self.prompt.gallery.digests
        if event.index < event.count:
            self.prompt.attach([image])
        else:
            self.prompt.answer(event.text, [image])
        if is_there:
            self._remark("info", f"{image.name} is attached already")
        elif image.note:
            self._remark("info", f"{image.name}: {image.note}")

    def _refused(self, event: AttachRefused) -> None:
        asked = self.prompt.answer(event.text, None)
        if not event.reason:
            return
        if not event.text and self.app.clipboard:
            self.prompt.paste(self.app.clipboard)  # what was cut here is no image, but wanted
            return
        if asked is not None and asked.sure and event.text:
            self.prompt.put_back([COMMAND + event.text])
        self._remark("error", event.reason)

    def _remark(self, level: Level, text: str) -> None:
        """About an image; it is over once the next one is asked for."""
        self.tell(level, text)
        self._remarked = self.notices.notice
