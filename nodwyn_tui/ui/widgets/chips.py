"""The row above the prompt that names the images of the message being written (IMG-2)."""

from collections.abc import Iterator

from textual import events
from textual.message import Message

from nodwyn_tui.link.images import Attached
from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, cells, cut, cut_text
from nodwyn_tui.ui.widgets.visible import one_line

_MOST_ROWS = 3
_LONGEST_NAME = 40


def chip(image: Attached, number: int) -> str:
    """What an image is called in the prompt, with its size in pixels and what it costs."""
    name = cut_text(one_line(image.name), _LONGEST_NAME)
    size = f"{image.width}×{image.height}"  # noqa: RUF001 - the sign between two sizes
    return f"[image {number}: {name} {size} · {image.tokens:,} tokens]"


class Chips(Bar):
    """`show` what there is; a chip that is clicked is told by its place."""

    class Clicked(Message):
        """A chip is meant, by its index."""

        def __init__(self, index: int) -> None:
            self.index = index
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._images: tuple[Attached, ...] = ()
        self._marked: int | None = None
        self._looking = ""

    def show(self, images: tuple[Attached, ...], marked: int | None, looking: str = "") -> None:
        """`looking` is what an answer is awaited about."""
        if (images, marked, looking) != (self._images, self._marked, self._looking):
            self._images, self._marked, self._looking = images, marked, looking
            self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        rows = self._placed(width)
        marked = next((n for n, row in enumerate(rows) if self._marked in row), 0)
        first = max(0, min(marked - 1, len(rows) - _MOST_ROWS))
        shown = rows[first : first + _MOST_ROWS]
        for indices in shown:
            spans = [Span(" ")]
            for index in indices:
                role = "reverse key" if index == self._marked else "key chosen"
                text = cut_text(chip(self._images[index], index + 1), width - 2)
                spans += [Span(text, role), Span(" ")]
            yield cut(spans, width)
        hidden = len(self._images) - sum(map(len, shown))
        if hidden:
            yield (Span(f" … {hidden} more"[:width], "dim"),)
        if self._looking:
            yield cut([Span(f" · looks at {one_line(self._looking)}…", "dim")], width)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        rows = self._placed(self.size.width)
        at, x = 1, event.x
        for index in rows[event.y] if event.y < len(rows) else ():
            size = cells([Span(chip(self._images[index], index + 1))])
            if at <= x < at + size:
                self.post_message(self.Clicked(index))
            at += size + 1

    def _placed(self, width: int) -> list[list[int]]:
        """The indices of the chips, row by row."""
        rows: list[list[int]] = []
        room = 0
        for index, image in enumerate(self._images):
            size = cells([Span(chip(image, index + 1))]) + 1
            if not rows or size > room:
                rows.append([])
                room = width - 1
            rows[-1].append(index)
            room -= size
        return rows
