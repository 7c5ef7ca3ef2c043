"""`reasoning_details` of a streamed reply: fragments to the array that goes back whole (PRV-5)."""

from collections.abc import Iterator, Mapping

from nodwyn_tui.domain.parts import Block
from nodwyn_tui.domain.request import Json
from nodwyn_tui.providers.opaque import kept

DETAILS = "reasoning_details"

_GROWING = ("text", "summary", "data", "signature")
"""Fields whose fragments are pieces of one text; any other says its value once."""

_SPLIT_UNMARKED = frozenset({"reasoning.text", "reasoning.summary"})
"""Types that servers send in fragments without an index; all else comes whole."""


class Details:
    """Merges fragments by index and type. Nothing of an item is read, cut or left out."""

    def __init__(self) -> None:
        self._items: list[dict[str, Json]] = []

    def add(self, fragments: Json) -> None:
        """Takes what a delta holds; anything but a list of objects is nothing."""
        for fragment in fragments if isinstance(fragments, list) else []:
            if not isinstance(fragment, Mapping):
                continue
            item = self._item_of(fragment)
            if item is None:
                self._items.append(dict(fragment))
            else:
                _grow(item, fragment)

    def block(self, origin: str) -> Iterator[Block]:
        """The array as a block, if there is any."""
        if self._items:
            yield from kept(DETAILS, origin, self._items)

    def _item_of(self, fragment: Mapping[str, Json]) -> dict[str, Json] | None:
        """The item that a fragment goes on with. An id of its own begins another."""
        type_, index, id_ = fragment.get("type"), fragment.get("index"), fragment.get("id")
        candidates = self._items if index is not None else self._items[-1:]
        for item in reversed(candidates):
            same = (item.get("type"), item.get("index")) == (type_, index)
            if same and (index is not None or type_ in _SPLIT_UNMARKED):
                return item if not (id_ and item.get("id")) or item["id"] == id_ else None
        return None


def _grow(item: dict[str, Json], fragment: Mapping[str, Json]) -> None:
    for name, value in fragment.items():
        before = item.get(name)
        if name in _GROWING and isinstance(before, str) and isinstance(value, str):
            item[name] = before + value
        elif before is None:
            item[name] = value
