"""Opaque reasoning between the wire and the log: kept as its provider gave it, given back to its
origin only (PRV-6).
"""

import json
from collections.abc import Iterator

from nodwyn_tui.domain.canonical import REPLACEMENT, clean
from nodwyn_tui.domain.parts import Block, ReplyPart
from nodwyn_tui.domain.request import Json


def kept(kind: str, origin: str, value: Json) -> Iterator[Block]:
    """A JSON value as a block of that kind; none where the log could not hold it unaltered: half a
    character is nothing that UTF-8 has.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    data = clean(text)
    if data.count(REPLACEMENT) == text.count(REPLACEMENT):
        yield Block(kind, origin, data)


def given_back(part: ReplyPart, kind: str, origin: str) -> Json:
    """The value that a part holds of that kind, `None` where it holds none, or another's."""
    is_own = isinstance(part, Block) and (part.block, part.origin) == (kind, origin)
    return json.loads(part.data) if isinstance(part, Block) and is_own else None
