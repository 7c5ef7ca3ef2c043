"""The output items of a Responses stream in the making, told apart however they are marked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nodwyn_tui.domain.parts import Block, Call, ReplyPart, Text, Thinking
from nodwyn_tui.domain.request import Json
from nodwyn_tui.providers.calls import json_text
from nodwyn_tui.providers.opaque import kept
from nodwyn_tui.providers.pieces import Pieces

REASONING, MESSAGE, CALL = "reasoning", "message", "function_call"
_KINDS = frozenset({REASONING, MESSAGE, CALL})


@dataclass(slots=True, eq=False)
class Item:
    """One item: what was streamed of it, and `whole` once it is done.

    `source` is where its thinking comes in: a summary, or the open text; `began` says that some of
    it came.
    """

    kind: str
    index: int | None = None
    id: str = ""
    name: str = ""
    call_id: str = ""
    phase: str = ""
    pieces: Pieces = field(default_factory=Pieces)
    chars: int = 0
    source: str = ""
    part: Json = None
    began: bool = False
    whole: Mapping[str, Json] | None = None

    def learn(self, item: Mapping[str, Json]) -> None:
        """Takes what an item says of itself before, or when, it is done."""
        self.id = self.id or _string(item.get("id"))
        self.name = _string(item.get("name")) or self.name
        self.call_id = _string(item.get("call_id")) or self.call_id
        self.phase = _string(item.get("phase")) or self.phase

    def add(self, piece: str) -> str:
        """Takes a piece of text, thinking or arguments, and gives what is new and clean of it."""
        new = self.pieces.add(piece)
        self.chars += len(new)
        self.began = self.began or bool(new)
        return new

    def think(self, piece: str, source: str, part: Json) -> str:
        """The same for thinking, whose parts are set apart. Where a server gives a text and its
        summary both, the one that came first counts.
        """
        self.source = self.source or source
        if source != self.source:
            return ""
        between = "\n\n" if self.began and part != self.part else ""
        self.part = part
        return self.add(between + piece)

    def text(self) -> str:
        """What it says to a person, its thinking or its answer."""
        whole = self.whole or {}
        summary, content = _texts(whole.get("summary"), "\n\n"), _texts(whole.get("content"), "")
        return summary or content or self.pieces.text()

    def arguments(self) -> str:
        """A call's arguments as they came; blank ones as `{}` (C27)."""
        given = (self.whole or {}).get("arguments") or self.pieces.text()
        text = given if isinstance(given, str) else json_text(given)
        return text if text.strip() else "{}"

    def readable(self) -> Iterator[ReplyPart]:
        """What a person can read of it; what is blank is nothing (C17)."""
        text = "" if self.kind == CALL else self.text()
        if text.strip():
            yield Thinking(text) if self.kind == REASONING else Text(text, self.phase or None)

    def parts(self, origin: str) -> Iterator[ReplyPart]:
        """The parts of the reply that it makes."""
        yield from self.readable()
        if self.kind == REASONING:
            yield from self._block(origin)
        elif self.kind == CALL and (self.name or self.whole is not None):
            yield Call(self.call_id, self.name, self.arguments())

    def _block(self, origin: str) -> Iterator[Block]:
        """Reasoning as it goes back: without the id, which a server that stores nothing does not
        know, and its summary in one piece. Without its encrypted content it cannot go back, and
        what was cut leads nowhere.
        """
        item = self.whole or {}
        encrypted = item.get("encrypted_content")
        if not isinstance(encrypted, str) or not encrypted or item.get("status") == "incomplete":
            return
        summary, content = _texts(item.get("summary"), "\n\n"), item.get("content")
        value = {
            "type": REASONING,
            "summary": [{"type": "summary_text", "text": summary}] if summary.strip() else [],
            "encrypted_content": encrypted,
        }
        yield from kept(REASONING, origin, {**value, "content": content} if content else value)


