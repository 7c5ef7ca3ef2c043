"""Images over the link: attaching them, and sending them on to another host (IMG-1 to IMG-6).

No pixel crosses the link: an image is named by the digest of its file in the store.
"""

from typing import Literal

from nodwyn_tui.link.record import Record


class Attach(Record):
    """Take what was dropped, pasted or typed as images, if it is nothing but that (IMG-1).

    `text` is the pasted text, or a path as the person wrote it; '' asks for the clipboard's image.
    One `ImageAttached` an image follows, or one `AttachRefused`. `sure` says that the person said
    it is an image (`/image`, `--image`, Ctrl+V): then what is none is told as an error; else the
    text is one like any other.
    """

    text: str
    sure: bool = False


class ConfirmImages(Record):
    """The images that wait for it may go to the host that is asked now (IMG-6)."""


class Attached(Record):
    """An image in the store. `tokens` is what the model that is asked now charges for it, by its
    provider's own rule; `path` its file there, `note` what was done to it (scaled, turned, first
    picture of several), '' for nothing.
    """

    sha256: str
    name: str
    mime: str
    width: int
    height: int
    size: int
    tokens: int
    path: str
    note: str = ""


class ImageAttached(Record):
    """`text` is that of the `Attach` it answers, `index` of `count` images in it, from 1."""

    text: str
    image: Attached
    index: int = 1
    count: int = 1


class AttachRefused(Record):
    """Nothing was attached. `reason` is '' where the text is no list of images, and belongs into
    the prompt as it is; else it names the file, and what can be done.
    """

    text: str
    reason: str = ""


Why = Literal["missing", "changed", "no-vision", "other-host", "refused"]


class WithheldImage(Record):
    """An image that the next request goes without, and why."""

    sha256: str
    name: str
    why: Why


class ImagesWithheld(Record):
    """Which images the model that is asked now, at `host`, does not get; none ends an earlier
    list. Those of another host wait for `ConfirmImages`.
    """

    host: str
    images: tuple[WithheldImage, ...] = ()


ImageCommand = Attach | ConfirmImages
ImageEvent = ImageAttached | AttachRefused | ImagesWithheld
