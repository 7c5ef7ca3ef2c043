"""What of an event can be searched for, and how a search finds it.

The index holds words, not the text: that is read from the log again, so it stands on the disk once.
A word is a run of letters and digits, or a part of one (`Sessions` of `listSessions`), and is found
by its beginning. Measured on 46 MB of program text, such an index takes a tenth of what it covers
and 1.6 s; one of trigrams, which would find the middle of a word too, nearly four tenths and 4.9 s.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.events import (
    Event,
    GatePlan,
    LlmResponse,
    Note,
    SessionTitle,
    SummaryAdd,
    ToolCall,
    ToolResult,
    UserMessage,
)
from nodwyn_tui.domain.parts import Text

MOST_OF_OUTPUT = 32_000
"""Characters of a call's arguments, and of its result, that can be searched for."""
SEARCHED = (
    UserMessage, LlmResponse, GatePlan, Note, SummaryAdd, SessionTitle, ToolCall, ToolResult,
)  # fmt: skip

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts that put no space between words: there each character is a word."""
_RUN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_PART = re.compile(r"[A-Z](?:[A-Z]*(?![a-z])[0-9]*|[a-z0-9]+)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ASKED = 20
"""Of how many terms the index is asked; the texts are looked through for all."""
_BEFORE, _SHOWN = 40, 160
"""Characters of a snippet before what was found, and in all."""


def text_of(event: Event) -> str:
    """What of an event can be searched for: never thinking, blocks or images."""
    match event:
        case UserMessage() | GatePlan() | Note() | SummaryAdd():
            return event.text
        case SessionTitle():
            return event.title
        case LlmResponse():
            return "\n\n".join(part.text for part in event.parts if isinstance(part, Text))
        case ToolCall():
            return f"{event.name} {event.arguments[:MOST_OF_OUTPUT]}"
        case ToolResult():
            return event.text[:MOST_OF_OUTPUT]
        case _:
            return ""


def words_of(text: str) -> str:
    """A text as the index takes it: its words in small letters, with spaces or ASCII marks between
    them.
    """
    parts = " ".join(_PART.findall(text)).lower()
    small = text.lower()
    return f"{small if small.isascii() else ' '.join(_RUN.findall(small))} {parts}"


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: terms that must all stand in a text, as they are but for their case."""

    terms: tuple[str, ...]
    expression: str
    """What asks the index for events that may hold the terms, in FTS5's words; '' where it cannot
    tell (marks alone), and each text is to be looked at.
    """

    @classmethod
    def of(cls, text: str) -> "Query":
        """The query that a person typed."""
        terms = text.split()
        asked = " AND ".join(said for term in terms[:_ASKED] if (said := _expression(term)))
        return cls(tuple(term.lower() for term in terms), asked)

    def fits(self, text: str) -> bool:
        """Whether all terms stand in a text."""
        small = text.lower()
        return all(term in small for term in self.terms)

    def snippet(self, text: str) -> str:
        """The text around the first of the terms that stands in it, in one line."""
        small = text.lower()
        found = min((at for term in self.terms if (at := small.find(term)) >= 0), default=0)
        start = max(0, found - _BEFORE)
        shown = " ".join(text[start : start + _SHOWN].split())
        return ("…" if start else "") + shown + ("…" if start + _SHOWN < len(text) else "")


def inner_expression(text: str) -> str:
    """What asks the index for events that may hold a text literally, wherever in a word it begins;
    '' where the index cannot tell. All that is indexed whole and holds it is among them.
    """
    if not text.isascii():  # letters that are the same but for their case have other words then
        return ""
    runs = _RUN.findall(text.lower())
    return _all_of(runs[1:] if _RUN.match(text) else runs)


def _expression(term: str) -> str:
    """Words that begin as those of the term do: as they stand, or with its humps parted."""
    whole = _all_of(_RUN.findall(term.lower()))
    parted = _all_of([run.lower() for part in _HUMP.split(term) for run in _RUN.findall(part)])
    return whole if whole == parted else f"(({whole}) OR ({parted}))"


def _all_of(words: Sequence[str]) -> str:
    return " AND ".join(_starts(words))


def _starts(words: Sequence[str]) -> Iterator[str]:
    return (f'"{word}"*' for word in list(dict.fromkeys(words))[:_ASKED])
