"""A key as it is typed: how long it is, never what it is."""

from collections.abc import Iterator

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, cut, wrap

_MOST_DOTS = 40


class KeyLine(Bar):
    """`intro` says whose key and where it is kept, `state` what is done with it or wrong."""

    def __init__(self, intro: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._intro = intro
        self.key = ""
        self.state, self.wrong = "", False

    def say(self, state: str, *, wrong: bool = False) -> None:
        """What is done with the key, or what is wrong with it."""
        self.state, self.wrong = state, wrong
        self.redraw()

    def write(self, key: str) -> None:
        """The key as it is now."""
        self.key = key
        self.say("")

    def bar_rows(self, width: int) -> Iterator[Row]:
        for part in self._intro.split("\n"):
            yield from wrap([Span(part)], width)
        yield ()
        dots = "●" * min(len(self.key), _MOST_DOTS)
        count = len(self.key)
        length = f"  {count} characters" if count else "  type or paste it; it is not shown"
        yield cut(
            [
                Span("▸ ", "primary"), Span(dots), Span(" ", "reverse"), Span(length, "dim"),
            ],
            width,
        )  # fmt: skip
        if self.state:
            yield ()
            mark = Span("✗ ", "error") if self.wrong else Span("… ", "dim")
            yield from wrap([mark, Span(self.state)], width)
