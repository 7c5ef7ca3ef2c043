"""The rows around the settings: whose file it is and what is not saved, and what the chosen page is
about.
"""

from collections.abc import Iterator, Sequence

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.field import Field
from nodwyn_tui.ui.widgets.lines import Span, cells, cut, spread, wrap
from nodwyn_tui.ui.widgets.visible import one_line

_MOST_PROBLEMS = 3


class SettingsTitle(Bar):
    """The first row."""

    ROLE = "bar"
    ONE_ROW = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._file = ""
        self._unsaved = self._wrong = 0

    def tell(self, file: str, unsaved: int, wrong: int) -> None:
        """Whose file, how many changes are not in it, and how many of its problems no row tells."""
        if (file, unsaved, wrong) != (self._file, self._unsaved, self._wrong):
            self._file, self._unsaved, self._wrong = file, unsaved, wrong
            self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        count, wrong = self._unsaved, self._wrong
        words = f" {count} not saved " if count else ""
        if wrong and not count:
            words = f" {wrong} problem{'s' if wrong > 1 else ''} "
        right = (Span(words, "alert"),) if words else (Span("all saved", "dim"),)
        room = width - 2 - cells(right) - len("Settings  ") - 1
        name = one_line(self._file)
        if len(name) > room:  # its end says more than its beginning
            name = "…" + name[-max(room - 1, 0) :] if room > 1 else ""
        left = (Span("Settings", "strong"), Span(f"  {name}", "dim"))
        yield (Span(" "), *spread(left, right, width - 2))


class PageHead(Bar):
    """The chosen page's title and note, what is being looked for, and problems of no row."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title = self._note = ""
        self._query: Field | None = None
        self._typing = False
        self._problems: Sequence[str] = ()

    def tell(self, title: str, note: str, problems: Sequence[str] = ()) -> None:
        """About a page."""
        self._title, self._note, self._problems, self._query = title, note, problems, None
        self.redraw()

    def look(self, query: Field, found: int, *, typing: bool) -> None:
        """What is looked for, and how many settings have it."""
        noun = "setting" if found == 1 else "settings"
        self._query, self._typing, self._problems = query, typing, ()
        self._note = f"{found} {noun}" if query.text else "words of a name, a path or a help"
        self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        inner = width - 2
        if self._query is not None:
            text = (
                self._query.spans(inner - 2)
                if self._typing
                else (Span(self._query.text, "strong"),)
            )
            yield cut([Span(" "), Span("/ ", "primary"), *text], width)
            yield cut([Span(" "), Span(self._note, "dim")], width)
            yield ()
            return
        yield from self._wrong_rows(inner)
        if self._title:
            yield cut([Span(" "), Span(one_line(self._title), "heading")], width)
        if self._note:
            for row in wrap([Span(one_line(self._note), "dim")], inner):
                yield (Span(" "), *row)
        yield ()

    def _wrong_rows(self, inner: int) -> Iterator[Row]:
        """The first problems: one alone is told whole, several have a row each."""
        for problem in self._problems[:_MOST_PROBLEMS]:
            spans = [Span("! ", "error"), Span(one_line(problem), "error")]
            rows = list(wrap(spans, inner)) if len(self._problems) == 1 else [cut(spans, inner)]
            for row in rows[:_MOST_PROBLEMS]:
                yield (Span(" "), *row)
