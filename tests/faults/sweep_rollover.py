"""Every trouble at every place of every situation in which a window is left (ROL-13), and sessions
of all sizes (ROL-5), to be run by hand: `pytest tests/faults/sweep_rollover.py -s` prints how many
there were.
"""

import sys
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig
from tests.agent.test_rollover_sizes import assert_bounded, played
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


@pytest.mark.parametrize("seed", range(1, 25))
@pytest.mark.parametrize(
    ("context", "share"), [(8_192, 1.0), (16_384, 1.0), (8_192, 0.45), (16_384, 0.3)]
)
async def test_all_sizes(tmp_path: Path, home: Path, seed: int, context: int, share: float) -> None:
    """ROL-5: a server may hold a `share` of what it says."""
    rig = Rig(tmp_path)
    ends = await played(rig, seed, context, holds=int(context * share))
    assert_bounded(rig.log(), ends)
    left = [e for e in rig.of(ev.WindowReset) if e.rollover_id]
    why = Counter(end.why for end in ends)
    sys.stdout.write(f"{len(ends)} messages, {len(left)} windows left, {dict(why)}\n")
