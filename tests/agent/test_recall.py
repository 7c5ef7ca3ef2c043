"""ROL-15: what was said in any of twenty windows is found again."""

import asyncio
from pathlib import Path

from tests.fakes.recall import FACTS, Voyage, facts, found_again
from tests.fakes.sailing import planted, sailed


def test_every_fact_of_twenty_windows_is_found_within_three_calls(tmp_path: Path) -> None:
    """ROL-15: 200 facts, 16 KiB a call."""
    (tmp_path / "no-replay").touch()
    planted = facts()
    Voyage(tmp_path / "log.jsonl", steps=12, size=2_000).write(planted)
    calls, largest = found_again(tmp_path, planted)
    assert sum(calls.values()) == FACTS
    assert set(calls) <= {1, 2, 3}
    assert largest <= 16 << 10


async def test_what_the_agent_left_behind_is_found_within_three_calls(
    tmp_path: Path, home: Path
) -> None:
    """ROL-15: 30 facts in windows that really filled and were rolled over."""
    folder, left = await sailed(tmp_path, runs=6)
    assert left >= 3
    calls, largest = await asyncio.to_thread(found_again, folder, planted(6))
    assert sum(calls.values()) == 30
    assert set(calls) <= {1, 2, 3}
    assert largest <= 16 << 10
