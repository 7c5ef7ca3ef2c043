"""Rows of the window to messages of the Anthropic protocol, and which blocks bear cache marks.

All results of a reply stand in one message, before any text; rows of one side that follow each
other are one message; nothing blank is sent (C17); thinking goes back as the server gave it, or not
at all.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from nodwyn_tui.domain.parts import Block, Call, Text, UserPart
from nodwyn_tui.domain.request import AssistantRow, Json, Message, ToolRow, UserRow
from nodwyn_tui.providers.body import RowMemo, Rows, WireMessage
from nodwyn_tui.providers.calls import arguments_object, wire_name
from nodwyn_tui.providers.history import last_reply
from nodwyn_tui.providers.images import Pixels, base64_of, images_of, no_pixels
from nodwyn_tui.providers.marks import CACHE_CONTROL, marked_blocks
from nodwyn_tui.providers.rows import NO_ANSWER, NO_OUTPUT, NO_TEXT, opened, said

OPAQUE = ("thinking", "redacted_thinking")
"""The kinds of blocks that go back; they bear no mark."""


class _Look(NamedTuple):
    """What besides its rows decides a message: whose blocks go back with it ('' nobody's), which of
    its blocks bear a mark, and the `cache_control` that asks for it.
    """

    origin: str = ""
    marked: tuple[int, ...] = ()
    cache_control: str = ""


class Messages:
    """Makes messages, and remembers what rows became (PERF-4)."""

    def __init__(self) -> None:
        self._plain, self._marked = RowMemo(), RowMemo()

    def of(
        self,
        rows: Sequence[Message],
        origin: str,
        cache_control: str,
        pixels: Pixels = no_pixels,
        *,
        only_latest: bool,
        told: tuple[int, int] | None = None,
    ) -> list[WireMessage]:
        """The messages of a conversation. Blocks of `origin` go back, '' for nobody's;
        `cache_control` is '' where no cache is asked for; `only_latest` says that the next request
        will be without the blocks that this one has, `told` how many rows stand before fresh ones,
        which it will be without too: in the former request, and in this one.
        """
        turns = _turns(opened(rows))
        look = _Look(origin)

        def made(turn: Rows, look: _Look) -> dict[str, Json]:
            return _message(turn, look, pixels)

        messages = self._plain.joined([(turn, look) for turn in turns], made)
        if cache_control:
            ends = _ends_before_thinking(messages) if only_latest else _ends(messages)
            former, history = told or (len(rows), len(rows))
            answered = () if only_latest else rows[former : last_reply(rows)]
            passing = [len(_said(tuple(each), pixels)) for each in (answered, rows[history:])]
            places = _places(messages, ends, passing)
            bearers = [
                (turns[at], _Look(origin, blocks, cache_control)) for at, blocks in places.items()
            ]
            for at, marked in zip(places, self._marked.joined(bearers, made), strict=True):
                messages[at] = marked
        return messages


def may_think(messages: Sequence[WireMessage]) -> bool:
    """Whether a model that thinks with a budget may think now: a loop that goes on must have begun
    with its thinking (C14). A message with results goes on; any other of the user's begins a loop.
    """
    begins = [at for at, message in enumerate(messages) if not _goes_on(message)]
    loop = messages[begins[-1] + 1 :] if begins else messages
    return not loop or _is_opaque(loop[0]["content"][0])


def _goes_on(message: WireMessage) -> bool:
    is_reply = message["role"] == "assistant"
    return is_reply or any(block["type"] == "tool_result" for block in message["content"])


def _turns(rows: Sequence[Message]) -> list[Rows]:
    """Rows that make one message each: replies, or what is said to them."""
    return [tuple(turn) for _, turn in groupby(rows, lambda row: isinstance(row, AssistantRow))]


def _ends(messages: Sequence[WireMessage]) -> tuple[int, int]:
    """How many messages the former request had, which ended before the latest reply, and with how
    many the next one will begin (ORD-6).
    """
    replies = _replies(messages)
    return replies[-1] if replies else 0, len(messages)


def _ends_before_thinking(messages: Sequence[WireMessage]) -> tuple[int, int]:
    """The same where the next request leaves the latest reply's blocks out, so that nothing from
    that reply on can be read again.
    """
    replies = _replies(messages)
    thoughtful = any(_is_opaque(block) for at in replies[-1:] for block in messages[at]["content"])
    end = replies[-1] if thoughtful else len(messages)
    return (replies[-2] if len(replies) > 1 else 0), end


def _replies(messages: Sequence[WireMessage]) -> list[int]:
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def _is_opaque(block: Mapping[str, Json]) -> bool:
    return block["type"] in OPAQUE


def _places(
    messages: Sequence[WireMessage], ends: tuple[int, int], passing: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    """The blocks that bear marks, by message: before both `ends`, but for the last so many blocks
    there that stood, or stand, behind fresh ones.
    """
    blocks = [
        (at, n) for at, message in enumerate(messages) for n in range(len(message["content"]))
    ]
    bears = [not _is_opaque(messages[at]["content"][n]) for at, n in blocks]
    counts = [0, *accumulate(len(message["content"]) for message in messages)]
    former, end = (counts[at] for at in ends)
    places: dict[int, tuple[int, ...]] = {}
    for place in marked_blocks(bears, former - passing[0], min(end, counts[-1] - passing[1])):
        at, n = blocks[place]
        places[at] = (*places.get(at, ()), n)
    return places


def _message(turn: Rows, look: _Look, pixels: Pixels) -> dict[str, Json]:
    if isinstance(turn[0], AssistantRow):
        role, blocks = "assistant", _reply(turn, look.origin)
    else:
        role, blocks = "user", _said(turn, pixels)
    for at in look.marked:
        blocks[at]["cache_control"] = dict(CACHE_CONTROL[look.cache_control])
    return {"role": role, "content": blocks}


def _said(turn: Rows, pixels: Pixels) -> list[dict[str, Json]]:
    """Results, then rows with images, each before its line, then what has none: a model reads a
    question best behind the image that it is about.
    """
    results = [_result(row, pixels) for row in turn if isinstance(row, ToolRow)]
    rows = sorted(
        (row for row in turn if isinstance(row, UserRow)), key=lambda row: not images_of(row.parts)
    )
    texts = [
        block
        for row in rows
        for block in (*_images(row.parts, pixels), _text(said(row.parts, NO_TEXT)))
    ]
    return [*results, *texts]


def _images(parts: Sequence[UserPart], pixels: Pixels) -> list[dict[str, Json]]:
    return [
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": image.mime,
                "data": base64_of(image, pixels),
            },
        }
        for image in images_of(parts)
    ]


def _result(row: ToolRow, pixels: Pixels) -> dict[str, Json]:
    text, images = said(row.parts, NO_OUTPUT), _images(row.parts, pixels)
    block = {
        "type": "tool_result",
        "tool_use_id": row.call_id,
        "content": [*images, _text(text)] if images else text,
    }
    return {**block, "is_error": True} if row.is_error else block


def _reply(turn: Rows, origin: str) -> list[dict[str, Json]]:
    """A reply's blocks in its own order. One that would have none, or end in thinking, which no
    server takes, gets a short note.
    """
    blocks = [
        block
        for row in turn
        if isinstance(row, AssistantRow)
        for part in row.parts
        for block in _block(part, origin)
    ]
    ended = blocks and not _is_opaque(blocks[-1])
    return blocks if ended else [*blocks, _text(NO_ANSWER)]


def _block(part: object, origin: str) -> Iterator[dict[str, Json]]:
    match part:
        case Text() if part.text.strip():
            yield _text(part.text)
        case Block() if part.origin == origin and part.block in OPAQUE:
            yield json.loads(part.data)
        case Call():
            yield {
                "type": "tool_use",
                "id": part.id,
                "name": wire_name(part.name),
                "input": arguments_object(part.arguments),
            }
        case _:  # readable thinking: it goes back inside its block, or not at all
            pass


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}
