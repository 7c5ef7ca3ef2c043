"""Where a text stands in a file, and the file with another in its place: pure functions of texts,
which know of line ends and blanks, but guess nothing else (C46, C48, C49).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from nodwyn_tui.tools.text_file import lf, main_ending

How = Literal["exact", "line-end blanks", "indentation"]


@dataclass(frozen=True, slots=True)
class Match:
    """A place in a text: from `start` up to `end`, in characters. Where only the indentation
    differed, the file has `added` before each line, or lacks `removed` there.
    """

    start: int
    end: int
    how: How = "exact"
    added: str = ""
    removed: str = ""


def exact(text: str, old: str) -> list[Match]:
    """Every place of `old`, also overlapping ones; a line end in `old` is any line end."""
    newline = r"(?:\r\n|(?<!\r)\n)"
    body = newline.join(re.escape(line) for line in lf(old).split("\n"))
    pattern = re.compile(body + (r"(?!\n)" if old.endswith("\r") else ""))
    found, position = [], 0
    while match := pattern.search(text, position):
        found.append(Match(match.start(), match.end()))
        position = match.start() + 1
    return found


def apart(matches: Sequence[Match]) -> list[Match]:
    """The matches that don't overlap one before them."""
    kept: list[Match] = []
    for match in matches:
        if not kept or match.start >= kept[-1].end:
            kept.append(match)
    return kept


def forgiving(text: str, old: str) -> list[Match]:
    """Places of whole lines that differ from `old` in blanks at line ends only, else in one and the
    same indentation of all lines.
    """
    wanted = lf(old).split("\n")
    ended = wanted[-1] == "" and len(wanted) > 1
    if ended:
        wanted.pop()
    if not any(line.strip() for line in wanted):
        return []
    lines = _lines(text)
    places = _places([line.body.strip() for line in lines], [line.strip() for line in wanted])
    found = [
        match
        for place in places
        if (match := _judged(lines[place : place + len(wanted)], wanted, ended))
    ]
    close = [match for match in found if match.how == "line-end blanks"]
    return close or found


def replaced(text: str, match: Match, new: str) -> str | None:
    """`text` with `new` at `match`: lines that stay keep their own line end, new ones take that of
    their place. `None` if `new` has not the indentation that would have to be taken off.
    """
    lines = lf(new).split("\n")
    if match.how == "indentation":
        shifted = [_shift(line, match) for line in lines]
        if None in shifted:
            return None
        lines = [line for line in shifted if line is not None]
    fitted = _with_ends(lines, text[match.start : match.end], _ending_near(text, match))
    return text[: match.start] + fitted + text[match.end :]


def line_of(text: str, position: int) -> int:
    """The number, from 1, of the line that a character stands in."""
    return text.count("\n", 0, position) + 1


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    body: str
    end: int
    """Behind the line end."""


def _lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for part in text.split("\n"):
        end = min(start + len(part) + 1, len(text))
        lines.append(
            _Line(start, part.removesuffix("\r") if end > start + len(part) else part, end)
        )
        start = end
    return lines


def _places(have: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the run `wanted` begins in `have`."""
    last = len(have) - len(wanted)
    return [
        place
        for place in range(last + 1)
        if have[place] == wanted[0] and list(have[place : place + len(wanted)]) == list(wanted)
    ]


def _judged(lines: Sequence[_Line], wanted: Sequence[str], ended: bool) -> Match | None:
    """The match of lines that are alike but for blanks; `None` if they shift unevenly."""
    end = lines[-1].end if ended else lines[-1].start + len(lines[-1].body)
    shifts = {
        (_indent(line.body), _indent(want))
        for line, want in zip(lines, wanted, strict=True)
        if want.strip()
    }
    if all(have == want for have, want in shifts):
        return Match(lines[0].start, end, "line-end blanks")
    differences = {_difference(have, want) for have, want in shifts}
    if len(differences) != 1 or None in differences:
        return None
    added, removed = differences.pop() or ("", "")
    return Match(lines[0].start, end, "indentation", added, removed)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _difference(have: str, want: str) -> tuple[str, str] | None:
    """What the file has more, and what it has less, at a line's beginning."""
    if have.endswith(want):
        return have.removesuffix(want), ""
    if want.endswith(have):
        return "", want.removesuffix(have)
    return None


def _shift(line: str, match: Match) -> str | None:
    if not line.strip():
        return line
    if match.removed and not line.startswith(match.removed):
        return None
    return match.added + line.removeprefix(match.removed)


def _ending_near(text: str, match: Match) -> str:
    """The line end that a new line takes at `match`, where the lines replaced have none."""
    after = re.compile(r"\r?\n").search(text, match.end)
    if after:
        return after[0]
    before = text.rfind("\n", 0, match.start)
    if before >= 0:
        return "\r\n" if text[before - 1 : before] == "\r" else "\n"
    return main_ending(text) or "\n"


def _with_ends(lines: Sequence[str], region: str, near: str) -> str:
    """The new lines, each but the last with a line end: its own if it stood in `region`, else that
    of the line before it.
    """
    parts = re.split(r"(\r?\n)", region)
    bodies, ends = parts[::2], parts[1::2]
    own = {
        block.b + step: ends[block.a + step]
        for block in SequenceMatcher(None, bodies, lines, False).get_matching_blocks()
        for step in range(block.size)
        if block.a + step < len(ends)
    }
    current = ends[0] if ends else near
    out = []
    for index, line in enumerate(lines[:-1]):
        current = own.get(index, current)
        out.append(line + current)
    return "".join([*out, lines[-1]])
