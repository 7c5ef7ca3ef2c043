"""What stands below a call that waits for the person: exactly what it would do, what it may touch,
and the keys that answer (TUI-10, AGT-8).
"""

from collections.abc import Iterator

from nodwyn_tui.link.events import ApprovalAsked
from nodwyn_tui.ui.widgets.diffs import diff_lines
from nodwyn_tui.ui.widgets.keys import Keys
from nodwyn_tui.ui.widgets.lines import Line, Span, expand_tabs, wrap
from nodwyn_tui.ui.widgets.visible import exact

ANSWERS = "answer:"
"""How the link of a span begins that answers when it is clicked."""
_ANSWERS = {
    "allow": ("allow", "allow once"),
    "session": ("allow_session", "session"),
    "always": ("allow_always", "always"),
    "refuse": ("refuse", "no…"),
}
"""The binding of each answer, and its word."""
ANSWER_IDS = tuple(id for id, _ in _ANSWERS.values())
_MOST_LINES = 24


def question_lines(
    asked: ApprovalAsked,
    width: int,
    *,
    whole: bool,
    place: tuple[int, int],
    armed: bool,
    keys: Keys,
) -> Iterator[Line]:
    """The question in `width` cells. `whole` shows all of a long change or command; `place` is its
    number among the waiting ones; `armed` says that its keys are live.
    """
    detail = list(_detail(asked, width))
    if not whole and len(detail) > _MOST_LINES:
        hidden = len(detail) - _MOST_LINES + 1
        detail[_MOST_LINES - 1 :] = [
            Line(
                (Span(f"… {hidden:,} more lines · {keys.name('show_all')} shows them", "warning"),)
            )
        ]
    yield from detail
    if asked.warning:
        yield from _wrapped([Span("! ", "warning"), Span(exact(asked.warning), "warning")], width)
    if asked.touches:
        named = ", ".join(exact(path) for path in asked.touches)
        yield from _wrapped([Span("touches ", "dim"), Span(named)], width)
    yield Line(())
    yield from _keys(asked, width, place, armed=armed, keys=keys)


def _detail(asked: ApprovalAsked, width: int) -> Iterator[Line]:
    if asked.diff:
        yield from diff_lines(asked.diff, width, exact)
    for number, row in enumerate(asked.command.split("\n") if asked.command else ()):
        mark = "$ " if number == 0 else "  "
        for n, spans in enumerate(
            wrap([Span(expand_tabs(exact(row)), "block")], width - 4, whole=True)
        ):
            used = 3 + sum(len(span.text) for span in spans)
            head = Span(f" {mark if n == 0 else '  '}", "block dim")
            fill = Span(" " * max(width - used, 0), "block")
            yield Line((head, *spans, fill), lead=3, soft=n > 0)


def _keys(
    asked: ApprovalAsked, width: int, place: tuple[int, int], *, armed: bool, keys: Keys
) -> Iterator[Line]:
    number, count = place
    lead = "Allow this?" if count == 1 else f"Allow this? ({number} of {count})"
    if not armed:
        yield from _wrapped([Span(lead, "accent strong"), Span("  Tab, then a key", "dim")], width)
        return
    spans = [Span(lead, "accent strong")]
    for answer, (id, word) in _ANSWERS.items():
        if answer == "always" and not asked.pattern:
            continue
        key, link = keys.name(id), ANSWERS + answer
        before, found, after = word.partition(key) if len(key) == 1 else ("", "", word)
        after = after if found else f" {word}"
        before = before if found else ""
        spans += [Span("  "), Span(before, "", link), Span(f"[{key or '-'}]", "key", link)]
        spans.append(Span(after, "", link))
    yield from _wrapped(spans, width)
    if asked.pattern:
        always = [Span("always means ", "dim"), Span(exact(asked.pattern), "dim strong")]
        yield from _wrapped(always, width)


def _wrapped(spans: list[Span], width: int) -> Iterator[Line]:
    for n, row in enumerate(wrap(spans, width)):
        yield Line(row, soft=n > 0)
