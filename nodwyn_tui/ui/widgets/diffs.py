"""A unified diff as lines: signs kept, numbers beside them, colour on top (TUI-1)."""

import re
from collections.abc import Callable, Iterator

from nodwyn_tui.ui.widgets.lines import Line, Span, cells, cut, expand_tabs, wrap

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_ROLES = {"+": "add", "-": "remove"}


def diff_lines(diff: str, width: int, shown: Callable[[str], str]) -> Iterator[Line]:
    """`diff` in `width` cells. `shown` makes its text inert: `visible` to read, `exact` to judge.

    Each line has its number, an added one that of the new file, a removed one that of the old; a
    diff without hunk headers has none.
    """
    old = new = 0
    numbered = "\n@@ " in f"\n{diff}"
    inside = not numbered
    for text in diff.removesuffix("\n").split("\n"):
        sign = text[:1] or " "
        if match := _HUNK.match(text):
            old, new, inside = int(match[1]), int(match[2]), True
            yield _remark(text, "dim", width, shown)
        elif not inside or sign not in "+- ":
            yield _remark(text, "dim", width, shown)
        else:
            gutter = f"{old if sign == '-' else new:>5} " if numbered else "  "
            old += sign != "+"
            new += sign != "-"
            yield from _change(gutter, sign, expand_tabs(shown(text[1:])), width)


def _remark(text: str, role: str, width: int, shown: Callable[[str], str]) -> Line:
    return Line(cut([Span(shown(text), role)], width))


def _change(gutter: str, sign: str, text: str, width: int) -> Iterator[Line]:
    role = _ROLES.get(sign, "")
    lead = len(gutter) + 2
    for n, spans in enumerate(wrap([Span(text, role)], width - lead, whole=True)):
        fill = max(width - lead - cells(spans), 0) if role else 0
        head = Span(gutter, "faint") if n == 0 else Span(" " * len(gutter))
        mark = Span(f"{sign} " if n == 0 else "  ", role)
        line = (head, mark, *spans, Span(" " * fill, role))
        yield Line(tuple(span for span in line if span.text), lead, soft=n > 0)


def counts(diff: str) -> tuple[int, int]:
    """How many lines a diff adds and removes."""
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    return added, sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