class Items:
    """The items of one reply. An item is known by its place in the output, else by its id, else it
    is the latest of its kind that is not done: some servers leave the one out or the other, and
    some give an item another id in each event (PRV-8).
    """

    def __init__(self) -> None:
        self._items: list[Item] = []

    def of(self, event: Mapping[str, Json], kind: str) -> Item:
        """The item of that kind that an event is about; a new one if there is none."""
        index, id_ = _index(event), _string(event.get("item_id"))
        return self.unfinished(event, kind) or self._new(kind, index, id_)

    def added(self, event: Mapping[str, Json]) -> Item | None:
        """An item begins; `None` for a kind that nothing is made of here."""
        item, kind = _item(event)
        if kind not in _KINDS:
            return None
        index, id_ = _index(event), _string(item.get("id"))
        found = self._open(kind, index, id_)
        if found is None or found.id not in {"", id_}:
            found = self._new(kind, index, id_)
        found.learn(item)
        return found

    def done(self, event: Mapping[str, Json]) -> Item | None:
        """An item is whole; the same one again changes nothing."""
        item, kind = _item(event)
        if kind not in _KINDS:
            return None
        index, id_ = _index(event), _string(item.get("id"))
        if id_ and any(
            (each.kind, each.index, each.id) == (kind, index, id_) and each.whole is not None
            for each in self._items
        ):
            return None
        found = self.of({**event, "item_id": id_}, kind)
        found.learn(item)
        found.whole = item
        return found

    def number(self, item: Item) -> int:
        """A call's place among the calls."""
        return [each for each in self._items if each.kind == CALL].index(item)

    def has_begun(self, kind: str) -> bool:
        """Whether a person could read something of that kind already."""
        return any(item.kind == kind and item.began for item in self._items)

    def in_order(self) -> list[Item]:
        """The items by their places in the output; without places as they came."""
        places = [
            (at if item.index is None else item.index, at) for at, item in enumerate(self._items)
        ]
        return [self._items[at] for _, at in sorted(places)]

    def settled(self, output: Sequence[Json]) -> list[Item]:
        """The items at the end: the terminal response's own, `output`, where fewer were done in the
        stream.
        """
        given = [item for item in output if isinstance(item, Mapping)]
        known = [item for item in given if _string(item.get("type")) in _KINDS]
        done = sum(item.whole is not None for item in self._items)
        return [_of_output(item) for item in known] if len(known) > done else self.in_order()

    def unfinished(self, event: Mapping[str, Json], kind: str) -> Item | None:
        """The item of that kind that an event is about, if one has begun that is not done."""
        index, id_ = _index(event), _string(event.get("item_id"))
        return self._open(kind, index, id_) or self._latest(kind, index)

    def _open(self, kind: str, index: int | None, id_: str) -> Item | None:
        latest_first = [i for i in reversed(self._items) if i.kind == kind and i.whole is None]
        here = [i for i in latest_first if index is None or i.index == index]
        same = (item for item in here if id_ and item.id == id_)
        return next(same, here[0] if here and index is not None else None)

    def _latest(self, kind: str, index: int | None) -> Item | None:
        """The latest one that could be meant where an event tells no place."""
        if index is not None:
            return None
        found = (i for i in reversed(self._items) if i.kind == kind and i.whole is None)
        return next(found, None)

    def _new(self, kind: str, index: int | None, id_: str) -> Item:
        self._items.append(Item(kind, index, id_))
        return self._items[-1]


def _of_output(item: Mapping[str, Json]) -> Item:
    made = Item(item["type"], whole=item)
    made.learn(item)
    return made


def _item(event: Mapping[str, Json]) -> tuple[Mapping[str, Json], str]:
    item = event.get("item")
    item = item if isinstance(item, Mapping) else {}
    return item, _string(item.get("type"))


def _index(event: Mapping[str, Json]) -> int | None:
    index = event.get("output_index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _texts(parts: Json, between: str) -> str:
    """The texts of a list of parts; a refusal's words are its text."""
    found = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    texts = (_string(part.get("text")) or _string(part.get("refusal")) for part in found)
    return between.join(text for text in texts if text)


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""
