"""How a setting is drawn: its label, value and origin in a row, what is wrong below, and the
lines about the marked one (TUI-5).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nodwyn_tui.link.settings import Setting, SettingOrigin
from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.field import Field
from nodwyn_tui.ui.widgets.keys import Keys
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, cells, cut, spread, wrap
from nodwyn_tui.ui.widgets.visible import one_line

ORIGINS: dict[SettingOrigin, str] = {
    "default": "default",
    "listing": "listing",
    "shipped": "shipped",
    "file": "your file",
    "environment": "environment",
    "changed": "not saved",
}
"""Where a value comes from, in a word."""
_SOURCES: dict[SettingOrigin, str] = {
    "default": "the default",
    "listing": "from the server's listing",
    "shipped": "as shipped with Nodwyn",
    "file": "from your file",
    "environment": "from the environment",
    "changed": "changed, not saved yet",
}
_WIDEST = 100
"""Cells of a row; where it comes from stands not too far from a value."""
_WIDEST_LABEL = 30
_INDENT = 4
_ON_OFF = {"true": "on", "false": "off"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A line between rows; `blank` leaves one above it."""

    title: str
    blank: bool = True
    marks: bool = False

    def lines(self, width: int, *, marked: bool, active: bool) -> list[Line]:  # noqa: ARG002 - any
        above = [BLANK] if self.blank else []
        return [*above, Line(cut([Span(one_line(self.title), "heading")], width))]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """A setting as it stands with the changes. `field` is what is being typed, `column` where
    values begin, `theirs` what an editor saved meanwhile.
    """

    setting: Setting
    value: str
    changed: bool = False
    theirs: str | None = None
    field: Field | None = None
    column: int = 20
    marks: bool = True
    keys: Keys

    def lines(self, width: int, *, marked: bool, active: bool) -> list[Line]:
        here, width = marked and active, min(width, _WIDEST)
        column = min(self.column, width * 2 // 5)
        mark = Span("▸ " if marked else "  ", "primary" if active else "dim")
        label = cut([Span(one_line(self.setting.label), self._label_role(marked))], column)
        head = (mark, *label, Span(" " * (column - cells(label) + 2)))
        if self.field is not None:
            row: Row = (*head, *self.field.spans(width - cells(head) - 1))
        else:
            row = spread((*head, *self._value(here)), self._end(), width)
        return [Line(filled(row, width) if here else row), *self._below(width)]

    def _label_role(self, marked: bool) -> str:
        if self.setting.why_not:
            return "dim"
        return "strong" if marked else ""

    def _value(self, here: bool) -> Row:
        if self.setting.why_not:
            return (Span(one_line(self.setting.why_not), "dim" if here else "faint"),)
        text = said(self.setting, self.value)
        if not text:
            row = self.setting
            counts = one_line(row.source) if row.origin == "default" and not self.changed else ""
            nothing = "none" if row.default else "not set"
            return (Span(counts or nothing, "dim" if here else "faint"),)
        role = "accent" if self.changed else ""
        if here and self.setting.choices:
            return (Span("◂ ", "dim"), Span(text, role), Span(" ▸", "dim"))
        return (Span(text, role),)

    def _end(self) -> Row:
        if self.setting.why_not:
            return ()
        if self.changed:
            return (Span("* not saved", "accent"),)
        return (Span(ORIGINS[self.setting.origin], "faint"),)

    def _below(self, width: int) -> Iterator[Line]:
        """What is wrong, or has to be decided."""
        below: list[Row] = []
        if self.setting.problem:
            below.append((Span("! ", "error"), Span(one_line(self.setting.problem), "error")))
        if self.theirs is not None:
            theirs = said(self.setting, self.theirs) or "not set"
            text = f"an editor saved “{theirs}” meanwhile: {how_to_decide(self.keys)} that one"
            below.append((Span("! ", "warning"), Span(text, "warning")))
        for spans in below:
            for row in wrap(spans, width - _INDENT):
                yield Line((Span(" " * _INDENT), *row), lead=_INDENT)


def how_to_decide(keys: Keys) -> str:
    """Between one's own value and an editor's; ends before what is used of the editor's."""
    mine, theirs = keys.name("settings_mine"), keys.name("settings_theirs")
    return f"{mine or 'settings_mine'} keeps yours, {theirs or 'settings_theirs'} uses"


class AboutSetting(Bar):
    """What the marked setting does, its default, and where its value comes from: always as many
    rows as `ROWS`, so that nothing moves.
    """

    ROWS = 4
    FIRST_ROWS = 4

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._setting: Setting | None = None
        self._text = ""

    def tell(self, setting: Setting | None, text: str = "", value: str = "") -> None:
        """About another one, as it stands with the changes; `text` where none is marked."""
        self._setting, self._text = setting, about(setting, value) if setting else text
        self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        inner = max(width - 2, 1)
        most = self.ROWS if self.app.size.height >= 20 else self.ROWS - 1
        facts = list(self._facts(inner))[: most - 1]
        told = list(wrap([Span(one_line(self._text))], inner))
        room = most - len(facts)
        if len(told) > room:  # the facts are worth more than the end of the help
            told[room - 1 :] = [cut([*told[room - 1], Span(" …", "dim")], inner)]
        rows: list[Row] = [*told, *facts]
        yield from ((Span(" "), *row) for row in [*rows, *[()] * (most - len(rows))])

    def _facts(self, width: int) -> Iterator[Row]:
        row = self._setting
        if row is not None and row.why_not:
            yield from wrap([Span(f"Does not apply: {one_line(row.why_not)}", "warning")], width)
        elif row is not None:
            yield from wrap([Span(" · ".join(_facts(row)), "dim")], width)


def about(row: Setting, value: str) -> str:
    """What a setting does, and the value that is chosen."""
    meanings = dict(zip(row.choices, row.meanings, strict=False))
    meaning = meanings.get(value)
    return f"{row.help} {value}: {meaning}" if meaning else row.help


def _facts(row: Setting) -> Iterator[str]:
    default = said(row, row.default)
    source = one_line(row.source)
    if row.origin == "default":
        yield " · ".join(filter(None, (f"default: {default}" if default else "not set", source)))
    else:
        yield f"default: {default}" if default else "no default"
        yield source or _SOURCES[row.origin]
    if row.later:
        yield f"takes effect {one_line(row.later)}"


def said(row: Setting, value: str) -> str:
    """A value as it is read."""
    if row.kind == "switch":
        return _ON_OFF.get(value, value)
    if row.kind == "list":
        return one_line(" · ".join(value.splitlines()))
    return one_line(value)


def column_of(settings: Iterable[Setting]) -> int:
    """Where the values of these begin, so that they stand in line."""
    labels = (cells([Span(one_line(row.label))]) for row in settings)
    return min(max(labels, default=0), _WIDEST_LABEL)


def filled(row: Row, width: int) -> Row:
    """A row with what marks it under all of it."""
    marked = (Span(span.text, f"chosen {span.role}", span.link) for span in row)
    return (*marked, Span(" " * (width - cells(row)), "chosen"))
