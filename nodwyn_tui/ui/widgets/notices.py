"""What the person is told beside the conversation: remarks that pass, states that last, messages
that wait. Rows from parts, never markup (C56).
"""

from collections.abc import Iterator

from textual import events
from textual.message import Message
from textual.timer import Timer

from nodwyn_tui.link.events import Notice, Unsaved
from nodwyn_tui.link.images import ImagesWithheld
from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.keys import Keys, keys_of
from nodwyn_tui.ui.widgets.lines import Span, cut, wrap
from nodwyn_tui.ui.widgets.visible import one_line

_PASSES_S = 8.0
_MARKS = {"info": ("·", "dim"), "warning": ("!", "warning"), "error": ("✗", "error")}
_MOST_ROWS = 3
_MOST_NAMES = 3
_REASONS = {
    "other-host": "{names} not sent: not confirmed for {host}, {key} confirms",
    "no-vision": "{names} not sent: the model takes no images",
    "missing": "{names} not sent: gone from the session's store",
    "changed": "{names} not sent: changed in the session's store",
    "refused": "{names} not sent: refused by {host} before",
}
"""Why an image is withheld, in words."""


class NoticeBar(Bar):
    """The latest remark. One of level `info` passes by itself; the others stay until `clear`."""

    class Clicked(Message):
        """The remark's details are wanted."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.notice: Notice | None = None
        self._passing: Timer | None = None

    def tell(self, notice: Notice) -> None:
        """Show a remark."""
        self.notice = notice
        if self._passing is not None:
            self._passing.stop()
            self._passing = None
        if notice.level == "info":
            self._passing = self.set_timer(_PASSES_S, self.clear)
        self.redraw()

    def clear(self) -> None:
        """Take the remark away."""
        if self.notice is not None:
            self.notice = None
            self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        if self.notice is None:
            return
        mark, role = _MARKS[self.notice.level]
        key = keys_of(self).name("details")
        more = Span(f"  {key} shows more" if key else "", "dim")
        text = [Span(one_line(self.notice.text), role)]
        if self.notice.detail not in self.notice.text:
            text.append(more)
        rows = list(wrap(text, width - 4))
        if len(rows) > _MOST_ROWS:
            last = cut([*rows[_MOST_ROWS - 1], Span(" …")], width - 4 - len(more.text))
            rows[_MOST_ROWS - 1 :] = [(*last, more)]
        for n, row in enumerate(rows):
            yield (Span(f" {mark} " if n == 0 else "   ", role), *row)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if self.notice is not None:
            self.post_message(self.Clicked())


class StandingBar(Bar):
    """States that are shown as long as they last (C68)."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._unsaved = Unsaved(count=0)
        self._read_only = ""
        self._worker = ""
        self.withheld = ImagesWithheld(host="")

    def set_withheld(self, withheld: ImagesWithheld) -> None:
        """Which images the next request goes without."""
        self.withheld = withheld
        self.redraw()

    def set_unsaved(self, unsaved: Unsaved) -> None:
        """How much the disk has not taken."""
        self._unsaved = unsaved
        self.redraw()

    def set_read_only(self, why: str) -> None:
        """Why nothing can be sent; '' if it can."""
        self._read_only = why
        self.redraw()

    def set_worker(self, state: str) -> None:
        """What became of the worker; '' if it works."""
        self._worker = state
        self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        if self._unsaved.count:
            count = self._unsaved.count
            yield from _alert(
                "NOT SAVED",
                f"{count:,} {'event' if count == 1 else 'events'} held in memory:"
                f" {self._unsaved.why.removesuffix('.')}. Nodwyn keeps trying.",
                width,
                "alarm",
            )
        if self._read_only:
            yield from _alert("READ ONLY", self._read_only, width, "alert")
        if self._worker:
            yield from _alert("WORKER", self._worker, width, "alert")
        if self.withheld.images:
            yield from _alert("IMAGES", _told(self.withheld, keys_of(self)), width, "alert")


class QueueBar(Bar):
    """Messages that wait for the run; after one that was stopped, for the person's next message."""

    class Clicked(Message):
        """The last of them is to be the person's again."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.texts: tuple[str, ...] = ()
        self._in_run = True

    def show(self, texts: tuple[str, ...], *, running: bool) -> None:
        """What waits, and whether a run goes on."""
        if (texts, running) != (self.texts, self._in_run):
            self.texts, self._in_run = texts, running
            self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        first, last = 0, len(self.texts) - 1
        for n in range(first, last + 1):
            if first < n < last and last >= _MOST_ROWS:
                if n == first + 1:
                    yield (Span(" " * 6), Span(f"… {last - 1} more", "dim"))
                continue
            tails = ["goes with your next message"] * (n == first and not self._in_run)
            tails += ["↑ edits it"] * (n == last)
            tail = f"  {' · '.join(tails)}" if tails else ""
            head = Span(" next " if n == first else " " * 6, "accent")
            text = one_line(self.texts[n]) or "images"
            body = cut([Span(text)], width - 7 - len(tail))
            yield (head, *body, Span(tail, "dim"))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked())


def _told(withheld: ImagesWithheld, keys: Keys) -> str:
    """Which images do not go, and why, each reason once; what waits for the person comes first."""
    host = withheld.host or "this host"
    key = keys.name("confirm_images") or "the key of confirm_images"
    parts = []
    for why, words in _REASONS.items():
        names = [image.name for image in withheld.images if image.why == why]
        if names:
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            listed = ", ".join(names[:_MOST_NAMES])
            parts.append(words.format(names=listed + more, host=host, key=key))
    return "; ".join(parts)


def _alert(name: str, text: str, width: int, role: str) -> Iterator[Row]:
    head = f" {name} "
    for n, row in enumerate(wrap([Span(one_line(text), "warning")], width - len(head) - 3)):
        yield (
            Span(" "),
            Span(head if n == 0 else " " * len(head), role if n == 0 else ""),
            Span(" "),
            *row,
        )
