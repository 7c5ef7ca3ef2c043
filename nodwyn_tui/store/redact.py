"""Credentials leave every text before it is recorded (ENG-6, SEC-1). A tool runs on what the model
wrote; what is logged, and so what the model is sent, has passed here.
"""

import functools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.domain.events import Event, LlmResponse, Note, UnknownEvent
from nodwyn_tui.domain.parts import Block
from nodwyn_tui.domain.request import Json
from nodwyn_tui.store.shapes import LEAD, PHRASES, TOKEN_RUN, TOKENS, Shape

HELD_KIND = "key"
MIN_HELD = 8
"""A held value shorter than this is no key, and would tear ordinary words apart."""

_MARKER = re.compile(r"\[redacted:[a-z0-9-]+\]")
_AS_IS = frozenset(
    {"id", "call_id", "rollover_id", "session", "forked_from"}
    | {"digest", "source_digest", "sha256", "session_key"}
)
"""Fields that name a thing of the log: a changed one would point nowhere."""

_LITERAL = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
"""A string of JSON."""

_TOKEN_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_RUN_MAP = bytes(ord("a") if byte in _TOKEN_BYTES else ord(" ") for byte in range(256))
_LONG_RUN = b"a" * TOKEN_RUN


def marker(kind: str) -> str:
    """What stands in the place of a credential."""
    return f"[redacted:{kind}]"


def has_marker(text: str) -> bool:
    """Whether a redaction marker stands in `text`: then it is no text for a file (ENG-6)."""
    return "[redacted:" in text and _MARKER.search(text) is not None


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


