"""A table in cells: columns as wide as they need, narrowed where they do not fit (C59)."""

from collections.abc import Iterator

from nodwyn_tui.ui.widgets.lines import Span, cells, wrap

_GAP = Span(" │ ", "faint")
_NARROWEST = 5

Cell = list[Span]


def table(rows: list[list[Cell]], sides: list[str], width: int) -> Iterator[tuple[Span, ...]]:
    """Rows of spans; the first of `rows` is the header. `sides` says where each column's text
    stands: 'left', 'center', 'right' or ''. Too narrow for columns, each cell gets a line.
    """
    columns = len(rows[0]) if rows else 0
    room = width - 3 * (columns - 1)
    if not columns or room < columns * _NARROWEST:
        yield from _listed(rows, width)
        return
    sizes = _shares(
        [max(cells(row[n]) for row in rows if n < len(row)) for n in range(columns)], room
    )
    for number, row in enumerate(rows):
        yield from _row(row, sizes, sides)
        if number == 0:
            yield (Span("─┼─".join("─" * size for size in sizes), "faint"),)


def _shares(wanted: list[int], room: int) -> list[int]:
    """What each column gets: the wide ones give way first."""
    sizes = [max(size, 1) for size in wanted]
    while (over := sum(sizes) - room) > 0:
        widest = max(sizes)
        many = [n for n, size in enumerate(sizes) if size == widest]
        second = max((size for size in sizes if size < widest), default=_NARROWEST)
        step = max(min(widest - second, -(-over // len(many))), 1)
        for n in many:
            sizes[n] -= min(step, over)
            over -= min(step, over)
    return sizes


def _row(row: list[Cell], sizes: list[int], sides: list[str]) -> Iterator[tuple[Span, ...]]:
    wrapped = [list(wrap(row[n], size)) if n < len(row) else [()] for n, size in enumerate(sizes)]
    for height in range(max(len(lines) for lines in wrapped)):
        spans: list[Span] = []
        for n, size in enumerate(sizes):
            if n:
                spans.append(_GAP)
            text = wrapped[n][height] if height < len(wrapped[n]) else ()
            spans.extend(_placed(text, size, sides[n] if n < len(sides) else ""))
        yield tuple(spans)


def _placed(spans: tuple[Span, ...], size: int, side: str) -> list[Span]:
    blank = max(size - cells(spans), 0)
    left = {"right": blank, "center": blank // 2}.get(side, 0)
    return [span for span in (Span(" " * left), *spans, Span(" " * (blank - left))) if span.text]


def _listed(rows: list[list[Cell]], width: int) -> Iterator[tuple[Span, ...]]:
    header = rows[0] if rows else []
    for row in rows[1:]:
        for n, cell in enumerate(row):
            name = [*header[n], Span(": ")] if n < len(header) else []
            yield from wrap([*name, *cell], width)
        yield ()
