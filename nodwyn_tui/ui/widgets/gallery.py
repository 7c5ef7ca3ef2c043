"""The images that a message is going to carry, and which of them is marked. Knows no widget."""

from collections.abc import Iterable

from nodwyn_tui.link.images import Attached


class Gallery:
    """In the order they were attached; each is there once."""

    def __init__(self) -> None:
        self.images: tuple[Attached, ...] = ()
        self.at: int | None = None
        """The marked one."""

    @property
    def marked(self) -> Attached | None:
        """The one that keys act on."""
        return None if self.at is None else self.images[self.at]

    @property
    def digests(self) -> tuple[str, ...]:
        """As the link names them."""
        return tuple(image.sha256 for image in self.images)

    def add(self, images: Iterable[Attached]) -> None:
        """More of them; one that is there already goes by its latest name from now on."""
        added = {image.sha256: image for image in (*self.images, *images)}
        self.images = tuple(added.values())

    def take(self) -> tuple[Attached, ...]:
        """All of them, which are here no more."""
        images, self.images, self.at = self.images, (), None
        return images

    def step(self, step: int) -> None:
        """Mark the next one, or the one before; from nothing the last, behind the last nothing."""
        last = len(self.images) - 1
        at = last if self.at is None else max(self.at + step, 0)
        self.at = at if 0 <= at <= last else None

    def remove(self) -> Attached | None:
        """Take the marked one out; the one before it is marked, else the one that follows."""
        gone = self.marked
        if gone is not None and self.at is not None:
            self.images = self.images[: self.at] + self.images[self.at + 1 :]
            self.at = max(self.at - 1, 0) if self.images else None
        return gone
