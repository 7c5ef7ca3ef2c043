"""What a model is told whose text stands nowhere in the file: the place that comes nearest, shown
and never used (C49).
"""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches

from nodwyn_tui.tools.output import visible
from nodwyn_tui.tools.text_file import lf

_MOST_LINES = 50_000
_MOST_SHOWN = 25
_LONGEST_LINE = 200
_MOST_CANDIDATES = 2000


def nearest_text(text: str, old: str) -> str:
    """The part of `text` most like `old`, its lines with numbers, and how it differs; '' if nothing
    is alike.
    """
    have = lf(text).split("\n")[:_MOST_LINES]
    wanted = lf(old).strip("\n").split("\n")
    place = _place([line.strip() for line in have], [line.strip() for line in wanted])
    if place is None:
        return ""
    part = have[place : place + len(wanted)]
    differing = [
        index
        for index, want in enumerate(wanted)
        if index >= len(part) or part[index].rstrip() != want.rstrip()
    ]
    first = place + differing[0] + 1 if differing else place + 1
    rows = [
        f"{place + number}\t{visible(line[:_LONGEST_LINE])}"
        for number, line in enumerate(part[:_MOST_SHOWN], 1)
    ]
    if len(part) > _MOST_SHOWN:
        rows.append(f"… {len(part) - _MOST_SHOWN} more lines")
    same = len(wanted) - len(differing)
    return (
        f"nearest are lines {place + 1}-{place + len(part)}, {same} of {len(wanted)} lines alike,"
        f" the first difference in line {first}:\n" + "\n".join(rows)
    )


def _place(have: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The beginning of the run of lines in `have` with most lines of `wanted` in their places."""
    where: dict[str, list[int]] = {}
    for number, line in enumerate(have):
        where.setdefault(line, []).append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        for number in where.get(line, ())[:_MOST_CANDIDATES] if line else ():
            votes[max(number - offset, 0)] += 1
    if votes:
        best = max(votes.values())
        places = [place for place, count in votes.items() if count == best]
        return max(places[:20], key=lambda place: _alike(have, wanted, place))
    asked = max(wanted, key=len)
    close = get_close_matches(asked, list(where)[:_MOST_CANDIDATES], n=1, cutoff=0.6)
    return max(where[close[0]][0] - list(wanted).index(asked), 0) if close else None


def _alike(have: Sequence[str], wanted: Sequence[str], place: int) -> float:
    part = "\n".join(have[place : place + len(wanted)])
    return SequenceMatcher(None, part[:4000], "\n".join(wanted)[:4000]).quick_ratio()
