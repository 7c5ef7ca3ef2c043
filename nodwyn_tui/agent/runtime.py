"""What fresh context says of where and when the work goes on (ORD-3): the date, the folder and its
repository, the platform, the approval mode.
"""

import platform
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from nodwyn_tui.agent.branch import branch_of
from nodwyn_tui.agent.changes import MOST, Changes
from nodwyn_tui.domain.words import Mode
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.tools.names import quoted


class Runtime:
    """One session's. `mode` tells the approval mode."""

    def __init__(
        self, workspace: Path, clock: Clock, mode: Callable[[], Mode], changes: Changes
    ) -> None:
        self._workspace, self._clock, self._mode = workspace, clock, mode
        self.changes = changes
        self._shown: int | None = None

    def hold(self, *, still: bool) -> None:
        """Takes the count of changes as it is known now, and has it counted again. Where a row
        stays, it holds `still` in a run, once there is one: each change of it would be a row more,
        and what the model itself changed is told elsewhere.
        """
        if not still or self._shown is None:
            self._shown = self.changes.count
        self.changes.look()

    def lines(self) -> Iterator[str]:
        """What is so now."""
        now: datetime = self._clock.now().astimezone()
        yield f"Date: {now:%Y-%m-%d} ({now:%A}, {now.tzname()})"
        yield f"Folder: {quoted(str(self._workspace))}{self._repository()}"
        yield f"Platform: {platform.system()} {platform.machine()}; approvals: {self._mode()}"

    def _repository(self) -> str:
        branch, count = branch_of(self._workspace), self._shown
        if not branch:
            return ""
        if count is None:
            return f", git branch {branch}"
        number = f"more than {MOST:,}" if count > MOST else f"{count:,}"
        return f", git branch {branch}, uncommitted changes: {number}"
