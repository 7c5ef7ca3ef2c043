"""The rig: a worker in process, closed when the test ends."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.rig import Rig


@pytest.fixture
async def rig(tmp_path: Path, home: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    yield made
    for task in made._tasks:
        if not task.done():
            await made.close()
            break