class Redactor:
    """Replaces known credential shapes, and the values of the keys this program holds, by
    `[redacted:KIND]`. Never by entropy. Redacting twice is redacting once.
    """

    def __init__(self, held: Iterable[str] = ()) -> None:
        self._tokens = {start.encode(): shape for shape in TOKENS for start in shape.starts}
        self._phrases = {start.encode(): shape for shape in PHRASES for start in shape.starts}
        self._beginning = _any_of(self._tokens)
        self._held: tuple[bytes, ...] = ()
        self.hold(*held)

    def hold(self, *values: str) -> None:
        """From now on these values are replaced too (a key that was added or refreshed)."""
        kinds = {shape.kind for shape in (*TOKENS, *PHRASES)} | {HELD_KIND}
        own_words = " ".join(marker(kind) for kind in kinds)
        fit = {
            v.strip() for v in values if len(v.strip()) >= MIN_HELD and v.strip() not in own_words
        }
        as_json = {json.dumps(value, ensure_ascii=False)[1:-1] for value in fit}
        known = set(self._held) | {text.encode("utf-8", "surrogatepass") for text in fit | as_json}
        self._held = tuple(sorted(known, key=len, reverse=True))

    def text(self, text: str) -> str:
        """`text` without credentials; the same object where it holds none."""
        if len(text) < MIN_HELD:
            return text
        # Bytes, so that one table tells token characters from all others; a blank goes ahead, so
        # that each beginning has a character before it. UTF-8 never holds ASCII inside a character.
        before = b" " + text.encode("utf-8", "surrogatepass")
        after = self._once(before)
        if after == before:
            return text
        while (again := self._once(after)) != after:  # a marker may give its neighbour an edge
            after = again
        return after[1:].decode("utf-8", "surrogatepass")

    def arguments(self, text: str) -> str:
        """A call's arguments without credentials: string by string, so that JSON stays JSON, and
        what escapes hide is found too. Everything else stays as the model wrote it.
        """
        if self.text(text) == text and "\\u" not in text:
            return text
        return self.text(_LITERAL.sub(self._literal, text))

    def _literal(self, found: re.Match[str]) -> str:
        try:
            value = clean(json.loads(found[0], strict=False))
        except ValueError:  # no JSON; the whole text is looked at all the same
            return found[0]
        without = self.text(value)
        return found[0] if without == value else json.dumps(without, ensure_ascii=False)

    def event(self, draft: Event) -> tuple[Event, tuple[Note, ...]]:
        """`draft` clean and without credentials, and the notes to append with it.

        Seqs, ids, digests and the type stay. A block is never altered: one that would be is left
        out, and a note says so.
        """
        notes: tuple[Note, ...] = ()
        if isinstance(draft, LlmResponse):
            parts = tuple(part for part in draft.parts if not self._spoils(part))
            if left_out := len(draft.parts) - len(parts):
                draft = replace(draft, parts=parts)
                notes = (_left_out(left_out, draft.ctx),)
        if isinstance(draft, UnknownEvent):
            return replace(draft, raw=self._json(draft.raw)), notes
        changed: Event = self._record(draft)
        return changed, notes

    def _spoils(self, part: Any) -> bool:
        return isinstance(part, Block) and self._record(part) != part

    def _once(self, data: bytes) -> bytes:
        for value in self._held:
            if value in data:
                data = data.replace(value, marker(HELD_KIND).encode())
        pieces: list[bytes] = []
        done = 0
        for span in sorted((*self._found_tokens(data), *self._found_phrases(data))):
            if span.start >= done:
                pieces += data[done : span.start], marker(span.kind).encode()
            done = max(done, span.end)
        return b"".join((*pieces, data[done:])) if pieces else data

    def _found_tokens(self, data: bytes) -> Iterator[_Span]:
        # A token is, or ends in, a long run of token characters; nothing else need be looked at.
        runs = data.translate(_RUN_MAP)
        start = runs.find(_LONG_RUN)
        while start >= 0:
            near = max(start - LEAD - 1, 0), start + TOKEN_RUN
            for begun in self._beginning.finditer(data, *near):
                shape = self._tokens[begun[1]]
                if token := _pattern(shape).match(data, begun.start(1)):
                    yield _Span(*token.span(), shape.kind)
            past = runs.find(b" ", start)
            start = runs.find(_LONG_RUN, past) if past >= 0 else -1

    def _found_phrases(self, data: bytes) -> Iterator[_Span]:
        for start, shape in self._phrases.items():
            place = data.find(start)
            while place >= 0:
                found = _pattern(shape).match(data, place)
                if found:
                    group = "secret" if "secret" in found.re.groupindex else 0
                    yield _Span(found.start(group), found.end(group), shape.kind)
                place = data.find(start, found.end() if found else place + 1)

    def _string(self, text: str) -> str:
        return self.text(clean(text))

    def _record(self, record: Any) -> Any:
        changed = {}
        for field in fields(record):
            value = getattr(record, field.name)
            if isinstance(value, str) and field.name in _AS_IS:
                new: Any = clean(value)
            elif isinstance(value, str) and field.name == "arguments":
                new = self.arguments(clean(value))
            else:
                new = self._value(value)
            if new is not value:
                changed[field.name] = new
        return replace(record, **changed) if changed else record

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self._string(value)
            case tuple():
                items = tuple(self._value(item) for item in value)
                same = all(new is old for new, old in zip(items, value, strict=True))
                return value if same else items
            case Mapping():
                return self._json(value) if value else value
            case float() if not math.isfinite(value):
                return None  # JSON has no word for it
            case _ if is_dataclass(value):
                return self._record(value)
            case _:
                return value

    def _json(self, value: Json) -> Json:
        match value:
            case str():
                return self._string(value)
            case Mapping():
                return {self._string(str(key)): self._json(item) for key, item in value.items()}
            case list() | tuple():
                return [self._json(item) for item in value]
            case float() if not math.isfinite(value):
                return None
            case _:
                return value


def _any_of(starts: Iterable[bytes]) -> re.Pattern[bytes]:
    """Finds where a token may begin (group 1): behind no token character, unless that is the letter
    of an escape, since JSON writes a line feed as one.
    """
    choice = b"|".join(re.escape(start) for start in sorted(starts, key=len, reverse=True))
    return re.compile(rb"[^A-Za-z0-9_-](?:(?<=\\)[bfnrt])?(?=(" + choice + b"))")


@functools.cache
def _pattern(shape: Shape) -> re.Pattern[bytes]:
    starts = "|".join(re.escape(start) for start in shape.starts)
    return re.compile(f"(?:{starts}){shape.rest}".encode())


def _left_out(count: int, ctx: int) -> Note:
    what = "A block of reasoning" if count == 1 else f"{count} blocks of reasoning"
    return Note(
        ctx=ctx,
        text=f"{what} held what looks like a credential, and a block can't be altered: "
        "it was not kept, and the reply goes back to the model with its readable reasoning only.",
        why="redaction",
    )
