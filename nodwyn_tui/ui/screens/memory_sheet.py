"""What is remembered between sessions, file by file, and where each lies to be edited."""

from collections.abc import Iterator

from nodwyn_tui.link.events import MemoryShown, MemoryText
from nodwyn_tui.ui.screens.sheet import Sheet
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, expand_tabs, wrap
from nodwyn_tui.ui.widgets.visible import one_line, visible

SHOWN = 20_000
"""Characters of a file that the sheet shows."""
NOTHING = "nothing yet"
WAY = (
    "Plain Markdown: edit it in any editor, a line `- …` for each fact or correction."
    " Sessions read it anew as they go on."
)


class MemorySheet(Sheet):
    """Shows what came."""

    def __init__(self, shown: MemoryShown) -> None:
        super().__init__("Memory", lambda width: list(_lines(shown, width)))


def _lines(shown: MemoryShown, width: int) -> Iterator[Line]:
    yield from _wrapped(WAY, "dim", width)
    for text in shown.texts:
        yield BLANK
        whose = "here" if text.keeper == "workspace" else "yours, everywhere"
        yield Line((Span(f"{text.file} ({whose})", "heading"),))
        yield from _wrapped(one_line(text.path), "dim", width)
        yield from _content(text, width)


def _content(text: MemoryText, width: int) -> Iterator[Line]:
    if text.problem:
        yield from _wrapped(one_line(text.problem), "error", width)
        return
    if not text.text.strip():
        yield from _wrapped(NOTHING, "dim", width)
        return
    for part in expand_tabs(visible(text.text[:SHOWN].rstrip())).split("\n"):
        yield from _wrapped(part, "", width)
    if len(text.text) > SHOWN:
        yield from _wrapped(f"… the file has {len(text.text):,} characters", "dim", width)


def _wrapped(text: str, role: str, width: int) -> Iterator[Line]:
    for n, row in enumerate(wrap([Span(text, role)], width)):
        yield Line(row, soft=n > 0)
