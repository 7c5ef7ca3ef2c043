"""Every trouble at every place of every situation in which a window is left (ROL-13), to be run by
hand: `pytest tests/faults/sweep_rollover.py -s` prints how many there were.
"""

import sys
from itertools import count
from pathlib import Path

import pytest

from tests.faults import troubles
from tests.faults.rolling import SITUATIONS
from tests.faults.test_rollover_faults import play, world
from tests.faults.troubles import Fork

EVERY_BYTE = "in mid-run"
"""Whose batch is cut at every byte; that of another situation every `STEP` bytes."""
STEP = 29


@pytest.mark.parametrize("name", SITUATIONS)
def test_all_of_them(tmp_path: Path, name: str, in_child: Fork) -> None:
    """ROL-13."""
    with world(tmp_path, name) as here:
        whole = troubles.batch(here, in_child)
        sizes = [*range(0, whole.size, STEP), whole.size]
        played = play(troubles.refusals(here))
        played += play(troubles.kills(here, in_child, sizes, (0, 1, 100, 300, troubles.WHOLE)))
        played += play(troubles.cuts(here, whole, 1 if name == EVERY_BYTE else STEP))
        played += play(troubles.stops(here, count(1)))
        played += play(troubles.changes(here, in_child))
    sys.stdout.write(f"{name}: {dict(played)}\n")
