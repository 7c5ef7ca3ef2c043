"""The change of a file as a unified diff, for the person's eyes: bounded, and free of codes."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from nodwyn_tui.tools.output import visible

_CONTEXT = 3
_MOST_LINES = 600
_MOST_CHARACTERS = 60_000
_LONGEST_LINE = 2000
_LARGEST_COMPARED = 3000
"""Changed lines, old and new, up to which pairs are sought; beyond, the block is shown as replaced,
since the search takes the square of their number."""


def unified(old: str, new: str, name: str) -> str:
    """The diff from `old` to `new`, '' if they are the same; `name` is shown as it is given. What
    goes over the bound is counted in the last line.
    """
    before, after = _lines(old), _lines(new)
    if before == after:
        return ""
    mixed = len({line[-2:] == "\r\n" for line in before + after if line.endswith("\n")}) > 1
    out = [f"--- {name}", f"+++ {name}"]
    size = 0
    rows = _rows(before, after)
    for row in rows:
        shown = _shown(row, mixed)
        size += len(shown)
        if len(out) >= _MOST_LINES or size > _MOST_CHARACTERS:
            out.append(f"… {1 + sum(1 for _ in rows):,} more lines of this diff are not shown")
            break
        out.append(shown)
    return "\n".join(out)


def counts(old: str, new: str) -> tuple[int, int]:
    """How many lines were added and removed."""
    before, after = _lines(old), _lines(new)
    added = removed = 0
    for tag, low, high, first, last in _changes(before, after):
        if tag != "equal":
            removed += high - low
            added += last - first
    return added, removed


def _lines(text: str) -> list[str]:
    r"""Lines with their ends; only `\n` ends one."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


_Change = tuple[str, int, int, int, int]


def _changes(before: Sequence[str], after: Sequence[str]) -> list[_Change]:
    """Operations as `SequenceMatcher` gives them, what is alike at both ends taken off first."""
    limit = min(len(before), len(after))
    head = 0
    while head < limit and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < limit - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    changes: list[_Change] = [("equal", 0, head, 0, head)] if head else []
    if len(old) + len(new) > _LARGEST_COMPARED:
        changes.append(("replace", head, head + len(old), head, head + len(new)))
    else:
        changes += [
            (tag, i1 + head, i2 + head, j1 + head, j2 + head)
            for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, False).get_opcodes()
        ]
    if tail:
        changes.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return changes


def _rows(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The rows of all hunks, each with its sign."""
    for hunk in _hunks(_changes(before, after)):
        old_from, old_to = hunk[0][1], hunk[-1][2]
        new_from, new_to = hunk[0][3], hunk[-1][4]
        yield f"@@ -{_span(old_from, old_to)} +{_span(new_from, new_to)} @@"
        for tag, i1, i2, j1, j2 in hunk:
            if tag == "equal":
                yield from (" " + line for line in before[i1:i2])
                continue
            yield from ("-" + line for line in before[i1:i2])
            yield from ("+" + line for line in after[j1:j2])


def _hunks(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Changes with the few equal lines around them."""
    hunk: list[_Change] = []
    for index, (tag, i1, i2, j1, j2) in enumerate(changes):
        if tag != "equal":
            hunk.append((tag, i1, i2, j1, j2))
            continue
        first, last = index == 0, index == len(changes) - 1
        if not first and not last and i2 - i1 <= 2 * _CONTEXT:
            hunk.append((tag, i1, i2, j1, j2))
            continue
        if not first:
            hunk.append((tag, i1, min(i1 + _CONTEXT, i2), j1, min(j1 + _CONTEXT, j2)))
            yield hunk
        hunk = [] if last else [(tag, max(i2 - _CONTEXT, i1), i2, max(j2 - _CONTEXT, j1), j2)]
    if hunk:
        yield hunk


def _span(low: int, high: int) -> str:
    length = high - low
    start = low + 1 if length else low
    return str(start) if length == 1 else f"{start},{length}"


def _shown(row: str, mixed: bool) -> str:
    text = row.removesuffix("\n")
    if not row.endswith("\n") and not row.startswith("@@"):
        text += "\n\\ No newline at end of file"
    elif text.endswith("\r") and not mixed:
        text = text[:-1]
    return "\n".join(visible(line[:_LONGEST_LINE]) for line in text.split("\n"))
