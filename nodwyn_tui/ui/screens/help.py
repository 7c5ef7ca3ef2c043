"""All keys and commands that work, and what the marks mean. Taken from the tables that make them
work, so that nothing else is listed.
"""

from collections.abc import Iterable, Iterator, Sequence

from textual.binding import Binding, BindingType

from nodwyn_tui.ui.commands import SlashCommand
from nodwyn_tui.ui.screens.sheet import Sheet
from nodwyn_tui.ui.widgets.entries import MARKS, STATES
from nodwyn_tui.ui.widgets.header import MODES
from nodwyn_tui.ui.widgets.keys import Keys, key_name, keys_of
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, wrap
from nodwyn_tui.ui.widgets.meter import FIGURES, KINDS

Group = tuple[str, Sequence[BindingType]]
_FIRST = 22


class Help(Sheet):
    """`groups` are the bindings by where they work."""

    def __init__(self, groups: Iterable[Group], commands: Sequence[SlashCommand]) -> None:
        groups = tuple(groups)
        super().__init__("Help", lambda width: list(_help(groups, commands, width, keys_of(self))))


class KeyHelp(Sheet):
    """The keys of one screen."""

    def __init__(self, title: str, bindings: Sequence[BindingType]) -> None:
        super().__init__(title, lambda width: list(_keys(bindings, width, keys_of(self))))


def _help(
    groups: Iterable[Group], commands: Sequence[SlashCommand], width: int, keys: Keys
) -> Iterator[Line]:
    for title, bindings in groups:
        yield from _head(title)
        yield from _keys(bindings, width, keys)
        yield BLANK
    yield from _head("Commands")
    for command in commands:
        name = f"/{command.name} {command.argument}".strip()
        yield from _row([Span(name, "key")], command.help, width)
    yield BLANK
    yield from _head("Modes: what is done unasked")
    for mode, (role, meaning) in MODES.items():
        yield from _row([Span(mode, role)], meaning, width)
    yield BLANK
    yield from _head("Marks of calls")
    for mark, role, word in MARKS.values():
        yield from _row([Span(mark, role)], word or "done", width)
    yield BLANK
    yield from _head("Words beside an entry")
    for word, meaning in STATES.values():
        yield from _row([Span(word, "dim")], meaning, width)
    yield BLANK
    yield from _head("The meter")
    for kind, (glyph, meaning) in KINDS.items():
        yield from _row([Span(glyph * 3, f"m-{kind}")], meaning, width)
    yield from _row(
        [Span("┊high  ┊low")],
        "at high, older results are trimmed down to low, or it is compacted",
        width,
    )
    yield from _row(
        [Span("┊full  ┊warn")],
        "at full, a rollover begins a new one; at warn, the model is told to write its notes",
        width,
    )
    yield from _row([Span("ceiling")], "the most that a request may hold", width)
    for word, meaning in FIGURES.items():
        yield from _row([Span(word)], meaning, width)


def _keys(bindings: Sequence[BindingType], width: int, keys: Keys) -> Iterator[Line]:
    for binding in bindings:
        if isinstance(binding, Binding) and binding.description:
            names = keys.names(binding.id) if binding.id else map(key_name, binding.key.split(","))
            yield from _row([Span(" ".join(names) or "—", "key")], binding.description, width)


def _head(title: str) -> Iterator[Line]:
    yield Line((Span(title, "heading"),))


def _row(name: list[Span], meaning: str, width: int) -> Iterator[Line]:
    used = sum(len(span.text) for span in name)
    if used >= _FIRST:
        yield Line(tuple(name))
        name, used = [], 0
    for n, row in enumerate(wrap([Span(meaning, "dim")], width - _FIRST)):
        head = (*name, Span(" " * (_FIRST - used))) if n == 0 else (Span(" " * _FIRST),)
        yield Line((*head, *row))
