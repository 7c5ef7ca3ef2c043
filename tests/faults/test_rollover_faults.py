"""ROL-13: whatever happens to a session on its way out of a window, no typed text is lost, no pair
is split, no window is left twice, no call runs again, and nothing runs until the person acts.

Each situation meets a part of the troubles here, all of them in `sweep_rollover.py`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from tests.fakes.chat_server import ChatServer
from tests.faults import troubles
from tests.faults.rolling import SITUATIONS, World
from tests.faults.troubles import Case, Fork

SIZES = (0, 1, 150, 330, 520, 700, 1_100)
"""Bytes of a batch after which a process is killed."""
WAITS = (1, 3, 6, 10, 15, 19, 24, 28, 33, 37, 42, 48)
"""The waits of a run in which it is stopped."""


@contextmanager
def world(folder: Path, name: str) -> Iterator[World]:
    """A situation, up to where it begins."""
    with ChatServer(context=8_192) as server, ChatServer(context=5_400, model="m2") as smaller:
        made = World(folder, server, SITUATIONS[name])
        made.prepare(smaller)
        yield made
        assert server.violations == smaller.violations == []


def play(cases: Iterable[Case]) -> Counter[str]:
    """How many cases there were of each trouble, up to where a place is that there is not."""
    played = Counter[str]()
    for case in cases:
        try:
            if not case.play():
                break
        except BaseException as error:
            error.add_note(f"{case.trouble}, {case.place}")
            raise
        played[case.trouble] += 1
    return played


@pytest.mark.parametrize("name", SITUATIONS)
def test_window_is_left_whatever_happens(tmp_path: Path, name: str, in_child: Fork) -> None:
    """ROL-13."""
    at = list(SITUATIONS).index(name)

    def some(cases: Iterable[Case], step: int) -> Iterator[Case]:
        """Other ones in each situation."""
        return islice(cases, at % step, None, step)

    with world(tmp_path, name) as here:
        whole = troubles.batch(here, in_child)
        played = play(some(troubles.refusals(here), 6))
        played += play(some(troubles.kills(here, in_child, SIZES, (0, 100, troubles.WHOLE)), 8))
        played += play(some(troubles.cuts(here, whole, whole.size), 5))
        played += play(some(troubles.stops(here, WAITS), 6))
        played += play(some(troubles.changes(here, in_child), 6))
    assert len(played) >= 4, played
