"""ENG-25: half characters and NUL are replaced on entry, in whatever text of whatever event."""

import dataclasses
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import plain
from nodwyn_tui.domain.parts import Block
from nodwyn_tui.store.log import Log
from tests.fakes.sessions import new_log, one_of_each

BAD = "\ud83d\0\ude00"
CLEAN = "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
"""Half a pair, NUL and the other half: none of them makes a character with its neighbour."""


def spoiled(value: Any, kind: Any = str) -> Any:
    """The same with something bad at the end of every text, but for words of a closed list."""
    match value:
        case str():
            return value + BAD if kind is str or str in typing.get_args(kind) else value
        case tuple():
            return tuple(spoiled(one, str) for one in value)
        case Mapping():
            return {key + BAD: spoiled(one) for key, one in value.items()}
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            hints = typing.get_type_hints(type(value))
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            fields.pop("at", None)
            return dataclasses.replace(
                value, **{name: spoiled(one, hints[name]) for name, one in fields.items()
                          if name != "type"},
            )  # fmt: skip
        case _:
            return value


def texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, one in value.items():
                yield key
                yield from texts(one)
        case list():
            for one in value:
                yield from texts(one)


@pytest.mark.parametrize("draft", one_of_each(), ids=lambda draft: draft.type)
def test_every_text_of_every_event_is_clean_in_the_log(draft: ev.Event, tmp_path: Path) -> None:
    """C55: what is given back is what was recorded, and what is read. A block is left out rather
    than altered (ENG-6).
    """
    bad = spoiled(draft)
    whole = bad
    if isinstance(bad, ev.LlmResponse):
        whole = dataclasses.replace(
            bad, parts=tuple(part for part in bad.parts if not isinstance(part, Block))
        )
    expected = sum(text.count(BAD) for text in texts(plain(whole)))
    with new_log(tmp_path) as log:
        (log.path.parent / "no-replay").touch()  # its request is made up
        recorded = log.append(bad)[0]
        data = log.path.read_bytes()
        assert Log.read(log.path).events[1] == recorded
    data.decode("utf-8")
    assert b"\0" not in data
    assert b"\\u0000" not in data
    found = list(texts(plain(recorded)))
    assert not any(BAD in text for text in found)
    assert sum(text.count(CLEAN) for text in found) == expected
