"""What is remembered between sessions: which facts the last request had, and why; then file by file
what stands there, and where each lies to be edited.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from nodwyn_tui.link.events import MemoryShown, MemoryText, Recalled, RecalledFact
from nodwyn_tui.ui.screens.picker import Picker
from nodwyn_tui.ui.screens.sheet import Sheet
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, cut_text, expand_tabs, wrap
from nodwyn_tui.ui.widgets.pick_list import Choice
from nodwyn_tui.ui.widgets.visible import one_line, visible

SHOWN = 20_000
"""Characters of a file that the sheet shows."""
NOTHING = "nothing yet"
LAST = "in the last request"
OFF = "none: this model is sent no fresh context (`fresh` in its settings)"
NOT_YET = "none: no request of this window had facts to go through"
NONE = "none of {known:,} facts has a word of your request"
NO_ROOM = "matched, but {cap:,} tokens are all that facts may take"
WHOSE = {"workspace": "here", "person": "yours, everywhere"}
WAY = (
    "Plain Markdown: edit it here (e) or in any editor, a line `- …` for each fact or correction;"
    " other text is in no request. Sessions read it anew as they go on."
)
NO_ITEM = "no request has any of this: begin each fact or correction with `- `"


class MemorySheet(Sheet):
    """Shows what came; `edit` opens one of its files in the person's editor."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", "edit a file")]

    def __init__(self, shown: MemoryShown, edit: Callable[[MemoryText], None]) -> None:
        super().__init__("Memory", lambda width: list(_lines(shown, width)))
        self.frame.border_subtitle = "e edits a file · Esc puts this away · ↑ ↓ scroll"
        self._files = {text.path: text for text in shown.texts if text.path and not text.problem}
        self._edit = edit

    def action_edit(self) -> None:
        """Pick a file, and open it."""
        choices = [
            Choice(path, f"{text.file} ({WHOSE[text.keeper]})", one_line(path))
            for path, text in self._files.items()
        ]
        self.app.push_screen(Picker("Edit", choices), self._picked)

    def _picked(self, path: str | None) -> None:
        if path:
            self.dismiss()
            self._edit(self._files[path])


def _lines(shown: MemoryShown, width: int) -> Iterator[Line]:
    yield from _wrapped(WAY, "dim", width)
    if any(text.file == "facts" for text in shown.texts):
        yield BLANK
        yield Line((Span(LAST, "heading"),))
        yield from _last(shown, width)
    for text in shown.texts:
        yield BLANK
        yield Line((Span(f"{text.file} ({WHOSE[text.keeper]})", "heading"),))
        yield from _wrapped(one_line(text.path), "dim", width)
        yield from _content(text, width)


def _last(shown: MemoryShown, width: int) -> Iterator[Line]:
    """Which facts went in, and why; which did not, for want of room."""
    recalled = shown.recalled
    if shown.off or recalled is None:
        yield from _wrapped(OFF if shown.off else NOT_YET, "dim", width)
        return
    if not recalled.matched:
        yield from _wrapped(NONE.format(known=recalled.known), "dim", width)
        return
    sent = [fact for fact in recalled.facts if fact.sent]
    for place, fact in enumerate(sent, 1):
        yield from _fact(f"{place}.", fact, width)
    yield from _without_room(recalled, len(sent), width)


def _without_room(recalled: Recalled, sent: int, width: int) -> Iterator[Line]:
    if recalled.matched == sent:
        return
    yield from _wrapped(NO_ROOM.format(cap=recalled.cap), "warning", width)
    for fact in recalled.facts[sent:]:
        yield from _fact("-", fact, width)
    if more := recalled.matched - len(recalled.facts):
        yield from _wrapped(f"… and {more:,} more", "dim", width)


def _fact(mark: str, fact: RecalledFact, width: int) -> Iterator[Line]:
    """Its beginning, and why it is here, a line each."""
    text = one_line(f"{fact.date} {fact.text}".strip())
    yield Line((Span(cut_text(f"{mark} {text}", width)),))
    whose = "" if fact.keeper == "workspace" else " · yours"
    age = f"{fact.later:,} came later" if fact.later else "the latest"
    has = cut_text(f"   has {one_line(', '.join(fact.words))}", width - len(f" · {age}{whose}"))
    yield Line((Span(f"{has} · {age}{whose}", "dim"),))


def _content(text: MemoryText, width: int) -> Iterator[Line]:
    if text.problem:
        yield from _wrapped(one_line(text.problem), "error", width)
        return
    if not text.text.strip():
        yield from _wrapped(NOTHING, "dim", width)
        return
    if not text.items and text.file != "context-notes":
        yield from _wrapped(NO_ITEM, "warning", width)
    for part in expand_tabs(visible(text.text[:SHOWN].rstrip())).split("\n"):
        yield from _wrapped(part, "", width)
    if len(text.text) > SHOWN:
        yield from _wrapped(f"… the file has {len(text.text):,} characters", "dim", width)


def _wrapped(text: str, role: str, width: int) -> Iterator[Line]:
    for n, row in enumerate(wrap([Span(text, role)], width)):
        yield Line(row, soft=n > 0)
