"""The way to what is slow to import, Markdown and source colours: loaded after the first paint."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from nodwyn_tui.ui.widgets.lines import Line, Span

_ROOM = "nodwyn_tui.ui.widgets."


class Live(Protocol):
    """A reply that is being written."""

    text: str

    def add(self, piece: str) -> None:
        """More text at its end."""
        ...

    def lines(self, width: int) -> "list[Line]":
        """All of it, laid out."""
        ...


def load() -> None:
    """Import what is slow now, as in a thread after the first paint."""
    importlib.import_module(_ROOM + "live_markdown")


def markdown(text: str, width: int) -> "list[Line]":
    """Markdown laid out in `width` cells."""
    module = importlib.import_module(_ROOM + "markdown")
    return cast("Callable[[str, int], list[Line]]", module.markdown)(text, width)


def live_markdown() -> Live:
    """A new `LiveMarkdown`."""
    module = importlib.import_module(_ROOM + "live_markdown")
    return cast("Callable[[], Live]", module.LiveMarkdown)()


def highlight(code: str, language: str) -> "list[list[Span]]":
    """Source code's lines, coloured."""
    module = importlib.import_module(_ROOM + "highlight")
    return cast("Callable[[str, str], list[list[Span]]]", module.highlight)(code, language)
