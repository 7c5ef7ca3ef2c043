"""Lines of styled text as plain values, and how they are cut, joined and wrapped by cells.

A `Span` names its look by a role (`palette.py` knows them), so that a line outlives a change of
theme and costs little to keep. Nothing here knows Textual.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size, split_graphemes

TAB = 4
_WORD = re.compile(r"\s+|\S+")


class Span(NamedTuple):
    """Text of one look. `role` holds role names apart by blanks; `link` is an address or ''."""

    text: str
    role: str = ""
    link: str = ""


class Line(NamedTuple):
    """One row. The first `lead` cells are decoration that a copy leaves out; `soft` says that the
    line goes on from the one above, so that a copy joins them.
    """

    spans: tuple[Span, ...]
    lead: int = 0
    soft: bool = False


BLANK = Line(())


def plain(line: Line) -> str:
    """A line's text, decoration and all."""
    return "".join(span.text for span in line.spans)


def cells(spans: Iterable[Span]) -> int:
    """How many cells spans take."""
    return sum(cell_len(span.text) for span in spans)


def clip(line: Line, begin: int, end: int | None) -> str:
    """The text of a line from cell `begin` to before cell `end`, or to its end."""
    text = plain(line)
    if text.isascii():
        return text[begin:end]
    at, kept = 0, []
    for start, stop, size in split_graphemes(text)[0]:
        if at >= begin and (end is None or at < end):
            kept.append(text[start:stop])
        at += size
    return "".join(kept)


def expand_tabs(text: str) -> str:
    """Tabs as blanks, to the next multiple of `TAB` cells within each line."""
    if "\t" not in text:
        return text
    done = []
    for line in text.split("\n"):
        head, *others = line.split("\t")
        for part in others:
            head += " " * (TAB - cell_len(head) % TAB) + part
        done.append(head)
    return "\n".join(done)


def cut_text(text: str, width: int) -> str:
    """As much of `text` as `width` cells hold, ending in `…` if some is left out."""
    if len(text) <= width and text.isascii():
        return text
    if cell_len(text) <= width:
        return text
    return text[: _fits(text, width - 1)] + "…" if width > 0 else ""


def cut(spans: Iterable[Span], width: int) -> tuple[Span, ...]:
    """As much of the spans as `width` cells hold, ending in `…` if some is left out."""
    spans = tuple(spans)
    if cells(spans) <= width:
        return spans
    kept: list[Span] = []
    room = width - 1
    for span in spans:
        size = cell_len(span.text)
        if size > room:
            text = span.text[: _fits(span.text, room)] + "…"
            return (*kept, span._replace(text=text)) if width > 0 else ()
        kept.append(span)
        room -= size
    return tuple(kept)


def spread(left: Iterable[Span], right: Iterable[Span], width: int) -> tuple[Span, ...]:
    """`left` and `right` at the two ends of `width` cells. Where both do not fit, `left` is cut;
    where `right` alone takes more than half, it goes.
    """
    right = tuple(right)
    size = cells(right)
    if not size or not fits_right(right, width):
        return cut(left, width)
    left = cut(left, width - size - 1)
    return (*left, Span(" " * (width - size - cells(left))), *right)


def fits_right(spans: Iterable[Span], width: int) -> bool:
    """Whether spans leave enough of `width` cells for what stands left of them."""
    return cells(spans) <= min(width // 2 + 4, width - 2)


def wrap(spans: Iterable[Span], width: int, *, whole: bool = False) -> Iterator[tuple[Span, ...]]:
    """Spans without line ends as rows of at most `width` cells, broken at blanks, between wide
    characters, or where nothing else is left, anywhere between two graphemes.

    The blanks at a break are left out; `whole` keeps them at their row's end, beyond the width
    where they do not fit, so that the rows put together are the text.
    """
    spans = tuple(spans)
    text = "".join(span.text for span in spans)
    if text.isascii() and len(text) <= width:
        yield spans
        return
    at, begin = 0, 0
    for start, end, next_start in _rows(text, max(width, 1)):
        row = []
        stop_at = next_start if whole else end
        while at < len(spans):
            span = spans[at]
            stop = begin + len(span.text)
            if piece := span.text[max(start - begin, 0) : max(stop_at - begin, 0)]:
                row.append(span if piece == span.text else span._replace(text=piece))
            if stop > next_start:
                break
            at, begin = at + 1, stop
        yield tuple(row)


def _rows(text: str, width: int) -> Iterator[tuple[int, int, int]]:
    """Where each row begins, where it ends before the blanks of a break, where the next begins."""
    start = end = size = 0
    for word_start, word_end, word_size, blank in _pieces(text, width):
        if blank:
            if word_start == 0 and word_size < width:
                end = word_end
            size += word_size
            continue
        if size + word_size > width and end > start:
            yield start, end, word_start
            start, size = word_start, 0
        elif size + word_size > width:  # nothing but blanks so far
            start, size = word_start, 0
        end, size = word_end, size + word_size
    yield start, end, len(text)


def _pieces(text: str, width: int) -> Iterator[tuple[int, int, int, bool]]:
    """(start, end, cells, is blank) of what stays together in a row."""
    for match in _WORD.finditer(text):
        start, end, word = match.start(), match.end(), match[0]
        if word.isspace():
            yield start, end, cell_len(word), True
            continue
        size = len(word) if word.isascii() else cell_len(word)
        if size <= width and (word.isascii() or size == len(word)):
            yield start, end, size, False
        else:
            yield from _split(word, start, width)


def _split(word: str, offset: int, width: int) -> Iterator[tuple[int, int, int, bool]]:
    """A word that is too long, or holds wide characters, in pieces."""
    begin = end = size = 0
    for first, stop, wide in split_graphemes(word)[0]:
        breaks = wide > 1 or (begin < first and _is_wide(word[begin]))
        if begin < first and (size + wide > width or breaks):
            yield offset + begin, offset + end, size, False
            begin, size = first, 0
        end, size = stop, size + wide
    if begin < len(word):
        yield offset + begin, offset + len(word), size, False


def _is_wide(character: str) -> bool:
    return get_character_cell_size(character) > 1


def _fits(text: str, width: int) -> int:
    """How many characters of `text` fit into `width` cells."""
    room = width
    head = text[: max(width, 0) * 4 + 8]
    for start, _, size in split_graphemes(head)[0]:
        if size > room:
            return start
        room -= size
    return len(head)
